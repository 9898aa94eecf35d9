// What the end of a stream means: one row per finish reason, one column per what the turn holds.

import type { FinishReason } from "../types/provider.ts";
import type { ProviderErrorCode } from "../types/plain-error.ts";
import type { StreamResult } from "../types/stream-result.ts";
import type { StreamStatus, EndReason } from "../types/termination.ts";
import { quote } from "../utils/describe-value.ts";
import { providerError } from "../errors/provider-error.ts";

/** What a turn holds, its earlier continuations included. */
export interface TurnContent {
  /** It has text that is not blank. */
  readonly text: boolean;
  readonly calls: boolean;
}

/** A status, and the reason where the iteration ends the turn. */
export interface Judgement {
  readonly status: StreamStatus;
  readonly reason?: EndReason | undefined;
}

type Judge = (turn: TurnContent, raw: string | undefined) => Judgement;

const limited: Judge = ({ text, calls }) => {
  if (calls) return { status: "tool-calls" };
  return text ? completed("length") : failed("no-output", "The model reached its length limit without any output.");
};

/** Names the remedy, which is in the provider. */
const doneWithCalls =
  'The model said that it was done ("stop") and asked for tools. A provider gives the finish "tool-calls" where its turn has calls.';

/** The table: one row for each finish reason, so that a new one without does not compile. */
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
  // The loop answers what calls there are, and asks again.
  "malformed-call": () => ({ status: "tool-calls" }),
  paused: () => ({ status: "completed" }),
  continue: () => ({ status: "completed" }),
  error: (_, raw) => failed("finish-error", `The model ended with an error${inBrackets(raw)}.`),
  unknown: (_, raw) => failed("finish-unknown", describeUnknown(raw)),
};

/** Judges a stream that ended by itself. `undefined` stands for a stream without a finish. */
export function judgeFinish(finish: FinishReason | undefined, turn: TurnContent, raw?: string): Judgement {
  if (finish === undefined) return failed("stream-ended-early", "The stream ended without a finish reason.");
  // A provider that was written without types may name any reason.
  return Object.hasOwn(judges, finish) ? judges[finish](turn, raw) : judges.unknown(turn, raw ?? finish);
}

/** Names the remedy, which every adapter has. */
function describeUnknown(raw: string | undefined): string {
  if (raw === undefined) return "The model ended for an unknown reason.";
  const word = quote(raw);
  return `The model ended for an unknown reason, ${word}. Map it with the option "finishReasons" of the adapter: { ${word}: "stop" }.`;
}

function inBrackets(raw: string | undefined): string {
  return raw === undefined ? "" : ` (${raw})`;
}

/** What a finish makes of every call of its turn, earlier continuations included: none of them runs. */
export function problemOf(finish: FinishReason | undefined): "malformed" | "truncated" | undefined {
  if (finish === "length" || finish === "context-full") return "truncated";
  return finish === "malformed-call" ? "malformed" : undefined;
}

/** Whether the turn goes on with another stream of the same iteration. */
export function isResent(finish: FinishReason | undefined): boolean {
  return finish === "paused" || finish === "continue";
}

/** Whether the turn of a stream goes on with another one. */
export function isUnfinished({ status, finish }: StreamResult): boolean {
  return status === "completed" && isResent(finish);
}

function completed(kind: "answered" | "length" | "refusal" | "content-filter"): Judgement {
  return { status: "completed", reason: { kind } };
}

function failed(code: ProviderErrorCode, message: string): Judgement {
  return { status: "error", reason: { kind: "provider-error", error: providerError(code, message) } };
}
