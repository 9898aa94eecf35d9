// Starts runs inside a tool call or a hook. They share the outer run's limits, events and cancellation. They also share its journal, unless
// an ordinary tool starts them.

import type { Plain } from "../../types/common.ts";
import type { Journal } from "../../types/journal.ts";
import type { LoopEvent } from "../../types/loop-event.ts";
import type { NestedLoopOptions, Tool, ToolContext } from "../../types/loop-options.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { NestedOptions, RunFacts } from "../../types/middleware.ts";
import type { EndReason } from "../../types/termination.ts";
import type { NestedSpending } from "../../types/tool-outcome.ts";
import { CancelScope, isEnded } from "../../../shared/cancellation/cancel-scope.ts";
import { Deadline } from "../../../shared/cancellation/deadline.ts";
import { insideOf, startKey } from "../../tools/inside-call.ts";
import { type Activity, type NestedRuns, Parked } from "../activity.ts";
import type { EventReader } from "../emit.ts";
import type { NamedHooks } from "../hooks.ts";
import { isReplay } from "../journals.ts";
import type { Expected, Meter, SharedLimits } from "../meter.ts";
import { findPlace, type Nesting, type Place, type Run, type SeamOptions } from "../run.ts";
import { waitsOf } from "../durability/waiting-calls.ts";
import { HeldRuns, untilEither } from "./held-runs.ts";
import { NestedMeter } from "./nested-meter.ts";

/** The part of a tool's context or a hook's recorder that a nested run needs. */
type NestingContext<Context> = Pick<ToolContext<Context>, "context" | "idempotencyKey">;

/**
 * Starts a nested run inside a tool or a middleware hook. `context` is the second argument of `execute`, or the hook's recorder. The nested
 * run shares the outer run's remaining tokens, cost and tool calls, and its usage counts toward both runs. Listeners on the outer run also
 * receive the nested run's events, with a `path`. `name` distinguishes parallel nested runs in one call.
 *
 * In a tool with `durable: true` and in a hook, the nested run uses the outer run's journal, and is resumed together with the outer run. In
 * an ordinary tool, it ends no later than the call, and its steps are not recorded.
 *
 * Rejects with LoopError "depth-exceeded", and with the errors that `runToolLoop` rejects with.
 *
 * @example
 * const { text } = await runNested(context, { messages: [{ role: "user", content: "Check this answer." }] });
 */
export function runNested<Output = unknown, T extends Tool = Tool, Context = unknown>(
  context: NestingContext<Context>,
  options: NestedLoopOptions<Output, T, Context>,
  name?: string,
): Promise<LoopResult<Plain<Output>, T>> {
  const result = begin(context, options as unknown as NestedOptions, name);
  // Marks the promise as handled, so that a tool that ignores the result does not crash the process with an unhandled rejection.
  result.catch(() => {});
  // Safe cast: the type parameters come from the schema and the tools in `options`.
  return result as Promise<LoopResult<Plain<Output>, T>>;
}

interface Given {
  /** The middleware or durable tool that records the run. Undefined for an ordinary tool. */
  readonly owner?: string | undefined;
  readonly [startKey]?: (options: NestedOptions, name?: string) => Promise<LoopResult>;
}

async function begin(context: object, options: NestedOptions, name: string | undefined): Promise<LoopResult> {
  const { owner, [startKey]: start }: Given = context;
  const activity = insideOf(context) as Activity | undefined;
  if (activity === undefined) {
    if (start !== undefined) return start(options, name);
    throw new Error("Only a tool's context or a hook's recorder can start a nested run.");
  }
  return owner === undefined ? beginInTool(activity, options) : beginRecorded(activity, options, { owner, name });
}

/** Begins a nested run in an ordinary tool. The run is part of the tool's step, and ends with the tool. */
async function beginInTool(activity: Activity, options: NestedOptions): Promise<LoopResult> {
  const { deadline, call } = activity;
  if (deadline === undefined || deadline.isOver) throw new Error("The tool call has ended, so it cannot start a nested run.");
  const callId = call?.callId ?? "";
  // Pauses the tool's time limits, because the nested run enforces its own limits.
  const letGo = deadline.hold(false);
  return runsOf(activity).begin(options, { callId, path: callId }).finally(letGo);
}

