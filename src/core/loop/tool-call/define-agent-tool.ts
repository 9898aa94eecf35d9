// A tool whose call is a nested run, and the report about a nested run without a whole answer. The journal records the start of a nested
// run before any of its steps, so that a replay starts only recorded runs.

import { EventEmitter } from "eventemitter3";
import type { ExecutableTool, NestedRunOptions, Tool, ToolContext, NestedLoopOptions } from "../../types/loop-options.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { JsonSchema, ToolSchema, Json } from "../../types/common.ts";
import type { ToolTraits } from "../../types/tool.ts";
import type { ContextOf } from "../../types/typed-call.ts";
import { cutText, describeValue } from "../../utils/texts.ts";
import { isRecord } from "../../utils/guards.ts";
import { type ArgsOf, defineTool, type FromSchema, refuseTool } from "../../tools/define-tool.ts";
import { toolResult } from "../../tools/to-outcome.ts";
import { type RunnableAgent, type BatchCall, eventBase, readyOf, type Run, type StartedRun, type ReadyCall } from "../run/run.ts";
import { Parking } from "../run/parking.ts";
import { createTextTap, tapEvents } from "./emit-text.ts";
import type { ToolCall, ToolOutcome, ToolHistoryEntry } from "../../types/tool-outcome.ts";
import { isLoopError, LoopError } from "../../errors/loop-error.ts";
import { admitCall, executeToolCall, findNeededDecision, finishCall } from "./execute-tool-call.ts";
import { spendingOf, startNested } from "./tool-context.ts";
import { batchKey, end, leaveOpen } from "./batch.ts";
import { isRecorded, runStep } from "../run/run-step.ts";
import { checkRecorded, sendToolEnd, sendToolStart } from "./call-ports.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { CancelScope } from "../../cancellation/cancel-scope.ts";
import { validateCall } from "./prepare-call.ts";
import { wasDispatched } from "../../tools/outcome-texts.ts";
import { askAgain, askHook } from "../run/ask-hook.ts";
import { prefixJournal, refuseBroken } from "../run/journal-call.ts";
import type { BegunRecord } from "./record-verdicts.ts";
import type { EndReason } from "../../types/termination.ts";

type CutOff = "length" | "content-filter" | "refusal";

/** Reports to an outer model how a nested run ended without a whole answer in its text. */
export interface AgentReport {
  /** "incomplete" if the text was cut off or refused. */
  readonly status: "completed" | "incomplete";
  /** The kind of the run's `reason`. */
  readonly reason: "end-turn" | "stop-condition" | CutOff;
  /** The reason that a stop condition gave. */
  readonly stop_reason?: string | undefined;
  /** The calls that ended the run: with their results, or with their arguments if a stop condition kept them from running. */
  readonly calls?: readonly (
    | { readonly tool_name: string; readonly result: Json }
    | { readonly tool_name: string; readonly args: Json }
  )[];
  /** The text of the run. Absent if there is none. */
  readonly text?: string;
}

/** Returns undefined if the text or the output of the run is its answer, or if the run is not completed. */
export function reportOf(result: LoopResult): AgentReport | undefined {
  const { status, reason, output, responseText: text } = result;
  // A test may replace the nested run, and give its result only the fields that it needs.
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
  // The condition stopped a message without calls, so nothing is left out.
  if (pendingCalls.length === 0 && streamResults.at(-1)?.finish === "stop") return undefined;
  const calls = pendingCalls.map(({ name, args }) => ({ tool_name: name, args }));
  const why = stop_reason === undefined ? {} : { stop_reason };
  return { status: "completed", reason: "stop-condition", ...why, calls };
}

export function endingCallsOf({ functionHistory }: Pick<LoopResult, "functionHistory">): readonly ToolHistoryEntry[] {
  const last = functionHistory.at(-1)?.iteration;
  return functionHistory.filter(({ iteration, endTurn }) => iteration === last && endTurn === true);
}

type NestedEnd = { readonly kind: "ended"; readonly result: LoopResult; readonly nested: Run } | Lost;

async function runAgent(run: Run, one: BatchCall): Promise<void> {
  const { call } = one;
  const begun = await beginAgent(run, one);
  if (begun.kind === "must-ask") {
    leaveOpen(one, begun.mustAsk);
    return;
  }
  if (begun.kind === "over") {
    takeOutcome(run, one, begun);
    return;
  }
  const nestedEnd = begun.kind === "lost" ? begun : await drive(begun.started, begun.isOver);
  if (nestedEnd.kind === "ended" && nestedEnd.result.status === "suspended") {
    const { status, reason } = nestedEnd.result;
    const outcome: ToolOutcome = { call, kind: "interrupted", ...factsOf(nestedEnd, false) };
    takeOutcome(run, one, { outcome, isLive: run.journal.replays === undefined });
    one.suspended = { status, reason };
    return;
  }
  const body = (): Promise<ToolOutcome> => concludeAgent(run, one, nestedEnd);
  const step = { key: outcomeKey(run, one), kind: "tool" as const, input: inputOf(call), run: body };
  await runStep(step, run, (outcome, isLive) => takeOutcome(run, one, { outcome, isLive }));
}

