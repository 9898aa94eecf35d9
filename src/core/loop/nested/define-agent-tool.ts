// Defines tools whose calls are nested runs, and the report for a nested run that ended without a complete answer.

import type { ExecutableTool, NestedRunOptions, Tool, ToolContext, NestedLoopOptions } from "../../types/loop-options.ts";
import type { LoopEmitter } from "../../types/loop-event.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { JsonSchema, ToolSchema, Json } from "../../types/common.ts";
import type { ToolTraits } from "../../types/tool.ts";
import type { ToolHistoryEntry } from "../../types/tool-outcome.ts";
import type { EndReason } from "../../types/termination.ts";
import type { ContextOf } from "../../types/typed-call.ts";
import { cutText, describeValue } from "../../../shared/texts.ts";
import { askCaller } from "../../../shared/ask-caller.ts";
import { isRecord } from "../../../shared/guards.ts";
import { type ArgsOf, defineTool, type FromSchema, refuseTool } from "../../tools/define-tool.ts";
import { emitText as emitTextOf, tapEvents } from "./emit-text.ts";
import { insideOf } from "../../tools/inside-call.ts";
import { giveBack, runNested } from "./run-nested.ts";
import { toolResult } from "../../tools/tool-result.ts";

type CutOff = "length" | "content-filter" | "refusal";

/** Tells an outer model how a nested run ended if its text is not a complete answer. */
export interface AgentReport {
  /** "incomplete" if the text was cut off or refused. */
  readonly status: "completed" | "incomplete";
  /** The kind of the run's `reason`. */
  readonly reason: "end-turn" | "stop-condition" | CutOff;
  /** The reason that a stop condition gave. */
  readonly stop_reason?: string | undefined;
  /** The calls that ended the run, with their results, or with their arguments if a stop condition prevented the calls. */
  readonly calls?: readonly (
    | { readonly tool_name: string; readonly result: Json }
    | { readonly tool_name: string; readonly args: Json }
  )[];
  /** The run's text. Absent if there is none. */
  readonly text?: string;
}

/** Returns the report on a nested run that completed without a complete answer. Returns undefined for all other runs. */
export function reportOf(result: LoopResult): AgentReport | undefined {
  const { status, reason, output, responseText: text } = result;
  // In a test, the result may be a stub without a `reason`, so an absent reason counts as completed.
  if (status !== "completed" || output !== undefined || (reason as unknown) === undefined) return undefined;
  const ended = readEnding(result, reason);
  return ended === undefined || text === "" ? ended : { ...ended, text };
}

const cutOff: ReadonlySet<EndReason["kind"]> = new Set<CutOff>(["length", "content-filter", "refusal"]);

function readEnding(result: LoopResult, reason: EndReason): Omit<AgentReport, "text"> | undefined {
  if (reason.kind === "end-turn")
    return { status: "completed", reason: reason.kind, calls: endingCallsOf(result).map(toEndingCall) };
  if (reason.kind === "stop-condition") return readStop(result, reason.reason);
  return cutOff.has(reason.kind) ? { status: "incomplete", reason: reason.kind as CutOff } : undefined;
}

function toEndingCall({ functionCall, functionResponse }: ToolHistoryEntry): NonNullable<AgentReport["calls"]>[number] {
  return { tool_name: functionCall.name, result: functionResponse.response.result };
}

function readStop(
  { pendingCalls, streamResults }: LoopResult,
  stop_reason: string | undefined,
): Omit<AgentReport, "text"> | undefined {
  // A stop condition ended the run, but the last message made no calls, so its answer is complete and needs no report.
  if (pendingCalls.length === 0 && streamResults.at(-1)?.finish === "stop") return undefined;
  const calls = pendingCalls.map(({ name, args }) => ({ tool_name: name, args }));
  const why = stop_reason === undefined ? {} : { stop_reason };
  return { status: "completed", reason: "stop-condition", ...why, calls };
}

export function endingCallsOf({ functionHistory }: Pick<LoopResult, "functionHistory">): readonly ToolHistoryEntry[] {
  const last = functionHistory.at(-1)?.iteration;
  return functionHistory.filter(({ iteration, endTurn }) => iteration === last && endTurn === true);
}

/** The maximum number of characters of a failed agent's last text that the outer model receives. */
const maxLastWordsLength = 2_000;

declare const inherited: unique symbol;

/** Marks a nested run that inherits the outer run's context. */
export type Inherited = typeof inherited;

/** The context that an agent tool needs: its own, and that of the nested run's tools if the nested run inherits the context. */
export type AgentContext<Context, T extends Tool, Own> = [Own] extends [Inherited]
  ? unknown extends ContextOf<T>
    ? Context
    : Context & ContextOf<T>
  : Context;

