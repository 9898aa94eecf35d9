// Runs all commands of a plan with one function that the caller provides.

import { followSignal } from "../../shared/signals.ts";
import { describeValue } from "../../shared/texts.ts";
import { invalidOption, isRecord } from "../../core/kit.ts";
import { type Json, type Message, type Middleware, type ToolContext, toolResult } from "../../core/index.ts";
import { hasPlan, recordsOf } from "./plan-record.ts";
import type { PlanCommand } from "./read-decision.ts";

/** The information about the run that an executor receives. */
export interface PlanExecutorContext extends Pick<
  ToolContext,
  "runId" | "iteration" | "messages" | "contextItems" | "budget" | "session" | "context" | "depth"
> {
  /** Aborted if the run is stopped, killed or aborted, or if one of the calls times out. */
  readonly signal: AbortSignal;
  /** The ids of the calls, in the order of the commands. */
  readonly callIds: readonly string[];
  /** The idempotency keys of the calls, in the order of the commands. */
  readonly idempotencyKeys: readonly string[];
  /** Reports that the commands are still running, so that each call's `idleTimeoutMs` starts over. */
  heartbeat(): void;
}

/** The outcome of one command, in the form of a `PlanRecord`. */
export interface ExecutedCommand {
  /** True if the command succeeded. Default true. */
  readonly success?: boolean | undefined;
  /** The tool's result. Default `null`. */
  readonly result?: Json | undefined;
  /** The reason for a failure. */
  readonly error?: string | undefined;
}

/**
 * Runs all commands in a plan, and returns one record for each command, in the same order. `tool_kwargs` are the validated
 * arguments. If the function throws, all commands fail.
 */
export type PlanExecutor = (plan: {
  readonly commands: readonly PlanCommand[];
  readonly context: PlanExecutorContext;
}) => readonly ExecutedCommand[] | PromiseLike<readonly ExecutedCommand[]>;

/**
 * Runs the commands of plans with `executor` instead of their tools. `executor` is called once per iteration, with all commands that may
 * run, after they are approved. `toolConcurrency` and `sequential` then have no effect on them. Other calls run as usual, and so do calls
 * to agent tools and other durable tools. Tools with `eager` do not begin while their message streams.
 *
 * Throws LoopError "invalid-option" if `executor` is not a function.
 *
 * @example
 * const executor: PlanExecutor = ({ commands }) => Promise.all(commands.map(async (one) => ({ result: await send(one) })));
 * await runToolLoop({ provider: withPlanner(model), tools, messages, middleware: [executePlans(executor)] });
 */
export function executePlans(executor: PlanExecutor): Middleware {
  if (typeof executor !== "function") throw invalidOption("executePlans", "a function", executor);
  return {
    name: "execute-plans",
    pure: true,
    begin: () => {
      const batch = new CommandBatch(executor);
      return {
        async execute(call, next, at) {
          // Waits for the complete message, because only then are the plan's other commands known.
          await at.afterMessage();
          const { callId } = call;
          const isOwn = at.tool?.durable === true || at.earlier?.isOver === true;
          const placed = isOwn ? undefined : findCommand(at.state.messages, callId);
          if (placed === undefined) return next(call);
          const join = (): void => batch.join(callId);
          const run = (args: unknown, context: ToolContext): Promise<unknown> => batch.run(withArgs(placed, args), context);
          try {
            return await next({ ...call, together: { join, run } });
          } finally {
            batch.leave(callId);
          }
        },
      };
    },
  };
}

interface PlacedCommand {
  /** The position of the command in the plan. */
  readonly index: number;
  readonly command: PlanCommand;
}

/** Returns the command that made a call, or undefined for a call that did not come from a plan. */
function findCommand(messages: readonly Message[], callId: string): PlacedCommand | undefined {
  const message = messages.findLast(({ role }) => role === "assistant");
  if (message?.role !== "assistant" || !hasPlan(message)) return undefined;
  const calls = message.content.filter(({ type }) => type === "tool-call");
  const index = calls.findIndex((part) => "callId" in part && part.callId === callId);
  const record = recordsOf(message, undefined)[index];
  if (record === undefined) return undefined;
  const { purpose, tool_name, kwargs, todo_suggestion, next } = record;
  return { index, command: { purpose, tool_name, tool_kwargs: isRecord(kwargs) ? kwargs : {}, todo_suggestion, next } };
}

