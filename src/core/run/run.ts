// One run: its options, its state, and the ports through which it reaches the world.

import type { Clock, Json, Session, Timeouts } from "../types/common.ts";
import type { LoopEvent } from "../types/loop-event.ts";
import type { RunOptions, Tool, ToolRegistry } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Provider, StreamResult } from "../types/provider.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { abortReasonOf, type Cancellable, CancelScope } from "../cancellation/cancel-scope.ts";
import { IdleTimer, LazySignal, systemClock } from "../cancellation/signals.ts";
import { LoopError } from "../errors/loop-error.ts";
import { claimRun } from "./claims.ts";
import { LoopEventSink } from "../loop/run/emit.ts";
import { resolveLimits, type ResolvedLimits, resolveTimeouts } from "../loop/run/limits.ts";
import { findOuterLevel, Meter } from "../loop/run/meter.ts";
import type { ControlClaim } from "../loop/run/run.ts";
import { checkMessages } from "../loop/state/check-messages.ts";
import { checkDefinitions, createToolRegistry, isToolRegistry } from "../tools/registry.ts";
import { mergeRegistries } from "../tools/merge-registries.ts";
import type { EventQueue } from "../utils/event-queue.ts";
import { beginHooks, JournalFailure, type NamedHooks } from "./hooks.ts";
import { GuardedJournal, recordSteps } from "./journals.ts";
import type { Activity } from "./recorder.ts";
import type { Middleware, NestedOptions, Outcome, StepJournal } from "./seam.ts";
import { createState, type State } from "./state.ts";

/** The options of a run on the seam. */
export interface SeamOptions extends Omit<
  RunOptions,
  "policies" | "hooks" | "decisions" | "journal" | "contextItems" | "timeouts"
> {
  readonly timeouts?: RunOptions["timeouts"];
  readonly context?: unknown;
  readonly middleware?: readonly Middleware[] | undefined;
  readonly journal?: StepJournal | undefined;
  /** Answers to waits, by their ids. */
  readonly answers?: { readonly [id: string]: Json } | undefined;
  /** The time that decides about `until` of waits, in milliseconds since 1970. Default: the system time. */
  readonly now?: number | undefined;
}

/** The place of a nested run in its outer run. */
export interface Nesting {
  readonly run: Run;
  readonly callId: string;
  /** The beginning of the keys of its steps. Undefined for a run with a journal of its own. */
  readonly key?: string | undefined;
  readonly path: string;
  readonly journal?: StepJournal | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface RunPorts {
  readonly nesting?: Nesting | undefined;
  readonly queue?: EventQueue<LoopEvent> | undefined;
  readonly drive: (run: Run) => Promise<LoopResult>;
  readonly perform: (activity: Activity, call: ToolCall) => Promise<Outcome>;
}

export interface EagerStart {
  readonly outcome: Promise<ToolOutcome | undefined>;
}

export class Run {
  readonly options: SeamOptions;
  readonly runId: string;
  /** A random id of this execution. */
  readonly token: string;
  readonly state: State;
  readonly limits: ResolvedLimits;
  readonly timeouts: { readonly [Name in keyof Timeouts]-?: number };
  readonly clock: Clock;
  readonly scope: CancelScope;
  readonly events: LoopEventSink;
  readonly alarm: IdleTimer;
  readonly control: ControlClaim | undefined;
  readonly meter: Meter;
  readonly depth: number;
  readonly maxDepth: number;
  readonly session: Session;
  readonly registry: ToolRegistry;
  /** The names of the tools whose code runs again when the run is resumed. */
  readonly durableNames: ReadonlySet<string>;
  readonly hooks: readonly NamedHooks[];
  readonly outer: Run | undefined;
  readonly root: Run;
  /** The beginning of the keys of all steps. Empty for the outermost run. */
  readonly prefix: string;
  /** The beginning of the ids of all waits. Empty for the outermost run. */
  readonly path: string;
  readonly journal: StepJournal;
  readonly guard: GuardedJournal | undefined;
  readonly now: number;
  /** The tools that the model was shown in this iteration, and those that may run. */
  shown: ReadonlyMap<string, ToolDefinition> = new Map();
  toolChoice: StreamResult["toolChoice"];
  /** The arguments of the newest calls as the schemas of their tools return them, by call id. */
  prepared: ReadonlyMap<string, unknown> = new Map();
  /** The calls that ran while the newest message streamed, by call id. */
  readonly begun: Map<string, Promise<ToolOutcome>> = new Map();
  /** The position of each call in its message, by call id. */
  readonly places: Map<string, number> = new Map();
  /** True if no further call may begin. */
  isBarred = false;
  /** True until this execution does something new. */
  isReplayed = true;
  lookAttempt: { readonly base: string; readonly count: number } = { base: "", count: 0 };
  failure: { readonly error: unknown } | undefined;
  readonly nested: Set<Run> = new Set();
  readonly #ports: RunPorts;
  readonly #wrapped = new Map<Provider, Provider>();
  readonly #release: () => void;
  readonly #answers: Map<string, Json>;
  readonly #usedAnswers: Set<string>;
  #signal: LazySignal | undefined;
  #hasReplayed = false;

