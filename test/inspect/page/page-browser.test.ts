// Tests the page of runs in headless Chromium. The tests wait only for content of the page, never for a fixed time.

import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { longLog } from "./long-log.ts";
import { focusSearch, launch, type OpenPage, openRunPage } from "./open-page.ts";
import { crashedLog, failedLog, nestedLog, ordinaryLog, suspendedLog } from "./sample-logs.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

async function withPage(opening: Promise<OpenPage>, use: (opened: OpenPage) => Promise<void>): Promise<void> {
  const opened = await opening;
  try {
    await use(opened);
    expect({ problems: opened.problems, requests: opened.requests }).toEqual({ problems: [], requests: [] });
  } finally {
    await opened.close();
  }
}

const hashOf = (page: Page): Promise<string> => page.evaluate(() => location.hash);
const rowOf = (page: Page, name: string): Locator => page.getByRole("treeitem").filter({ hasText: name }).first();
const selectedRow = (page: Page): Promise<string> => page.locator(".row[aria-selected=true] .name").innerText();
const selectedEntry = (page: Page): Locator => page.locator("article[aria-current=true]");
const header = async (page: Page): Promise<string> => (await page.locator(".run-header").innerText()).replaceAll(/\s+/g, " ");
const rowNames = (page: Page): Promise<readonly string[]> => page.locator(".row .name").allInnerTexts();

