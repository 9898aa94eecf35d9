// The tool that a model calls to hand the run over to another agent.

import {
  argumentSchema,
  issue,
  markSignal,
  type Message,
  type StandardResult,
  type Tool,
  type ToolContext,
  toolResult,
  type UnknownRecord,
} from "../core/entry-kit.ts";

interface Transfer {
  readonly reason?: string | undefined;
}

const prefix = "transfer_to_";

export function transferName(agent: string): string {
  return `${prefix}${agent}`;
}

export function createTransferTool(agent: string, description: string): Tool {
  return {
    name: transferName(agent),
    description: `Hands the conversation over to the agent ${agent}, which then answers. ${description}`.trim(),
    inputSchema,
    // A repeated call has the same effect, because the handoff takes place after the call.
    replay: "safe",
    execute: ({ reason }: Transfer, context: ToolContext) => {
      if (findFirst(context) !== context.callId)
        return toolResult({
          success: false,
          message: "This handoff was ignored. Only the first handoff in a message is carried out.",
        });
      return markSignal(toolResult({ data: { handed_over_to: agent } }), { handoff: { to: agent, reason } });
    },
  };
}

const inputSchema = /* @__PURE__ */ argumentSchema<Transfer>(
  { type: "object", properties: { reason: { type: "string", description: "The reason for the handoff, in one sentence." } } },
  readTransfer,
);

const longestReason = 500;

function readTransfer({ reason }: UnknownRecord): StandardResult<Transfer> {
  if (reason === undefined || reason === null || reason === "") return { value: {} };
  if (typeof reason !== "string") return issue("must be a string", "reason");
  return { value: { reason: reason.slice(0, longestReason) } };
}

/** Returns the id of the first handoff in the last assistant message. */
function findFirst({ messages, callId }: ToolContext): string {
  const last: Message | undefined = messages.findLast(({ role }) => role === "assistant");
  const parts = last?.role === "assistant" ? last.content : [];
  const first = parts.find((part) => part.type === "tool-call" && part.name.startsWith(prefix));
  return first?.type === "tool-call" ? first.callId : callId;
}
