// Describes calls and notes. A note is a line that is not about a stream or a call.

import type { EndReason, Json } from "../../../core/index.ts";
import type { LoggedCall, LoggedIteration, LoggedLine, LoggedRun } from "../../../shared/run-log.ts";
import { countThings, formatCount } from "../../format.ts";
import { waitsOf } from "../../analysis/waits.ts";
import { describeEnding, type Tone } from "./describe-ending.ts";
import { lookUp, wordOf } from "./format-value.ts";

interface NoteText {
  readonly title: string;
  readonly tone: Tone;
  readonly value?: Json | undefined;
}

type Describe = (line: LoggedLine) => NoteText;

const notices: { readonly [kind: string]: string | undefined } = {
  "still-working": "Notice for the user: the run is still working",
  "max-iterations": "Notice for the user: the iteration limit was reached",
  "tool-error-cap": "Notice for the user: too many tool errors in a row",
  "stream-timeout": "Notice for the user: the stream timed out",
  "unmarked-restart": "A tool returned a context restart as plain data, which has no effect: it must return contextRestart(...)",
};

const actions: { readonly [action: string]: string | undefined } = {
  warn: "The run continued.",
  stop: "The run was stopped.",
  "inject-warning": "The model got a warning.",
};

const changed =
  (how: string): Describe =>
  ({ tokensBefore, tokensAfter }) => ({ title: `${how}, ${describeTokens(tokensBefore, tokensAfter)}`, tone: "warn" });

const describers: { readonly [type: string]: Describe | undefined } = {
  masked: ({ calls, tokensBefore, tokensAfter }) => ({
    title: `Cleared ${countThings(Array.isArray(calls) ? calls.length : 0, "old result")} from this and later requests, ${describeTokens(tokensBefore, tokensAfter)}`,
    tone: "warn",
    value: calls,
  }),
  "compaction-start": ({ cause }) => ({
    title: cause === "forced" ? "Compaction: the request was too long" : "Compaction: the context is nearly full",
    tone: "plain",
  }),
  "compaction-end": ({ outcome, tokensBefore, tokensAfter, error, model, usage, costUSD }) => ({
    title:
      outcome === "compacted"
        ? `A summary replaces old messages, ${describeTokens(tokensBefore, tokensAfter)}`
        : "Compaction failed",
    tone: "warn",
    value: { error, model, usage, costUSD },
  }),
  "request-adjusted": ({ model, changes }) => ({
    title: `The request that ${wordOf(model)} read differs in ${countThings(Array.isArray(changes) ? changes.length : 0, "place")}`,
    tone: "warn",
    value: changes,
  }),
  steered: ({ message }) => ({ title: "Message sent while the run worked", tone: "plain", value: contentOf(message) }),
  notice: ({ kind }) => ({ title: lookUp(notices, kind) ?? `Notice for the user: ${wordOf(kind)}`, tone: "plain" }),
  handoff: ({ from, to, reason }) => ({
    title: `Handed over from ${wordOf(from)} to ${wordOf(to)}`,
    tone: "plain",
    value: reason,
  }),
  guardrail: ({ stage, guardrail, verdict, reason, info, error }) => ({
    title: `Guardrail ${wordOf(guardrail)}, ${wordOf(stage)}: ${wordOf(verdict)}`,
    tone: verdict === "pass" ? "plain" : "warn",
    value: reason ?? info ?? error,
  }),
  restart: ({ suffix, name, disableTools, pendingContext }) => ({
    title: `Context restart "${wordOf(suffix)}", requested by ${wordOf(name)}`,
    tone: "warn",
    value: { disableTools: disableTools ?? [], ...(pendingContext !== undefined && { pendingContext }) },
  }),
  "loop-detected": ({ toolName, count, cycle, action }) => ({
    title: `Loop detected: the same ${cycle === 1 ? "iteration" : countThings(Number(cycle), "iteration")} occurred ${countThings(Number(count), "time")} in a row, with a call of ${wordOf(toolName)}. ${lookUp(actions, action) ?? ""}`,
    tone: "warn",
  }),
  "result-processed": changed("Result processed for the model"),
  "result-extracted": changed("Result shortened for the model"),
  "result-cached": changed("Result stored, and replaced by a short text"),
  "late-result": ({ success }) => ({
    title: `Ended after the loop had stopped waiting, ${success === true ? "with a result" : "with an error"} that was dropped`,
    tone: "warn",
  }),
  "listener-error": ({ event, error }) => ({ title: `A listener of "${wordOf(event)}" failed`, tone: "warn", value: error }),
  "hidden-notice": ({ name, args }) => ({ title: `Deliberate mode allowed ${wordOf(name)}`, tone: "plain", value: args }),
  "replay-end": () => ({ title: "End of the replay: the steps from here on are new", tone: "plain" }),
  "run-start": () => ({ title: "Resumed", tone: "plain" }),
  "attempt-discarded": () => ({ title: "The last message was discarded before a new attempt", tone: "warn" }),
  "run-end": ({ status, reason }) => describeEarlierEnd({ status, reason }),
  "run-error": ({ error }) => describeEarlierEnd({ error }),
};

