import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface LineRecord {
  readonly key: string;
  readonly kind: string;
  readonly answer: unknown;
}

export function readRecords(path: string): readonly LineRecord[] {
  const [, ...lines] = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as LineRecord);
}
