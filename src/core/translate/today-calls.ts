// Translates the calls that wait.

import type { ShownTool, WaitingCall } from "../types/tool-outcome.ts";
import { findToolChanges } from "../tools/compare-tools.ts";
import type { Wait } from "../run/seam.ts";

interface WaitFacts extends Partial<Pick<WaitingCall, "name" | "args" | "fromPage" | "question">> {
  readonly tool?: ShownTool;
}

export function toWaitingCall({ id, what, facts, earlier }: Wait): WaitingCall {
  const { name = "", args = null, fromPage, tool, question } = facts as WaitFacts;
  const was = (earlier as WaitFacts | undefined)?.tool;
  const toolChanges = was === undefined ? [] : findToolChanges(name, was, tool);
  const callId =
    id
      .split("/")
      .at(-1)
      ?.replace(/[#~]\d+$/, "") ?? id;
  return {
    id,
    callId,
    name,
    args,
    waitsFor: what === "approval" ? "approval" : "result",
    ...(fromPage && { fromPage }),
    ...(question && { question }),
    ...(toolChanges.length > 0 && { toolChanges }),
  };
}