/**
 * Runs the nested run. An error from the journal of the nested run also ends the outer run. If the outcome of the call is
 * already recorded, each LoopError is ignored, because the records of the nested run may be incomplete or belong to another run.
 */
async function drive({ run, drive: driveNested }: StartedRun, isOver: boolean): Promise<NestedEnd> {
  try {
    return { kind: "ended", result: await driveNested(), nested: run };
  } catch (error) {
    if (isOver && isLoopError(error)) return { kind: "lost", error };
    throw error;
  }
}

function takeOutcome(run: Run, one: BatchCall, { outcome, isLive }: { outcome: ToolOutcome; isLive: boolean }): void {
  checkRecorded(one.call, outcome);
  sendToolEnd(run, outcome, isLive);
  end(one, outcome, isLive);
}

async function concludeAgent(run: Run, one: BatchCall, ended: NestedEnd): Promise<ToolOutcome> {
  if (ended.kind === "lost" && ended.refused !== undefined) return finishCall(run, ended.refused);
  let isRead = false;
  const execute = (): unknown => {
    if (ended.kind !== "ended") throw ended.error;
    isRead = one.agent?.hasReader === true;
    return one.agent?.toResult(ended.result);
  };
  const outcome = await executeToolCall({ ...readyOf(one), execute }, run.ports);
  const settled: ToolOutcome = outcome.kind === "not-run" ? { ...outcome, kind: "interrupted" } : outcome;
  return finishCall(run, ended.kind === "ended" ? { ...settled, ...factsOf(ended, isRead) } : settled);
}

function factsOf(
  { result, nested }: Extract<NestedEnd, { kind: "ended" }>,
  isRead: boolean,
): Pick<ToolOutcome, "durationMs" | "nested" | "undelivered"> {
  const facts = { durationMs: result.durationMs, nested: spendingOf(result, nested) };
  const { reason } = result;
  const interrupting = reason.kind === "interrupted" ? [reason.message] : [];
  const undelivered = [...interrupting, ...result.undelivered].map(({ content }) => content);
  return isRead || undelivered.length === 0 ? facts : { ...facts, undelivered };
}

interface Lost {
  readonly kind: "lost";
  readonly error?: unknown;
  readonly refused?: ToolOutcome | undefined;
}

type Begun =
  | { readonly kind: "begun"; readonly started: StartedRun; readonly isOver: boolean }
  | Lost
  | { readonly kind: "over"; readonly outcome: ToolOutcome; readonly isLive: boolean }
  | Extract<BegunRecord, { kind: "must-ask" }>;

async function beginAgent(run: Run, one: BatchCall): Promise<Begun> {
  const { call } = one;
  let live: StartedRun | undefined;
  let isLive = false;
  let hasStarted = false;
  const start = (): void => {
    if (!hasStarted) sendToolStart(run, call, isLive);
    hasStarted = true;
  };
  const body = async (): Promise<BegunRecord> => {
    // If an engine retries this step, the nested run starts again, so the nested run of the previous try is released.
    live?.run.release();
    live = undefined;
    if (one.awaitsTurn) await takeTurn(run, one);
    run.scope.checkDeadline(run.clock.now());
    // A decision must be requested before any event of the call is emitted.
    const mustAsk = findNeededDecision(run, one);
    if (mustAsk !== undefined) return { kind: "must-ask", mustAsk };
    isLive = true;
    const begun = await tryBegin(run, one, start);
    if (begun.kind === "over") return begun;
    live = begun.started;
    return { kind: "begun" };
  };
  const step = { key: batchKey(run, "agent", one), kind: "intent" as const, input: inputOf(call), run: body };
  try {
    const record = await runStep(step, run, (answer) => answer);
    if (record.kind === "must-ask") return record;
    if (record.kind === "begun" || wasDispatched(record.outcome.kind)) start();
    if (record.kind === "over") {
      if (!isLive && wasDispatched(record.outcome.kind)) run.meter.add({ toolCalls: 1 });
      return { ...record, isLive };
    }
    if (live !== undefined) return { kind: "begun", started: live, isOver: false };
  } catch (error) {
    live?.run.release();
    throw error;
  }
  return goOn(run, one);
}

