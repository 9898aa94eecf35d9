import {
  defineAgentTool,
  type LoopEvent,
  type LoopResult,
  type NestedLoopOptions,
  type Tool,
  type ToolContext,
  toolResult,
  type UserMessage,
  runNested,
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

/** A nested run starts in an agent tool, or by `runNested` in an ordinary tool. */
export type Kind = "agent tool" | "ordinary tool";

export const kinds: readonly Kind[] = ["agent tool", "ordinary tool"];

export type Prepare = (args: unknown, context: ToolContext) => NestedLoopOptions;

export const question: readonly UserMessage[] = [{ role: "user", content: "Well?" }];

/** Both kinds of tools convert the result of the nested run in the same way. */
export function nesting(kind: Kind, name: string, prepare: Prepare): Tool {
  if (kind === "ordinary tool") {
    const execute = async (args: unknown, context: ToolContext): Promise<unknown> =>
      summarize(await runNested(context, prepare(args, context)));
    return tool(name, execute);
  }
  return defineAgentTool({ name, description: name, inputSchema: { type: "object" }, prepare, toResult: summarize });
}

function summarize({ status, reason, text: said }: LoopResult): unknown {
  return status === "completed" ? said : toolResult({ success: false, error: `${status}: ${reason.kind}` });
}

export function scripted(
  [kind, name]: readonly [kind: Kind, name: string],
  script: readonly MockMessage[],
  more: Partial<NestedLoopOptions> = {},
): { readonly tool: Tool; readonly provider: MockProvider } {
  const provider = createMockProvider(script);
  return { tool: nesting(kind, name, () => ({ messages: question, provider, ...more })), provider };
}

export const tokens = (inputTokens: number, outputTokens = 0): MockPart => usage({ inputTokens, outputTokens });

export function callAndAnswer(name: string, [first, second]: readonly [number, number] = [1, 1]): readonly MockMessage[] {
  return [
    [toolCall(name), tokens(first)],
    [text(`${name} is done.`), tokens(second)],
  ];
}

export function pathsOf(events: readonly LoopEvent[], type: LoopEvent["type"]): readonly string[] {
  return events.filter((event) => event.type === type).map(({ path }) => path?.join(" > ") ?? "-");
}

export function plain({ journal: _, ...rest }: LoopResult): unknown {
  return JSON.parse(JSON.stringify(rest));
}

export function spendingOf({ usage: { totalTokens }, costUSD, toolCallsExecuted }: LoopResult): readonly unknown[] {
  return [totalTokens, costUSD, toolCallsExecuted];
}
