// Decides what the end of an answer means. Services differ in their finish reasons, and some give a wrong one.

import type { FinishReason, StreamResult } from "../types/provider.ts";
import { isRecord } from "../utils/guards.ts";
import type { Check } from "../errors/check-fields.ts";
import type { ProviderErrorCode } from "../types/common.ts";
import type { EndReason, StreamStatus } from "../types/termination.ts";
import { quote } from "../utils/texts.ts";
import { providerError } from "../errors/provider-error.ts";

/** Maps the finish reasons of a service to those of turnwright. */
export type FinishWords = ReadonlyMap<string, FinishReason>;

const known: { readonly [Reason in FinishReason]: true } = {
  stop: true,
  "tool-calls": true,
  length: true,
  "context-full": true,
  refusal: true,
  "content-filter": true,
  paused: true,
  continue: true,
  "malformed-call": true,
  error: true,
  unknown: true,
};

/** The check for the option `finishReasons`, for example `{ "FUNCTION_CALL": "tool-calls" }`. */
export const finishReasonsCheck: Check = [
  /* @__PURE__ */ describeFinishReasons(),
  (value) => isRecord(value) && !Array.isArray(value) && Object.values(value).every(isReason),
];

function describeFinishReasons(): string {
  const names = Object.keys(known).map((name) => `"${name}"`);
  return `an object such as { "FUNCTION_CALL": "tool-calls" }, with values among ${names.join(", ")}`;
}

function isReason(value: unknown): boolean {
  return typeof value === "string" && Object.hasOwn(known, value);
}

/** Merges the finish reasons of a service with the caller's option. The caller's entries take precedence. */
export function withFinishReasons(words: FinishWords, option: { readonly [word: string]: FinishReason } = {}): FinishWords {
  return new Map([...words, ...Object.entries(option)]);
}

/** The content of an assistant message, including its earlier continuations. */
export interface MessageContent {
  /** True if the message has text that is not blank. */
  readonly text: boolean;
  readonly calls: boolean;
}

export interface Judgement {
  readonly status: StreamStatus;
  readonly reason?: EndReason | undefined;
}

type Judge = (turn: MessageContent, raw: string | undefined) => Judgement;

const limited: Judge = ({ text, calls }) => {
  if (calls) return { status: "tool-calls" };
  return text ? completed("length") : failed("no-output", "The model reached its length limit without any output.");
};

const doneWithCalls = 'The stream has tool calls, but the finish reason "stop". The provider must use "tool-calls" instead.';

const judges: { readonly [Reason in FinishReason]: Judge } = {
  stop: ({ text, calls }) => {
    if (calls) return failed("finish-unknown", doneWithCalls);
    return text ? completed("answered") : { status: "empty-response", reason: { kind: "empty" } };
  },
  "tool-calls": ({ text, calls }) => {
    if (calls) return { status: "tool-calls" };
    return text ? completed("answered") : failed("no-output", 'The finish reason "tool-calls" came without calls or text.');
  },
  length: limited,
  "context-full": limited,
  refusal: () => completed("refusal"),
  "content-filter": () => completed("content-filter"),
  // The loop answers the calls that were received, and requests another message.
  "malformed-call": () => ({ status: "tool-calls" }),
  paused: () => ({ status: "completed" }),
  continue: () => ({ status: "completed" }),
  error: (_, raw) => failed("finish-error", `The model ended with an error${inBrackets(raw)}.`),
  unknown: (_, raw) => failed("finish-unknown", describeUnknown(raw)),
};

export function judgeFinish(finish: FinishReason | undefined, turn: MessageContent, raw?: string): Judgement {
  if (finish === undefined) return failed("stream-ended-early", "The stream ended without a finish reason.");
  // A provider without types may send any finish reason.
  return Object.hasOwn(judges, finish) ? judges[finish](turn, raw) : judges.unknown(turn, raw ?? finish);
}

function describeUnknown(raw: string | undefined): string {
  if (raw === undefined) return "The model stopped for an unknown reason.";
  const word = quote(raw);
  return `The model stopped for the unknown reason ${word}. Map it with the adapter's option "finishReasons": { ${word}: "stop" }.`;
}

function inBrackets(raw: string | undefined): string {
  return raw === undefined ? "" : ` (${raw})`;
}

/**
 * Returns the problem that the finish reason causes for every call of the message, including the calls of earlier continuations.
 * A call with a problem does not run.
 */
export function problemOf(finish: FinishReason | undefined): "malformed" | "truncated" | undefined {
  if (finish === "length" || finish === "context-full") return "truncated";
  return finish === "malformed-call" ? "malformed" : undefined;
}

export function isResent(finish: FinishReason | undefined): boolean {
  return finish === "paused" || finish === "continue";
}

export function isUnfinished({ status, finish }: StreamResult): boolean {
  return status === "completed" && isResent(finish);
}

function completed(kind: "answered" | "length" | "refusal" | "content-filter"): Judgement {
  return { status: "completed", reason: { kind } };
}

function failed(code: ProviderErrorCode, message: string): Judgement {
  return { status: "error", reason: { kind: "provider-error", error: providerError(code, message) } };
}
