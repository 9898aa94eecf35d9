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

interface Tab {
  readonly page: Page;
  /** The URL of the page, without a hash. */
  url: string;
  problems: string[];
  requests: string[];
  dialogs: string[];
}

const viewport = { width: 1200, height: 800 };

/** Tabs that no test uses. Chromium starts processes for each new context, which costs more time than a page of runs takes. */
const idleTabs = new WeakMap<Browser, Tab[]>();

async function openTab(browser: Browser, options: BrowserContextOptions): Promise<Tab> {
  const context = await browser.newContext({ viewport, ...options });
  context.setDefaultTimeout(10_000);
  const tab: Tab = { page: await context.newPage(), url: "", problems: [], requests: [], dialogs: [] };
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") tab.problems.push(message.text());
  });
  context.on("weberror", (error) => tab.problems.push(String(error.error())));
  context.on("request", (request) => {
    if (!request.url().startsWith(tab.url)) tab.requests.push(request.url());
  });
  context.on("dialog", (dialog) => {
    tab.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      console.error(`policy violation: ${violatedDirective} ${blockedURI}`);
    });
  });
  return tab;
}

async function clear(tab: Tab): Promise<void> {
  await tab.page.goto("about:blank");
  await tab.page.setViewportSize(viewport);
  [tab.problems, tab.requests, tab.dialogs] = [[], [], []];
}

export async function openHtml(browser: Browser, html: string, options: OpenOptions = {}): Promise<OpenPage> {
  const folder = mkdtempSync(join(tmpdir(), "run-page-"));
  const file = join(folder, "run.html");
  writeFileSync(file, html);
  const { hash = "", ...own } = options;
  const isUsual = Object.keys(own).length === 0;
  const idle = idleTabs.get(browser) ?? [];
  idleTabs.set(browser, idle);
  const tab = (isUsual ? idle.pop() : undefined) ?? (await openTab(browser, own));
  tab.url = pathToFileURL(file).href;
  const { page, problems, requests, dialogs } = tab;
  const open = async (to: string): Promise<void> => {
    await page.goto("about:blank");
    await page.goto(`${tab.url}${to}`);
    await page.locator("main").waitFor();
  };
  await open(hash);
  const close = async (): Promise<void> => {
    if (isUsual) {
      await clear(tab);
      idle.push(tab);
    } else await page.context().close();
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
