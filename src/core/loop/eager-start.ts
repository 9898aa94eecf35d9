// Starts calls of eager tools while the model is still streaming.

import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { whenReady } from "../utils/promises.ts";
import type { EagerPorts } from "./stream/eager-calls.ts";
import { prepareCall } from "./tool-call/prepare-call.ts";
import type { ReadyCall } from "./run/call.ts";
import { type Run, toBatchCall } from "./run/run.ts";
import { performCall } from "./tool-call/execute-tool-call.ts";
import { sendBoth } from "./tool-call/replay-call.ts";

/**
 * Returns the functions that start calls while the model streams. Undefined if an approval or a limit may still prevent the
 * calls.
 */
export function createEagerPorts(run: Run): EagerPorts | undefined {
  const { policies } = run.options;
  if (!run.visibleTools.hasEager) return undefined;
  if (policies?.stopWhen !== undefined || run.features.loopDetection?.action === "stop") return undefined;
  if (policies?.approve !== undefined || run.meter.maxToolCalls !== Number.POSITIVE_INFINITY) return undefined;
  let running = 0;
  const start = (call: ToolCall): ReturnType<EagerPorts["start"]> => {
    if (running >= run.bounds.toolConcurrency || !isEager(run, call)) return undefined;
    running += 1;
    const outcome = whenReady(prepareCall(call, run.ports), (prepared) => begin(run, prepared));
    return whenReady(outcome, (end) => {
      running -= 1;
      return end;
    });
  };
  return { start, onAdopted: (outcome: ToolOutcome): void => sendBoth(run, outcome, true) };
}

function isEager({ visibleTools, registry }: Run, { name }: ToolCall): boolean {
  const { eager, needsApproval = false } = visibleTools.byName.get(name) ?? {};
  return eager === true && needsApproval === false && registry.agentOf?.(name) === undefined;
}

/**
 * Starts one prepared call. Returns undefined if the call must not run; the call is then rejected after the message has ended.
 */
function begin(run: Run, prepared: ReadyCall | ToolOutcome): ReturnType<EagerPorts["start"]> {
  const { scope, control } = run;
  if (prepared.kind !== "ready" || scope.cause !== undefined) return undefined;
  control?.startToolChain();
  return performCall(run, { ...toBatchCall(prepared.call, 0), ready: prepared });
}
