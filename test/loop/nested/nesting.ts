// Calls that are runs of their own, of both kinds, and what their tests look at.

import {
  defineAgentTool,
  type LoopEvent,
  type LoopResult,
  type NestedLoopOptions,
  type Tool,
  type ToolContext,
  toolResult,
  type UserMessage,
} from "turnwright";
import {
  createMockProvider,
  type MockPart,
  type MockProvider,
  type MockMessage,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import { tool } from "../play.ts";

/** How a call becomes a run: by its own tool, or by `ctx.runToolLoop` inside an ordinary one. */
export type Kind = "agent tool" | "ordinary tool";

/** Both of them, for tables. */
export const kinds: readonly Kind[] = ["agent tool", "ordinary tool"];

/** Makes the options of the run inside a call. */
export type Prepare = (args: unknown, context: ToolContext) => NestedLoopOptions;

/** The messages that a nested run starts with. */
export const question: readonly UserMessage[] = [{ role: "user", content: "Well?" }];

/** A tool of either kind; both make the same of the result. */
export function nesting(kind: Kind, name: string, prepare: Prepare): Tool {
  if (kind === "ordinary tool") {
    const execute = async (args: unknown, context: ToolContext): Promise<unknown> =>
      summarise(await context.runToolLoop(prepare(args, context)));
    return tool(name, execute);
  }
  return defineAgentTool({ name, description: name, inputSchema: { type: "object" }, prepare, toResult: summarise });
}

function summarise({ status, reason, text: said }: LoopResult): unknown {
  return status === "completed" ? said : toolResult({ success: false, error: `${status}: ${reason.kind}` });
}

/** A nesting tool over a script of its own. */
export function scripted(
  [kind, name]: readonly [kind: Kind, name: string],
  script: readonly MockMessage[],
  more: Partial<NestedLoopOptions> = {},
): { readonly tool: Tool; readonly provider: MockProvider } {
  const provider = createMockProvider(script);
  return { tool: nesting(kind, name, () => ({ messages: question, provider, ...more })), provider };
}

/** The tokens of one turn. */
export const tokens = (inputTokens: number, outputTokens = 0): MockPart => usage({ inputTokens, outputTokens });

/** A turn that calls and a turn that answers, with the tokens of each. */
export function callAndAnswer(name: string, [first, second]: readonly [number, number] = [1, 1]): readonly MockMessage[] {
  return [
    [toolCall(name), tokens(first)],
    [text(`${name} is done.`), tokens(second)],
  ];
}

/** Returns the path of each event of a type, or "-" for the outermost run. */
export function pathsOf(events: readonly LoopEvent[], type: LoopEvent["type"]): readonly string[] {
  return events.filter((event) => event.type === type).map(({ path }) => path?.join(" > ") ?? "-");
}

/** A result as data, without its journal. */
export function plain({ journal: _, ...rest }: LoopResult): unknown {
  return JSON.parse(JSON.stringify(rest));
}

/** Returns the tokens, the cost and the tool calls of a run. */
export function spendingOf({ usage: { totalTokens }, costUSD, toolCallsExecuted }: LoopResult): readonly unknown[] {
  return [totalTokens, costUSD, toolCallsExecuted];
}