/**
 * Waits until the other calls of the batch have replayed their records. Without `journal.has`, calls that have no records begin
 * together with the recorded calls, and then wait here.
 */
async function takeTurn(run: Run, one: BatchCall): Promise<void> {
  const scope = new CancelScope();
  const parked = await one.park?.({ scope, isDrained: false, mustEnd: () => false, suspend: () => {} });
  refuseBroken(run);
  one.awaitsTurn = false;
  one.isBarred ||= parked === "ended";
}

function inputOf({ callId, name, args }: ToolCall): Pick<ToolCall, "callId" | "name" | "args"> {
  return { callId, name, args };
}

type Tried = Extract<BegunRecord, { kind: "over" }> | { readonly kind: "begun"; readonly started: StartedRun };

/** Calls `start` directly before `prepare`. */
async function tryBegin(run: Run, one: BatchCall, start: () => void): Promise<Tried> {
  const ready = readyOf(one);
  const admitted = await admitCall(run, one);
  if (admitted.kind !== "ready") return { kind: "over", outcome: admitted };
  start();
  const tried = await tryStart(run, one, { ready: admitted, ask: askHook, isOver: false });
  if (tried.kind === "begun") return tried;
  const execute = (): never => {
    throw tried.error;
  };
  const outcome = await executeToolCall({ ...ready, execute }, run.ports);
  // The outcome must not be "not-run", because `prepare` may have had effects.
  return {
    kind: "over",
    outcome: await finishCall(run, outcome.kind === "not-run" ? { ...outcome, kind: "interrupted" } : outcome),
  };
}

/** Validates the arguments if needed, so that `prepare` never gets invalid arguments. */
function checkFit(run: Run, ready: ReadyCall): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  if (ready.unfit !== undefined) return ready.unfit;
  return ready.unvalidated === true ? validateCall(ready, run.ports) : ready;
}

/** Continues a nested run that has records. If the outcome of the call is recorded, no new work is done. */
async function goOn(run: Run, one: BatchCall): Promise<Begun> {
  run.meter.add({ toolCalls: 1 });
  const ready = await checkFit(run, readyOf(one));
  if (ready.kind !== "ready") return { kind: "lost", refused: ready };
  const isOver = await isRecorded(run, outcomeKey(run, one));
  const tried = await tryStart(run, one, { ready, ask: askAgain, isOver });
  return tried.kind === "begun" ? { ...tried, isOver } : tried;
}

/** The keys of the nested run's steps begin with this key. */
function outcomeKey(run: Run, one: BatchCall): string {
  return batchKey(run, "tool", one);
}

interface Starting {
  readonly ready: ReadyCall;
  readonly ask: typeof askHook;
  readonly isOver: boolean;
}

type Start = { readonly kind: "begun"; readonly started: StartedRun } | Lost;

async function tryStart(run: Run, one: BatchCall, { ready, ask, isOver }: Starting): Promise<Start> {
  const { call, agent, park, awaitsTurn } = one;
  const { callId } = call;
  if (run.depth + 1 >= run.maxDepth) {
    return { kind: "lost", error: new LoopError("depth-exceeded", { current: run.depth + 1, limit: run.maxDepth }) };
  }
  const deadline = new Deadline({ limitMs: Number.POSITIVE_INFINITY }, run);
  run.scope.join(deadline);
  try {
    const context = run.ports.contextFor(call, deadline);
    const asked = await ask(() => agent?.prepare(ready.args, context), toOptions, run);
    if (asked.kind !== "value") return { kind: "lost", error: asked.kind === "failed" ? asked.thrown : undefined };
    const key = outcomeKey(run, one);
    const journal = prefixJournal(run.journal, { prefix: `${key}/`, isOver });
    const own = { journal, runId: `${run.runId}/${key}`, resume: undefined };
    const place = { ...eventBase(run), callId, name: call.name, index: run.ports.indexOf(callId) };
    const tap = agent?.createTap?.((part) => run.events.send({ type: "tool-emit", ...place, part }));
    return {
      kind: "begun",
      started: startNested({ run, callId, sharesJournal: true, park, awaitsTurn, tap }, { ...asked.value, ...own }),
    };
  } catch (error) {
    return { kind: "lost", error };
  } finally {
    deadline.end();
    run.scope.leave(deadline);
  }
}

function toOptions(value: unknown): NestedLoopOptions {
  if (!isRecord(value))
    throw new TypeError("prepare() of an agent tool must return the options of the nested run, as an object.");
  return value as unknown as NestedLoopOptions;
}

/** The outer model gets the final text of a failed agent, up to this length in characters. */
const longestLastWords = 2_000;

declare const inherited: unique symbol;

