import { expect } from "vitest";
import { type LoopEvent, type LoopOptions, type LoopResult, memoryJournal, type SavedJournal, streamToolLoop } from "turnwright";
import { createMockProvider, type MockScript, text } from "turnwright/testing";
import type { UIMessageChunk } from "turnwright/ui-message-stream";
import type { UIVersion } from "../../src/ui-message-stream/ui-message-chunk.ts";
import { checkPairs } from "./check-chunks.ts";
import { findProblems, type PageMessage, readMessage, vendors } from "./vendors.ts";

export interface Played {
  readonly events: readonly LoopEvent[];
  readonly result: LoopResult;
}

export async function play(options: Partial<LoopOptions> & { readonly script?: MockScript }): Promise<Played> {
  const { script = [text("Hi.")], ...more } = options;
  const stream = streamToolLoop({
    provider: createMockProvider(script),
    messages: [{ role: "user", content: "Go." }],
    runId: "r",
    ...more,
  });
  const events: LoopEvent[] = [];
  for await (const event of stream) events.push(event);
  return { events, result: await stream.result };
}

export const saved = ({ journal }: LoopResult): ReturnType<typeof memoryJournal> =>
  memoryJournal(JSON.parse(JSON.stringify(journal)) as SavedJournal);

function toLine({ type, ...fields }: UIMessageChunk): string {
  const values = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [type, ...values].join(" ");
}

export const lines = (chunks: readonly UIMessageChunk[]): string[] =>
  chunks.filter(({ type }) => type !== "data-cost").map((chunk) => toLine(chunk));

/** Checks chunks with the client of one version of `ai`. `message` is the message that the page shows already. */
export async function check(chunks: readonly UIMessageChunk[], version: UIVersion, message?: PageMessage): Promise<void> {
  const vendor = vendors.find((one) => one.version === version);
  if (vendor === undefined) throw new Error("There is no such vendor.");
  expect(await findProblems(vendor, chunks)).toEqual([]);
  checkPairs(chunks);
  await readMessage(vendor, chunks, message);
}

export const versions: readonly UIVersion[] = [5, 6, 7];