  constructor(options: SeamOptions, ports: RunPorts) {
    const { nesting, queue } = ports;
    const outer = nesting?.run;
    this.#ports = ports;
    this.options = options;
    this.outer = outer;
    this.root = nesting?.key === undefined ? this : (outer?.root ?? this);
    this.token = this.root === this ? createToken() : this.root.token;
    this.clock = options.clock ?? systemClock;
    this.limits = resolveLimits(options.limits);
    this.timeouts = resolveTimeouts(options.timeouts);
    const level = findLevel(options, outer);
    this.depth = level.depth;
    this.maxDepth = Math.min(options.limits?.maxDepth ?? level.maxDepth ?? this.limits.maxDepth, level.maxDepth ?? Number.POSITIVE_INFINITY);
    if (this.depth > 0 && this.depth >= this.maxDepth)
      throw new LoopError("depth-exceeded", { current: this.depth, limit: this.maxDepth });
    this.meter = new Meter({ ...this.limits, maxToolCalls: this.limits.maxToolCalls }, outer?.meter);
    this.session = options.session ?? {};
    this.scope = new CancelScope(outer?.scope);
    this.alarm = new IdleTimer(this.clock);
    const { messages, heldIds } = checkMessages(options.messages, options.repair === true);
    this.state = createState(messages, heldIds, options.pricing !== undefined);
    this.prefix = nesting?.key === undefined ? "" : `${outer?.prefix ?? ""}${nesting.key}/`;
    this.path = nesting?.key === undefined ? "" : `${outer?.path ?? ""}${nesting.path}/`;
    this.runId = options.runId ?? (nesting?.key === undefined ? `run_${this.token}` : `${outer?.runId ?? ""}/${nesting.key}`);
    this.#answers = this.root === this ? new Map(Object.entries(options.answers ?? {})) : this.root.#answers;
    this.#usedAnswers = this.root === this ? new Set() : this.root.#usedAnswers;
    this.now = this.root === this ? (options.now ?? Date.now()) : this.root.now;
    const { runId, clock, timeouts, session, root } = this;
    const facts = { runId, messages, clock, timeouts, session, root };
    this.hooks = beginHooks(options.middleware ?? [], facts);
    const tools = collectTools(options.tools, this.hooks);
    this.registry = tools.registry;
    this.durableNames = tools.durableNames;
    checkDefinitions(this.registry.definitions());
    const claims = claimRun(this, nesting);
    this.control = claims.control;
    this.guard =
      nesting?.journal === undefined && options.journal !== undefined ? new GuardedJournal(options.journal, this) : undefined;
    this.journal = nesting?.journal ?? this.guard ?? recordSteps();
    const taps = this.hooks.flatMap(({ on }) => (on === undefined ? [] : [on]));
    const target = nesting === undefined || outer === undefined ? undefined : { sink: outer.events, callId: nesting.callId, tap: undefined };
    this.events = new LoopEventSink({ runId: this.runId, emitter: options.events, queue, outer: target, taps });
    outer?.nested.add(this);
    this.#release = () => {
      claims.release();
      outer?.nested.delete(this);
    };
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const signal = new LazySignal();
      const slot: Cancellable = { cancel: (cause) => signal.abort(() => abortReasonOf(cause)) };
      this.scope.join(slot);
      if (this.scope.cause !== undefined) slot.cancel(this.scope.cause);
      this.#signal = signal;
    }
    return this.#signal.signal;
  }

  /** Records an effect of this run. */
  async step<T>(key: string, body: () => T | PromiseLike<T>, journal: StepJournal = this.journal): Promise<T> {
    return this.record(this.prefix + key, body, journal);
  }

  /** Like `step`, with a whole key. `onLive` is called before the body runs, so only if there is no record. */
  async record<T>(key: string, body: () => T | PromiseLike<T>, journal: StepJournal = this.journal): Promise<T> {
    let isLive = false;
    const live = (): T | PromiseLike<T> => {
      isLive = true;
      this.noteLive();
      return body();
    };
    try {
      const value = await journal.step(key, live);
      if (!isLive) this.root.#hasReplayed = true;
      return value;
    } catch (error) {
      throw error instanceof JournalFailure ? error : new JournalFailure("The journal has failed.", { cause: error });
    }
  }

  noteLive(): void {
    for (let one: Run | undefined = this; one !== undefined; one = one.root === one ? undefined : one.outer) one.isReplayed = false;
    const { root } = this;
    if (!root.#hasReplayed) return;
    root.#hasReplayed = false;
    root.events.send({ type: "replay-end", runId: root.runId, iteration: root.state.iteration });
  }

  takeAnswer(id: string): { readonly value: Json } | undefined {
    const value = this.#answers.get(id);
    if (value === undefined) return undefined;
    this.#usedAnswers.add(id);
    return { value };
  }

  /** True if this run can wait: it records its steps in the journal of the outermost run. */
  get mayWait(): boolean {
    return this.root.outer === undefined;
  }

  get answerIds(): readonly string[] {
    return [...this.#answers.keys()];
  }

  /** Returns the provider inside all provider hooks. The first middleware is the outermost. */
  around(provider: Provider): Provider {
    let wrapped = this.#wrapped.get(provider);
    if (wrapped === undefined) {
      wrapped = this.hooks.reduceRight((inner, hooks) => hooks.provider?.(inner) ?? inner, provider);
      this.#wrapped.set(provider, wrapped);
    }
    return wrapped;
  }

  perform(activity: Activity, call: ToolCall): Promise<Outcome> {
    return this.#ports.perform(activity, call);
  }

  nest(given: NestedOptions, nesting: Omit<Nesting, "run">): Promise<LoopResult> {
    const { provider, pricing, session, context, timeouts } = this.options;
    const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as Partial<SeamOptions>;
    const inner = defined.timeouts ?? {};
    // A stopped run must not wait longer for its nested runs than for its own tools.
    const settleMs = Math.min(inner.settleMs ?? this.timeouts.settleMs, this.timeouts.settleMs);
    const options: SeamOptions = {
      provider,
      pricing,
      session,
      context,
      clock: this.clock,
      messages: given.messages as SeamOptions["messages"],
      ...defined,
      timeouts: { ...timeouts, ...inner, settleMs },
    };
    return this.#ports.drive(new Run(options, { ...this.#ports, queue: undefined, nesting: { ...nesting, run: this } }));
  }

  release(): void {
    for (const one of this.nested) one.release();
    this.events.close();
    this.meter.settle();
    this.#release();
    this.alarm.stop();
    this.scope.release();
  }
}

/** Returns 36 random characters, which are unique but not secret. */
function createToken(): string {
  const digits = (): string => Math.random().toString(36).slice(2, 14).padEnd(12, "0");
  return digits() + digits() + digits();
}

function findLevel(options: SeamOptions, outer: Run | undefined): { readonly depth: number; readonly maxDepth?: number } {
  const found = outer ?? findOuterLevel(options);
  return found === undefined ? { depth: 0 } : { depth: found.depth + 1, maxDepth: found.maxDepth };
}

interface CollectedTools {
  readonly registry: ToolRegistry;
  readonly durableNames: ReadonlySet<string>;
}

function collectTools(tools: SeamOptions["tools"] = [], hooks: readonly NamedHooks[]): CollectedTools {
  const brought = hooks.flatMap((one) => one.tools ?? []);
  const listed = isToolRegistry(tools) ? brought : [...tools, ...brought];
  const durableNames = new Set(listed.filter(isDurable).map(({ name }) => name));
  const own = createToolRegistry(listed.map(withoutDurable));
  if (!isToolRegistry(tools)) return { registry: own, durableNames };
  return { registry: brought.length === 0 ? tools : mergeRegistries(tools, own), durableNames };
}

/** A tool whose `execute` runs again over its recorded steps when a run is resumed. */
export type DurableTool = Tool & { readonly durable: true };

function isDurable(tool: Tool): tool is DurableTool {
  return "durable" in tool && tool.durable === true;
}

function withoutDurable(tool: Tool): Tool {
  if (!isDurable(tool)) return tool;
  const { durable: _, ...rest } = tool;
  return rest;
}
