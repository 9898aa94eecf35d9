// Opens a page of runs in headless Chromium, from a file as users do. Records everything that a page must not do.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { renderRunPage } from "turnwright/inspect";
import type { RunPageLog } from "../../../src/inspect/page/render-run-page.ts";
import { findChromium } from "../../find-chromium.ts";

/** Chromium cannot start its sandbox as root, and most containers run as root. */
export const launch = (): Promise<Browser> => chromium.launch({ executablePath: findChromium() ?? "", args: ["--no-sandbox"] });

export interface OpenPage {
  readonly page: Page;
  /** Errors and warnings in the console, and uncaught errors. */
  readonly problems: readonly string[];
  /** The URLs of all requests, except the request for the page itself. */
  readonly requests: readonly string[];
  readonly dialogs: readonly string[];
  /** Opens the page again in a new document, with another hash. */
  open(hash: string): Promise<void>;
  close(): Promise<void>;
}

type OpenOptions = BrowserContextOptions & { readonly hash?: string };

export async function openRunPage(
  browser: Browser,
  logs: RunPageLog | readonly RunPageLog[],
  options: OpenOptions = {},
): Promise<OpenPage> {
  return openHtml(browser, await renderRunPage(logs), options);
}

export async function openHtml(browser: Browser, html: string, options: OpenOptions = {}): Promise<OpenPage> {
  const folder = mkdtempSync(join(tmpdir(), "run-page-"));
  const file = join(folder, "run.html");
  writeFileSync(file, html);
  const { hash = "", ...rest } = options;
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...rest });
  context.setDefaultTimeout(10_000);
  const [problems, requests, dialogs]: [string[], string[], string[]] = [[], [], []];
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  context.on("weberror", (error) => problems.push(String(error.error())));
  context.on("request", (request) => {
    if (!request.url().startsWith(pathToFileURL(file).href)) requests.push(request.url());
  });
  context.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      console.error(`policy violation: ${violatedDirective} ${blockedURI}`);
    });
  });
  const page = await context.newPage();
  const open = async (to: string): Promise<void> => {
    await page.goto("about:blank");
    await page.goto(`${pathToFileURL(file).href}${to}`);
    await page.locator("main").waitFor();
  };
  await open(hash);
  const close = async (): Promise<void> => {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { page, problems, requests, dialogs, open, close };
}

/** Presses "/" until the search has the focus, because the page may be painted before it listens to keys. */
export async function focusSearch(page: Page): Promise<void> {
  const isFocused = (): Promise<boolean> => page.getByRole("searchbox").evaluate((box) => box === document.activeElement);
  const press = async (): Promise<boolean> => {
    if (!(await isFocused())) await page.keyboard.press("/");
    return isFocused();
  };
  await expect.poll(press).toBe(true);
}
