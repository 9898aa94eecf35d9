// Draws the pictures of docs/guides/inspect-a-run.md, from sample logs in headless Chromium. Run this script with `npm run
// page:pictures`.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Page } from "playwright-core";
import { renderRunPage } from "turnwright/inspect";
import { findChromium } from "../test/find-chromium.ts";
import { ordinaryLog, suspendedLog } from "../test/inspect/page/sample-logs.ts";

interface Picture {
  readonly file: string;
  readonly makeLog: () => Promise<string>;
  readonly size: { readonly width: number; readonly height: number };
  readonly prepare: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  {
    file: "docs/guides/run-page.png",
    makeLog: ordinaryLog,
    size: { width: 1200, height: 640 },
    prepare: (page) => page.getByText("Iteration 0").first().waitFor(),
  },
  {
    file: "docs/guides/run-page-narrow.png",
    makeLog: () => suspendedLog(2),
    size: { width: 400, height: 640 },
    prepare: (page) => page.getByText("Timeline").first().waitFor(),
  },
];

const folder = mkdtempSync(join(tmpdir(), "run-page-"));
const browser = await chromium.launch({ executablePath: findChromium() ?? "", args: ["--no-sandbox"] });
try {
  for (const { file, makeLog, size, prepare } of pictures) {
    const path = join(folder, "run.html");
    writeFileSync(path, await renderRunPage({ name: "run.jsonl", text: await makeLog() }));
    const page = await browser.newPage({ viewport: size });
    await page.goto(pathToFileURL(path).href);
    await prepare(page);
    await page.screenshot({ path: file });
    await page.close();
    console.log(file);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
