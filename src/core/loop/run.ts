// Bundles one run's options, its state, and its access to everything outside: the provider, the clock and the journal.

import type { Clock, Session, Timeouts } from "../types/common.ts";
import type { CallEvent, EventBase, LoopEvent, LoopEvents, LoopEventType } from "../types/loop-event.ts";
import type { RunOptions, ToolRegistry } from "../types/loop-options.ts";
import type { Journal } from "../types/journal.ts";
import type { Message } from "../types/message.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Provider, StreamResult } from "../types/provider.ts";
import type { EndReason } from "../types/termination.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { CancelScope, signalOf } from "../../shared/cancellation/cancel-scope.ts";
import { IdleTimer, systemClock } from "../../shared/signals.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import { claimRun, type ControlClaim } from "./claims.ts";
import { type EventReader, LoopEventSink } from "./emit.ts";
import { resolveLimits, type ResolvedLimits, resolveTimeouts } from "./limits.ts";
import type { Level } from "../tools/inside-call.ts";
import { findOuterLevel, Meter, type SharedLimits } from "./meter.ts";
import { type Advice, createAdvice } from "./execute-tool-call.ts";
import { checkMessages } from "../../shared/transcript.ts";
import { byName, collectTools, findTool, isSameTool } from "../tools/registry.ts";
import { type Deciding, needsApproval } from "../middleware/needs-approval.ts";
import { forceFirstCall } from "../middleware/forced-choice.ts";
import { edges } from "../../shared/edges.ts";
import { isForced } from "../../shared/forced-choice.ts";
import { freezeDeep, toJson } from "../../shared/json.ts";
import { beginHooks, listMiddleware, type NamedHooks, wrapInHooks, HookWatch, HookError } from "./hooks.ts";
import type { FirstRecord } from "./journals.ts";
import type { AskedEnd, NewEnd, Past, Recording } from "./past.ts";
import type {
  Answer,
  BegunCall,
  EndedCall,
  Ending,
  InboxMessage,
  Middleware,
  Outcome,
  RequestDraft,
  RunFacts,
  State,
} from "../types/middleware.ts";
import { createState } from "./state.ts";

type CallPlace = Pick<CallEvent, "callId" | "name" | "index">;

/** The options for a run, including those that only middleware passes. */
export interface SeamOptions extends RunOptions {
  readonly context?: unknown;
}

/** The place of a nested run in its outer run. `runNested` adds the code from ./nested, so that a bundle without nested runs leaves it out. */
export interface Nesting {
  readonly outer: Run;
  /** The journal of a run that is only read. */
  readonly journal?: Journal | undefined;
  readonly signal: AbortSignal | undefined;
  findPlace(options: SeamOptions): Place;
  createMeter(limits: SharedLimits): Meter;
  /** Returns the hooks that the outer run adds to the nested run. */
  beginHooks(facts: RunFacts): readonly NamedHooks[];
  /**
   * Waits until another nested run's stream ends, because it may use up the budget. Returns undefined if this run's stream fits into the
   * budget.
   */
  findRoom(run: Run): Promise<void> | undefined;
  /** Called before a request, so that the outer runs count it while it is in progress. */
  beginRequest(run: Run): void;
  endRequest(): void;
  /** Returns the limit of an outer run that leaves no room for another request. */
  findSpent(run: Run): EndReason | undefined;
  /**
   * Holds a waiting run until nothing else in the outermost run can continue. Meanwhile, its control accepts messages and may end the run.
   * Returns true if the run was ended.
   */
  hold(run: Run): Promise<boolean>;
}

export interface RunPorts {
  readonly nesting?: Nesting | undefined;
  readonly reader?: EventReader | undefined;
  /** Begins a nested run. */
  begin(options: SeamOptions, ports: RunPorts): { readonly result: Promise<LoopResult> };
  /** Runs a call through the middleware. */
  perform(activity: object, call: ToolCall): Promise<Outcome>;
  /** Reads a call from its records, without running the tool or the middleware. Undefined for a run whose calls run. */
  readonly readCall?: ((run: Run, call: ToolCall, index: number) => Promise<EndedCall>) | undefined;
}

