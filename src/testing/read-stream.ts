// Reads what a provider streams, for checks that look at the whole of it.

import { addUsage, type Json, type ModelChunk, toPlainError, type Usage } from "../core/entry-kit.ts";
import { check } from "./suite-check.ts";

/** A finished call, and its arguments as they streamed. */
export interface CallReading {
  readonly key: string;
  readonly id: string | undefined;
  readonly name: string;
  readonly args: unknown;
  readonly problem: string | undefined;
  /** All argument deltas of its key; empty where there were none. */
  readonly streamedArgs: string;
}

/** What a stream gave. */
export interface Reading {
  readonly chunks: readonly ModelChunk[];
  /** What it threw, or reported as an error chunk. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/** Reads a stream to its end. What it throws is part of the reading. */
export async function readStream(open: () => AsyncIterable<ModelChunk>): Promise<Reading> {
  const chunks: ModelChunk[] = [];
  try {
    for await (const chunk of open()) chunks.push(chunk);
  } catch (error) {
    return { chunks, failure: { error } };
  }
  const reported = chunksOf(chunks, "error")[0];
  return { chunks, failure: reported === undefined ? undefined : { error: reported.error } };
}

/** The chunks of one type, in order. */
export function chunksOf<Type extends ModelChunk["type"]>(
  chunks: readonly ModelChunk[],
  type: Type,
): Extract<ModelChunk, { type: Type }>[] {
  return chunks.filter((chunk): chunk is Extract<ModelChunk, { type: Type }> => chunk.type === type);
}

/** All text of a reading. */
export function textOf({ chunks }: Reading): string {
  return chunksOf(chunks, "text-delta")
    .map((chunk) => chunk.text)
    .join("");
}

/** All finished calls of a reading, in order. */
export function callsOf({ chunks }: Reading): CallReading[] {
  const deltas = chunksOf(chunks, "call-args-delta");
  return chunksOf(chunks, "call-ready").map(({ key, id, name, args, problem }) => {
    const streamedArgs = deltas
      .filter((delta) => delta.key === key)
      .map((delta) => delta.text)
      .join("");
    return { key, id, name, args, problem, streamedArgs };
  });
}

/** All provider metadata of a reading, in order. */
export function metadataOf({ chunks }: Reading): Json[] {
  return chunksOf(chunks, "provider-metadata").map((chunk) => chunk.item);
}

/** The tokens that a reading adds up to, or undefined where none were reported. */
export function usageOf({ chunks }: Reading): Usage | undefined {
  let total: Usage | undefined;
  for (const { usage, mode } of chunksOf(chunks, "usage"))
    total = mode === "snapshot" || total === undefined ? usage : addUsage(total, usage);
  return total;
}

/** Throws unless the stream ended well, with exactly one finish as its last chunk; returns the reason of the finish. */
export function checkFinished(reading: Reading): string {
  const { chunks, failure } = reading;
  check(failure === undefined, `The stream failed: ${toPlainError(failure?.error).message}`);
  const finishes = chunksOf(chunks, "finish");
  check(finishes.length === 1, `The stream must have exactly one "finish" chunk, but has ${finishes.length}.`);
  const last = chunks.at(-1);
  check(last?.type === "finish", `The stream must end with its "finish" chunk, but ends with "${last?.type}".`);
  return last.reason;
}
