// What listeners hear of a call: each start has one end, also where the call was refused or recalled.

import type { Json } from "../contract/json.ts";
import type { ToolCall, ToolOutcome } from "../contract/tool-outcome.ts";
import { detectContextRestart } from "../stages/context-restart.ts";
import { restartedResult } from "../state/transcript.ts";
import { renderOutcome } from "../tools/render-outcome.ts";
import type { Run } from "./run.ts";

/** A call begins. */
export function sendToolStart({ events, state, ports }: Run, { callId, name, args }: ToolCall, replayed: boolean): void {
  if (!events.wants("tool-start")) return;
  events.send({
    type: "tool-start",
    runId: events.runId,
    iteration: state.iteration,
    callId,
    name,
    index: ports.indexOf(callId),
    args,
    replayed: replayed ? true : undefined,
  });
}

/** A call has its outcome. */
export function sendToolEnd({ events, state, ports, options }: Run, outcome: ToolOutcome, replayed: boolean): void {
  const { call, kind, durationMs } = outcome;
  const metadata = ports.takeMetadata(call);
  if (!events.wants("tool-end")) return;
  const { callId, name } = call;
  const base = { runId: events.runId, iteration: state.iteration, callId, name, replayed: replayed ? true : undefined };
  events.send({ type: "tool-end", ...base, outcome: kind, result: resultOf(outcome, options), durationMs, metadata });
}

/** What the model will read. */
function resultOf(outcome: ToolOutcome, { policies }: Run["options"]): Json {
  return detectContextRestart(outcome, policies?.restarts) === undefined ? renderOutcome(outcome) : restartedResult;
}
