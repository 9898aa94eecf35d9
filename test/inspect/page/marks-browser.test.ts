// Tests the marks and links of the page in headless Chromium.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { longLog } from "./long-log.ts";
import { launch, openRunPage } from "./open-page.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

type Logs = Parameters<typeof openRunPage>[1];

/** Opens a page, and expects at the end of the test that it had no problems. */
async function openLogs(logs: Logs): Promise<Page> {
  const { page, problems, close } = await openRunPage(browser, logs);
  onTestFinished(async () => {
    expect(problems).toEqual([]);
    await close();
  });
  return page;
}

describe("the page of a run", () => {
  it("links to the iterations that broke the prompt cache, and marks them", async () => {
    const page = await openLogs({ name: "long.jsonl", text: await longLog(60) });
    const breaks = page.locator(".cache-breaks");
    await breaks.waitFor();
    expect((await breaks.innerText()).replaceAll(/\s+/g, " ")).toBe("Cache breaks: i30 i40 i50");
    await breaks.getByRole("link", { name: "i40" }).click();
    const entry = page.locator("article[aria-current=true]");
    expect(await entry.locator(".mark").innerText()).toMatch(/^cache broke: \d+ messages were masked$/);
    await page.getByRole("tree").press("Home");
    await page.locator("article").getByText("· 0 cached ·").waitFor();
  });
});
