// The outcomes of calls in words.

import type { LoggedCall, LoggedIteration } from "../../log/run-log.ts";
import { waitsOf } from "../../analysis/waits.ts";
import { lookUp } from "./log-values.ts";
import type { Tone } from "./describe-ending.ts";

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

/** Returns the outcome of a call. A call that has started and has no outcome may have run, even if the process died. */
export function outcomeOf(call: LoggedCall, iteration: LoggedIteration): OutcomeText {
  const { outcome, startedAt, callId } = call;
  if (outcome !== undefined) return lookUp(outcomes, outcome) ?? { text: outcome, tone: "plain" };
  if (startedAt !== undefined) return { text: `no end in the log, ${mayHaveRun}`, tone: "warn" };
  const isAsked = waitsOf(iteration, callId).some((wait) => wait.kind === "approval" && wait.to === undefined);
  return isAsked ? { text: "waits for approval", tone: "wait" } : { text: "not started", tone: "plain" };
}
