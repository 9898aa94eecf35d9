// Decides what a finish reason means.

import type { FinishReason, StreamResult } from "../types/provider.ts";
import { isRecord } from "../utils/guards.ts";
import type { Check } from "../errors/check-fields.ts";
import type { ProviderErrorCode } from "../types/common.ts";
import type { EndReason, StreamStatus } from "../types/termination.ts";
import { quote } from "../utils/texts.ts";
import { providerError } from "../errors/provider-error.ts";

/** Finish reasons by the words of a service. */
export type FinishWords = ReadonlyMap<string, FinishReason>;

/** A reason that is missing here does not compile. */
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

const names = Object.keys(known).map((name) => `"${name}"`);

/** The check of the option `finishReasons`: `{ "FUNCTION_CALL": "tool-calls" }`. */
export const finishReasonsCheck: Check = [
  `an object such as { "FUNCTION_CALL": "tool-calls" }, with the reasons ${names.join(", ")}`,
  (value) => isRecord(value) && !Array.isArray(value) && Object.values(value).every(isReason),
];

function isReason(value: unknown): boolean {
  return typeof value === "string" && Object.hasOwn(known, value);
}

/** Merges the finish words of a service with those of the caller, which take precedence. */
export function withFinishReasons(words: FinishWords, option: { readonly [word: string]: FinishReason } = {}): FinishWords {
  return new Map([...words, ...Object.entries(option)]);
}

/** The content of an assistant message, including its earlier continuations. */
export interface MessageContent {
  /** True if it has text that is not blank. */
  readonly text: boolean;
  readonly calls: boolean;
}

/** A status, and the reason if the iteration ends the run. */
export interface Judgement {
  readonly status: StreamStatus;
  readonly reason?: EndReason | undefined;
}

type Judge = (turn: MessageContent, raw: string | undefined) => Judgement;

const limited: Judge = ({ text, calls }) => {
  if (calls) return { status: "tool-calls" };
  return text ? completed("length") : failed("no-output", "The model reached its length limit without any output.");
};

/** Names the fix, which has to be made in the provider. */
const doneWithCalls =
  'The model said that it was done ("stop") and asked for tools. A provider gives the finish "tool-calls" where its turn has calls.';

/** One row per finish reason: a new reason without a row does not compile. */
const judges: { readonly [Reason in FinishReason]: Judge } = {
  stop: ({ text, calls }) => {
    if (calls) return failed("finish-unknown", doneWithCalls);
    return text ? completed("answered") : { status: "empty-response", reason: { kind: "empty" } };
  },
  "tool-calls": ({ text, calls }) => {
    if (calls) return { status: "tool-calls" };
    return text ? completed("answered") : failed("no-output", "The model asked for tools and named none.");
  },
  length: limited,
  "context-full": limited,
  refusal: () => completed("refusal"),
  "content-filter": () => completed("content-filter"),
  // The loop answers the calls that there are, and sends another request.
  "malformed-call": () => ({ status: "tool-calls" }),
  paused: () => ({ status: "completed" }),
  continue: () => ({ status: "completed" }),
  error: (_, raw) => failed("finish-error", `The model ended with an error${inBrackets(raw)}.`),
  unknown: (_, raw) => failed("finish-unknown", describeUnknown(raw)),
};

/** Judges a stream that ended by itself. `undefined` means that there was no finish. */
export function judgeFinish(finish: FinishReason | undefined, turn: MessageContent, raw?: string): Judgement {
  if (finish === undefined) return failed("stream-ended-early", "The stream ended without a finish reason.");
  // An untyped provider may give any reason.
  return Object.hasOwn(judges, finish) ? judges[finish](turn, raw) : judges.unknown(turn, raw ?? finish);
}

/** Names the fix, which every adapter has. */
function describeUnknown(raw: string | undefined): string {
  if (raw === undefined) return "The model ended for an unknown reason.";
  const word = quote(raw);
  return `The model ended for an unknown reason, ${word}. Map it with the option "finishReasons" of the adapter: { ${word}: "stop" }.`;
}

function inBrackets(raw: string | undefined): string {
  return raw === undefined ? "" : ` (${raw})`;
}

/** The problem that a finish gives to every call of its message, including those of earlier continuations. None of them runs. */
export function problemOf(finish: FinishReason | undefined): "malformed" | "truncated" | undefined {
  if (finish === "length" || finish === "context-full") return "truncated";
  return finish === "malformed-call" ? "malformed" : undefined;
}

/** True if the finish asks for a continuation in the same iteration. */
export function isResent(finish: FinishReason | undefined): boolean {
  return finish === "paused" || finish === "continue";
}

/** True if the message of a stream needs a continuation. */
export function isUnfinished({ status, finish }: StreamResult): boolean {
  return status === "completed" && isResent(finish);
}

function completed(kind: "answered" | "length" | "refusal" | "content-filter"): Judgement {
  return { status: "completed", reason: { kind } };
}

function failed(code: ProviderErrorCode, message: string): Judgement {
  return { status: "error", reason: { kind: "provider-error", error: providerError(code, message) } };
}