/** Records a run's steps, lets it wait for answers from outside, and continues it later. Calls and requests use `CallDurability`. */
export interface Durability {
  /** Creates the journal of a run without the `journal` option. */
  createJournal(): Journal;
  createPast(run: Run, nesting: Nesting | undefined): Past;
  /** Records a step under a full key, including the prefix. */
  record<T>(place: RecordingRun, key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T>;
  /** Records what identifies the run. */
  recordFirst(run: Run): Promise<void>;
  /** Adds the called tools that have changed since the first record. */
  withShown(run: Run, answer: Answer): Answer;
  /** Records what middleware has decided about an ending. */
  recordAsked(run: Run, key: string, end: NewEnd): Promise<AskedEnd>;
  /** Makes a call wait for a person's decision if its tool has `needsApproval`, and applies the decision. */
  decide(deciding: Deciding): Promise<Outcome>;
  /** Suspends a run whose calls are waiting. Returns undefined if the run was stopped meanwhile. */
  suspend(run: Run, ending: Ending, hasEnded: boolean): Promise<Ending | undefined>;
  /** Returns a run's ending, or undefined if the run continues. */
  end(run: Run, ending: Ending): Promise<Ending | undefined>;
  /**
   * Returns the reason that users see. For a run that ends while calls are waiting, also returns its messages, with a placeholder result for
   * each such call, because services refuse requests with an unanswered call.
   */
  conclude(state: State, ending: Ending): { readonly reason: EndReason; readonly messages?: readonly Message[] };
}

/** A run, and the run or the activity in it that records a step. */
export interface RecordingRun {
  readonly run: Run;
  readonly by: Recording;
}

/** The code that programs without journals leave out: see `enableJournals`. */
export const parts: { durability?: Durability } = {};

/** The end of an error message about missing code. */
export const howToEnable = "until enableJournals is called";

export class Run {
  readonly options: SeamOptions;
  readonly runId: string;
  /** A random id for this execution. */
  readonly token: string;
  readonly state: State;
  readonly limits: ResolvedLimits;
  readonly timeouts: { readonly [Name in keyof Timeouts]-?: number };
  readonly clock: Clock;
  readonly scope: CancelScope;
  readonly events: LoopEventSink;
  readonly control: ControlClaim | undefined;
  readonly meter: Meter;
  readonly alarm: IdleTimer;
  /** Watches the hooks. Undefined if the caller passed no middleware. */
  readonly watch: HookWatch | undefined;
  readonly depth: number;
  readonly maxDepth: number;
  readonly session: Session;
  readonly registry: ToolRegistry;
  readonly middleware: readonly Middleware[];
  readonly hooks: readonly NamedHooks[];
  readonly outer: Run | undefined;
  readonly root: Run;
  /** The prefix of the run's journal keys. Empty for the outermost run. */
  readonly prefix: string;
  /** The prefix of the run's wait and question ids. Empty for the outermost run. */
  readonly path: string;
  /** The journal as the caller passed it, or a journal in memory. */
  readonly records: Journal;
  journal: Journal;
  /** The code that records steps and lets the run wait. Undefined if the program's bundle does not contain it. */
  readonly durability: Durability | undefined;
  /** The run's earlier executions. Undefined if none can have recorded it. */
  readonly past: Past | undefined;
  readonly now: number;
  /** The tools that the model may call in this iteration. */
  shown: ReadonlyMap<string, ToolDefinition> = new Map();
  /** The newest request, as changed by the middleware. */
  draft: RequestDraft | undefined;
  /** The registry's tools as read before the newest request. */
  definitions: readonly ToolDefinition[];
  registered: ReadonlyMap<string, ToolDefinition>;
  /** The first record, which identifies the run. */
  first: FirstRecord | undefined;
  /** The tools that this execution has described in the first record. */
  described: ReadonlyMap<string, ToolDefinition> = new Map();
  toolChoice: StreamResult["toolChoice"];
  /** The validated arguments of the newest calls, as returned by their tools' schemas, by call id. */
  prepared: ReadonlyMap<string, unknown> = new Map();
  /** The calls that began while the newest message was streaming, by call id. */
  readonly begun: Map<string, BegunCall> = new Map();
  /** Counts the advice in the results of the newest message. */
  advice: Advice = createAdvice();
  /** The position of each call in its message, by call id. */
  readonly places: Map<string, number> = new Map();
  /** The request changes that were already reported to listeners. */
  readonly told: Set<string> = new Set();
  /** True if no more calls may begin. */
  isBarred = false;
  /** True if the newest request was replayed. */
  isRequestReplayed = false;
  /**
   * Messages that nested runs in the newest calls did not send. The next look records them, and the result returns them. This run's model
   * does not receive them, because they were meant for other models.
   */
  readonly returned: InboxMessage[] = [];
  /** The planned ending that the newest look checked. */
  planned: Ending | undefined;
  readonly nested: Set<Run> = new Set();
  /** The number of steps in progress, in this run and its nested runs. Only the outermost run counts them. */
  openSteps = 0;
  /** The number of calls that need the concurrency slot of a waiting call. Only the outermost run counts them. */
  hungryCalls = 0;
  /** The nested runs that are held while other steps in this run can continue. */
  held: { check(): void } | undefined;
  readonly ports: RunPorts;
  readonly nesting: Nesting | undefined;
  readonly #wrapped: Map<Provider, Provider> = new Map();
  readonly #claims: ReturnType<typeof claimRun>;
  #signal: AbortSignal | undefined;

