// Opens the page of an evaluation whose texts are attacks.

import type { Browser } from "playwright-core";
import { evaluate, renderEvalPage } from "turnwright/evals";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everything, payloads } from "../inspect/page/hostile-log.ts";
import { launch, openHtml } from "../inspect/page/open-page.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

describe("renderEvalPage", () => {
  it.for([
    ["a screen", { viewport: { width: 1200, height: 800 } }],
    [
      "a phone in dark mode",
      { viewport: { width: 390, height: 800 }, colorScheme: "dark" as const, isMobile: true, hasTouch: true },
    ],
  ] as const)("opens trials and filters cases on %s, and runs no script contained in text", async ([, options]) => {
    const report = await evaluate(
      {
        name: everything,
        cases: payloads.map((id) => ({ id, text: everything })),
        directory: false,
        run: ({ id }) => {
          if (id === "__proto__") throw new Error(everything);
        },
        check: () => ({ [everything]: { pass: false, reason: everything }, score: { score: 0.5, reason: everything } }),
      },
      { trials: 2 },
    );
    const { page, problems, requests, dialogs, close } = await openHtml(browser, renderEvalPage(report), options);
    try {
      const buttons = page.locator("button.trial");
      const cards = page.locator(".card:visible");
      expect(await cards.count()).toBe(0);
      for (const button of (await buttons.all()).slice(0, 4)) {
        await button.click();
        expect(await cards.count()).toBe(1);
        expect(await cards.innerText()).toContain("<img src=x onerror=");
        await page.keyboard.press("Escape");
      }
      await page.getByLabel("Status").selectOption("error");
      expect(await page.locator("#count").innerText()).toBe(`1 of ${payloads.length} cases`);
      expect(await page.locator(".matrix tbody tr:visible .name").innerText()).toBe("__proto__");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(options.viewport.width);
      expect(await page.evaluate(() => (globalThis as { pwned?: number }).pwned ?? 0)).toBe(0);
      expect({ problems, requests, dialogs }).toEqual({ problems: [], requests: [], dialogs: [] });
    } finally {
      await close();
    }
  });
});
