import { systemClock } from "../../src/shared/signals.ts";
import {
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  type Provider,
  type ProviderError,
  toProviderError,
  type Usage,
} from "../../src/core/index.ts";

const timeouts = {
  streamIdleMs: Infinity,
  firstChunkMs: Infinity,
  toolMs: Infinity,
  toolCleanupMs: 0,
  approvalMs: Infinity,
  callbackMs: Infinity,
};

export function createCall(signal: AbortSignal = new AbortController().signal): ModelCall {
  return { signal, heartbeat: () => undefined, iteration: 0, clock: systemClock, timeouts };
}

export function ask(question: string, rest: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [{ role: "user", content: question }], tools: [], iteration: 0, ...rest };
}

export interface IterationCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly args: unknown;
  readonly problem?: "malformed" | "truncated" | undefined;
}

export interface Iteration {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly IterationCall[];
  readonly usage: Usage | undefined;
  readonly finish: string | undefined;
  /** The error that the stream threw or yielded, after `toProviderError`. */
  readonly error: ProviderError | undefined;
}

export interface IterationPorts {
  readonly signal?: AbortSignal;
  readonly onChunk?: (chunk: ModelChunk) => void;
  readonly clock?: ModelCall["clock"];
}

export async function runIteration(
  provider: Provider,
  request: ModelRequest,
  { signal, onChunk, clock = systemClock }: IterationPorts = {},
): Promise<Iteration> {
  const chunks: ModelChunk[] = [];
  let error: ProviderError | undefined;
  try {
    for await (const chunk of provider.stream(request, { ...createCall(signal), clock })) {
      chunks.push(chunk);
      onChunk?.(chunk);
    }
  } catch (thrown) {
    error = toProviderError(thrown);
  }
  return { ...summarize(chunks), error: error ?? errorIn(chunks) };
}

function summarize(chunks: readonly ModelChunk[]): Omit<Iteration, "error"> {
  const textOf = (type: ModelChunk["type"]): string =>
    chunks.map((chunk) => (chunk.type === type && "text" in chunk ? chunk.text : "")).join("");
  let usage: Usage | undefined;
  let finish: string | undefined;
  const calls: IterationCall[] = [];
  for (const chunk of chunks) {
    if (chunk.type === "usage") usage = chunk.usage;
    if (chunk.type === "finish") finish = chunk.reason;
    if (chunk.type === "call-ready")
      calls.push({
        id: chunk.id,
        name: chunk.name,
        args: chunk.args,
        ...(chunk.problem === undefined ? {} : { problem: chunk.problem }),
      });
  }
  return {
    text: textOf("text-delta"),
    reasoning: textOf("reasoning-delta"),
    refusal: textOf("refusal-delta"),
    calls,
    usage,
    finish,
  };
}

function errorIn(chunks: readonly ModelChunk[]): ProviderError | undefined {
  for (const chunk of chunks) if (chunk.type === "error") return chunk.error;
  return undefined;
}
