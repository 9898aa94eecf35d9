import { checkFields, is, isRecord } from "../core/kit.ts";
import { describeValue } from "../shared/texts.ts";
import type { FinishReason, Json, ModelChunk, ProviderError, Usage } from "../core/index.ts";

function checkWord(value: unknown, maker: string, { what, example }: { readonly what: string; readonly example: string }): void {
  if (typeof value === "string") return;
  throw new TypeError(
    `The first argument of ${maker}() is ${describeValue(value)}, but must be ${what}, as a string. Write ${example}.`,
  );
}

const kinds: { readonly [Kind in MockPart["kind"]]: true } = {
  chunks: true,
  call: true,
  wait: true,
  stall: true,
  heartbeat: true,
  fail: true,
  "end-early": true,
};

const optionChecks = { id: is.text, model: is.text, family: is.text, compacts: is.flag, usage: is.flag, record: is.flag };

const makers = 'Make parts with text("..."), toolCall(name, args) and the other functions from "turnwright/testing"';

export function checkScript(script: unknown, options: object): void {
  const isSeveral = isPart(options) || Array.isArray(options);
  if (isSeveral || (typeof script !== "function" && !Array.isArray(script))) {
    const got = isSeveral ? "a message as the second argument" : isPart(script) ? "a single part" : describeValue(script);
    throw new TypeError(
      `createMockProvider() expects an array of messages or a function (request, index) => message, but got ${got}. Write createMockProvider([text("Hello.")]).`,
    );
  }
  checkFields("options", options, optionChecks);
  if (Array.isArray(script)) for (const [index, message] of script.entries()) checkMockMessage(message, index);
}

export function checkMockMessage(message: unknown, index: number): asserts message is MockMessage {
  const parts: readonly unknown[] = Array.isArray(message) ? message : [message];
  for (const [place, part] of parts.entries()) {
    if (isPart(part)) continue;
    const where = Array.isArray(message) ? `part ${place} of message ${index}` : `message ${index}`;
    throw new TypeError(`The mock provider's script is invalid: ${where} ${describeMisuse(part)}.`);
  }
}

function isPart(value: unknown): boolean {
  return isRecord(value) && typeof value["kind"] === "string" && Object.hasOwn(kinds, value["kind"]);
}

function describeMisuse(part: unknown): string {
  if (typeof part === "string") return 'is a string. Write text("...") for text from the model';
  if (isRecord(part) && "role" in part) {
    return 'is a message. Write text("...") for text from the model, and toolCall(name, args) for a call';
  }
  if (isRecord(part) && typeof part["type"] === "string")
    return "is a chunk or a content part. Wrap a chunk in chunk(...), or use text()";
  if (Array.isArray(part)) return "is an array inside a message. Write a message as one part, or as one array of parts";
  return `is ${describeValue(part)}, but must be a part or an array of parts. ${makers}`;
}

/** One part of a scripted message. */
export type MockPart =
  | { readonly kind: "chunks"; readonly chunks: readonly ModelChunk[] }
  | MockCall
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "stall"; readonly ignoreSignal: boolean }
  | { readonly kind: "heartbeat" }
  | { readonly kind: "fail"; readonly error: unknown }
  | { readonly kind: "end-early" };

/** A scripted tool call. */
export interface MockCall {
  readonly kind: "call";
  readonly name: string;
  readonly id: string | undefined;
  /** The arguments as the model writes them, in fragments. */
  readonly argsText: string;
  readonly fragments: readonly string[];
}

/** A scripted message: one part, or several parts in order. */
export type MockMessage = MockPart | readonly MockPart[];

/** The options for `text`, `reasoning` and `refusal`. */
export interface TextOptions {
  /** The number of deltas that the text is split into, at most one per character. Default 1. */
  readonly chunks?: number | undefined;
}

/** The options for `toolCall`. */
export interface CallOptions {
  /** The call's id, as a provider would send it. Default: none, as with providers that send no ids. */
  readonly id?: string | undefined;
  /** The number of deltas that the arguments are split into, at most one per character. 0 sends only `call-ready`. Default 1. */
  readonly fragments?: number | undefined;
  /** The arguments as text, instead of `args`. Use it for text that is not valid JSON. */
  readonly rawArgs?: string | undefined;
}

/** The fields of an error that a provider SDK throws. Pass them to `fail`. */
export interface FailureFacts {
  readonly message?: string | undefined;
  readonly name?: string | undefined;
  /** The HTTP status, for example 429. */
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly headers?: Headers | { readonly [name: string]: string } | undefined;
  readonly cause?: unknown;
}

/**
 * Creates a part in which the model writes `said`, in one delta or in `chunks` deltas of nearly equal length.
 *
 * @example
 * createMockProvider([text("Hello", { chunks: 3 })]); // "H", "el", "lo"
 */
export function text(said: string, options: TextOptions = {}): MockPart {
  checkWord(said, "text", { what: "the text", example: 'text("Hello.")' });
  return chunksOf("text-delta", said, options);
}

/** Creates a part in which the model sends reasoning. Takes the same options as `text`. */
export function reasoning(thought: string, options: TextOptions = {}): MockPart {
  checkWord(thought, "reasoning", { what: "the text", example: 'reasoning("Hm.")' });
  return chunksOf("reasoning-delta", thought, options);
}

