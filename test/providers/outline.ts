// Reads a stream chunk by chunk, and formats each chunk as a line.

import { type ModelCall, type ModelChunk, type ModelRequest, type Provider, type Timeouts, toProviderError } from "turnwright";
import { createTestClock, type TestClock } from "turnwright/testing";

export interface Outlining {
  readonly clock: TestClock;
  readonly abort: AbortController;
  /** One line for each chunk. If the stream has ended, the last line says how. */
  readonly lines: string[];
  readonly beats: number[];
  readonly ended: Promise<void>;
}

export interface OutlineOptions {
  readonly timeouts?: Partial<Timeouts>;
  readonly request?: Partial<ModelRequest>;
}

/** Creates the second argument of `stream`. Fields that are not in `more` get defaults. */
export function callOf(more: Partial<ModelCall> = {}): ModelCall {
  const timeouts = { streamIdleMs: 1_000, firstChunkMs: 2_000, toolCleanupMs: 100, toolMs: 1, approvalMs: 1, callbackMs: 1 };
  const signal = new AbortController().signal;
  return { signal, heartbeat: () => {}, iteration: 0, clock: createTestClock(), timeouts, ...more };
}

export const goRequest: ModelRequest = { messages: [{ role: "user", content: "Go." }], tools: [], iteration: 0 };

export function outline(provider: Provider, { timeouts, request }: OutlineOptions = {}): Outlining {
  const clock = createTestClock();
  const abort = new AbortController();
  const lines: string[] = [];
  const beats: number[] = [];
  const plain = callOf();
  const call: ModelCall = {
    ...plain,
    signal: abort.signal,
    heartbeat: () => void beats.push(clock.now()),
    clock,
    timeouts: { ...plain.timeouts, ...timeouts },
  };
  const read = async (): Promise<void> => {
    try {
      for await (const chunk of provider.stream({ ...goRequest, ...request }, call)) lines.push(lineOf(chunk));
      lines.push("end");
    } catch (error) {
      lines.push(error === abort.signal.reason ? "aborted" : `throws ${toProviderError(error).code}`);
    }
  };
  return { clock, abort, lines, beats, ended: read() };
}

export async function outlineAll(provider: Provider, options: OutlineOptions = {}): Promise<readonly string[]> {
  const { clock, lines, ended } = outline(provider, options);
  await clock.runAll();
  await ended;
  return lines;
}

type Lines = { readonly [Type in ModelChunk["type"]]?: (chunk: Extract<ModelChunk, { type: Type }>) => string };

/** The lines for chunks, by their type. Chunks of other types are shown without their fields. */
const lines: Lines = {
  "attempt-start": ({ attempt, provider, model, family }) =>
    `start ${attempt} ${[provider, model, family].filter(Boolean).join("/")}`,
  "attempt-discarded": ({ attempt, error }) => `discard ${attempt} ${error.code}`,
  "text-delta": ({ text }) => `text ${text}`,
  "call-ready": ({ name }) => `call ${name}`,
  usage: ({ usage }) => `usage ${usage.totalTokens}`,
  finish: ({ reason, token }) => `finish ${reason}${token === undefined ? "" : ` ${token}`}`,
  error: ({ error }) => `error ${error.code}: ${error.message}`,
};

function lineOf(chunk: ModelChunk): string {
  const say = lines[chunk.type] as ((chunk: ModelChunk) => string) | undefined;
  return say?.(chunk) ?? chunk.type;
}
