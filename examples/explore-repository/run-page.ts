// Keeps a log of the run, and makes the page that shows it.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LoopResult } from "turnwright";
import { parseRunLog, renderRunPage } from "turnwright/inspect";

export interface RunPage {
  readonly log: string;
  /** Writes the page, and returns its address. */
  write(): Promise<URL>;
  /** Throws an AssertionError if the page does not have the whole run. */
  check(result: LoopResult): Promise<void>;
  remove(): Promise<void>;
}

/** Only the user can read the folder, because the log contains the whole conversation. */
export async function createRunPage(): Promise<RunPage> {
  const folder = await mkdtemp(join(tmpdir(), "turnwright-demo-"));
  const log = join(folder, "run.jsonl");
  const page = join(folder, "run.html");
  return {
    log,
    async write() {
      await writeFile(page, await renderRunPage({ name: "run.jsonl", text: await readFile(log, "utf8") }), { mode: 0o600 });
      return pathToFileURL(page);
    },
    async check({ status, iterations }) {
      const text = await readFile(log, "utf8");
      const [run] = parseRunLog(text).runs;
      assert.equal(run?.status, status);
      assert.equal(run.iterations.length, iterations);
      assert((await readFile(page, "utf8")).includes(text.replaceAll("<", "\\u003c")), "The page does not have the log.");
    },
    remove: () => rm(folder, { recursive: true }),
  };
}
