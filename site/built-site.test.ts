// The built site in headless Chromium: search, copy buttons, dark mode, the reference and the playground with its editor.

import { existsSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { findChromium } from "../test/find-chromium.ts";

let browser: Browser;
let context: BrowserContext;
let server: Server;
let problems: string[];

const base = process.env["SITE_BASE"] ?? "/";
const types = new Map([
  [".html", "text/html; charset=utf-8"],
  [".css", "text/css"],
  [".js", "text/javascript"],
  [".svg", "image/svg+xml"],
]);

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://site").pathname).slice(base.length);
    const file = join("site/dist", path === "" || path.endsWith("/") ? `${path}index.html` : path);
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": types.get(extname(file)) ?? "application/octet-stream" }).end(readFileSync(file));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  browser = await chromium.launch({ executablePath: findChromium() ?? "", args: ["--no-sandbox"] });
}, 60_000);

afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

beforeEach(async () => {
  problems = [];
  context = await browser.newContext({ colorScheme: "light", permissions: ["clipboard-read", "clipboard-write"] });
  context.setDefaultTimeout(30_000);
  context.on("weberror", (error) => problems.push(String(error.error())));
  context.on("requestfailed", (request) => {
    const { errorText = "" } = request.failure() ?? {};
    // A click aborts the prefetches of the page that it leaves.
    if (errorText !== "net::ERR_ABORTED") problems.push(`${request.url()}: ${errorText}`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) problems.push(`${response.url()}: ${response.status()}`);
  });
});

afterEach(async () => {
  await context.close();
  if (problems.length > 0) throw new Error(problems.join("\n"));
});

async function open(path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}${base}${path}`);
  return page;
}

it("the home page leads to the tutorial, whose steps are in the sidebar", async () => {
  const page = await open("");
  expect(await page.locator(".vp-doc img").count()).toBe(5);
  await page.getByRole("link", { name: "Tutorial" }).last().click();
  await page.getByRole("heading", { name: "Tutorial 1: getting an answer" }).waitFor();
  await page.locator(".VPSidebar").getByRole("link", { name: "Tutorial 8: writing a test" }).click();
  await page.getByRole("heading", { name: "Tutorial 8: writing a test" }).waitFor();
});

it("the search finds a guide, without a server", async () => {
  const page = await open("contents.html");
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.getByPlaceholder("Search").fill("detectLoops");
  await page.locator("#localsearch-list a").first().click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  expect(await page.locator("main").innerText()).toContain("detectLoops");
});

it("a copy button copies the code", async () => {
  const page = await open("tutorial/1-answer.html");
  await page.locator("div.language-ts").first().hover();
  await page.locator("div.language-ts button.copy").first().click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toContain('import { runToolLoop } from "turnwright";');
});

it("the dark mode stays on after a reload", async () => {
  const page = await open("contents.html");
  const isDark = (): Promise<boolean> => page.evaluate(() => document.documentElement.classList.contains("dark"));
  expect(await isDark()).toBe(false);
  await page.locator(".VPNavBarAppearance button").click();
  await expect.poll(isDark).toBe(true);
  await page.reload();
  expect(await isDark()).toBe(true);
});

it("the reference has a page for runToolLoop", async () => {
  const page = await open("contents.html");
  await page.locator(".VPNavBarMenu").getByRole("link", { name: "API" }).click();
  await page.getByRole("link", { name: "core", exact: true }).first().click();
  await page.getByRole("link", { name: "runToolLoop", exact: true }).first().click();
  await page.getByRole("heading", { level: 1, name: "runToolLoop" }).waitFor();
});

it("the playground has an editor, whose program runs", async () => {
  const page = await open("contents.html");
  await page.locator(".VPNavBarMenu").getByRole("link", { name: "Playground" }).click();
  await page
    .locator(".cm-content")
    .fill('import { text } from "turnwright/testing";\nexport const script = [text("I am here.")];');
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("completed: answered").waitFor();
  await page.frameLocator("iframe").getByText("Completed: the model answered.").first().waitFor();
});
