// Sets up the hooks of a run's middleware, and watches those that are waiting. If a hook fails, the error names it.

import type { PlainError, Clock } from "../types/common.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { isRecord } from "../../shared/guards.ts";
import { edges } from "../../shared/edges.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import type { Ending, Hooks, Middleware, MiddlewareList, Next, RunFacts } from "../types/middleware.ts";
import { type Cancellable, type CancelScope, endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { IdleTimer, never } from "../../shared/signals.ts";
import type { ToolCall } from "../types/tool-outcome.ts";

export type NamedHooks = Hooks & { readonly name: string };

/** Thrown when a middleware's hook has failed. The run ends with the reason "hook-failed". */
export class HookError extends Error {
  override readonly name = "HookError";
  readonly ending: Ending;

  constructor(hook: string, thrown: unknown) {
    const error: PlainError = toPlainError(thrown);
    super(`The hook ${hook} failed: ${error.message}`, { cause: thrown });
    this.ending = { status: "error", reason: { kind: "hook-failed", hook, error } };
  }
}

/** Returns the error for a run whose hook has failed. Names the innermost hook that the error passed through. */
export function blame(error: unknown, hook: string): Error {
  if (error instanceof HookError || error instanceof JournalFailure || error instanceof StepCancelled) return error;
  // A record that a hook has found damaged. The error may come from another copy of the package.
  if (isRecord(error) && error["code"] === "journal-damaged") return new JournalFailure(error);
  return new HookError(hook, error);
}

/**
 * Thrown when the run was cancelled during a step in a hook or a durable tool. Recorded, so that a replay is cancelled at the
 * same place.
 */
export class StepCancelled extends Error {
  override readonly name = "AbortError";
  readonly ending: Ending;

  constructor(step: string, ending: Ending) {
    super(`The run was cancelled during the step "${step}".`);
    this.ending = ending;
  }
}

/** Wraps a journal error, so that hooks and tools cannot mistake it for one of their own errors. */
export class JournalFailure extends Error {
  constructor(cause: unknown) {
    super("The journal has failed.", { cause });
  }
}

export function toJournalFailure(error: unknown): JournalFailure {
  return error instanceof JournalFailure ? error : new JournalFailure(error);
}

/** Returns the ending of a run whose hook failed or was cancelled. Throws any other error. */
export function endingOfFailure(error: unknown): Ending {
  if (error instanceof HookError || error instanceof StepCancelled) return error.ending;
  throw error;
}

/** Returns the middleware list without entries that are `false` or undefined. */
export function listMiddleware(given: MiddlewareList = []): readonly Middleware[] {
  return (given as readonly (Middleware | false | undefined)[]).filter((one) => one !== false && one !== undefined);
}

/** Begins each middleware's hooks. The hooks that an outer run adds to a nested run come last, so they are the innermost. */
export function beginHooks(
  middleware: readonly Middleware[],
  facts: RunFacts,
  nesting: { beginHooks(facts: RunFacts): readonly NamedHooks[] } | undefined,
): readonly NamedHooks[] {
  const own = middleware.map((one) => {
    if (one.begin === undefined) return one;
    const hooks = one.begin(facts);
    edges.checkHooks?.(one.name, hooks);
    return { ...one, ...hooks, name: one.name };
  });
  return nesting === undefined ? own : [...own, ...nesting.beginHooks(facts)];
}

/** Returns the provider or the registry wrapped in the hooks of all middleware. The first middleware is the outermost. */
export function wrapInHooks<Port extends object>(hooks: readonly Hooks[], kind: "provider" | "registry", port: Port): Port {
  return (hooks as readonly { readonly [kind]?: (port: Port) => Port }[]).reduceRight(
    (inner, one) => one[kind]?.(inner) ?? inner,
    port,
  );
}

type HookAround<Given, Made, At> = (given: Given, next: Next<Given, Made>, at: At) => Promise<Made>;

interface Chained<Given, Made, At> {
  readonly last: Next<Given, Made>;
  recorderOf(name: string, given: Given): At;
  /** Holds the name of the hook that is running. */
  readonly activity: { hook: string };
}

/** Chains the hooks of one kind around `last`. The first middleware is the outermost. */
export function chainHooks<Kind extends "request" | "call" | "execute", Given, Made, At>(
  hooks: readonly (NamedHooks & { readonly [Name in Kind]?: HookAround<Given, Made, At> })[],
  kind: Kind,
  { last, recorderOf, activity }: Chained<Given, Made, At>,
): Next<Given, Made> {
  return hooks.reduceRight<Next<Given, Made>>((next, { name, [kind]: hook }) => {
    if (hook === undefined) return next;
    return async (given, outer) => {
      const { hook: before } = activity;
      activity.hook = `${name}.${kind}`;
      try {
        return await hook(given, (inner, signal) => next(inner, signal ?? outer), recorderOf(name, given));
      } catch (error) {
        throw blame(error, `${name}.${kind}`);
      } finally {
        activity.hook = before;
      }
    };
  }, last);
}

/** Returns the names of the middleware that may record steps. Other middleware may be added or removed while a run is suspended. */
export function recordingNames(middleware: readonly Middleware[]): readonly string[] {
  return middleware
    .filter(
      (one) =>
        one.pure !== true &&
        (one.begin ?? one.call ?? one.execute ?? one.request ?? one.afterCalls ?? one.beforeEnd) !== undefined,
    )
    .map(({ name }) => name);
}

/** Throws LoopError "journal-mismatch" if the middleware that records steps differs from the middleware in the journal. */
export function compareMiddleware(recorded: readonly string[], now: readonly string[]): void {
  const [expected, received] = [now.join(", ") || "none", recorded.join(", ") || "none"];
  if (expected !== received) throw new LoopError("journal-mismatch", { field: "middleware", expected, received });
}

interface WatchedRun {
  readonly clock: Clock;
  readonly scope: CancelScope;
  readonly timeouts: { readonly callbackMs: number; readonly toolCleanupMs: number };
}

/** A call, a request or a run end whose hooks are watched. */
export interface Watched {
  /** The name of the hook that is running or waiting now. */
  readonly hook: string;
  readonly call?: ToolCall | undefined;
  /** The time at which the loop last returned control to the activity's hooks. */
  idleSince: number;
  /** True while the activity's hooks are waiting for the core or the tool. */
  readonly isInside: boolean;
  /** True while the activity does work that can finish without waiting for other calls. */
  readonly isWorking: boolean;
  close(): void;
}

/** Uses one timer to limit how long a run's hooks take. Time spent in steps, waits, nested runs, inner calls and `next` does not count. */
export class HookWatch implements Cancellable {
  readonly #run: WatchedRun;
  readonly #alarm: IdleTimer;
  readonly #watched = new Map<Watched, (error: Error) => void>();
  #isSet = false;

  constructor(run: WatchedRun) {
    this.#run = run;
    this.#alarm = new IdleTimer(run.clock);
    run.scope.join(this);
  }

  /** Starts watching an activity. Rejects if one of its hooks waits too long. */
  join(activity: Watched): Promise<never> {
    this.note(activity);
    return new Promise((_, reject) => this.#watched.set(activity, reject));
  }

  /** Waits for work that runs alongside calls. Rejects if it takes too long while no call makes progress. */
  async limit(hook: string, work: unknown): Promise<unknown> {
    const watched = { hook, idleSince: 0, isInside: false, isWorking: false, close: () => {} };
    try {
      return await Promise.race([work, this.join(watched)]);
    } finally {
      this.leave(watched);
    }
  }

  leave(activity: Watched): void {
    this.#watched.delete(activity);
  }

  /** Called when the loop returns control to a middleware's code. */
  note(activity: Watched): void {
    activity.idleSince = this.#run.clock.now();
    if (!this.#isSet) this.#set(activity.idleSince + this.#ms);
  }

  cancel(): void {
    if (this.#watched.size > 0) this.#set(this.#run.clock.now() + this.#ms);
  }

  stop(): void {
    this.#run.scope.leave(this);
    this.#alarm.stop();
  }

  get #ms(): number {
    const { callbackMs, toolCleanupMs } = this.#run.timeouts;
    return this.#run.scope.cause === undefined ? callbackMs : Math.min(callbackMs, toolCleanupMs);
  }

  #set(dueAt: number): void {
    this.#isSet = true;
    this.#alarm.set(dueAt, () => this.#ring());
  }

  #ring(): void {
    this.#isSet = false;
    const now = this.#run.clock.now();
    // A hook may hold back its call until a running call finishes, so its time limit keeps restarting while any call is running.
    const isHeldBack = [...this.#watched.keys()].some(({ call, isWorking }) => call !== undefined && isWorking);
    let dueAt = never;
    for (const [activity, fail] of this.#watched) {
      if (activity.isInside) continue;
      const endsAt = (isHeldBack ? now : activity.idleSince) + this.#ms;
      if (endsAt > now) dueAt = Math.min(dueAt, endsAt);
      else {
        activity.close();
        fail(this.#errorOf(activity));
      }
    }
    if (dueAt < never) this.#set(dueAt);
  }

  #errorOf({ hook }: Watched): Error {
    const { scope, timeouts } = this.#run;
    if (scope.cause !== undefined) return new StepCancelled(hook, endingOfReason(scope.cause));
    const late = `It waited longer than ${timeouts.callbackMs} ms ("timeouts.callbackMs"). Wait in at.step or at.wait.`;
    return new HookError(hook, new DOMException(late, "TimeoutError"));
  }
}
