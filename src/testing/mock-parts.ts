// The parts of a scripted message: one function for each action of a model, its service or the network.

import {
  checkFields,
  describeValue,
  type FinishReason,
  is,
  isRecord,
  type Json,
  type ModelChunk,
  type ProviderError,
  type Usage,
} from "../core/entry-kit.ts";

/** Throws a TypeError unless the first argument of a maker is a string. `example` shows a correct call. */
function checkWord(value: unknown, maker: string, { what, example }: { readonly what: string; readonly example: string }): void {
  if (typeof value === "string") return;
  throw new TypeError(`${maker}() takes ${what} first, a string, but got ${describeValue(value)}. Write ${example}.`);
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

const optionChecks = { id: is.text, model: is.text, family: is.text, usage: is.flag, record: is.flag };

const makers = 'Make parts with text("..."), toolCall(name, args) and the other makers of "turnwright/testing"';

/** Throws a TypeError for a script that cannot be played, and LoopError "unknown-option" or "invalid-option" for its options. */
export function checkScript(script: unknown, options: object): void {
  checkFields("options", options, optionChecks);
  if (typeof script === "function") return;
  if (!Array.isArray(script)) {
    const got = isPart(script) ? "a lone part" : describeValue(script);
    const write = isPart(script) ? "createMockProvider([part])" : 'createMockProvider([text("Hello.")])';
    throw new TypeError(
      `createMockProvider() takes an array of messages, or a function (request, index) => message, but got ${got}. Write ${write}.`,
    );
  }
  for (const [index, message] of script.entries()) checkMockMessage(message, index);
}

/** Throws a TypeError for a message that is neither a part nor an array of parts. */
export function checkMockMessage(message: unknown, index: number): asserts message is MockMessage {
  const parts: readonly unknown[] = Array.isArray(message) ? message : [message];
  for (const [place, part] of parts.entries()) {
    if (isPart(part)) continue;
    const where = Array.isArray(message) ? `Part ${place} of message ${index}` : `Message ${index}`;
    throw new TypeError(`${where} of the mock's script ${describeMisuse(part)}.`);
  }
}

function isPart(value: unknown): boolean {
  return isRecord(value) && typeof value["kind"] === "string" && Object.hasOwn(kinds, value["kind"]);
}

function describeMisuse(part: unknown): string {
  if (typeof part === "string") return 'is a string. Write text("...") for what the model says';
  if (isRecord(part) && "role" in part) {
    return 'is a message. Write text("...") for what the model says, and toolCall(name, args) for a call';
  }
  if (isRecord(part) && typeof part["type"] === "string")
    return "is a chunk or a content part. Write chunk(...) around a chunk, or use text()";
  if (Array.isArray(part)) return "is an array inside a message. A message is a part, or one array of parts";
  return `is ${describeValue(part)}, but must be a part or an array of parts. ${makers}`;
}

/** One part of a scripted message. */
export type MockPart =
  // Output of the model.
  | { readonly kind: "chunks"; readonly chunks: readonly ModelChunk[] }
  | MockCall
  // Behaviour of the service and the network.
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "stall"; readonly ignoreSignal: boolean }
  | { readonly kind: "heartbeat" }
  | { readonly kind: "fail"; readonly error: unknown }
  | { readonly kind: "end-early" };

/** A scripted tool call. Its key is its number in the message. */
export interface MockCall {
  readonly kind: "call";
  readonly name: string;
  readonly id: string | undefined;
  /** The arguments as the model writes them, in fragments. */
  readonly argsText: string;
  readonly fragments: readonly string[];
}

/** The parts of a scripted message: one, or several in order. */
export type MockMessage = MockPart | readonly MockPart[];

/** How many deltas a text has. */
export interface TextOptions {
  /** At most one per character. Default 1. */
  readonly chunks?: number | undefined;
}

/** The options of a scripted call. */
export interface CallOptions {
  /** The provider's id of the call. Default none, as for providers without ids. */
  readonly id?: string | undefined;
  /** How many deltas the arguments have, at most one per character. 0 sends only the finished call. Default 1. */
  readonly fragments?: number | undefined;
  /** The arguments as text, instead of `args`: for text that is not JSON. */
  readonly rawArgs?: string | undefined;
}

/** The fields of a failure, as on errors of an SDK. */
export interface FailureFacts {
  readonly message?: string | undefined;
  readonly name?: string | undefined;
  /** HTTP status. */
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly headers?: Headers | { readonly [name: string]: string } | undefined;
  readonly cause?: unknown;
}

/**
 * The model writes `said`, in one delta or in `chunks` deltas of nearly equal length.
 *
 * @example
 * createMockProvider([text("Hello", { chunks: 3 })]); // "H", "el", "lo"
 */
