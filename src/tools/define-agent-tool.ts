// A tool whose work is a run of its own.

import type { Agent, NestedLoopOptions, Tool, ToolContext } from "../contract/loop-options.ts";
import type { LoopResult } from "../contract/loop-result.ts";
import type { JsonSchema, ToolSchema } from "../contract/schema.ts";
import type { ToolTraits } from "../contract/tool.ts";
import { LoopError } from "../errors/loop-error.ts";
import { cutText } from "../kit/cut-text.ts";
import { describeValue } from "../kit/describe-value.ts";
import { isRecord } from "../kit/is-record.ts";
import { type ArgsOf, defineTool, type FromSchema } from "./define-tool.ts";
import { toolResult } from "./tool-result.ts";

/** The most that a model reads of what an agent had said before it failed, in characters. */
const longestLastWords = 2_000;

/** An agent tool as its author writes it. */
export interface AgentToolFields<Args, Schema extends ToolSchema> extends ToolTraits {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly jsonSchema?: JsonSchema | undefined;
  /**
   * What the nested run is told: its messages, system text, tools, limits. Asked again when a run is resumed, and must then say the same
   * for the same arguments. `journal` and `runId` are the loop's own.
   */
  readonly prepare: (args: Args, context: ToolContext) => NestedLoopOptions | PromiseLike<NestedLoopOptions>;
  /** What the call gives. Default: the text of a completed run, and a failure that says how any other one ended. */
  readonly toResult?: ((result: LoopResult) => unknown) | undefined;
}

/**
 * Defines a tool whose calls are runs of their own: one level deeper, with tools and limits of their own, within what is left of the
 * outer run's tokens and tool calls. `timeouts.toolMs` does not apply to such a call; the nested run's `limits.wallClockMs` does. It ends
 * when the outer run does, and its own stop, failure or timeout is a failed call, never the end of the outer run. Its usage counts for
 * the outer run, whose listeners hear its events with a `path`; it is resumed with it. Below `limits.maxDepth` levels the model reads a
 * failure in place of an answer.
 *
 * Throws LoopError "invalid-tool" or "invalid-option" at once where the tool's shape is wrong.
 *
 * @example
 * const researcher = defineAgentTool({
 *   name: "research",
 *   description: "Looks a question up and answers it",
 *   inputSchema: z.object({ question: z.string() }),
 *   prepare: ({ question }) => ({
 *     system: "Answer in one paragraph.",
 *     messages: [{ role: "user", content: question }],
 *     tools: [search],
 *     limits: { maxIterations: 10, wallClockMs: 60_000 },
 *   }),
 * });
 */
export function defineAgentTool<Args = FromSchema, Schema extends ToolSchema = JsonSchema>(
  fields: AgentToolFields<ArgsOf<Args, Schema>, Schema>,
): Tool<ArgsOf<Args, Schema>, Schema> {
  const { prepare, toResult, ...tool } = checkAgent(fields);
  const agent: Agent = {
    // The arguments are what the tool's own schema gave.
    prepare: (args, context) => prepare(args as ArgsOf<Args, Schema>, context),
    toResult: (result) => (toResult === undefined ? describeResult(tool.name, result) : toResult(result)),
  };
  // Where no loop looks for the agent, as in a registry that wraps another, the call still is a nested run.
  const execute = async (args: ArgsOf<Args, Schema>, context: ToolContext): Promise<unknown> =>
    agent.toResult(await context.runToolLoop(await agent.prepare(args, context)));
  return defineTool<Args, Schema>({ ...tool, execute, agent });
}

function checkAgent<Fields>(fields: Fields): Fields {
  if (!isRecord(fields)) return fields;
  const { prepare, toResult } = fields;
  if (typeof prepare !== "function") throw invalid("prepare", prepare);
  if (toResult !== undefined && typeof toResult !== "function") throw invalid("toResult", toResult);
  return fields;
}

function invalid(option: string, received: unknown): LoopError<"invalid-option"> {
  return new LoopError("invalid-option", { option, expected: "a function", received: describeValue(received) });
}

function describeResult(name: string, { status, reason, responseText, text }: LoopResult): unknown {
  if (status === "completed") return responseText;
  const lastWords = text === "" ? "" : ` It had said: ${cutText(text, longestLastWords)}`;
  return toolResult({ success: false, error: `The agent ${name} ended as ${status} (${reason.kind}).${lastWords}` });
}
