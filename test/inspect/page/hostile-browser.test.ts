// Opens pages whose logs are attacks. Counts the scripts that ran and the requests that the page sent.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everything, hostileLog, payloads } from "./hostile-log.ts";
import { launch, type OpenPage, openRunPage } from "./open-page.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

/** Returns the number of clicks. */
async function clickAll({ page }: OpenPage): Promise<number> {
  return page.evaluate(async () => {
    const scroller = document.querySelector(".transcript") ?? document.documentElement;
    const seen = new Set<string>();
    const click = async (element: HTMLElement): Promise<void> => {
      const place = element.closest(".slot")?.getAttribute("data-index");
      const name = [place, element.className, element.textContent].join(" ");
      if (seen.has(name)) return;
      seen.add(name);
      element.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
      element.click();
      await new Promise((resolve) => requestAnimationFrame(resolve));
    };
    for (let top = 0; top <= scroller.scrollHeight && top < 60_000; top += 300) {
      scroller.scrollTop = top;
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const closed = "button[aria-expanded='false'], summary, .twisty, .row";
      for (const element of document.querySelectorAll<HTMLElement>(closed)) await click(element);
    }
    return seen.size;
  });
}

async function harm({ page, problems, requests, dialogs }: OpenPage): Promise<unknown> {
  const { pwned, polluted } = await page.evaluate(() => ({
    pwned: (globalThis as { pwned?: number }).pwned ?? 0,
    polluted: "x" in {} || document.querySelectorAll("#app iframe, #app img, #app svg script, #app base, #app meta").length > 0,
  }));
  return { pwned, polluted, problems, requests, dialogs };
}

const none = { pwned: 0, polluted: false, problems: [], requests: [], dialogs: [] };

describe("the inspect page with hostile logs", () => {
  it("does not run scripts or send requests while the whole run is opened and searched", async () => {
    const opened = await openRunPage(browser, { name: everything, text: hostileLog(10_000_000) }, { hash: "#i0/tool/0" });
    const { page } = opened;
    try {
      expect(await clickAll(opened)).toBeGreaterThan(8);
      await page.keyboard.press("Escape");
      await page.evaluate(() => {
        location.hash = "#i0/tool/1";
      });
      await page.locator("article[aria-current=true]").getByRole("button", { name: "Show 20,000 of" }).click();
      for (const query of ["<script>", "javascript:", "onerror", "\u202e"]) {
        await page.getByRole("searchbox").fill(query);
        await page.getByText(/^[\d,]+\+? hits$/).waitFor();
        await page.getByRole("searchbox").press("Enter");
        await page.getByText(/^1 of/).waitFor();
      }
      expect(await harm(opened)).toEqual(none);
      const shown = await page.locator("main").innerText();
      // The page shows control characters as visible text, so they cannot reorder the text.
      expect(shown).toContain("safe‹U+202E›txt.exe");
      expect(shown).not.toMatch(/(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028]/u);
      expect(await page.title()).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    } finally {
      await opened.close();
    }
  });

  it("does not run scripts or send requests in the list of runs and in a comparison", async () => {
    const logs = [everything, "other"].map((name) => ({ name, text: hostileLog() }));
    const opened = await openRunPage(browser, logs);
    try {
      await clickAll(opened);
      expect(await harm(opened)).toEqual(none);
      for (const hash of ["#compare/r1/r2", ...payloads.map((text) => `#${text}`), ...payloads.map((text) => `#r1/${text}`)]) {
        await opened.page.evaluate((to) => {
          location.hash = to;
        }, hash);
        await opened.page.locator("main").waitFor();
      }
      await opened.open("#compare/r1/r2");
      await clickAll(opened);
      expect(await harm(opened)).toEqual(none);
    } finally {
      await opened.close();
    }
  });

  it("shows a damaged log's problem as text", async () => {
    const text = `${everything}\n`;
    const opened = await openRunPage(browser, { name: everything, text });
    try {
      await opened.page.getByRole("alert").getByText("is not JSON").waitFor();
      expect(await harm(opened)).toEqual(none);
    } finally {
      await opened.close();
    }
  });
});