export function text(said: string, options: TextOptions = {}): MockPart {
  checkWord(said, "text", { what: "the words", example: 'text("Hello.")' });
  return chunksOf("text-delta", said, options);
}

/** The model reasons. Options as for `text`. */
export function reasoning(thought: string, options: TextOptions = {}): MockPart {
  checkWord(thought, "reasoning", { what: "the words", example: 'reasoning("Hm.")' });
  return chunksOf("reasoning-delta", thought, options);
}

/** The model refuses, in text that streams separately from its answer. Options as for `text`. Set the finish reason yourself. */
export function refusal(said: string, options: TextOptions = {}): MockPart {
  checkWord(said, "refusal", { what: "the words", example: 'refusal("No.")' });
  return chunksOf("refusal-delta", said, options);
}

/**
 * The model calls a tool. `args` is any JSON, default `{}`. Each use parses it again, so that no two calls share it. With
 * `rawArgs` the call has that text: text that is not JSON comes with `problem: "malformed"`, and an empty text means `{}`.
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

/** The service reports tokens. `totalTokens` defaults to the sum. A snapshot, the default, replaces earlier counts. */
export function usage(tokens: Omit<Usage, "totalTokens"> & Partial<Usage>, mode: "snapshot" | "delta" = "snapshot"): MockPart {
  const totalTokens = tokens.totalTokens ?? tokens.inputTokens + tokens.outputTokens;
  return chunk({ type: "usage", usage: { ...tokens, totalTokens }, mode });
}

/** The model adds details: text that is shown below its answer. */
export function details(added: string): MockPart {
  return chunk({ type: "details", text: added });
}

/** The model sends a thought log. */
export function thoughtLog(payload: unknown): MockPart {
  return chunk({ type: "thought-log", payload });
}

/** The service sends a part of the provider metadata, which must come back verbatim in the next request. */
export function providerMetadata(item: Json): MockPart {
  return chunk({ type: "provider-metadata", item });
}

/**
 * The model ends its message for `reason`. `token` is the point at which a "continue" continuation goes on. A message without a
 * finish ends according to its parts.
 */
export function finish(
  reason: FinishReason,
  options: { readonly token?: string | undefined; readonly raw?: string | undefined } = {},
): MockPart {
  return chunk({ type: "finish", reason, ...options });
}

/** Any chunk, unchanged, even an invalid one. */
export function chunk(verbatim: ModelChunk): MockPart {
  return { kind: "chunks", chunks: [verbatim] };
}

/** Waits `ms` milliseconds on the clock of the call. If the signal fires first, the stream rejects with the signal's reason. */
export function wait(ms: number): MockPart {
  return { kind: "wait", ms };
}

/** Goes silent: the stream rejects only when the signal fires. With `ignoreSignal`, not even then. */
export function stall(options: { readonly ignoreSignal?: boolean | undefined } = {}): MockPart {
  return { kind: "stall", ignoreSignal: options.ignoreSignal ?? false };
}

/** Sends a heartbeat, without a chunk. */
export function heartbeat(): MockPart {
  return { kind: "heartbeat" };
}

/**
 * The stream throws: the given error, or one made from the facts, as an SDK would.
 *
 * @example
 * fail({ status: 429, message: "Too many requests", headers: { "retry-after": "2" } });
 * fail(new TypeError("terminated")); // how a broken connection looks
 */
export function fail(failure: Error | FailureFacts): MockPart {
  if (failure instanceof Error) return { kind: "fail", error: failure };
  const { message = "The request failed.", ...facts } = failure;
  return { kind: "fail", error: Object.assign(new Error(message), facts) };
}

/** The service reports an error inside the stream, which ends there. */
export function failInBand(error: ProviderError): MockPart {
  return chunk({ type: "error", error });
}

/** The connection closes before the model is done: no finish, no error. */
export function endEarly(): MockPart {
  return { kind: "end-early" };
}

function chunksOf(type: "text-delta" | "reasoning-delta" | "refusal-delta", said: string, { chunks = 1 }: TextOptions): MockPart {
  return { kind: "chunks", chunks: piecesOf(said, chunks).map((piece) => ({ type, text: piece })) };
}

/** Cuts a text into nearly equal parts, without splitting a character. */
function piecesOf(whole: string, count: number): string[] {
  if (!Number.isInteger(count) || count < 1) throw new RangeError(`A text comes in 1 piece or more, not in ${count}.`);
  if (count === 1) return [whole];
  const characters = Array.from(whole);
  const pieces = Math.max(1, Math.min(count, characters.length));
  const edge = (index: number): number => Math.floor((index * characters.length) / pieces);
  return Array.from({ length: pieces }, (_, index) => characters.slice(edge(index), edge(index + 1)).join(""));
}