/** The options that `prepare` returns. `Own` is the type of the nested run's own context. */
export type PreparedOptions<T extends Tool, Own> = NestedRunOptions<unknown, T> & {
  /** The value that the nested run's tools read as `context.context`. Default: the outer run's context. */
  readonly context?: (Own & ContextOf<T>) | undefined;
};

/**
 * The fields that the author of an agent tool writes. `T` is the union of the nested run's tool types, and `Own` is the
 * type of the nested run's own context.
 */
export interface AgentToolFields<
  Args,
  Schema extends ToolSchema,
  Context = unknown,
  Name extends string = string,
  T extends Tool = Tool,
  Own = Inherited,
> extends Pick<ToolTraits<Args, Context>, "sequential" | "requiresFollowUp" | "needsApproval" | "triggers"> {
  readonly name: Name;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly jsonSchema?: JsonSchema | undefined;
  /**
   * Returns the options of the nested run, such as its messages, system prompt, tools and limits. Called again when a run is
   * resumed, and must then return the same options for the same arguments. `journal`, `runId`, `answers` and `resume` come from
   * the outer run, so these options are ignored here.
   */
  readonly prepare: (args: Args, context: ToolContext<Context>) => PreparedOptions<T, Own> | PromiseLike<PreparedOptions<T, Own>>;
  /**
   * Set to true to send the nested run's text to the user's stream, in `tool-emit` events for this call. Parts that its tools emit are then
   * passed on too. Default false.
   */
  readonly emitText?: boolean | undefined;
  /**
   * Returns the result of the call. Default: for a completed run, its `output`, or its text if there is no `output`. If the run did not end
   * with an answer, an `AgentReport`: `status`, `reason`, the `calls` that ended the run, and the `text`. Such a run ended after a tool
   * with `endTurn`, after a stop condition, or with an answer that was cut off (`length`, `content-filter`) or refused. For any other
   * ending, a failure with the run's status and reason.
   */
  readonly toResult?: ((result: LoopResult<unknown, T>) => unknown) | undefined;
}

/** A tool whose calls are nested runs. */
export type AgentTool<Args, Schema extends ToolSchema, Context, Name extends string> = ExecutableTool<
  Args,
  Schema,
  unknown,
  Context,
  Name
>;

/** `defineAgentTool` for tools whose `context.context` has the type `Context`. */
export type DefineAgentTool<Context> = <
  Args = FromSchema,
  Schema extends ToolSchema = JsonSchema,
  Name extends string = string,
  T extends Tool = Tool,
  Own = Inherited,
>(
  fields: AgentToolFields<ArgsOf<Args, Schema>, Schema, Context, Name, T, Own>,
) => AgentTool<ArgsOf<Args, Schema>, Schema, AgentContext<Context, T, Own>, Name>;

/**
 * Defines a tool whose calls are nested runs, one level deeper than the outer run. A nested run has its own tools and limits, and
 * shares what is left of the outer run's token and tool-call limits. Its usage is added to the outer run's usage. Listeners on
 * the outer run receive the nested run's events, with a `path`.
 *
 * `timeouts.toolMs` does not apply to these calls. To limit their time, set the nested run's `limits.wallClockMs`. The nested
 * run ends and is resumed together with the outer run. If the nested run stops, fails or times out, the call fails, and the outer
 * run continues. A call that would exceed `limits.maxDepth` also fails.
 *
 * `defineAgentTool<App>()` returns a `defineAgentTool` for tools whose `context.context` is an `App`, like `defineTool<App>()`. If
 * the nested run's tools need a context and `prepare` returns none, the outer run must have that context.
 *
 * Throws LoopError "invalid-tool" if the fields are invalid. The only tool traits that an agent tool may have are `sequential`,
 * `requiresFollowUp`, `needsApproval` and `triggers`.
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
export function defineAgentTool<Context>(): DefineAgentTool<Context>;
export function defineAgentTool<
  Args = FromSchema,
  Schema extends ToolSchema = JsonSchema,
  Context = unknown,
  Name extends string = string,
  T extends Tool = Tool,
  Own = Inherited,
>(
  fields: AgentToolFields<ArgsOf<Args, Schema>, Schema, Context, Name, T, Own>,
): AgentTool<ArgsOf<Args, Schema>, Schema, AgentContext<Context, T, Own>, Name>;
export function defineAgentTool(...given: readonly [fields?: AgentToolFields<unknown, ToolSchema>]): unknown {
  if (given.length === 0) return defineAgentTool;
  return createAgentTool(given[0] as AgentToolFields<unknown, ToolSchema>);
}

function createAgentTool(fields: AgentToolFields<unknown, ToolSchema>): Tool {
  const { prepare, toResult, emitText, ...tool } = checkAgent(fields);
  // Runs again when the run is resumed: `prepare` is called again, and the nested run continues from its records.
  const execute = async (args: unknown, given: ToolContext): Promise<unknown> => {
    const prepared: unknown = await callBack(given, () => prepare(args, given), "callbackMs");
    if (!isRecord(prepared))
      throw new TypeError("An agent tool's prepare() must return an object with the nested run's options.");
    // Ignores these options, because the nested run uses the outer run's id and journal.
    const { runId: _runId, journal: _journal, resume: _resume, ...options } = prepared;
    const tap = emitText === true ? tapNested(given, options["events"] as LoopEmitter | undefined) : undefined;
    const result = await runNested(given, { ...options, ...tap?.options } as unknown as NestedLoopOptions);
    tap?.forget();
    if (toResult !== undefined) return callBack(given, () => toResult(result), "toolMs");
    giveBack(given, result);
    return describeResult(tool.name, result);
  };
  return defineTool<unknown, ToolSchema>({ ...tool, durable: true, execute });
}

/**
 * Calls a function that may hang. Rejects when the run is cancelled, or after `timeouts.callbackMs`. With "toolMs", the call times out
 * after `timeouts.toolMs` instead. A context created in a test has no time limits.
 */