describe("a run's inspect page", () => {
  it("shows the header, the timeline and the text of an ordinary run", async () => {
    const opening = openRunPage(browser, { name: "order.jsonl", text: await ordinaryLog() });
    await withPage(opening, async ({ page }) => {
      await expect
        .poll(() => header(page))
        .toBe(
          "order.jsonl Completed: the model answered. Active 4.92 s Wall clock 4.92 s Tokens in 6,852 Cached 59.8% (4,096) " +
            "Tokens out 234 Cost $0.0130 Iterations 3 Calls 3 Model mock mock-model Settings and budgets",
        );
      await expect.poll(() => page.title()).toBe("order.jsonl");
      const rows = ["i0", "search_catalog", "read_stock", "i1", "attempt 1", "attempt 2", "read_file", "i2"];
      await expect.poll(() => rowNames(page)).toEqual(rows);
      await expect
        .poll(() => page.getByRole("list", { name: "Legend" }).innerText())
        .toBe(["to the first token", "streaming", "discarded attempt", "tool", "wait before the next attempt"].join("\n"));
      const transcript = page.getByRole("region", { name: "Transcript" });
      await transcript.getByText("You are the assistant of a tea shop.").waitFor();
      await transcript.getByText("Do you mean the organic one?").waitFor();
      await rowOf(page, "read_file").click();
      // A text of several lines inside of JSON is shown without escapes.
      await selectedEntry(page).getByText("  for (const price of prices) sum += price;").waitFor();
      await transcript.getByText("Discarded attempt 1 (mock mock-model)").waitFor();
      await page.getByRole("button", { name: "Settings and budgets" }).click();
      await expect.poll(() => header(page)).toContain("Limits maxIterations: 20 maxCostUSD: 0.5 maxTokens: 100,000");
    });
  });

  it("selects the event named in a link, even after going back and after a reload", async () => {
    const opening = openRunPage(browser, { name: "a", text: await nestedLog() }, { hash: "#i0/tool/1/i0/tool/0" });
    await withPage(opening, async ({ page, open }) => {
      await selectedEntry(page).getByText("Three pages about tide tables.").waitFor();
      await expect.poll(() => selectedRow(page)).toBe("search_web");
      await rowOf(page, "research").click();
      await expect.poll(() => hashOf(page)).toBe("#i0/tool/0");
      await selectedEntry(page).getByText("High tide?").waitFor();
      await page.goBack();
      await selectedEntry(page).getByText("Three pages about tide tables.").waitFor();
      await page.goForward();
      await page.reload();
      await selectedEntry(page).getByText("High tide?").waitFor();
      await open("#i9/tool/4");
      await page.getByRole("alert").getByText("This run has no event “i9/tool/4”.").waitFor();
      await page.getByRole("link", { name: "Show the whole run" }).click();
      await page.getByRole("alert").waitFor({ state: "detached" });
    });
  });

  it("supports keyboard navigation of rows, folds and requests, and shows a list of keys", async () => {
    const opening = openRunPage(browser, { name: "a", text: await nestedLog() });
    await withPage(opening, async ({ page }) => {
      const press = async (keys: string, hash: string): Promise<void> => {
        for (const key of keys.split(" ")) await page.keyboard.press(key);
        await expect.poll(() => hashOf(page)).toBe(hash);
      };
      await focusSearch(page);
      await page.keyboard.press("Escape");
      await press("j", "#i0");
      await press("ArrowDown", "#i0/tool/0");
      await expect.poll(() => rowNames(page)).toEqual(["i0", "research", "research", "i1"]);
      await press("ArrowRight ArrowRight", "#i0/tool/0/i0");
      await expect
        .poll(() => rowNames(page))
        .toEqual(["i0", "research", "i0", "search_web", "read_source", "i1", "research", "i1"]);
      await press("Enter", "#i0/tool/0/i0");
      await selectedEntry(page).locator(".fold[aria-expanded=true]").waitFor();
      await press("h h", "#i0/tool/0");
      await press("h k ArrowLeft", "#i0");
      await expect.poll(() => rowNames(page)).toEqual(["i0", "i1"]);
      await press("End", "#i1");
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).getByText("Next row, previous row").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });
  });

  it("finds text in all parts of a run, even in folded and hidden parts", async () => {
    const opening = openRunPage(browser, { name: "a", text: await nestedLog() });
    await withPage(opening, async ({ page }) => {
      await focusSearch(page);
      await page.keyboard.type("RELIABLE");
      const count = page.getByRole("status", { name: "Hits" });
      // Both calls show the question, the answer and the result of the nested run.
      await count.getByText("6 hits").waitFor();
      await page.keyboard.press("Enter");
      await count.getByText("1 of 6").waitFor();
      await expect.poll(() => hashOf(page)).toBe("#i0/tool/0/i0/tool/1");
      await page.keyboard.press("Shift+Enter");
      await count.getByText("6 of 6").waitFor();
      await expect.poll(() => hashOf(page)).toContain("#i0/tool/1/i0/tool/1/i1");
      const marked = (): Promise<readonly string[]> =>
        page.evaluate(() => [...(CSS.highlights.get("found-now") ?? [])].map(String));
      await expect.poll(marked).toEqual(["reliable"]);
      await page.keyboard.press("Escape");
      await count.getByText("6 of 6").waitFor({ state: "detached" });
    });
    const long = openRunPage(browser, { name: "a", text: await longLog(60, { resultLength: 60_000 }) });
    await withPage(long, async ({ page }) => {
      await page.getByRole("searchbox").fill("9001: the");
      await page.getByRole("searchbox").press("Enter");
      await page
        .getByRole("status", { name: "Hits" })
        .getByText(/^1 of \d+$/)
        .waitFor();
      const isVisible = await page.evaluate(async () => {
        for (let frame = 0; frame < 10; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
        const [range] = [...(CSS.highlights.get("found-now") ?? [])] as Range[];
        const { top = -1, bottom = -1 } = range?.getBoundingClientRect() ?? {};
        const view = document.querySelector(".transcript")?.getBoundingClientRect();
        return view !== undefined && top >= view.top && bottom <= view.bottom;
      });
      expect(isVisible).toBe(true);
    });
  });

  it("shows the waits, the decision and the shortened gap of a resumed run", async () => {
    await withPage(openRunPage(browser, { name: "a", text: await suspendedLog() }), async ({ page }) => {
      await expect
        .poll(() => header(page))
        .toContain("Suspended: 1 call waits for a decision. place_order waits for a decision, call_i0_1");
      await page.getByRole("button", { name: "place_order" }).click();
      await expect.poll(() => hashOf(page)).toBe("#i0/tool/1");
      await expect.poll(() => selectedEntry(page).innerText()).toContain("waits for approval");
    });
    await withPage(openRunPage(browser, { name: "a", text: await suspendedLog(3) }, { hash: "#i0/tool/1" }), async ({ page }) => {
      await expect.poll(() => header(page)).toContain("Wall clock 3 d 0 h");
      for (const part of ["approved with changes", "waited 3 d 0 h for approval", '"bags": 1'])
        await expect.poll(() => selectedEntry(page).innerText()).toContain(part);
      await expect.poll(() => page.locator(".axis b").innerText()).toBe("3 d 0 h");
      await page.getByText("Resumed", { exact: true }).waitFor();
    });
  });

  it("shows errors, outcomes of calls, and calls that may have run", async () => {
    await withPage(openRunPage(browser, { name: "a", text: await failedLog() }), async ({ page }) => {
      await expect
        .poll(() => header(page))
        .toContain("Failed: the provider reported an error (auth). The key was refused by the service");
      await expect
        .poll(() => page.locator(".row .note").allInnerTexts())
        .toEqual([...["failed", "unknown tool", "malformed arguments", "error"]]);
    });
    await withPage(openRunPage(browser, { name: "a", text: await crashedLog() }, { hash: "#i0/tool/0" }), async ({ page }) => {
      await expect.poll(() => header(page)).toContain("No end in the log: still running, or its process died.");
      await selectedEntry(page).getByText("no end in the log, may have run").waitFor();
    });
  });

  it("does not need horizontal scrolling on a screen 400 pixels wide", async () => {
    const viewport = { width: 400, height: 800 };
    await withPage(openRunPage(browser, { name: "a", text: await ordinaryLog() }, { viewport }), async ({ page }) => {
      await expect.poll(() => page.locator(".transcript").isVisible()).toBe(false);
      await rowOf(page, "read_stock").click();
      await expect.poll(() => page.locator(".transcript").isVisible()).toBe(true);
      await expect.poll(() => page.locator(".timeline").isVisible()).toBe(false);
      await selectedEntry(page).getByText("t-17").waitFor();
      await page.getByRole("button", { name: "Timeline" }).click();
      await rowOf(page, "read_stock").waitFor();
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
    });
  });

  it("renders only the visible rows and entries of a run with 300 iterations", async () => {
    const opening = openRunPage(browser, { name: "a", text: await longLog(300) }, { hash: "#i150/tool/0" });
    await withPage(opening, async ({ page }) => {
      await selectedEntry(page).getByText("left out of requests from i").waitFor();
      await expect.poll(() => page.locator(".row").count()).toBeLessThan(80);
      await expect.poll(() => page.locator("article").count()).toBeLessThan(40);
      await page.keyboard.press("End");
      await page.getByText("All orders are checked.").waitFor();
    });
  });
});

