// What listeners hear of a call: each start has one end, also where the call was refused or replayed.

import type { Json } from "../../types/json.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { freezeDeep } from "../../utils/freeze-deep.ts";
import { detectContextRestart } from "../restart/detect-context-restart.ts";
import { restartedResult } from "../state/transcript.ts";
import { renderOutcome } from "../../tools/render-outcome.ts";
import { eventBase } from "../run/event-base.ts";
import type { Run } from "../run/run.ts";

/** A call begins. */
export function sendToolStart(run: Run, { callId, name, args }: ToolCall, live: boolean): void {
  const { events, ports, runId, state } = run;
  if (!events.wants("tool-start")) return;
  const { iteration } = state;
  // Written out, because every call sends it: a spread takes longer.
  const replayed = live ? undefined : true;
  events.send({ type: "tool-start", runId, iteration, callId, name, index: ports.indexOf(callId), args, replayed });
}

/** A call has its outcome. */
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

/** What the model will read. */
function resultOf(outcome: ToolOutcome, { policies }: Run["options"]): Json {
  return detectContextRestart(outcome, policies?.restarts) === undefined ? renderOutcome(outcome) : restartedResult;
}
