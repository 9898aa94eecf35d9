// Tests the marks and links of the page in headless Chromium.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { longLog } from "./long-log.ts";
import { launch, openRunPage } from "./open-page.ts";
import { ordinaryLog } from "./sample-logs.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

type Logs = Parameters<typeof openRunPage>[1];

/** At the end of the test, expects that the page had no problems. */
async function openLogs(logs: Logs): Promise<Page> {
  const { page, problems, close } = await openRunPage(browser, logs);
  onTestFinished(async () => {
    expect(problems).toEqual([]);
    await close();
  });
  return page;
}

describe("a run's inspect page", () => {
  it.each([
    [400, 900],
    [1400, 900],
  ])("shows the whole budget plot on a screen of %d by %d pixels", async (width, height) => {
    const page = await openLogs({ name: "order.jsonl", text: await ordinaryLog() });
    await page.setViewportSize({ width, height });
    await page.getByRole("button", { name: "Settings and budgets" }).click();
    const bottomOf = (selector: string): Promise<number> =>
      page.locator(selector).evaluate((element) => element.getBoundingClientRect().bottom);
    await page.locator(".budget-plot .legend").waitFor();
    const overflow = async (): Promise<number> => (await bottomOf(".budget-plot .legend")) - (await bottomOf(".run-header"));
    await expect.poll(overflow).toBeLessThanOrEqual(0);
    await expect.poll(() => bottomOf(".run-header")).toBeLessThanOrEqual(height);
    const scrolls = await page.locator(".run-header").evaluate((element) => {
      element.scrollTop = element.scrollHeight;
      return element.scrollTop + element.clientHeight >= element.scrollHeight - 1;
    });
    expect(scrolls).toBe(true);
  });

  it("marks and links the iterations that broke the prompt cache", async () => {
    const page = await openLogs({ name: "long.jsonl", text: await longLog(60) });
    const breaks = page.locator(".cache-breaks");
    await breaks.waitFor();
    await expect.poll(async () => (await breaks.innerText()).replaceAll(/\s+/g, " ")).toBe("Cache breaks: i30 i40 i50");
    await breaks.getByRole("link", { name: "i40" }).click();
    const entry = page.locator("article[aria-current=true]");
    await expect.poll(() => entry.locator(".mark").innerText()).toMatch(/^cache broke: \d+ messages were masked$/);
    await page.getByRole("tree").press("Home");
    await page.locator("article").getByText("· 0 cached ·").waitFor();
  });
});