/**
 * Creates a part in which the model refuses, in text that is separate from its answer. To set the finish reason, add `finish`. Takes
 * the same options as `text`.
 */
export function refusal(said: string, options: TextOptions = {}): MockPart {
  checkWord(said, "refusal", { what: "the text", example: 'refusal("No.")' });
  return chunksOf("refusal-delta", said, options);
}

/**
 * Creates a part in which the model calls a tool. `args` is any JSON, default `{}`; each use gets a fresh copy. With `rawArgs`, the
 * call has that text as its arguments. Text that is not JSON produces a call with `problem: "malformed"`. Empty text means `{}`.
 *
 * @example
 * toolCall("get_weather", { city: "Oslo" }, { id: "call_1", fragments: 4 });
 * toolCall("get_weather", {}, { rawArgs: '{"city": "Os' });
 */
export function toolCall(name: string, args: Json = {}, options: CallOptions = {}): MockPart {
  checkWord(name, "toolCall", { what: "the name of the tool", example: 'toolCall("get_weather", { city: "Oslo" })' });
  const { id, fragments = 1, rawArgs } = options;
  const argsText = rawArgs ?? JSON.stringify(args);
  return { kind: "call", name, id, argsText, fragments: fragments === 0 ? [] : piecesOf(argsText, fragments) };
}

/**
 * Creates a part in which the service reports token counts. `totalTokens` defaults to the sum. With the mode "snapshot", the default,
 * the counts replace earlier counts; with "delta", they are added.
 */
export function usage(tokens: Omit<Usage, "totalTokens"> & Partial<Usage>, mode: "snapshot" | "delta" = "snapshot"): MockPart {
  const totalTokens = tokens.totalTokens ?? tokens.inputTokens + tokens.outputTokens;
  return chunk({ type: "usage", usage: { ...tokens, totalTokens }, mode });
}

/** Creates a part in which the model adds details: text to show below its answer. */
export function details(added: string): MockPart {
  return chunk({ type: "details", text: added });
}

/** Creates a part in which the model sends a thought log. */
export function thoughtLog(payload: unknown): MockPart {
  return chunk({ type: "thought-log", payload });
}

/** Creates a part in which the service sends provider metadata, which the next request must send back unchanged. */
export function providerMetadata(item: Json): MockPart {
  return chunk({ type: "provider-metadata", item });
}

/**
 * Creates a part in which the model ends its message with `reason`. For "continue", `token` is the continuation token. A message without a
 * `finish` part gets the finish reason that fits its other parts.
 */
export function finish(
  reason: FinishReason,
  options: { readonly token?: string | undefined; readonly raw?: string | undefined } = {},
): MockPart {
  checkFields("options", options, { token: is.text, raw: is.text });
  return chunk({ type: "finish", reason, ...options });
}

/** Creates a part that sends one chunk unchanged, even if the chunk is invalid. */
export function chunk(verbatim: ModelChunk): MockPart {
  return { kind: "chunks", chunks: [verbatim] };
}

/**
 * Creates a part that waits `ms` milliseconds on the call's clock. If the signal fires first, the stream rejects with the
 * signal's reason.
 */
export function wait(ms: number): MockPart {
  return { kind: "wait", ms };
}

/**
 * Creates a part that sends nothing until the signal fires. Then the stream rejects. With `ignoreSignal`, the stream never settles.
 */
export function stall(options: { readonly ignoreSignal?: boolean | undefined } = {}): MockPart {
  checkFields("options", options, { ignoreSignal: is.flag });
  return { kind: "stall", ignoreSignal: options.ignoreSignal ?? false };
}

/** Creates a part that sends a heartbeat and no chunk. */
export function heartbeat(): MockPart {
  return { kind: "heartbeat" };
}

/**
 * Creates a part that makes the stream throw. It throws the given error, or an error with the given fields, as an SDK would.
 *
 * @example
 * fail({ status: 429, message: "Too many requests", headers: { "retry-after": "2" } });
 * fail(new TypeError("terminated")); // the error that fetch throws for a broken connection
 */
export function fail(failure: Error | FailureFacts): MockPart {
  if (failure instanceof Error) return { kind: "fail", error: failure };
  const { message = "The request failed.", ...facts } = failure;
  return { kind: "fail", error: Object.assign(new Error(message), facts) };
}

/** Creates a part in which the service reports an error inside the stream. The stream then ends. */
export function failInBand(error: ProviderError): MockPart {
  return chunk({ type: "error", error });
}

/** Creates a part that closes the connection early. The stream ends without a `finish` chunk and without an error. */
export function endEarly(): MockPart {
  return { kind: "end-early" };
}

function chunksOf(type: "text-delta" | "reasoning-delta" | "refusal-delta", said: string, { chunks = 1 }: TextOptions): MockPart {
  return { kind: "chunks", chunks: piecesOf(said, chunks).map((piece) => ({ type, text: piece })) };
}

function piecesOf(whole: string, count: number): string[] {
  if (!Number.isInteger(count) || count < 1)
    throw new RangeError(`The number of deltas is ${count}, but must be a whole number of at least 1.`);
  if (count === 1) return [whole];
  const characters = Array.from(whole);
  const pieces = Math.max(1, Math.min(count, characters.length));
  const edge = (index: number): number => Math.floor((index * characters.length) / pieces);
  return Array.from({ length: pieces }, (_, index) => characters.slice(edge(index), edge(index + 1)).join(""));
}
