import {
  argumentSchema,
  handoffKey,
  ignoredHandoff,
  issue,
  markSignal,
  mayRunKey,
  type Message,
  type StandardResult,
  takeStart,
  type Tool,
  type ToolContext,
  toolResult,
  type ToolSchema,
  type UnknownRecord,
} from "../core/entry-kit.ts";

interface Transfer {
  readonly reason?: string | undefined;
}

const prefix = "transfer_to_";

/**
 * A tool that hands the run over to an agent. `Context` is the context that the agents need, so that a run with the tool needs it
 * too.
 */
export type TransferTool<Context = never> = Tool<never, ToolSchema, unknown, Context, `${typeof prefix}${string}`>;

export function transferName(agent: string): TransferTool["name"] {
  return `${prefix}${agent}`;
}

interface TransferFacts {
  readonly description: string;
  /**
   * The names of all tools for handoffs. The prefix of a name is not enough to recognize such a tool, because other tools may
   * have names with the same prefix.
   */
  readonly names: ReadonlySet<string>;
}

export function createTransferTool(agent: string, { description, names }: TransferFacts): TransferTool {
  const tool: TransferTool = {
    name: transferName(agent),
    description: `Hands the conversation over to the agent ${agent}, which then answers. ${description}`.trim(),
    inputSchema: createSchema(),
    // A repeated call has the same effect, because the handoff takes place after the call.
    replay: "safe",
    execute: ({ reason }: Transfer, context: ToolContext) => {
      if (findFirstHandoff(context, names) !== context.callId)
        return toolResult({
          success: false,
          message: ignoredHandoff,
        });
      return markSignal(toolResult({ data: { handed_over_to: agent } }), { handoff: { to: agent, reason } });
    },
  };
  return Object.assign(tool, { [handoffKey]: true });
}

function createSchema(): ReturnType<typeof argumentSchema<Transfer>> {
  const reason = { type: "string", description: "The reason for the handoff, in one sentence." };
  return argumentSchema<Transfer>({ type: "object", properties: { reason } }, readTransfer);
}

const longestReason = 500;

function readTransfer({ reason }: UnknownRecord): StandardResult<Transfer> {
  if (reason === undefined || reason === null || reason === "") return { value: {} };
  if (typeof reason !== "string") return issue("must be a string", "reason");
  return { value: { reason: takeStart(reason, longestReason) } };
}

/**
 * Returns the id of the first call of a handoff tool in the last assistant message. Omits calls that were refused, and calls that
 * still wait for a decision. If such a decision allows a call later, the loop carries out the first of the handoffs.
 */
function findFirstHandoff(context: ToolContext, names: ReadonlySet<string>): string {
  const { messages, callId } = context;
  const last: Message | undefined = messages.findLast(({ role }) => role === "assistant");
  const parts = last?.role === "assistant" ? last.content : [];
  const mayRun = siblingsOf(context);
  const first = parts.find((part) => part.type === "tool-call" && names.has(part.name) && mayRun(part.callId));
  return first?.type === "tool-call" ? first.callId : callId;
}

/** Without the context of the loop, for example in a test of the tool, any call may run. */
function siblingsOf(context: ToolContext): (callId: string) => boolean {
  const { [mayRunKey]: mayRun } = context as { readonly [mayRunKey]?: (callId: string) => boolean };
  return mayRun ?? (() => true);
}