/** The type of the context of a nested run that uses the context of the outer run. */
export type Inherited = typeof inherited;

/** The context that an agent tool needs: its own context, and the context of the tools of a nested run that inherits it. */
export type AgentContext<Context, T extends Tool, Own> = [Own] extends [Inherited]
  ? unknown extends ContextOf<T>
    ? Context
    : Context & ContextOf<T>
  : Context;

/** The options that `prepare` returns. `Own` is the type of the nested run's own context. */
export type PreparedOptions<T extends Tool, Own> = NestedRunOptions<unknown, T> & {
  /** The value that the tools of the nested run read as `context.context`. Default: the context of the outer run. */
  readonly context?: (Own & ContextOf<T>) | undefined;
};

/**
 * The fields that the author of an agent tool writes. `T` is the union of the types of the nested run's tools, and `Own` is the
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
   * resumed, and must then return the same options for the same arguments. `journal`, `runId`, `decisions` and `resume` come from
   * the outer run, so these options are ignored here.
   */
  readonly prepare: (args: Args, context: ToolContext<Context>) => PreparedOptions<T, Own> | PromiseLike<PreparedOptions<T, Own>>;
  /**
   * Set to true to write the text of the nested run to the user's stream, in `tool-emit` events of this call. Parts that tools of
   * the nested run emit are then passed on too. Default false.
   */
  readonly emitText?: boolean | undefined;
  /**
   * Returns the result of the call. Default: for a completed run, its `output`, or its text if there is no `output`. If the run
   * did not end with an answer, an `AgentReport`: `status`, `reason`, the `calls` that ended the run, and the `text`. This is so
   * for a tool with `endTurn`, a stop condition, and an answer that was cut off (`length`, `content-filter`) or refused. For any
   * other ending, a failure with the status and the reason of the run.
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
 * shares what is left of the outer run's token and tool-call limits. Its usage is added to the usage of the outer run. Listeners of
 * the outer run receive the events of the nested run, with a `path`.
 *
 * `timeouts.toolMs` does not apply to these calls. To limit their time, set `limits.wallClockMs` of the nested run. The nested
 * run ends and is resumed together with the outer run. If the nested run stops, fails or times out, the call fails, and the outer
 * run continues. A call that would exceed `limits.maxDepth` also fails.
 *
 * `defineAgentTool<App>()` returns a `defineAgentTool` for tools whose `context.context` is an `App`, like `defineTool<App>()`. If
 * tools of the nested run need a context and `prepare` returns none, the outer run must have that context.
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
  const { prepare: _prepare, toResult: _toResult, emitText, ...tool } = checkAgent(fields);
  const agent: RunnableAgent = {
    kind: "agent",
    run: runAgent,
    createTap: emitText === true ? createTextTap : undefined,
    createParking: () => new Parking(),
    hasReader: fields.toResult !== undefined,
    prepare: (args, context) => fields.prepare(args, context),
    toResult: (result) => (fields.toResult === undefined ? describeResult(tool.name, result) : fields.toResult(result)),
  };
  // This function is called if `registry.agentOf` does not return the agent, for example because the caller wraps the registry.
  // The call still becomes a nested run.
  const execute = async (args: unknown, context: ToolContext): Promise<unknown> => {
    const options = await agent.prepare(args, context);
    if (emitText !== true) return agent.toResult(await context.runToolLoop(options));
    const { events = new EventEmitter() } = options;
    const stop = tapEvents(events, (part) => context.emit(part));
    try {
      return agent.toResult(await context.runToolLoop({ ...options, events }));
    } finally {
      stop();
    }
  };
  return defineTool<unknown, ToolSchema>({ ...tool, execute, agent });
}

/** An agent tool cannot have these traits, because its nested run has its own limits and records its own steps. */
const refused: readonly (keyof ToolTraits)[] = ["timeoutMs", "idleTimeoutMs", "idempotent", "retry", "replay"];

function checkAgent<Fields extends { readonly name: string }>(fields: Fields): Fields {
  const given: unknown = fields;
  if (!isRecord(given)) throw refuseTool("", `must be an object, but is ${describeValue(given)}`);
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
  const lastWords = text === "" ? "" : ` It had said: ${cutText(text, longestLastWords)}`;
  return toolResult({ success: false, error: `The agent ${name} ended as ${status} (${why}).${lastWords}` });
}

/** Adds the images and files of the tools that ended the run. */
function withContent(report: AgentReport, result: LoopResult): unknown {
  const content = report.reason === "end-turn" ? endingCallsOf(result).flatMap((entry) => entry.content ?? []) : [];
  return content.length === 0 ? report : toolResult({ data: report, content });
}
