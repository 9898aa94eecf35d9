import { argumentSchema } from "../../shared/own-schema.ts";
import { handoffKey, markSignal, type ToolSchema } from "../../core/kit.ts";
import type { StandardResult } from "../../core/types/common.ts";
import { issue } from "../../shared/argument-schema.ts";
import { takeStart } from "../../shared/texts.ts";
import { type Tool, toolResult } from "../../core/index.ts";
import type { UnknownRecord } from "../../shared/guards.ts";

interface Transfer {
  readonly reason?: string | undefined;
}

const prefix = "transfer_to_";

/**
 * A tool that hands the run over to an agent. `Context` is the type of the context that the agents need. A run with this tool needs this
 * context too.
 */
export type TransferTool<Context = never> = Tool<never, ToolSchema, unknown, Context, `${typeof prefix}${string}`>;

export function transferName(agent: string): TransferTool["name"] {
  return `${prefix}${agent}`;
}

export function createTransferTool(agent: string, description: string): TransferTool {
  const tool: TransferTool = {
    name: transferName(agent),
    description: `Hands the conversation over to the agent ${agent}, which then answers. ${description}`.trim(),
    inputSchema: createSchema(),
    // The call can safely run again after a crash, because the handoff takes place only after the call.
    replay: "safe",
    // Runs transfers one at a time, because only a message's first handoff is applied and a later one must wait for its outcome.
    sequential: true,
    execute: ({ reason }: Transfer) =>
      markSignal(toolResult({ data: { handed_over_to: agent } }), { handoff: { to: agent, reason } }),
  };
  return Object.assign(tool, { [handoffKey]: true });
}

function createSchema(): ReturnType<typeof argumentSchema<Transfer>> {
  const reason = { type: "string", description: "The reason for the handoff, in one sentence." };
  return argumentSchema<Transfer>({ type: "object", properties: { reason } }, readTransfer);
}

const maxReasonLength = 500;

function readTransfer({ reason }: UnknownRecord): StandardResult<Transfer> {
  if (reason === undefined || reason === null || reason === "") return { value: {} };
  if (typeof reason !== "string") return issue("must be a string", "reason");
  return { value: { reason: takeStart(reason, maxReasonLength) } };
}
