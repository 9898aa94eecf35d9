// A tool whose calls are runs.

import type { ExecutableTool, NestedLoopOptions, ToolContext } from "../../types/loop-options.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { JsonSchema, ToolSchema } from "../../types/common.ts";
import type { ToolTraits } from "../../types/tool.ts";
import { cutText, describeValue } from "../../utils/texts.ts";
import { isRecord } from "../../utils/guards.ts";
import { type ArgsOf, defineTool, type FromSchema, refuseTool } from "../../tools/define-tool.ts";
import { toolResult } from "../../tools/to-outcome.ts";
import type { RunnableAgent } from "../run/run.ts";
import { Parking } from "../run/parking.ts";
import { runAgent } from "./run-agent.ts";

/** Longest text that the model reads of an agent that failed, in characters. */
const longestLastWords = 2_000;

/** The fields of an agent tool as its author writes them. */
export interface AgentToolFields<Args, Schema extends ToolSchema> extends Pick<
  ToolTraits<Args>,
  "sequential" | "requiresFollowUp" | "needsApproval"
> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly jsonSchema?: JsonSchema | undefined;
  /**
   * Returns the nested run's messages, system text, tools and limits. Called again when a run is resumed, and must then return
   * the same for the same arguments. `journal`, `runId`, `decisions` and `resume` come from the outer run and are ignored here.
   */
  readonly prepare: (args: Args, context: ToolContext) => NestedLoopOptions | PromiseLike<NestedLoopOptions>;
  /** Returns the call's result. Default: the text or the `output` of a completed run, and for any other ending a failure that names it. */
  readonly toResult?: ((result: LoopResult) => unknown) | undefined;
}

/**
 * Defines a tool whose calls are runs, one level deeper than the outer run. Such a run has its own tools and limits, and shares
 * the rest of the outer run's tokens and tool calls. Its usage counts for the outer run, whose listeners receive its events with
 * a `path`.
 *
 * `timeouts.toolMs` does not apply to such a call; the nested run's `limits.wallClockMs` does. The nested run ends and is resumed
 * with the outer run. If it stops, fails or times out, the call fails, and the outer run goes on. Deeper than `limits.maxDepth`,
 * the model reads a failure instead of an answer.
 *
 * Throws LoopError "invalid-tool" if the shape of the tool is wrong. The only tool traits it may have are `sequential`,
 * `requiresFollowUp` and `needsApproval`.
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
): ExecutableTool<ArgsOf<Args, Schema>, Schema> {
  const { prepare: _prepare, toResult: _toResult, ...tool } = checkAgent(fields);
  const agent: RunnableAgent = {
    kind: "agent",
    run: runAgent,
    createParking: () => new Parking(),
    // The schema of the tool produced the arguments, so they have this type.
    prepare: (args, context) => fields.prepare(args as ArgsOf<Args, Schema>, context),
    toResult: (result) => (fields.toResult === undefined ? describeResult(tool.name, result) : fields.toResult(result)),
  };
  // Used if the loop does not see the agent, for example in a registry that wraps another one. The call still becomes a nested
  // run.
  const execute = async (args: ArgsOf<Args, Schema>, context: ToolContext): Promise<unknown> =>
    agent.toResult(await context.runToolLoop(await agent.prepare(args, context)));
  return defineTool<Args, Schema>({ ...tool, execute, agent });
}

/** Traits that an agent tool cannot have: its run has limits of its own, and its steps are recorded. */
const refused: readonly (keyof ToolTraits)[] = ["timeoutMs", "idleTimeoutMs", "idempotent", "retry", "replay"];

function checkAgent<Fields extends { readonly name: string }>(fields: Fields): Fields {
  const given: unknown = fields;
  if (!isRecord(given)) throw refuseTool("", `must be an object, but is ${describeValue(given)}`);
  const name = typeof given["name"] === "string" ? given["name"] : "";
  for (const field of ["prepare", "toResult"]) {
    const value = given[field];
    if (typeof value === "function" || (value === undefined && field === "toResult")) continue;
    throw refuseTool(name, `must have as "${field}" a function, but has ${describeValue(value)}`);
  }
  const trait = refused.find((refusedName) => given[refusedName] !== undefined);
  if (trait !== undefined)
    throw refuseTool(name, `has "${trait}", which an agent tool may not have: its run has limits of its own`);
  return fields;
}

function describeResult(name: string, { status, reason, error, responseText, text, output }: LoopResult): unknown {
  if (status === "completed") return output === undefined ? responseText : output;
  const why = error === undefined ? reason.kind : `${reason.kind}: ${error.message}`;
  const lastWords = text === "" ? "" : ` It had said: ${cutText(text, longestLastWords)}`;
  return toolResult({ success: false, error: `The agent ${name} ended as ${status} (${why}).${lastWords}` });
}