async function callBack<T>(context: ToolContext, work: () => T | PromiseLike<T>, limit: "callbackMs" | "toolMs"): Promise<T> {
  const inside = insideOf(context);
  const deadline = inside?.deadline;
  if (inside === undefined || deadline === undefined) return work();
  const { clock, timeouts } = inside.run;
  const ms = timeouts[limit];
  const onLate = limit === "toolMs" ? (): void => deadline.expire(ms) : undefined;
  return inside.inCore(() => askCaller(work, { clock, ms, signal: deadline.signal, onLate }));
}

interface Tap {
  readonly options: { readonly events?: LoopEmitter };
  readonly forget: () => void;
}

/** Passes the nested run's text on to the user's stream. */
function tapNested(context: ToolContext, given: LoopEmitter | undefined): Tap {
  if (given === undefined) return { options: { events: emitTextOf(context) }, forget: () => {} };
  return { options: {}, forget: tapEvents(given, (part) => context.emit(part)) };
}

/** Traits that an agent tool must not have, because its nested run has its own limits and records its own steps. */
const refused: readonly (keyof ToolTraits)[] = ["timeoutMs", "idleTimeoutMs", "idempotent", "retry", "replay"];

function checkAgent<Fields extends { readonly name: string }>(fields: Fields): Fields {
  const given: unknown = fields;
  if (!isRecord(given)) throw refuseTool("", `is ${describeValue(given)}, but must be an object`);
  const name = typeof given["name"] === "string" ? given["name"] : "";
  for (const field of ["prepare", "toResult"]) {
    const value = given[field];
    if (typeof value === "function" || (value === undefined && field === "toResult")) continue;
    const instead = "Return the options of the nested run from it: prepare: (args) => ({ messages, system, tools })";
    const advice = field === "prepare" && value === undefined ? `. ${instead}` : "";
    throw refuseTool(name, `must have a function as "${field}", but has ${describeValue(value)}${advice}`);
  }
  const { emitText } = given;
  if (emitText !== undefined && typeof emitText !== "boolean")
    throw refuseTool(name, `must have true or false as "emitText", but has ${describeValue(emitText)}`);
  const trait = refused.find((refusedName) => given[refusedName] !== undefined);
  if (trait !== undefined)
    throw refuseTool(
      name,
      `has "${trait}", which an agent tool cannot have. Remove it, and set the limits of the nested run in "prepare"`,
    );
  return fields;
}

function describeResult(name: string, result: LoopResult): unknown {
  const { status, reason, error, responseText, text, output } = result;
  const report = reportOf(result);
  if (report !== undefined) return withContent(report, result);
  if (status === "completed") return output === undefined ? responseText : output;
  const why = error === undefined ? reason.kind : `${reason.kind}: ${error.message}`;
  const lastWords = text === "" ? "" : ` It had said: ${cutText(text, maxLastWordsLength)}`;
  return toolResult({ success: false, error: `The agent ${name} ended as ${status} (${why}).${lastWords}` });
}

/** Adds to the report the images and files from the tools that ended the run. */
function withContent(report: AgentReport, result: LoopResult): unknown {
  const content = report.reason === "end-turn" ? endingCallsOf(result).flatMap((entry) => entry.content ?? []) : [];
  return content.length === 0 ? report : toolResult({ data: report, content });
}
