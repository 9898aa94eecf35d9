// Tests a page that follows a log while a run writes it.

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderLivePage } from "../../../src/inspect/page/render-run-page.ts";
import { longLog } from "./long-log.ts";
import { launch } from "./open-page.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

interface LiveServer {
  readonly url: string;
  /** The byte from which each request for the log has started. */
  readonly starts: readonly number[];
  add(text: string): void;
  /** Ends all open responses. */
  cut(): void;
  /** Puts another log at the path of the first one. */
  replace(text: string): void;
  close(): Promise<void>;
}

async function serve(): Promise<LiveServer> {
  const page = await renderLivePage([{ name: "run.jsonl", url: "log" }]);
  let log = Buffer.alloc(0);
  const open = new Set<ServerResponse>();
  const starts: number[] = [];
  let id = 1;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    if (url.pathname === "/") return response.setHeader("content-type", "text/html").end(page);
    if (url.pathname !== "/log") return response.writeHead(404).end();
    const from = Number(url.searchParams.get("from"));
    const wanted = url.searchParams.get("id");
    if (wanted !== null && Number(wanted) !== id) return response.writeHead(409).end();
    starts.push(from);
    response.setHeader("log-id", id);
    open.add(response);
    response.on("close", () => open.delete(response));
    return response.write(log.subarray(from));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const response of open) response.end();
    open.clear();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    starts,
    add: (text) => {
      const bytes = Buffer.from(text);
      log = Buffer.concat([log, bytes]);
      // A piece may end inside of a character and inside of a line.
      for (const response of open) {
        response.write(bytes.subarray(0, bytes.length - 7));
        response.write(bytes.subarray(bytes.length - 7));
      }
    },
    cut,
    replace: (text) => {
      id += 1;
      log = Buffer.from(text);
      cut();
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("a live page", () => {
  it("shows new lines, and keeps the selection and the scroll position, also after the connection was lost", async () => {
    const lines = (await longLog(60)).split(/(?<=\n)/);
    const server = await serve();
    const context = await browser.newContext({ viewport: { width: 1200, height: 700 } });
    context.setDefaultTimeout(10_000);
    const errors: string[] = [];
    context.on("weberror", (error) => errors.push(String(error.error())));
    try {
      const page = await context.newPage();
      server.add(lines.slice(0, 120).join(""));
      await page.goto(`${server.url}#i5/tool/0`);
      const entry = page.locator("article[aria-current=true]");
      await entry.getByText("completed").waitFor();
      await page.getByText("Running: the log has no end yet.").waitFor();
      const placeOf = (): Promise<number> =>
        entry.evaluate((element) => {
          const top = element.closest(".transcript")?.getBoundingClientRect().top ?? 0;
          return element.getBoundingClientRect().top - top;
        });
      await page.locator(".transcript").evaluate((element) => {
        element.scrollTop += 40;
      });
      const place = await placeOf();
      const iterations = page.locator(".figures div").filter({ hasText: "Iterations" }).locator("dd");
      const before = Number(await iterations.innerText());

      server.add(lines.slice(120, 200).join(""));
      await expect.poll(async () => Number(await iterations.innerText())).toBeGreaterThan(before);
      // Marks that appear in earlier entries change their height by fractions of a pixel.
      expect(Math.abs((await placeOf()) - place)).toBeLessThan(2);
      expect(await page.evaluate(() => location.hash)).toBe("#i5/tool/0");

      server.cut();
      server.add(lines.slice(200).join(""));
      await page.getByText("Completed: the model answered.").first().waitFor();
      expect(await iterations.innerText()).toBe("60");
      expect(server.starts).toEqual([0, Buffer.byteLength(lines.slice(0, 200).join(""))]);
      expect(Math.abs((await placeOf()) - place)).toBeLessThan(2);
      expect(await page.evaluate(() => location.hash)).toBe("#i5/tool/0");
      expect(errors).toEqual([]);
    } finally {
      await context.close();
      await server.close();
    }
  });

  it("starts again when another log is at the path", async () => {
    const server = await serve();
    const page = await browser.newPage();
    page.setDefaultTimeout(10_000);
    try {
      server.add(await longLog(30));
      await page.goto(server.url);
      const iterations = page.locator(".figures div").filter({ hasText: "Iterations" }).locator("dd");
      await expect.poll(() => iterations.innerText()).toBe("30");
      server.replace(await longLog(40));
      await expect.poll(() => iterations.innerText(), { timeout: 5000 }).toBe("40");
      expect(server.starts).toEqual([0, 0]);
    } finally {
      await page.close();
      await server.close();
    }
  });
});