interface Named {
  readonly owner: string;
  readonly name: string | undefined;
}

function beginRecorded(activity: Activity, options: NestedOptions, { owner, name = "" }: Named): Promise<LoopResult> {
  const { run, place, path, journal, call } = activity;
  const used = `${owner}/run`;
  const own = activity.unique(name === "" ? used : `${used}/${name}`).slice(used.length);
  const suffix = own === "" ? "" : `/${own.replace(/^\//, "")}`;
  return activity.inCore(async () => {
    const at = { key: `${place}/${used}${own}`, path: path + suffix, callId: call?.callId ?? path, journal };
    const result = await runsOf(activity).begin(options, at);
    // If the nested run was suspended or the outer run was stopped, returns the unsent messages to the outer run. Otherwise, the code that
    // started the nested run finds them in its result.
    if (result.status === "suspended" || isEnded(run.scope)) giveBackTo(activity, result);
    if (result.status !== "suspended") return result;
    activity.left.isDrained = result.reason.kind === "drained";
    return new Parked(waitsOf(result));
  });
}

interface NestedAt {
  readonly callId: string;
  /** The prefix of the nested run's keys. Undefined for a run with its own journal. */
  readonly key?: string | undefined;
  readonly path: string;
  readonly journal?: Journal | undefined;
  /** The name of the tool that starts the run. */
  readonly name?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

function runsOf(activity: Activity): ActivityRuns {
  const runs = activity.nested instanceof ActivityRuns ? activity.nested : new ActivityRuns(activity);
  activity.nested = runs;
  return runs;
}

class ActivityRuns implements NestedRuns {
  readonly #activity: Activity;
  readonly #open = new Map<Promise<void>, AbortController>();

  constructor(activity: Activity) {
    this.#activity = activity;
  }

  /** Begins a nested run. Its spending counts even if the call's code is no longer waiting for it. */
  async begin(options: NestedOptions, at: NestedAt): Promise<LoopResult> {
    const { run, call, spent } = this.#activity;
    const abort = new AbortController();
    const result = nest(run, options, { ...at, name: call?.name, signal: abort.signal });
    const ended = result.then(
      (end) => void spent.push(spendingOf(end)),
      () => {},
    );
    this.#open.set(ended, abort);
    try {
      const end = await result;
      await ended;
      return end;
    } finally {
      this.#open.delete(ended);
    }
  }