  constructor(options: SeamOptions, ports: RunPorts) {
    refuseUnknownOptions(options);
    const { nesting } = ports;
    const outer = nesting?.outer;
    const place = findPlace(options, nesting);
    this.ports = ports;
    this.nesting = nesting;
    this.options = copyOptions(options);
    this.outer = outer;
    this.root = place.root ?? this;
    this.durability = place.durability;
    this.token = place.token;
    this.prefix = place.prefix;
    this.path = place.path;
    this.runId = place.runId;
    this.now = place.now;
    const { clock = systemClock, session = {} } = options;
    this.clock = clock;
    this.session = session;
    this.middleware = withDefaults(options, place);
    this.limits = resolveLimits(options.limits, this.middleware);
    this.timeouts = resolveTimeouts(options.timeouts);
    this.scope = new CancelScope(outer?.scope, this.limits.reserve.ms);
    this.alarm = new IdleTimer(clock);
    this.watch = listMiddleware(options.middleware).length === 0 ? undefined : new HookWatch(this);
    this.meter = nesting?.createMeter(this.limits) ?? new Meter(this.limits);
    ({ depth: this.depth, maxDepth: this.maxDepth } = findLevel(options, outer, this.limits));
    const { messages, heldIds } = checkMessages(options.messages);
    this.state = createState(messages, heldIds, options.pricing !== undefined);
    const { runId, limits, timeouts, root } = this;
    const definitions = (): readonly ToolDefinition[] => this.registry.definitions();
    const facts = { runId, messages, clock, limits, timeouts, session, root, options, definitions };
    const hooks = beginHooks(this.middleware, facts, nesting);
    this.registry = wrapInHooks(hooks, "registry", collectTools(options.tools, hooks));
    this.definitions = this.registry.definitions();
    refuseNeeding(this);
    this.hooks = neededHooks(hooks, this, place);
    edges.checkTraits?.(this.definitions, listMiddleware(options.middleware), options.provider);
    this.registered = byName(this.definitions);
    this.#claims = claimRun(this, nesting);
    this.control = this.#claims.control;
    this.records = place.records;
    this.past = place.isKept ? this.durability?.createPast(this, nesting) : undefined;
    this.journal = journalOf(this, nesting);
    this.events = createSink(this, ports);
  }

