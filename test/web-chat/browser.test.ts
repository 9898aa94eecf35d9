// Tests the page of examples/web-chat in headless Chromium. The tests wait only for content of the page, never for a fixed time.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { fileConversationStore } from "turnwright/conversation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startChild } from "../child-server.ts";
import { findChromium } from "../find-chromium.ts";
import { bundleOnce, openStage, type Stage } from "./stage.ts";

let browser: Browser;
let context: BrowserContext;
let stage: Stage;
let problems: string[];

beforeAll(async () => {
  // Chromium cannot start its sandbox as root, and most containers run as root.
  browser = await chromium.launch({ executablePath: findChromium() ?? "", args: ["--no-sandbox"] });
});

afterAll(() => browser.close());

beforeEach(async () => {
  problems = [];
  context = await browser.newContext();
  context.setDefaultTimeout(10_000);
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  context.on("weberror", (error) => problems.push(String(error.error())));
  stage = await openStage({ files: await bundleOnce() });
});

afterEach(async () => {
  await context.close();
  await stage.close();
});

async function openPage(url: string = `${stage.url}/?chat=c1`): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

const answer = (page: Page): Locator => page.locator(".message.assistant").last();
const card = (page: Page, name: string): Locator => page.getByRole("region", { name: `Tool ${name}` });
const shows = (locator: Locator, text: string): Promise<void> => locator.getByText(text).first().waitFor();
const isOver = (page: Page): Promise<void> => page.getByRole("button", { name: "Send" }).waitFor();

const textOf = async (page: Page): Promise<string> =>
  (await answer(page).locator("> p:not(.ending)").allTextContents()).join("|");

async function askForOrder(): Promise<Page> {
  const page = await openPage();
  await send(page, "Order some tea.");
  await shows(card(page, "place_order"), "Waits for you");
  return page;
}

const beforeOrder = "Let me look at the price first.|It is in stock. May I order two bags?";

describe("web-chat page", () => {
  it("streams text, shows the cost, and logs no errors or warnings", async () => {
    const page = await openPage();
    stage.gate.holdAfter(3);
    await page.getByRole("button", { name: "Tell me a story" }).click();
    await shows(answer(page), "Tea began as");
    await expect.poll(() => textOf(page)).toBe("Tea began as ");
    stage.gate.open();
    await shows(answer(page), "0.00100 USD");
    await expect.poll(() => textOf(page)).toMatch(/compare two teas\.$/);
    expect(problems).toEqual([]);
  });

  it("shows a tool call's progress and result", async () => {
    const page = await openPage();
    stage.gate.holdAfter(8); // seven words, and a step of the tool
    await send(page, "Order some tea.");
    await card(page, "look_up_price").locator('progress[value="50"]').waitFor();
    stage.gate.open();
    await shows(card(page, "look_up_price"), "Done");
    await shows(card(page, "place_order"), "Waits for you");
    expect(stage.orders).toEqual([]);
    await page.getByRole("button", { name: "Approve" }).click();
    await shows(answer(page), "I have ordered 2 bags of Sencha.");
    await shows(card(page, "place_order"), "Done");
    expect(stage.orders).toEqual([{ tea: "Sencha", bags: 2 }]);
    await expect.poll(() => textOf(page)).toBe(`${beforeOrder}|I have ordered 2 bags of Sencha.`);
    expect(problems).toEqual([]);
  });

  it("sends and shows a call's edited arguments", async () => {
    const page = await askForOrder();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Arguments as JSON").fill('{"tea":"Assam","bags":3}');
    await page.getByRole("button", { name: "Run with these" }).click();
    await shows(answer(page), "I have ordered 3 bags of Assam.");
    await card(page, "place_order").locator("pre:not(.output)", { hasText: '"bags": 3' }).waitFor();
    expect(stage.orders).toEqual([{ tea: "Assam", bags: 3 }]);
    expect(problems).toEqual([]);
  });

  it("places no order after a denial", async () => {
    const page = await askForOrder();
    await page.getByRole("button", { name: "Deny" }).click();
    await shows(answer(page), "All right, I have ordered nothing.");
    await shows(card(page, "place_order"), "Denied");
    expect(stage.orders).toEqual([]);
    expect(problems).toEqual([]);
  });

  it("shows the same message after a reload during the stream, during an approval and at the end", async () => {
    const page = await openPage();
    stage.gate.holdAfter(4);
    await send(page, "Order some tea.");
    await shows(answer(page), "Let me look at");
    await page.reload();
    await shows(answer(page), "Let me look at");
    stage.gate.open();
    await shows(card(page, "place_order"), "Waits for you");
    await page.reload();
    await page.getByRole("button", { name: "Approve" }).click();
    await shows(answer(page), "2 bags of Sencha.");
    const whole = `${beforeOrder}|I have ordered 2 bags of Sencha.`;
    await expect.poll(() => textOf(page)).toBe(whole);
    await isOver(page);
    await page.reload();
    await shows(answer(page), "2 bags of Sencha.");
    await expect.poll(() => textOf(page)).toBe(whole);
    await expect.poll(() => page.locator(".message").count()).toBe(2);
    expect(stage.orders).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  it("shows the run in a second tab, where the stop button stops the run", async () => {
    const first = await openPage();
    const second = await openPage();
    stage.gate.holdAfter(5);
    await send(first, "Tell me a story.");
    await shows(answer(first), "Tea began as medicine. A");
    await shows(answer(second), "Tea began as medicine. A");
    await second.getByRole("button", { name: "Stop" }).click();
    await shows(answer(first), "Stopped.");
    await shows(answer(second), "Stopped.");
    await expect.poll(() => textOf(first)).toBe("Tea began as medicine. A ");
    await expect.poll(async () => (await stage.host.status("c1"))?.status).toBe("stopped-by-user");
    await isOver(first);
    expect(problems).toEqual([]);
  });

  it("shows a sub-agent's text and calls while it works", async () => {
    const page = await openPage();
    stage.gate.holdAfter(8); // the words of both before the first call
    await send(page, "Compare two teas for me.");
    const inner = page.getByRole("list", { name: "Sub-agent" });
    await shows(inner, "I compare both prices.");
    await shows(inner, "running");
    stage.gate.open();
    await shows(answer(page), "My researcher says:");
    await shows(card(page, "ask_researcher"), "Done");
    expect(problems).toEqual([]);
  });

  it("receives the rest of a message exactly once from another process after the server is killed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "web-chat-"));
    const killed = await startChild(new URL("serve-child.ts", import.meta.url), folder, "12");
    const page = await openPage(`${killed.url}/?chat=c2`);
    await send(page, "Order some tea.");
    await shows(answer(page), "It is in");
    await killed.kill();
    const next = await openStage({ store: fileConversationStore(folder), port: Number(new URL(killed.url).port) });
    try {
      await shows(card(page, "place_order"), "Waits for you");
      await expect.poll(() => textOf(page)).toBe(beforeOrder);
      await page.getByRole("button", { name: "Approve" }).click();
      await shows(answer(page), "I have ordered 2 bags of Sencha.");
      await expect.poll(() => page.locator(".message").count()).toBe(2);
    } finally {
      await next.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