function describeEarlierEnd(fields: { readonly [field: string]: Json | undefined }): NoteText {
  const { sentence, tone, detail } = describeEnding(fields as unknown as LoggedRun);
  return { title: sentence, tone, value: detail };
}

/** Describes a line of a run. Shows a line of an unknown type unchanged. */
export function describeLine(line: LoggedLine): NoteText {
  const describe = lookUp(describers, line.type);
  if (describe !== undefined) return describe(line);
  return { title: line.type, tone: "plain", value: line };
}

export function describeTokens(before: Json | undefined, after: Json | undefined): string {
  return `${formatCount(Number(before))} to ${formatCount(Number(after))} tokens`;
}

function contentOf(message: Json | undefined): Json | undefined {
  return (message as { readonly content?: Json } | undefined)?.content ?? message;
}

/** Returns a run's end reason as data, if it has fields in addition to `kind`. */
export function reasonData(reason: EndReason | undefined): Json | undefined {
  return reason !== undefined && Object.keys(reason).length > 1 ? (reason as unknown as Json) : undefined;
}

interface OutcomeText {
  readonly text: string;
  readonly tone: Tone;
}

const mayHaveRun = "may have run";

const outcomes: { readonly [outcome: string]: OutcomeText | undefined } = {
  completed: { text: "completed", tone: "ok" },
  failed: { text: "failed", tone: "bad" },
  "timed-out": { text: "timed out", tone: "bad" },
  blocked: { text: "blocked, not run", tone: "warn" },
  denied: { text: "denied, not run", tone: "warn" },
  "approval-failed": { text: "approval failed, not run", tone: "bad" },
  "unknown-tool": { text: "unknown tool", tone: "bad" },
  "invalid-input": { text: "invalid arguments, not run", tone: "bad" },
  malformed: { text: "malformed arguments, not run", tone: "bad" },
  truncated: { text: "cut off, not run", tone: "bad" },
  interrupted: { text: `interrupted, ${mayHaveRun}`, tone: "warn" },
  limit: { text: "over the limit, not run", tone: "warn" },
  "not-run": { text: "not run", tone: "warn" },
  deferred: { text: "waits for its result", tone: "wait" },
};

/** Describes a call's outcome in words. A call that started but has no outcome may have run before its process died. */
export function outcomeOf(call: LoggedCall, iteration: LoggedIteration): OutcomeText {
  const { outcome, startedAt, callId } = call;
  if (outcome !== undefined) return lookUp(outcomes, outcome) ?? { text: outcome, tone: "plain" };
  if (startedAt !== undefined) return { text: `no end in the log, ${mayHaveRun}`, tone: "warn" };
  const isAsked = waitsOf(iteration, callId).some((wait) => wait.kind === "approval" && wait.to === undefined);
  return isAsked ? { text: "waits for approval", tone: "wait" } : { text: "not started", tone: "plain" };
}