  get signal(): AbortSignal {
    return (this.#signal ??= signalOf(this.scope));
  }

  /** Records an effect of this run. */
  step<T>(key: string, body: () => T | PromiseLike<T>, by: Recording = this): T | PromiseLike<T> {
    return this.record(this.prefix + key, body, by);
  }

  /** Like `step`, but with a full key, including the prefix. */
  record<T>(key: string, body: () => T | PromiseLike<T>, by: Recording): T | PromiseLike<T> {
    return this.durability === undefined ? body() : this.durability.record({ run: this, by }, key, body);
  }

  /** Starts the run's time limit. The active time of earlier executions counts too. */
  startWallClock(): void {
    const { limits, state, clock } = this;
    this.scope.startWallClock(limits.wallClockMs, clock.now() - state.activeMs, clock);
  }

  /** True until this execution does something new. */
  get isReplayed(): boolean {
    return this.past?.isReplayed === true;
  }

  /** Sends an event about the iteration. */
  send<Type extends LoopEventType>(type: Type, fields: Omit<LoopEvents[Type], keyof EventBase>, isReplayed?: boolean): void {
    const { runId, state, events } = this;
    const base = { type, runId, iteration: state.iteration, ...(isReplayed === true && { replayed: true }) };
    if (events.wants(type)) events.send({ ...base, ...fields } as LoopEvent);
  }

  /** Adds the position of a call to the fields of its event. */
  aboutCall<Fields extends object>({ callId, name }: Pick<ToolCall, "callId" | "name">, fields: Fields): Fields & CallPlace {
    return { callId, name, index: this.places.get(callId) ?? -1, ...fields };
  }

  /** True if this run can wait for answers from outside, because it records its steps in the outermost run's journal. */
  get mayWait(): boolean {
    return this.root.outer === undefined;
  }

  /** Returns the provider wrapped in all provider hooks. */
  around(provider: Provider): Provider {
    const wrapped = this.#wrapped.get(provider) ?? wrapInHooks(this.hooks, "provider", provider);
    this.#wrapped.set(provider, wrapped);
    return wrapped;
  }

  release(): void {
    for (const one of this.nested) one.release();
    this.events.close(!this.isReplayed);
    this.nesting?.endRequest();
    this.#claims.release();
    this.outer?.nested.delete(this);
    this.alarm.stop();
    this.watch?.stop();
    this.past?.release();
    this.scope.release();
  }
}

/** The names of all options. */
const names: { readonly [Name in keyof Required<SeamOptions>]: true } = {
  provider: true,
  tools: true,
  messages: true,
  system: true,
  modelSettings: true,
  toolChoice: true,
  messageIdMap: true,
  limits: true,
  timeouts: true,
  pricing: true,
  control: true,
  signal: true,
  events: true,
  journal: true,
  runId: true,
  version: true,
  resume: true,
  now: true,
  clock: true,
  session: true,
  context: true,
  middleware: true,
  allowToolChange: true,
  answers: true,
};

/**
 * Rejects unknown options in a small bundle without the full checks, because a misspelled option could be one that prevents tools from
 * running.
 */
function refuseUnknownOptions(options: SeamOptions): void {
  if (edges.checkOptions !== undefined) return edges.checkOptions(options);
  const option = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (option !== undefined) throw new LoopError("unknown-option", { option });
}

/** Adds the default middleware. Without a decision, a tool with `needsApproval` never runs. */
function withDefaults({ middleware: given, toolChoice }: SeamOptions, { durability }: Place): readonly Middleware[] {
  const middleware = listMiddleware(given);
  // Adds `forceFirstCall` only if the tool choice is forced, or if middleware may force it.
  const mayForce = isForced(toolChoice) || middleware.length > 0;
  const decides = durability === undefined || middleware.some(approves) ? [] : [waitForApproval(durability)];
  return [...middleware, ...decides, ...(mayForce ? [forceFirstCall()] : [])];
}

function waitForApproval({ decide }: Durability): Middleware {
  return { name: "approve", call: (call, next, at) => decide({ call, next, at }) };
}

function approves({ name, approves: does }: Middleware): boolean {
  return name === "approve" || does === true;
}

/** Refuses a tool that would wait for an approval, if the program's bundle lacks the code for it. */
export function refuseNeeding({ durability, options, definitions }: Run): void {
  if (durability !== undefined || listMiddleware(options.middleware).some(approves)) return;
  const tool = definitions.find(needsApproval);
  if (tool !== undefined) throw notEnabled(`tools.${tool.name}.needsApproval`, tool.needsApproval);
}

/**
 * Leaves out the hook that waits for approval, which is the first, if no call can need an approval: the tools are an array, and there
 * is no other middleware that could change them.
 */
function neededHooks(
  all: readonly NamedHooks[],
  { options, definitions, watch, nesting, durability }: Run,
  { isKept }: Place,
): readonly NamedHooks[] {
  const isFixed =
    !isKept && durability !== undefined && watch === undefined && nesting === undefined && Array.isArray(options.tools ?? []);
  return isFixed && !definitions.some(needsApproval) ? all.slice(1) : all;
}

/** Copies options that the run reads later, so that changes by the caller do not affect the run. */
function copyOptions(options: SeamOptions): SeamOptions {
  const { modelSettings, toolChoice } = options;
  return { ...options, modelSettings: copyData(modelSettings), toolChoice: copyData(toolChoice) };
}

function copyData<T>(data: T | undefined): T | undefined {
  return data === undefined ? undefined : (freezeDeep(toJson(data)) as T);
}

/** Returns 36 random characters. They are unique, but not secret. */
function createToken(): string {
  const digits = (): string => Math.random().toString(36).slice(2, 14).padEnd(12, "0");
  return digits() + digits() + digits();
}

/** The place of a run's records, and what identifies the run. */
export interface Place {
  /** The outermost run. Undefined if this run is the outermost. */
  readonly root?: Run;
  readonly token: string;
  readonly prefix: string;
  readonly path: string;
  readonly runId: string;
  readonly now: number;
  readonly records: Journal;
  readonly durability: Durability | undefined;
  /** True if an earlier execution may have recorded the run, or if there are answers for its waits. */
  readonly isKept: boolean;
}

/** Returns a run's place. Without `nesting`, it is in the run's own journal. */
export function findPlace(options: SeamOptions, nesting?: Nesting): Place {
  if (nesting !== undefined) return nesting.findPlace(options);
  const token = createToken();
  const { durability } = parts;
  const { runId = `run_${token}`, now = Date.now(), journal: records = durability?.createJournal() ?? unrecorded } = options;
  return { token, prefix: "", path: "", runId, now, records, durability, isKept: isKept(options) };
}

/** Returns the error for an option that needs code which the program's bundle does not contain. */
function notEnabled(option: string, value: unknown): LoopError<"invalid-option"> {
  return invalidOption(option, `omitted ${howToEnable}`, value);
}

/** The journal of a run whose steps are not recorded. */
const unrecorded: Journal = {
  read: () => {
    throw notEnabled("journal", unrecorded);
  },
  step: (_, body) => body(),
};

function isKept({ journal, answers = {} }: SeamOptions): boolean {
  if (journal === undefined && Object.keys(answers).length === 0) return false;
  if (parts.durability !== undefined) return true;
  throw journal === undefined ? notEnabled("answers", answers) : notEnabled("journal", journal);
}

/** Returns the journal that a run writes to. A nested run with a place in its outer run uses the outer run's journal. */
function journalOf({ past, records }: Run, nesting: Nesting | undefined): Journal {
  return nesting?.journal ?? past?.journal ?? records;
}

function createSink({ runId, options, hooks }: Run, { reader }: RunPorts): LoopEventSink {
  return new LoopEventSink({ runId, emitter: options.events, reader, hooks: hooks.filter(({ on, close }) => on ?? close) });
}

/** Returns a run's nesting level. A nested run is one level deeper than its outer run, and cannot raise `maxDepth`. */
function findLevel(options: SeamOptions, run: Run | undefined, limits: ResolvedLimits): Level {
  const outer = run ?? findOuterLevel(options);
  if (outer === undefined) return { depth: 0, maxDepth: limits.maxDepth };
  const maxDepth = Math.min(options.limits?.maxDepth ?? outer.maxDepth, outer.maxDepth);
  const depth = outer.depth + 1;
  if (depth >= maxDepth) throw new LoopError("depth-exceeded", { current: depth, limit: maxDepth });
  return { depth, maxDepth };
}

/** Reads the registry's tools before a request. */
export function readTools(run: Run): readonly ToolDefinition[] {
  try {
    const definitions = run.registry.definitions();
    if (definitions === run.definitions) return definitions;
    run.definitions = definitions;
    run.registered = byName(definitions);
    refuseNeeding(run);
    return definitions;
  } catch (error) {
    throw new HookError("tools.definitions", error);
  }
}

/** True if the tool in the registry is still the one that was shown. */
export function isCurrent({ registry }: Run, definition: ToolDefinition): boolean {
  const now = findTool(registry, definition.name);
  return now !== undefined && isSameTool(now, definition);
}