function withArgs({ index, command }: PlacedCommand, args: unknown): PlacedCommand {
  return { index, command: isRecord(args) ? { ...command, tool_kwargs: args } : command };
}

interface Arrival extends PlacedCommand {
  readonly context: ToolContext;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

/** Calls the executor when all calls that may run have arrived. Does not wait for calls that the run refuses or cuts off. */
class CommandBatch {
  readonly #executor: PlanExecutor;
  /** The calls that may run and have not finished. */
  readonly #open = new Set<string>();
  /** The open calls that the batch waits for, because the executor is not running them yet. */
  readonly #expected = new Set<string>();
  #arrivals = new Map<string, Arrival>();

  constructor(executor: PlanExecutor) {
    this.#executor = executor;
  }

  join(callId: string): void {
    this.#open.add(callId);
    this.#expected.add(callId);
  }

  leave(callId: string): void {
    this.#open.delete(callId);
    this.#expected.delete(callId);
    this.#arrivals.delete(callId);
    this.#check();
  }

  run(placed: PlacedCommand, context: ToolContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#expected.add(context.callId);
      this.#arrivals.set(context.callId, { ...placed, context, resolve, reject });
      this.#check();
    });
  }

  #check(): void {
    if (this.#arrivals.size === 0 || this.#arrivals.size < this.#expected.size) return;
    const arrivals = [...this.#arrivals.values()];
    this.#arrivals = new Map();
    this.#expected.clear();
    void this.#execute(arrivals.toSorted((one, other) => one.index - other.index));
  }

  async #execute(arrivals: readonly Arrival[]): Promise<void> {
    const commands = arrivals.map(({ command }) => command);
    const contexts = arrivals.map(({ context }) => context);
    let end: (arrival: Arrival, index: number) => void;
    try {
      const records: unknown = await this.#executor({ commands, context: toContext(contexts) });
      if (!Array.isArray(records) || records.length !== commands.length) throw new TypeError(toProblem(records, commands.length));
      end = ({ resolve }, index) => resolve(toOutput(records[index]));
    } catch (error) {
      end = ({ reject }) => reject(error);
    }
    // Expects these calls again, because a tool with `retry` may repeat its call.
    for (const { callId } of contexts) if (this.#open.has(callId)) this.#expected.add(callId);
    for (const [index, arrival] of arrivals.entries()) end(arrival, index);
  }
}

function toProblem(records: unknown, count: number): string {
  const given = Array.isArray(records) ? `${records.length} records` : describeValue(records);
  return `The executor must return one record for each of the ${count} commands, but returned ${given}.`;
}

function toOutput(record: unknown): unknown {
  if (!isRecord(record))
    return toolResult({
      success: false,
      error: `Each of the executor's records must be an object, but this is ${describeValue(record)}.`,
    });
  const { success = true, result = null, error } = record as ExecutedCommand;
  return success
    ? toolResult({ success, data: result })
    : toolResult({ success, data: result ?? undefined, error: error ?? "failed" });
}

function toContext(contexts: readonly ToolContext[]): PlanExecutorContext {
  const [first] = contexts;
  if (first === undefined) throw new Error("A plan needs at least one command.");
  const { runId, iteration, messages, contextItems, budget, session, context, depth } = first;
  return {
    ...{ runId, iteration, messages, contextItems, budget, session, context, depth },
    // Never removes the listeners, because the signals of calls are short-lived.
    signal: followSignal(...contexts.map(({ signal }) => signal)).signal,
    callIds: contexts.map(({ callId }) => callId),
    idempotencyKeys: contexts.map(({ idempotencyKey }) => idempotencyKey),
    heartbeat: () => {
      for (const one of contexts) one.heartbeat();
    },
  };
}
