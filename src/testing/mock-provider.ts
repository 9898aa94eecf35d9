import { assertNever } from "../shared/guards.ts";
import { memoize } from "../core/kit.ts";
import {
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  parseToolArguments,
  type Provider,
  type Usage,
} from "../core/index.ts";
import { checkScript, checkMockMessage, type MockCall, type MockPart, type MockMessage } from "./mock-parts.ts";
import { reportRequest, sleep, untilFired } from "./scripted-stream.ts";

/** Estimates the usage of one iteration at four characters per token. */
function estimateUsage(request: ModelRequest, parts: readonly MockPart[]): Usage {
  const inputTokens = Math.ceil(
    (sum(request.messages, lengthOf) + sum(request.tools, lengthOf) + (request.system ?? "").length) / 4,
  );
  const outputTokens = Math.ceil(sum(parts, spokenLengthOf) / 4);
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** Returns an object's length as JSON. Memoized, because a long run sends the same messages and tool definitions in every request. */
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

/** The scripted messages in order, or a function that returns the message for a request. `index` is the 0-based request number. */
export type MockScript = readonly MockMessage[] | ((request: ModelRequest, index: number) => MockMessage | undefined);

/** The options for `createMockProvider`. */
export interface MockOptions {
  /** The provider's id. Default "mock". */
  readonly id?: string | undefined;
  /** The model's name. Default "mock-model". */
  readonly model?: string | undefined;
  /** The provider's API family. Default: none. */
  readonly family?: string | undefined;
  /** True if requests may have `compactAt`, as for a service that writes summaries itself. Default false. */
  readonly compacts?: boolean | undefined;
  /** Set to false so that a message without a usage part reports no usage. Default true: such a message reports estimated usage. */
  readonly usage?: boolean | undefined;
  /**
   * Set to false to record no requests, for example in runs with thousands of iterations, because each recorded request keeps a copy of its
   * messages. Default true.
   */
  readonly record?: boolean | undefined;
}

/** A scripted provider, with its recorded requests. */
export interface MockProvider extends Provider {
  /** Copies of all requests in order. Later changes to the transcript do not affect the copies. */
  readonly requests: readonly ModelRequest[];
  /** The number of requests so far. */
  readonly calls: number;
  /** The number of open streams. It is 0 after a run that closed all its streams. */
  readonly active: number;
}

/**
 * Creates a provider that plays `messages`, one message for each request.
 *
 * A message without a finish ends with "tool-calls" if it has a tool call, otherwise with "stop". Before the finish, the message
 * reports estimated usage. A request after the last message throws an Error with the request's index. The call's signal only
 * affects `wait` and `stall`.
 *
 * A new provider starts at the first message, even in a process that resumes a run. To script resumed runs, pass a function that
 * chooses the message from the request. Throws a TypeError for an invalid script.
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
  const { id = "mock", model = "mock-model", family, compacts, usage = true, record = true } = options;
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
    compacts,
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
      reportRequest(request, call, { id, model });
      return play(endMessage(parts, usage ? request : undefined), call);
    },
  };
}

/** Copies a request, because the loop later changes its lists. */
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
  const scripted =
    typeof messages === "function" ? "the script function returned none" : `the script has only ${messages.length}`;
  throw new Error(`The mock provider was asked for message ${index} (counted from 0), but ${scripted}.`);
}

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

function undergo(part: Exclude<MockPart, { kind: "chunks" | "call" | "end-early" }>, call: ModelCall): Promise<void> | void {
  switch (part.kind) {
    case "wait":
      return sleep(call, part.ms);
    case "stall":
      if (part.ignoreSignal) return new Promise<void>(() => {});
      return untilFired(call.signal);
    case "heartbeat":
      return call.heartbeat();
    case "fail":
      throw part.error;
    default:
      return assertNever(part);
  }
}
