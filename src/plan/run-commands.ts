// Runs all commands of a plan with one function of the caller.

import { describeValue } from "../shared/texts.ts";
import { isRecord, type JoiningRegistry, waveOf } from "../core/kit.ts";
import { type Json, type Message, type ToolContext, type ToolDefinition, type ToolRegistry, toolResult } from "../core/index.ts";
import { hasPlan, recordsOf } from "./plan-record.ts";
import type { PlanCommand } from "./read-decision.ts";

type Wave = ReturnType<NonNullable<JoiningRegistry["createWave"]>>;

/** The facts about the run that an executor gets. */
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
  /** Reports that the commands are still being run. The time `idleTimeoutMs` of each call then starts again. */
  heartbeat(): void;
}

/** The outcome of one command, in the form of a `PlanRecord`. */
export interface ExecutedCommand {
  /** Default true. */
  readonly success?: boolean | undefined;
  /** The result of the tool. Default `null`. */
  readonly result?: Json | undefined;
  /** The reason for a failure. */
  readonly error?: string | undefined;
}

/**
 * Runs all commands of a plan, and returns one record for each command, in the same order. `tool_kwargs` are the validated
 * arguments. If the function throws, all commands have failed.
 */
export type PlanExecutor = (plan: {
  readonly commands: readonly PlanCommand[];
  readonly context: PlanExecutorContext;
}) => readonly ExecutedCommand[] | PromiseLike<readonly ExecutedCommand[]>;

interface Arrival extends PlacedCommand {
  readonly context: ToolContext;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

/** Returns a registry that passes the calls of planned messages to `executor`. Other calls run as usual. */
export function joinCommands(registry: ToolRegistry, executor: PlanExecutor): JoiningRegistry {
  const groups = new WeakMap<CommandWave, CommandGroup>();
  let known: readonly ToolDefinition[] | undefined;
  let shown: readonly ToolDefinition[] = [];
  return {
    ...registry,
    definitions: () => {
      const definitions = registry.definitions();
      if (definitions !== known) shown = definitions.map(withoutEager);
      known = definitions;
      return shown;
    },
    joins: (messages) => hasPlan(messages.findLast(isAssistant)),
    createWave: (callIds) => new CommandWave(callIds),
    executeTool: (name, args, context) => {
      const wave = waveOf(context) as CommandWave | undefined;
      const found = wave && findCommand(context);
      if (wave === undefined || found === undefined) return registry.executeTool(name, args, context);
      const open = groups.get(wave);
      const group = open?.isClosed === false ? open : new CommandGroup(wave, executor);
      groups.set(wave, group);
      const { index, command } = found;
      return group.join({ index, command: isRecord(args) ? { ...command, tool_kwargs: args } : command }, context);
    },
  };
}

/** An eager call would run during the stream, before the other commands are known. */
function withoutEager(tool: ToolDefinition): ToolDefinition {
  return tool.eager === true ? Object.freeze({ ...tool, eager: undefined, replay: "safe" as const }) : tool;
}

function isAssistant({ role }: Message): boolean {
  return role === "assistant";
}

interface PlacedCommand {
  /** The position of the command in the plan. */
  readonly index: number;
  readonly command: PlanCommand;
}

function findCommand({ messages, callId }: ToolContext): PlacedCommand | undefined {
  const message = messages.findLast(isAssistant);
  if (message?.role !== "assistant" || !hasPlan(message)) return undefined;
  const calls = message.content.filter(({ type }) => type === "tool-call");
  const index = calls.findIndex((part) => "callId" in part && part.callId === callId);
  const record = recordsOf(message, undefined)[index];
  if (record === undefined) return undefined;
  const { purpose, tool_name, kwargs, todo_suggestion, next } = record;
  return { index, command: { purpose, tool_name, tool_kwargs: isRecord(kwargs) ? kwargs : {}, todo_suggestion, next } };
}

/** The calls that begin together and have not ended. */
class CommandWave implements Wave {
  readonly #open: Set<string>;
  readonly #listeners: (() => void)[] = [];

  constructor(callIds: readonly string[]) {
    this.#open = new Set(callIds);
  }

  get open(): ReadonlySet<string> {
    return this.#open;
  }

  onLeave(listener: () => void): void {
    this.#listeners.push(listener);
  }

  leave(callId: string): void {
    if (this.#open.delete(callId)) for (const listener of this.#listeners) listener();
  }
}

/** Calls the executor when all open calls of the wave have arrived. A call that is refused leaves the wave instead. */
class CommandGroup {
  readonly #wave: CommandWave;
  readonly #executor: PlanExecutor;
  readonly #arrivals = new Map<string, Arrival>();
  isClosed = false;

  constructor(wave: CommandWave, executor: PlanExecutor) {
    this.#wave = wave;
    this.#executor = executor;
    wave.onLeave(() => this.#check());
  }

  join(placed: PlacedCommand, context: ToolContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#arrivals.set(context.callId, { ...placed, context, resolve, reject });
      this.#check();
    });
  }

  #check(): void {
    const { open } = this.#wave;
    if (this.isClosed || open.size === 0 || [...open].some((callId) => !this.#arrivals.has(callId))) return;
    this.isClosed = true;
    // A call that was cut off while it waited is no longer open.
    void this.#run([...this.#arrivals.values()].filter(({ context }) => open.has(context.callId)));
  }

  async #run(arrivals: readonly Arrival[]): Promise<void> {
    const ordered = arrivals.toSorted((one, other) => one.index - other.index);
    try {
      const commands = ordered.map(({ command }) => command);
      const records: unknown = await this.#executor({ commands, context: toContext(ordered.map(({ context }) => context)) });
      if (!Array.isArray(records) || records.length !== ordered.length) throw new TypeError(toProblem(records, ordered.length));
      for (const [index, { resolve }] of ordered.entries()) resolve(toOutput(records[index]));
    } catch (error) {
      for (const { reject } of ordered) reject(error);
    }
  }
}

function toProblem(records: unknown, count: number): string {
  const given = Array.isArray(records) ? `${records.length} records` : describeValue(records);
  return `The executor must return an array with one record for each of the ${count} commands, but returned ${given}.`;
}

function toOutput(record: unknown): unknown {
  if (!isRecord(record))
    throw new TypeError(`Each record of the executor must be an object, but one is ${describeValue(record)}.`);
  const { success = true, result = null, error } = record as ExecutedCommand;
  return success
    ? toolResult({ success, data: result })
    : toolResult({ success, data: result ?? undefined, error: error ?? "failed" });
}

function toContext(contexts: readonly ToolContext[]): PlanExecutorContext {
  const [first] = contexts;
  if (first === undefined) throw new Error("A plan without commands has no executor.");
  const { runId, iteration, messages, contextItems, budget, session, context, depth } = first;
  return {
    ...{ runId, iteration, messages, contextItems, budget, session, context, depth },
    signal: joinSignals(contexts.map(({ signal }) => signal)),
    callIds: contexts.map(({ callId }) => callId),
    idempotencyKeys: contexts.map(({ idempotencyKey }) => idempotencyKey),
    heartbeat: () => {
      for (const one of contexts) one.heartbeat();
    },
  };
}

/** Node 20.0 has no `AbortSignal.any`. The signals of calls are short-lived, so the listeners need not be removed. */
function joinSignals(signals: readonly AbortSignal[]): AbortSignal {
  const joined = new AbortController();
  for (const signal of signals) {
    const abort = (): void => joined.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  }
  return joined.signal;
}
