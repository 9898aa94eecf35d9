// Opens traces in speedscope, with its own importer, in headless Chromium.

import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, extname } from "node:path";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { type RunLog, toChromeTrace } from "turnwright/inspect";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findChromium } from "../../find-chromium.ts";
import { clock, logRun, optionsFor } from "../log-run.ts";
import { parallelLog, place, start } from "./parallel-log.ts";
import { logOf } from "./trace-events.ts";

const types: { readonly [ending: string]: string } = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const release = new URL("dist/release/", import.meta.resolve("speedscope/package.json"));

let browser: Browser;
let context: BrowserContext;
let server: Server;
let said: string[];

beforeAll(async () => {
  // Chromium cannot start its sandbox as root, and most containers run as root.
  browser = await chromium.launch({ executablePath: findChromium() ?? "", args: ["--no-sandbox"] });
  server = createServer((request, response) => {
    const name = basename(request.url ?? "") || "index.html";
    readFile(new URL(name, release)).then(
      (content) => response.writeHead(200, { "content-type": types[extname(name)] ?? "application/octet-stream" }).end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(async () => {
  said = [];
  context = await browser.newContext({ viewport: { width: 1600, height: 1800 } });
  context.setDefaultTimeout(20_000);
  context.on("console", (message) => {
    const isAboutGraphics = message.text().startsWith("[.WebGL");
    if (message.text().startsWith("Importing")) said.push(message.text());
    else if (["warning", "error"].includes(message.type()) && !isAboutGraphics) said.push(message.text());
  });
  context.on("weberror", (error) => said.push(`error: ${String(error.error())}`));
});

afterEach(() => context.close());

const frameTable = (page: Page): Locator => page.locator("table", { hasText: "Symbol Name" });

async function openTrace(log: RunLog): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/#view=sandwich`);
  const file = { name: "run.trace.json", mimeType: "application/json", buffer: Buffer.from(toChromeTrace(log)) };
  await page.locator("#file").setInputFiles(file);
  await frameTable(page).waitFor();
  return page;
}

async function profilesOf(page: Page): Promise<readonly string[]> {
  const rows = await page.locator("table", { hasText: "Total Weight" }).locator("tbody tr").all();
  return Promise.all(rows.map(async (row) => (await row.locator("td").allTextContents()).slice(1).join(": ")));
}

/** Leaves out the arguments in the names of frames. */
async function framesOf(page: Page): Promise<readonly string[]> {
  const [, rows = ""] = (await page.locator("body").innerText()).split("Symbol Name");
  const frames = rows.matchAll(/(\S+ \(\S+%\))\s+\S+ \(\S+%\)\s+(.+)/g);
  return [...frames].map(([, total, name]) => `${total} ${name?.replace(/ \{".*$/, "")}`).toSorted();
}

const imported = ["Importing as Trace Event Format profile"];

describe("speedscope with a trace from toChromeTrace", () => {
  it("shows a profile for each lane, and a frame for each event", async () => {
    const page = await openTrace(parallelLog());
    await expect
      .poll(() => profilesOf(page))
      .toEqual([
        "run r (pid 1), main (tid 1): 100.00ms",
        "run r (pid 1), parallel 1 (tid 2): 50.00ms",
        "run r (pid 1), parallel 2 (tid 3): 39.00ms",
      ]);
    await expect
      .poll(() => framesOf(page))
      .toEqual([
        "1.00ms (1.0%) wait for other calls",
        "100.00ms (100%) run",
        "18.00ms (18%) tool_a",
        "19.00ms (19%) tool_c",
        "2.00ms (2.0%) wait for other calls",
        "25.00ms (25%) stream m",
        "93.00ms (93%) iteration 0",
      ]);
    await page.keyboard.press("n");
    await page.getByText("(2/3)").waitFor();
    await expect
      .poll(() => framesOf(page))
      .toEqual([
        "25.00ms (50%) iteration 0",
        "27.00ms (54%) nested run",
        "3.00ms (6.0%) wait for other calls",
        "47.00ms (94%) tool_b",
      ]);
    expect(said).toEqual(imported);
  });

  it("shows events without a duration at the edges of other events", async () => {
    const provider = createMockProvider([
      [toolCall("look_up", {}), toolCall("look_up", {})],
      toolCall("look_up", {}),
      text("Done."),
    ]);
    const { log } = await logRun(optionsFor(0, { provider }), { clock });
    const page = await openTrace(log);
    const namesOf = async (): Promise<readonly string[]> =>
      (await framesOf(page)).map((frame) => frame.replace(/^\S+ \(\S+\) /, ""));
    await expect
      .poll(namesOf)
      .toEqual([
        "iteration 2",
        "look_up",
        "look_up",
        "look_up",
        "stream mock-model",
        "stream mock-model",
        "stream mock-model",
        "iteration 1",
        "iteration 0",
        "run",
      ]);
    expect(said).toEqual(imported);
  });

  it("shows a tool as a tool even if it has the name of a profile event", async () => {
    const named = { iteration: 0, callId: "a", name: "CpuProfile", index: 0 };
    const log = logOf([
      { at: 0, ...start },
      { at: 0, type: "iteration-start", ...place },
      { at: 5, type: "tool-start", ...named, args: {} },
      { at: 9, type: "tool-end", ...named, outcome: "completed", result: 1 },
    ]);
    const page = await openTrace(log);
    await expect.poll(() => framesOf(page)).toContain("4.00ms (44%) CpuProfile");
    expect(said).toEqual(imported);
  });
});
