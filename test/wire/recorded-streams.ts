// Streams that real providers sent, where a checkout has them beside the project.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../../../shared/fixtures/recorded/", import.meta.url);

/** Whether the recorded streams of a wire are there. */
export function hasRecorded(wire: string): boolean {
  return existsSync(fileURLToPath(new URL(`${wire}/`, root)));
}

/** The JSON texts of one recorded stream, one for each event. */
export function readRecorded(wire: string, name: string): readonly string[] {
  const text = readFileSync(fileURLToPath(new URL(`${wire}/${name}.chunks.txt`, root)), "utf8");
  return text.split("\n").filter((line) => line.trim() !== "");
}
