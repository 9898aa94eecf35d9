// Ends middleware hooks that hang, such as a hook awaiting a promise that never settles.

import { type Cancellable, type CancelScope, endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { IdleTimer, never } from "../../shared/signals.ts";
import type { Clock } from "../types/common.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { HookError, StepCancelled } from "./hooks.ts";

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