  /** Cancels the nested runs. If the outer run was cancelled, they are already cancelled for the same reason. */
  abort(reason?: unknown): void {
    const { cause } = this.#activity.run.scope;
    if (cause !== undefined && cause.kind !== "interrupt") return;
    for (const one of this.#open.values()) one.abort(reason);
  }

  async end(): Promise<void> {
    if (this.#open.size === 0) return;
    const { clock, timeouts } = this.#activity.run;
    this.abort(new DOMException("The tool call has ended.", "AbortError"));
    const limitMs = Math.max(1, timeouts.toolCleanupMs);
    await new Deadline({ limitMs }, { clock, scope: new CancelScope() }).race(Promise.all(this.#open.keys()));
  }
}

function spendingOf({
  usage,
  costUSD,
  knownCostUSD,
  toolCallsExecuted,
}: NestedSpending & { readonly knownCostUSD?: number | undefined }): NestedSpending {
  return { usage, costUSD, ...(costUSD === undefined && knownCostUSD !== undefined && { knownCostUSD }), toolCallsExecuted };
}

/** The results whose unsent messages have already been returned to the outer run's caller. */
const given = new WeakSet<LoopResult>();

/** Returns a nested run's unsent messages to the outer run's caller. */
export function giveBack(context: object, result: LoopResult): void {
  const activity = insideOf(context) as Activity | undefined;
  if (activity !== undefined) giveBackTo(activity, result);
}

function giveBackTo({ left }: Activity, result: LoopResult): void {
  const { reason, undelivered } = result;
  if (given.has(result)) return;
  given.add(result);
  if (reason.kind === "interrupted") left.undelivered.push(reason.message);
  left.undelivered.push(...undelivered);
}

/** Executes a nested run until it ends. */
export function nest(outer: Run, options: Partial<NestedOptions> = {}, at: NestedAt): Promise<LoopResult> {
  const { provider, pricing, session, context, timeouts } = outer.options;
  const defined: Partial<SeamOptions> = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const inner = defined.timeouts ?? {};
  // Limits the nested run to its outer run's cleanup time, so that a stop takes no longer than it does for an ordinary tool.
  const toolCleanupMs = Math.min(inner.toolCleanupMs ?? outer.timeouts.toolCleanupMs, outer.timeouts.toolCleanupMs);
  const whole: SeamOptions = {
    provider,
    pricing,
    session,
    context,
    clock: outer.clock,
    messages: options.messages as SeamOptions["messages"],
    ...defined,
    timeouts: { ...timeouts, ...inner, toolCleanupMs },
  };
  const { ports } = outer;
  return ports.begin(whole, { ...ports, reader: toReader(outer, at.callId), nesting: new NestedPlace(outer, at) }).result;
}

/** Passes events from a nested run to the outer run. */
function toReader({ events }: Run, callId: string): EventReader {
  return {
    wants: (type) => events.wants(type),
    push: (event: LoopEvent) => events.send({ ...event, path: [callId, ...(event.path ?? [])] }),
    room: () => events.room(),
  };
}

class NestedPlace implements Nesting {
  readonly outer: Run;
  readonly journal: Journal | undefined;
  readonly signal: AbortSignal | undefined;
  readonly #at: NestedAt;
  #meter: NestedMeter | undefined;

  constructor(outer: Run, at: NestedAt) {
    this.outer = outer;
    this.journal = at.journal;
    this.signal = at.signal;
    this.#at = at;
  }

  /** Finds the place of a nested run in its outer run's journal, if they share it. */
  findPlace(options: SeamOptions): Place {
    const { outer } = this;
    const { key } = this.#at;
    const path = `${outer.path}${this.#at.path}/`;
    if (key === undefined) return { ...findPlace(options), path };
    const { root, token, now, durability } = outer;
    const { runId = `${outer.runId}/${key}`, journal: records = root.records } = options;
    return {
      root,
      token,
      prefix: `${outer.prefix}${key}/`,
      path,
      runId,
      now,
      records,
      durability,
      isKept: root.past !== undefined,
    };
  }

  createMeter(limits: SharedLimits): Meter {
    return (this.#meter = new NestedMeter(limits, this.outer.meter));
  }

  beginHooks(facts: RunFacts): readonly NamedHooks[] {
    const { callId, name } = this.#at;
    return this.outer.hooks.map((one) => ({ ...one.nest?.(facts, { callId, name }), name: one.name }));
  }

  /** Waits until the budget has room for another stream. Otherwise, all nested runs would start a stream with the same remaining budget. */
  findRoom(run: Run): Promise<void> | undefined {
    const full = run.scope.cause === undefined ? this.#meter?.findFull(expectedOf(run)) : undefined;
    return full && untilEither(run.scope, full);
  }

  beginRequest(run: Run): void {
    this.#meter?.begin(expectedOf(run));
  }

  endRequest(): void {
    this.#meter?.settle();
  }

  findSpent({ state }: Run): EndReason | undefined {
    return this.#meter?.findSpentOutside(state.lastCostUSD);
  }

  async hold(run: Run): Promise<boolean> {
    const { root, control, scope, journal } = run;
    if (root === run || control === undefined || scope.cause !== undefined || isReplay(journal)) return false;
    const held = root.held instanceof HeldRuns ? root.held : new HeldRuns(root);
    root.held = held;
    await held.hold(scope);
    return isEnded(scope);
  }
}

function expectedOf({ state: { answers, lastCostUSD } }: Run): Expected | undefined {
  const last = answers.at(-1);
  return last && { tokens: last.usage?.totalTokens ?? 0, costUSD: lastCostUSD };
}
