// What belongs to a call's outcome besides what its tool gave. Found inside the call's step, so that a replay finds the same.

import type { Json } from "../../types/json.ts";
import type { ContextSource } from "../../types/policies.ts";
import type { ToolOutcome } from "../../types/tool-outcome.ts";
import { assertNever } from "../../utils/assert-never.ts";
import { toJson } from "../../utils/to-json.ts";
import { detectContextRestart } from "../restart/detect-context-restart.ts";
import { askHook } from "../run/ask-hook.ts";
import { eventBase } from "../run/event-base.ts";
import { endNested } from "./nested-run.ts";
import type { NestedRun, Run } from "../run/run.ts";

/** Adds what runs inside the call have used, and the context that its result names. Most outcomes stay as they are, at once. */
export function finishCall(run: Run, outcome: ToolOutcome): ToolOutcome | Promise<ToolOutcome> {
  const nested = run.ports.takeNested(outcome.call.callId);
  const key = detectContextRestart(outcome, run.options.policies?.restarts)?.pendingContextKey;
  if (nested === undefined && key === undefined) return outcome;
  return addNested(outcome, nested).then((whole) => (key === undefined ? whole : withContext(run, whole, key)));
}

async function addNested(outcome: ToolOutcome, nested: readonly NestedRun[] | undefined): Promise<ToolOutcome> {
  return nested === undefined ? outcome : { ...outcome, nested: await endNested(nested, outcome.nested) };
}

/** A stash that fails has nothing: the run goes on, and listeners are told. */
async function withContext(run: Run, outcome: ToolOutcome, key: string): Promise<ToolOutcome> {
  const end = await askHook(() => stashOf(run).take(key), toItem, run);
  switch (end.kind) {
    case "value":
      return end.value === undefined || outcome.kind !== "completed" ? outcome : { ...outcome, pendingContext: end.value };
    case "cancelled": {
      // Without its context the call has not done what it was for.
      const { call, durationMs, approvedArgs, nested } = outcome;
      return { call, durationMs, approvedArgs, nested, kind: "interrupted" };
    }
    case "failed": {
      run.events.send({ type: "listener-error", ...eventBase(run), event: "stash", error: end.error });
      return outcome;
    }
    default:
      return assertNever(end);
  }
}

function stashOf({ options }: Run): ContextSource {
  const stash = options.policies?.restarts?.stash;
  if (stash === undefined) throw new Error('A result names context in a stash, but "policies.restarts.stash" is not set.');
  return stash;
}

function toItem(value: unknown): Json | undefined {
  return value === undefined || value === null ? undefined : toJson(value);
}
