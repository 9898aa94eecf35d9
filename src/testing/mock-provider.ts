// A provider without a model: plays scripted messages and records its requests.

import {
  assertNever,
  memoize,
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  parseToolArguments,
  type Provider,
  type Usage,
} from "../core/entry-kit.ts";
import { checkScript, checkMockMessage, type MockCall, type MockPart, type MockMessage } from "./mock-parts.ts";
import { untilAborted } from "./until-aborted.ts";

/** Estimates one iteration at four characters a token, of what was sent and of what was scripted. */
function estimateUsage(request: ModelRequest, parts: readonly MockPart[]): Usage {
  const inputTokens = Math.ceil(
    (sum(request.messages, lengthOf) + sum(request.tools, lengthOf) + (request.system ?? "").length) / 4,
  );
  const outputTokens = Math.ceil(sum(parts, spokenLengthOf) / 4);
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** A long run measures each message and each definition once. */
const lengthOf = memoize((item: object) => JSON.stringify(item).length);

function spokenLengthOf(part: MockPart): number {
  if (part.kind === "call") return part.name.length + part.argsText.length;
  return part.kind === "chunks" ? sum(part.chunks, textLengthOf) : 0;
}

function textLengthOf(chunk: ModelChunk): number {
  return "text" in chunk ? chunk.text.length : 0;
}

function sum<T>(items: readonly T[], measure: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += measure(item);
  return total;
}

/** The messages in order, or a function that makes the message for a request; `index` counts requests from 0. */
export type MockScript = readonly MockMessage[] | ((request: ModelRequest, index: number) => MockMessage | undefined);

/** How a mock provider presents itself, and what it keeps. */
export interface MockOptions {
  /** Default "mock". */
  readonly id?: string | undefined;
  /** Default "mock-model". */
  readonly model?: string | undefined;
  /** Default none. */
  readonly family?: string | undefined;
  /** Whether messages without a usage of their own report an estimate. Default true. */
  readonly usage?: boolean | undefined;
  /** Whether requests are kept. Message it off for runs of thousands of iterations, each of which would keep a copy of its history. Default true. */
  readonly record?: boolean | undefined;
}

/** A scripted provider, and what it has seen. */
export interface MockProvider extends Provider {
  /** Every request in order, each as it was when it came; later changes of the transcript do not show. */
  readonly requests: readonly ModelRequest[];
  /** How many requests came. */
  readonly calls: number;
  /** How many streams are being read right now: 0 after a run that left none behind. */
  readonly active: number;
}

/**
 * Makes a provider that plays `messages`, one for each request.
 *
 * A message that says nothing of its end finishes with "tool-calls" where it has a tool call, else with "stop"; before the finish
 * comes an estimate of its tokens. A request beyond the last message throws an Error that names its index. The signal of the call
 * is looked at in `wait` and `stall` only.
 *
 * An array starts at message 0 in each provider that is made of it, also for a run that is resumed in a new process. Script such runs with a
 * function of the request. Throws a TypeError at once for a script that cannot be played.
 *
 * @example
 * const provider = createMockProvider([toolCall("get_weather", { city: "Oslo" }), [reasoning("Cold."), text("Take a coat.")]]);
 * const result = await runToolLoop({ provider, tools: [weather], messages });
 * expect(provider.requests[1]?.messages.at(-1)?.role).toBe("tool");
 *
 * @example
 * const endless = createMockProvider((_request, index) => toolCall("search", { page: index }));
 */
export function createMockProvider(messages: MockScript, options: MockOptions = {}): MockProvider {
  checkScript(messages, options);
  const { id = "mock", model = "mock-model", family, usage = true, record = true } = options;
  const requests: ModelRequest[] = [];
  let calls = 0;
  let active = 0;

  async function* play(parts: readonly MockPart[], call: ModelCall): AsyncGenerator<ModelChunk, void, undefined> {
    active += 1;
    try {
      let called = 0;
      for (const part of parts) {
        if (part.kind === "end-early") return;
        if (part.kind === "chunks") yield* part.chunks;
        else if (part.kind === "call") yield* chunksOfCall(part, `call-${called++}`);
        else await undergo(part, call);
      }
    } finally {
      active -= 1;
    }
  }

  return {
    id,
    model,
    family,
    requests,
    get calls() {
      return calls;
    },
    get active() {
      return active;
    },
    stream(request, call) {
      const index = calls;
      calls += 1;
      if (record) requests.push(Object.freeze(copyOf(request)));
      const parts = partsOf(messages, request, index);
      return play(endMessage(parts, usage ? request : undefined), call);
    },
  };
}

/** Lists are live views of what changes later. */
function copyOf(request: ModelRequest): ModelRequest {
  const { messages, tools, transcript } = request;
  const copy = { ...request, messages: [...messages], tools: [...tools] };
  return transcript === undefined ? copy : { ...copy, transcript: { ...transcript, messages: [...transcript.messages] } };
}

function partsOf(messages: MockScript, request: ModelRequest, index: number): readonly MockPart[] {
  const message = typeof messages === "function" ? messages(request, index) : messages[index];
  if (message !== undefined) {
    checkMockMessage(message, index);
    return "kind" in message ? [message] : message;
  }
  const scripted = typeof messages === "function" ? "the script has none for it" : `the script has ${messages.length}`;
  throw new Error(`The mock provider was asked for message ${index} (counted from 0), but ${scripted}.`);
}

/** Adds the finish and the tokens that the script leaves to the mock. Tokens come before the first finish. */
function endMessage(parts: readonly MockPart[], request: ModelRequest | undefined): readonly MockPart[] {
  const says =
    (type: ModelChunk["type"]) =>
    (part: MockPart): boolean =>
      part.kind === "chunks" && part.chunks.some((chunk) => chunk.type === type);
  const cut = (part: MockPart): boolean => part.kind === "end-early" || part.kind === "fail";
  const finishAt = parts.findIndex(says("finish"));
  if (finishAt === -1 && parts.some((part) => cut(part) || says("error")(part))) return parts;
  const ending: MockPart[] = [];
  if (request !== undefined && !parts.some(says("usage"))) {
    ending.push({ kind: "chunks", chunks: [{ type: "usage", usage: estimateUsage(request, parts), mode: "snapshot" }] });
  }
  if (finishAt !== -1) return [...parts.slice(0, finishAt), ...ending, ...parts.slice(finishAt)];
  const called = parts.some((part) => part.kind === "call" || says("call-ready")(part));
  return [...parts, ...ending, { kind: "chunks", chunks: [{ type: "finish", reason: called ? "tool-calls" : "stop" }] }];
}

function chunksOfCall(call: MockCall, key: string): readonly ModelChunk[] {
  const { name, id, argsText, fragments } = call;
  const ready: ModelChunk = { type: "call-ready", key, id, name, argsText, args: argsText, ...parseToolArguments(argsText) };
  if (fragments.length === 0) return [ready];
  const deltas = fragments.map((text): ModelChunk => ({ type: "call-args-delta", key, text }));
  return [{ type: "call-start", key, id, name }, ...deltas, ready];
}

/** Lets happen what is not a chunk. */
function undergo(part: Exclude<MockPart, { kind: "chunks" | "call" | "end-early" }>, call: ModelCall): Promise<void> | void {
  switch (part.kind) {
    case "wait":
      return untilAborted(call.signal, (done) => {
        const timer = call.clock.setTimeout(done, part.ms);
        return () => call.clock.clearTimeout(timer);
      });
    case "stall":
      if (part.ignoreSignal) return new Promise<void>(() => {});
      return untilAborted(call.signal, () => () => {});
    case "heartbeat":
      return call.heartbeat();
    case "fail":
      throw part.error;
    default:
      return assertNever(part);
  }
}
