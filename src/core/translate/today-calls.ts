// Translates the tools of today's loop, and the calls that wait.

import type { LoopOptions, Tool } from "../types/loop-options.ts";
import type { ShownTool, WaitingCall } from "../types/tool-outcome.ts";
import { findToolChanges } from "../tools/compare-tools.ts";
import { toAgentTool } from "../middleware/agent-tool.ts";
import type { SeamOptions } from "../run/run.ts";
import type { Wait } from "../run/seam.ts";

export function translateTools(tools: LoopOptions["tools"]): Pick<SeamOptions, "tools"> {
  return tools === undefined ? {} : { tools: Array.isArray(tools) ? tools.map(toDurable) : tools };
}

/** An agent tool is a durable tool with a nested run, and so is a tool that asks questions. */
function toDurable(tool: Tool): Tool {
  const { agent, execute } = tool;
  if (agent !== undefined) return toAgentTool({ ...tool, agent });
  const asks = /\bask\b|\bexecute\(context/.test(String(execute));
  return asks ? ({ ...tool, durable: true } as Tool) : tool;
}

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
