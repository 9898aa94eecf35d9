// Says in words how a run ended that did not complete.

import type { LoopResult } from "../types/loop-result.ts";
import type { EndReason } from "../types/termination.ts";
import { quote } from "../utils/describe-value.ts";
import { isRecord } from "../utils/is-record.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { describeCost } from "./cost-words.ts";

/** How a run can end that did not complete: every `reason.kind` but those of status "completed". */
export type EndedKind = Exclude<
  EndReason["kind"],
  "answered" | "end-turn" | "pre-tool-text" | "stop-condition" | "length" | "refusal" | "content-filter"
>;

/** The reasons of some kinds, with the facts that they bring. */
export type ReasonOf<Kind extends EndedKind> = EndReason & { readonly kind: Kind };

type Words = { readonly [Kind in EndedKind]: (reason: ReasonOf<Kind>) => string };

/** One for each kind, each read behind a colon: a kind without words does not compile. */
const words: Words = {
  "provider-error": ({ error }) => `the model failed with ${error.code}: ${error.message}`,
  "malformed-call": () => "the model called a tool without a name",
  "tool-error-cap": ({ count }) => `${count} tool errors came in a row`,
  "restart-cap": ({ count }) => `tools restarted the context ${count} times`,
  "loop-detected": ({ toolName, count }) => `the model repeated its calls ${count} times, among them ${quote(toolName)}`,
  "invalid-output": ({ attempts }) =>
    `the answer did not fit its schema, ${attempts === 1 ? "once" : `${attempts} times in a row`}`,
  "max-cost": describeCost,
  "cost-unknown": describeCost,
  "max-tokens": ({ limit, spent }) => `${spent} tokens are spent, and the limit is ${limit}`,
  "max-tool-calls": ({ limit }) => `the limit of ${limit} tool calls is reached`,
  "max-pauses": ({ limit }) => `the service paused its turn more than ${limit} times`,
  "hook-failed": ({ hook, error }) => `the hook ${hook} failed: ${error.message}`,
  "fatal-tool-error": ({ toolName, error }) => `the tool ${quote(toolName)} ended it: ${error.message}`,
  "max-iterations": ({ limit }) => `the limit of ${limit} iterations is reached`,
  "stream-idle": ({ limitMs }) => `the model was silent for ${limitMs} ms`,
  "first-chunk": ({ limitMs }) => `the model did not begin within ${limitMs} ms`,
  "wall-clock": ({ limitMs }) => `the limit of ${limitMs} ms is reached`,
  empty: () => "the model said nothing",
  stopped: ({ requester, note }) => `it was stopped${requester === undefined ? "" : ` by ${tidy(requester)}`}${behind(note)}`,
  killed: () => "it was killed",
  aborted: ({ reason }) => `its signal fired${behind(isRecord(reason) ? reason.message : reason)}`,
  "iteration-abort": ({ reason }) => `onIteration ended it${behind(reason)}`,
  interrupted: () => "a message interrupted it",
  drained: () => "it was drained, and can go on",
  "approval-required": ({ calls }) => `${calls.length === 1 ? "a call waits" : `${calls.length} calls wait`} for a decision`,
};

/**
 * Says how a run ended: its status, its reason, and what that means.
 *
 * @example describeEnding(result); // "The run ended as timeout (max-iterations): the limit of 10 iterations is reached."
 */
export function describeEnding({ status, reason }: Pick<LoopResult, "status" | "reason">): string {
  const ending = `The run ended as ${status} (${reason.kind})`;
  if (!isEnded(reason)) return `${ending}.`;
  const said = `${ending}: ${wordsOf(reason.kind, reason)}`;
  return said.endsWith(".") ? said : `${said}.`;
}

/** False also of kinds that only another version of the package has. */
function isEnded(reason: EndReason): reason is ReasonOf<EndedKind> {
  return Object.hasOwn(words, reason.kind);
}

function wordsOf<Kind extends EndedKind>(kind: Kind, reason: ReasonOf<Kind>): string {
  return words[kind](reason);
}

function behind(text: unknown): string {
  return typeof text === "string" && text !== "" ? `: ${tidy(text)}` : "";
}

/** What a caller said may be long or hold a credential; errors have been through this. */
function tidy(text: string): string {
  return toPlainError(text).message;
}
