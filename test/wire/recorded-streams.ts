// Streams that were recorded from real providers. They are stored outside the repository and may be absent from a checkout.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Json, Provider } from "../../src/core/provider-kit.ts";
import { ask, type Iteration, runIteration } from "./provider-iteration.ts";
import { startRawServer } from "./raw-sse-server.ts";

const root = new URL("../../../shared/fixtures/recorded/", import.meta.url);

/** Returns true if recorded streams of an API are present. */
export function hasRecorded(wire: string): boolean {
  return existsSync(fileURLToPath(new URL(`${wire}/`, root)));
}

/** Returns the names of the recorded streams of an API. The list is empty if they are absent. */
export function listRecorded(wire: string): readonly string[] {
  if (!hasRecorded(wire)) return [];
  return readdirSync(fileURLToPath(new URL(`${wire}/`, root))).map((file) => file.replace(/\.chunks\.txt$/, ""));
}

/** Returns the JSON texts of one recorded stream, one for each event. */
export function readRecorded(wire: string, name: string): readonly string[] {
  const text = readFileSync(fileURLToPath(new URL(`${wire}/${name}.chunks.txt`, root)), "utf8");
  return text.split("\n").filter((line) => line.trim() !== "");
}

/**
 * Returns the sizes of pieces to cut a recorded stream into: all of them for the first stream of a wire, one for each other stream. The
 * parser of the SDK is all that sees the cuts.
 *
 * @param index the position of the stream
 * @param shift moves the choice. Default 0
 */
export function pieceSizesOf(index: number, sizes: readonly number[], shift = 0): readonly number[] {
  return index === 0 ? sizes : sizes.filter((_, at) => at === (index + shift) % sizes.length);
}

const failing = new URL("../../../shared/fixtures/recorded-failing/", import.meta.url);

/**
 * Returns the bodies of recorded streams from servers with unusual formats, by name. The map is empty if the streams are
 * absent.
 */
export function readOdd(wire: string): ReadonlyMap<string, string> {
  const folder = fileURLToPath(new URL(`${wire}/`, failing));
  if (!existsSync(folder)) return new Map();
  return new Map(readdirSync(folder).map((file) => [file.replace(/\.sse$/, ""), readFileSync(`${folder}${file}`, "utf8")]));
}

/** Reads a body through a provider. Returns the iteration, and the provider metadata that is sent back. */
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