describe("the inspect page for several runs", () => {
  it("does not show dates for a log that comes from a journal", async () => {
    const text = (await ordinaryLog()).replace('"version":1', '"version":1,"from":"journal"');
    await withPage(openRunPage(browser, { name: "run.journal", text }), async ({ page }) => {
      await page.getByText("run.journal is a journal. A journal has no dates, so times begin at 0.").waitFor();
      await page.getByRole("button", { name: "Settings and budgets" }).click();
      await expect.poll(() => header(page)).not.toContain("Started");
    });
    const logs = [
      { name: "run.journal", text },
      { name: "run.jsonl", text: await ordinaryLog() },
    ];
    await withPage(openRunPage(browser, logs), async ({ page }) => {
      const rows = page.getByRole("row").filter({ has: page.getByRole("checkbox") });
      const months = async (): Promise<readonly string[]> =>
        (await rows.locator("td:nth-child(6)").allInnerTexts()).map((date) => date.slice(0, 7));
      await expect.poll(months).toEqual(["", "2026-11"]);
    });
  });

  it("shows the same totals for an unfinished run in the list and the header", async () => {
    const lines = (await nestedLog()).split("\n");
    const text = `${lines
      .slice(
        0,
        lines.findLastIndex((line) => line.includes('"type":"iteration-start"')),
      )
      .join("\n")}\n`;
    await withPage(
      openRunPage(
        browser,
        ["a", "b"].map((name) => ({ name, text })),
      ),
      async ({ page }) => {
        const row = async (): Promise<readonly string[]> =>
          (await page.getByRole("row").nth(1).innerText()).split("\t").map((cell) => cell.trim());
        await expect.poll(async () => (await row()).slice(6, -1)).toEqual(["2.95 s", "1", "8", "4", "8,524", "31.6%", "$0.0237"]);
        await page.getByRole("link", { name: "tides" }).first().click();
        await expect
          .poll(() => header(page))
          .toContain(
            "Active 2.95 s Wall clock 2.95 s Tokens in 8,100 Cached 31.6% (2,560) Tokens out 424 Cost $0.0237 so far Iterations 1 Calls 8",
          );
      },
    );
  });

  it("lists the runs, with links to each run and to comparisons", async () => {
    const logs = [
      { name: "first.jsonl", text: await ordinaryLog() },
      { name: "second.jsonl", text: await failedLog() },
    ];
    await withPage(openRunPage(browser, logs), async ({ page, open }) => {
      await page.getByRole("link", { name: "order-1184" }).click();
      await expect.poll(() => hashOf(page)).toBe("#r2");
      await expect.poll(() => header(page)).toContain("second.jsonl Failed");
      await rowOf(page, "read_stock").click();
      await expect.poll(() => hashOf(page)).toBe("#r2/i0/tool/0");
      await page.reload();
      await selectedEntry(page).getByText("ECONNREFUSED").waitFor();
      await page.getByRole("link", { name: "All runs" }).click();
      await page.getByRole("checkbox").first().check();
      await page.getByRole("checkbox").last().check();
      await page.getByRole("link", { name: "Compare" }).click();
      await expect.poll(() => hashOf(page)).toBe("#compare/r1/r2");
      await page.reload();
      await expect.poll(() => page.locator("main").innerText()).toContain("second.jsonl");
      await open("#r7");
      await page.getByRole("alert").getByText("This page has no “r7”.").waitFor();
    });
  });
});
