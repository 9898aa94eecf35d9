// Emits the events of each call: one start event and one end event, even for calls that were refused or replayed.

import type { Json } from "../../types/json.ts";
import type { NestedSpending, ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { freezeDeep } from "../../utils/json.ts";
import { detectContextRestart } from "../restart/detect-context-restart.ts";
import { restartedResult } from "../state/transcript.ts";
import { renderOutcome, wasDispatched } from "../../tools/outcome-texts.ts";
import { eventBase, type Run } from "../run/run.ts";
import { LoopError } from "../../errors/loop-error.ts";
import type { Spending } from "../run/meter.ts";

export function sendToolStart(run: Run, { callId, name, args }: ToolCall, live: boolean): void {
  const { events, ports, runId, state } = run;
  if (!events.wants("tool-start")) return;
  const { iteration } = state;
  // Written out field by field, because every call sends this event and an object spread takes longer.
  const replayed = live ? undefined : true;
  events.send({ type: "tool-start", runId, iteration, callId, name, index: ports.indexOf(callId), args, replayed });
}

export function sendToolEnd(run: Run, outcome: ToolOutcome, live: boolean): void {
  const { events, ports, options } = run;
  const { call, kind, durationMs } = outcome;
  const { callId, name } = call;
  const metadata = ports.takeMetadata(call);
  ports.ended.set(callId, kind);
  if (!events.wants("tool-end")) return;
  const base = eventBase(run, live);
  events.send({
    type: "tool-end",
    ...base,
    callId,
    name,
    index: ports.indexOf(callId),
    outcome: kind,
    result: freezeDeep(resultOf(outcome, options)),
    durationMs,
    metadata,
  });
}

function resultOf(outcome: ToolOutcome, { policies }: Run["options"]): Json {
  return detectContextRestart(outcome, policies?.restarts) === undefined ? renderOutcome(outcome) : restartedResult;
}

/** Throws LoopError "journal-mismatch" if the recorded outcome belongs to another call. */
export function checkRecorded({ callId, name }: ToolCall, { call }: ToolOutcome): void {
  if (call.callId === callId && call.name === name) return;
  throw new LoopError("journal-mismatch", {
    field: "call",
    expected: `${callId} ${name}`,
    received: `${call.callId} ${call.name}`,
  });
}

/** A call whose tool ran again after an answer counts once. */
export function replayCall(run: Run, outcome: ToolOutcome, isAgain: boolean): void {
  sendBoth(run, outcome, false);
  if (!isAgain && wasDispatched(outcome.kind)) run.meter.add({ toolCalls: 1 });
  if (outcome.nested !== undefined) run.meter.add(toSpending(outcome.nested));
}

export function sendBoth(run: Run, outcome: ToolOutcome, live: boolean): void {
  sendToolStart(run, outcome.call, live);
  sendToolEnd(run, outcome, live);
}

export function toSpending({ usage, costUSD, knownCostUSD, toolCallsExecuted }: NestedSpending): Spending {
  const known = costUSD ?? knownCostUSD;
  return { tokens: usage.totalTokens, toolCalls: toolCallsExecuted, costUSD: known, costUnknown: costUSD === undefined };
}
