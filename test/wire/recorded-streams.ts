// Reads streams that were recorded from real providers. The recordings are outside of the repository, and may be missing.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Json, Provider } from "../../src/core/index.ts";
import { ask, type Iteration, runIteration } from "./provider-iteration.ts";
import { startRawServer } from "./raw-sse-server.ts";

const root = new URL("../../../shared/fixtures/recorded/", import.meta.url);

export function hasRecorded(wire: string): boolean {
  return existsSync(fileURLToPath(new URL(`${wire}/`, root)));
}

export function listRecorded(wire: string): readonly string[] {
  if (!hasRecorded(wire)) return [];
  return readdirSync(fileURLToPath(new URL(`${wire}/`, root))).map((file) => file.replace(/\.chunks\.txt$/, ""));
}

export function readRecorded(wire: string, name: string): readonly string[] {
  const text = readFileSync(fileURLToPath(new URL(`${wire}/${name}.chunks.txt`, root)), "utf8");
  return text.split("\n").filter((line) => line.trim() !== "");
}

/**
 * Selects the piece sizes with which to test a recorded stream: all sizes for the first stream, and one size for each other
 * stream. Only the parser of the SDK sees the pieces, so a few combinations are enough.
 *
 * @param index the index of the stream
 * @param shift an offset, so that other tests use other sizes. Default 0
 */
export function pieceSizesOf(index: number, sizes: readonly number[], shift = 0): readonly number[] {
  return index === 0 ? sizes : sizes.filter((_, at) => at === (index + shift) % sizes.length);
}

const failing = new URL("../../../shared/fixtures/recorded-failing/", import.meta.url);

/** Returns the bodies of recorded streams with unusual formats, by name. The map is empty if the recordings are missing. */
export function readOdd(wire: string): ReadonlyMap<string, string> {
  const folder = fileURLToPath(new URL(`${wire}/`, failing));
  if (!existsSync(folder)) return new Map();
  return new Map(readdirSync(folder).map((file) => [file.replace(/\.sse$/, ""), readFileSync(`${folder}${file}`, "utf8")]));
}

export async function readBody(
  body: string,
  connect: (url: string) => Provider,
): Promise<{ readonly iteration: Iteration; readonly providerMetadata: readonly Json[] }> {
  const server = await startRawServer([{ frames: [body] }]);
  onTestFinished(() => server.close());
  const providerMetadata: Json[] = [];
  const iteration = await runIteration(connect(server.url), ask("hi"), {
    onChunk: (chunk) => {
      if (chunk.type === "provider-metadata") providerMetadata.push(chunk.item);
    },
  });
  return { iteration, providerMetadata };
}
