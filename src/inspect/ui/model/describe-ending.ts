import type { EndReason, PlainError } from "../../../core/index.ts";
import type { WaitingCall } from "../../../core/kit.ts";
import type { LoggedRun } from "../../../shared/run-log.ts";
import { waitingCallsOf } from "../../../shared/wait-ids.ts";
import { countThings, formatCount, formatMs, formatUSD } from "../../format.ts";
import { lookUp } from "./format-value.ts";

export type Tone = "ok" | "warn" | "bad" | "wait" | "plain";

export interface EndingText {
  readonly sentence: string;
  readonly tone: Tone;
  /** Untrusted text that completes `sentence`, such as an error message. */
  readonly detail?: string | undefined;
  readonly calls: readonly WaitingCall[];
}

type Said = string | readonly [sentence: string, detail: string | undefined];
type Texts = { readonly [Kind in EndReason["kind"]]: (reason: EndReason & { readonly kind: Kind }) => Said };

const reasons: Texts = {
  answered: () => "Completed: the model answered.",
  "end-turn": () => "Completed: a tool ended the turn.",
  "pre-tool-text": () => "Completed: the text before the calls is the answer, and all calls succeeded.",
  "stop-condition": ({ reason }) => ["Completed: the stop condition ended the run.", reason],
  length: () => "Completed, but the answer is cut off: the model reached its output limit, or its context is full.",
  refusal: () => "Completed: the model declined to answer.",
  "content-filter": () => "Completed: the service stopped the answer with its content filter.",
  "provider-error": ({ error }) => [`Failed: the provider reported an error (${error.code}).`, error.message],
  "malformed-call": () => "Failed: the model called a tool without a name.",
  "tool-error-cap": ({ count }) => `Failed: ${countThings(count, "tool error")} in a row.`,
  "restart-cap": ({ count }) => `Failed: ${countThings(count, "context restart")}, more than allowed.`,
  "handoff-cap": ({ count }) => `Failed: ${countThings(count, "handoff")}, more than allowed.`,
  "input-guardrail": ({ guardrail, reason }) => [`Failed: the guardrail "${guardrail}" refused the input.`, reason],
  "output-guardrail": ({ guardrail, reason }) => [`Failed: the guardrail "${guardrail}" refused the answer.`, reason],
  "tool-guardrail": ({ guardrail, reason }) => [`Failed: the guardrail "${guardrail}" refused a tool call.`, reason],
  "max-cost": ({ limitUSD, spentUSD }) =>
    `Failed: the next request would exceed ${formatUSD(limitUSD)}. ${formatBeside(spentUSD, limitUSD)} were spent.`,
  "cost-unknown": ({ iteration, why }) =>
    `Failed: the cost${iteration === undefined ? "" : ` of iteration ${iteration}`} is unknown${why === undefined ? "" : ` (${why})`}, and the run has a cost limit.`,
  "loop-detected": ({ toolName, count }) => [`Failed: the model repeated the same calls ${count} times.`, toolName],
  "max-tokens": ({ limit, spent }) =>
    `Failed: the limit of ${countThings(limit, "token")} was used up. ${formatCount(spent)} were spent.`,
  "max-tool-calls": ({ limit }) => `Failed: the limit of ${countThings(limit, "tool call")} was used up.`,
  "max-pauses": ({ limit }) => `Failed: the service paused its message more than ${countThings(limit, "time")}.`,
  "hook-failed": ({ hook, error }) => [`Failed: the hook "${hook}" threw an error or took too long.`, error.message],
  "fatal-tool-error": ({ toolName, error }) => ["Failed: a tool reported a fatal error.", `${toolName}: ${error.message}`],
  "invalid-output": ({ issues, attempts }) => [
    `Failed: the answer did not fit the schema, ${countThings(attempts, "time")} in a row.`,
    issues.map(({ message, path }) => (path === undefined ? message : `${path.join(".")}: ${message}`)).join("\n"),
  ],
  "max-iterations": ({ limit }) => `Timed out: the limit of ${countThings(limit, "iteration")} was used up.`,
  "stream-idle": ({ limitMs }) => `Timed out: a stream was silent for ${formatMs(limitMs)}.`,
  "first-chunk": ({ limitMs }) => `Timed out: a stream did not begin within ${formatMs(limitMs)}.`,
  "stream-too-long": ({ limitMs }) => `Timed out: a stream did not end within ${formatMs(limitMs)}.`,
  "wall-clock": ({ limitMs }) => `Timed out: the run was active for ${formatMs(limitMs)}.`,
  empty: () => "Empty response: the model finished without any text.",
  stopped: ({ requester, note }) => ["Stopped by the caller.", [requester, note].filter((part) => part !== undefined).join(": ")],
  killed: () => "Killed by the caller.",
  aborted: ({ reason }) => ["Aborted by the caller's signal.", describeReason(reason)],
  "iteration-abort": ({ reason }) => ["Ended by the caller after an iteration.", reason],
  interrupted: ({ message }) => [
    "Interrupted by a new message.",
    typeof message.content === "string" ? message.content : undefined,
  ],
  drained: () => "Suspended: the run was drained, and can be resumed.",
  "approval-required": ({ calls }) => `Suspended: ${waitingFor(calls, "a decision")}.`,
  "result-required": ({ calls }) => `Suspended: ${waitingFor(calls, "a result")}.`,
};

