// The page follows the logs of a folder while runs write them.

import { appendFileSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { serveLogs } from "../../../src/inspect/live/serve-logs.ts";
import { longLog } from "./long-log.ts";
import { launch } from "./open-page.ts";
import { ordinaryLog } from "./sample-logs.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

interface LivePage {
  readonly page: Page;
  readonly errors: readonly string[];
  /** For each request for the first log, the byte from which the response starts. */
  readonly starts: readonly number[];
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "live-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function openFolder(folder: string, hash = ""): Promise<LivePage> {
  const list = async (): Promise<readonly { readonly name: string; readonly path: string }[]> =>
    readdirSync(folder).map((name) => ({ name, path: join(folder, name) }));
  const server = await serveLogs({ list, folder });
  onTestFinished(() => server.close());
  const context = await browser.newContext({ viewport: { width: 1200, height: 700 } });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(10_000);
  const [errors, starts]: [string[], number[]] = [[], []];
  context.on("weberror", (error) => errors.push(String(error.error())));
  context.on("request", (request) => {
    const [, from] = /log\/0\?from=(\d+)/.exec(request.url()) ?? [];
    if (from !== undefined) starts.push(Number(from));
  });
  const page = await context.newPage();
  await page.goto(`${server.url}${hash}`);
  return { page, errors, starts };
}

describe("the live inspect page", () => {
  it("lists logs that appear in the folder", async () => {
    const folder = makeFolder();
    const { page, errors } = await openFolder(folder);
    await page.getByText("0 runs.").waitFor();
    writeFileSync(join(folder, "a.jsonl"), await longLog(3));
    await page.getByRole("link", { name: "audit" }).click();
    await page.getByText("Completed: the model answered.").first().waitFor();
    writeFileSync(join(folder, "b.jsonl"), await ordinaryLog());
    await page.getByRole("link", { name: "All runs" }).click();
    await page.getByRole("link", { name: "order-1182" }).click();
    await expect.poll(() => page.evaluate(() => location.hash)).toBe("#r2");
    await page.evaluate(() => {
      location.hash = "#r1";
    });
    await page.getByRole("heading", { name: "a.jsonl" }).waitFor();
    expect(errors).toEqual([]);
  });

  it("shows new lines without changing the selection or the scroll position", async () => {
    const lines = (await longLog(60)).split(/(?<=\n)/);
    const folder = makeFolder();
    const path = join(folder, "run.jsonl");
    writeFileSync(path, lines.slice(0, 120).join(""));
    const { page, errors, starts } = await openFolder(folder, "#r1/i5/tool/0");
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

    appendFileSync(path, lines.slice(120, 200).join(""));
    await expect.poll(async () => Number(await iterations.innerText())).toBeGreaterThan(before);
    // If a mark appears in an earlier entry, the height of that entry changes by a fraction of a pixel.
    await expect.poll(async () => Math.abs((await placeOf()) - place)).toBeLessThan(2);
    await expect.poll(() => page.evaluate(() => location.hash)).toBe("#r1/i5/tool/0");

    // The server ends the response for a file that became shorter.
    await page.context().setOffline(true);
    writeFileSync(path, "");
    await page.getByText("The server of this page does not answer.").waitFor();
    await page.getByText("Disconnected: the server has stopped.").waitFor();
    writeFileSync(path, lines.join(""));
    await page.context().setOffline(false);
    await page.getByText("Completed: the model answered.").first().waitFor();
    await expect.poll(() => iterations.innerText()).toBe("60");
    expect([starts.at(0), starts.at(-1)]).toEqual([0, Buffer.byteLength(lines.slice(0, 200).join(""))]);
    await expect.poll(async () => Math.abs((await placeOf()) - place)).toBeLessThan(2);
    await expect.poll(() => page.evaluate(() => location.hash)).toBe("#r1/i5/tool/0");
    expect(errors).toEqual([]);
  });

  it("starts again when another log replaces the file", async () => {
    const [folder, other] = [makeFolder(), makeFolder()];
    writeFileSync(join(folder, "run.jsonl"), await longLog(30));
    writeFileSync(join(other, "new.jsonl"), await longLog(40));
    const { page, errors, starts } = await openFolder(folder, "#r1");
    const iterations = page.locator(".figures div").filter({ hasText: "Iterations" }).locator("dd");
    await expect.poll(() => iterations.innerText()).toBe("30");
    renameSync(join(other, "new.jsonl"), join(folder, "run.jsonl"));
    await expect.poll(() => iterations.innerText()).toBe("40");
    expect([starts.at(0), starts.at(-1), starts.length, errors]).toEqual([0, 0, 3, []]);
  });
});
