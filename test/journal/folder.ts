// Temporary folders, and the records of journal files in them.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Makes a folder that is removed with the test. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** One whole line of a journal file. */
export interface LineRecord {
  readonly key: string;
  readonly kind: string;
  readonly answer: unknown;
}

/** The records of a file whose lines are whole. */
export function readRecords(path: string): readonly LineRecord[] {
  const [, ...lines] = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as LineRecord);
}