/** Formats an amount with enough digits to look different from `other`. */
function formatBeside(amount: number, other: number): string {
  const digits = [4, 5, 6, 7, 8].find((count) => amount.toFixed(count) !== other.toFixed(count));
  return formatUSD(amount) === formatUSD(other) && digits !== undefined ? `$${amount.toFixed(digits)}` : formatUSD(amount);
}

const tones: { readonly [status: string]: Tone | undefined } = {
  completed: "ok",
  error: "bad",
  timeout: "bad",
  "empty-response": "warn",
  "stopped-by-user": "warn",
  "follow-up-interrupt": "warn",
  suspended: "wait",
};

/**
 * "live": the web page follows the log, so a run without an end is still running. "lost": the server of a live page does not answer.
 * "none": the page does not follow the log.
 */
export type Connection = "live" | "lost" | "none";

const openSentences: { readonly [State in Connection]: string } = {
  live: "Running: the log has no end yet.",
  lost: "Disconnected: the server has stopped. The run may still be running.",
  none: "No end in the log: still running, or its process died.",
};

export function describeEnding({ status, reason, error }: LoggedRun, connection: Connection = "none"): EndingText {
  if (error !== undefined) return describeRejection(error);
  if (status === undefined)
    return {
      sentence: openSentences[connection],
      tone: "wait",
      calls: [],
    };
  const [sentence, detail] = sayReason(status, reason);
  const tone = reason !== undefined && cutOff.has(reason.kind) ? "warn" : (lookUp(tones, status) ?? "plain");
  return { sentence, detail: detail === "" ? undefined : detail, tone, calls: waitingCallsOf(reason) };
}

/** End reasons of runs that completed with an incomplete answer. */
const cutOff: ReadonlySet<string> = new Set(["length", "content-filter", "refusal"]);

function describeRejection({ code, name, message }: PlainError): EndingText {
  const sentence = `Rejected with an error${code === undefined ? "" : ` (${code})`}.`;
  return { sentence, tone: "bad", detail: `${name}: ${message}`, calls: [] };
}

/** Describes a reason, even if it is unknown because a newer release wrote it, or lacks fields because the log is damaged. */
function sayReason(status: string, reason: EndReason | undefined): readonly [string, string | undefined] {
  if (reason === undefined || !Object.hasOwn(reasons, reason.kind)) return [`Ended as "${status}".`, reason?.kind];
  try {
    const say = reasons[reason.kind] as (reason: EndReason) => Said;
    const said = say(reason);
    return typeof said === "string" ? [said, undefined] : [said[0], said[1]];
  } catch {
    return [`Ended as "${status}".`, reason.kind];
  }
}

function waitingFor(calls: readonly WaitingCall[], thing: string): string {
  return `${countThings(calls.length, "call")} ${calls.length === 1 ? "waits" : "wait"} for ${thing}`;
}

function describeReason(reason: unknown): string {
  const message = (reason as { readonly message?: unknown } | null)?.message;
  return typeof message === "string" ? message : typeof reason === "string" ? reason : JSON.stringify(reason);
}
