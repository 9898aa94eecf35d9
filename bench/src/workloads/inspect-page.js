// Measures a page with a log of 50 MB in headless Chromium: the time until it is complete, and the slowest frame of scrolling.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { callingModel } from "../scripts.js";
import { defineTool, dist, runToolLoop } from "../turnwright.js";

const iterations = 2_000;
const resultLength = 25_000;
const rounds = 5;

async function makeLog() {
  /** @type {typeof import("../../../src/inspect/index.ts")} */
  const { runLog } = await import(new URL("inspect.js", dist).href);
  /** @type {string[]} */
  const lines = [];
  let calls = 0;
  const tool = defineTool({
    name: "forecast",
    description: "Returns the weather",
    inputSchema: { type: "object" },
    execute: () => {
      calls += 1;
      const line = `${calls}: wind from the south-west, later turning to the west, with showers\n`;
      return line.repeat(resultLength / line.length);
    },
  });
  const stream = callingModel(iterations);
  const provider = {
    id: "bench",
    model: "bench",
    stream: (/** @type {{ iteration: number }} */ request) => stream(request.iteration),
  };
  const limits = { maxIterations: iterations + 1, maxTokens: Infinity };
  const options = { provider, tools: [tool], messages: [{ role: /** @type {const} */ ("user"), content: "Go." }], limits };
  await runToolLoop({
    ...options,
    middleware: [runLog({ to: { write: (line) => void lines.push(line) } })],
  });
  return lines.join("");
}

/**
 * Scrolls an element in 120 steps, and returns the longest time between two frames in milliseconds.
 *
 * @param {{ selector: string, step: number }} scrolling
 */
async function scroll({ selector, step }) {
  const element = document.querySelector(selector);
  let longest = 0;
  let last = performance.now();
  for (let frame = 0; frame < 120; frame++) {
    element?.scrollBy(0, step);
    await new Promise((resolve) => requestAnimationFrame(resolve));
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }
  return longest;
}

/** @param {readonly number[]} values */
const medianOf = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  /** @type {typeof import("../../../src/inspect/index.ts")} */
  const { renderRunPage } = await import(new URL("inspect.js", dist).href);
  const text = await makeLog();
  const folder = mkdtempSync(join(tmpdir(), "bench-page-"));
  const file = join(folder, "run.html");
  writeFileSync(file, await renderRunPage({ name: "run.jsonl", text }));
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  /** @type {number[]} */
  const opened = [];
  /** @type {number[]} */
  const frames = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
      const startedAt = performance.now();
      await page.goto(pathToFileURL(file).href, { waitUntil: "commit" });
      await page.locator(".row").first().waitFor();
      await page.locator("article").first().waitFor();
      opened.push(performance.now() - startedAt);
      const slow = await page.evaluate(scroll, { selector: ".transcript", step: 700 });
      const fast = await page.evaluate(scroll, { selector: ".rows", step: 700 });
      frames.push(Math.max(slow, fast));
      await page.close();
    }
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const size = `${Math.round(text.length / 1e6)} MB, ${iterations.toLocaleString("en")} iterations`;
  return [
    {
      workload: `page of a log of ${size}: complete, wall`,
      unit: "ms",
      turnwright: medianOf(opened),
      target: { of: "turnwright", atMost: 2_000 },
    },
    {
      workload: "slowest frame while this page scrolls, wall",
      unit: "ms",
      turnwright: medianOf(frames),
      target: { of: "turnwright", atMost: 200 },
    },
  ];
}
