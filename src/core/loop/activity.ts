// Tracks an "activity": a tool call, a model request or the end of a run. Stores its journal keys, its spending, and what it is waiting
// for.

import type { UserMessage } from "../types/message.ts";
import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import { whenParked } from "./journals.ts";
import type { Deadline } from "../../shared/cancellation/deadline.ts";
import type { Run, Durability } from "./run.ts";
import type { Journal } from "../types/journal.ts";
import type { Ending, Outcome, Wait, Answer, EarlierCall, NextCall } from "../types/middleware.ts";
import type { Json } from "../types/common.ts";
import type { WaitOptions } from "../types/wait.ts";
import type { Past } from "./past.ts";

/**
 * Returned when code needs an answer from outside. `inCore` then never resolves in this execution. When nothing else in the activity can
 * continue, `settle` returns what the activity is waiting for. When nothing else in the run can continue, the run is suspended. A later
 * execution runs the code again from its start, with the recorded results.
 */
export class Parked {
  readonly waits: readonly Wait[];

  constructor(waits: readonly Wait[]) {
    this.waits = waits;
  }
}

const forever = (): Promise<never> => new Promise<never>(() => {});

/** The nested runs started by one call, request or run end. */
export interface NestedRuns {
  /** Cancels the nested runs that are still running. */
  abort(reason?: unknown): void;
  /** Ends the nested runs that the tool did not await. They get a moment to finish, so that their usage is counted. */
  end(): Promise<void>;
}

export interface ActivityPlace {
  /** The prefix of the activity's journal keys. */
  readonly place: string;
  /** The prefix of the activity's wait ids. */
  readonly path: string;
  readonly journal: Journal;
  /** The tool call. Undefined for a request or the end of a run. */
  readonly call?: ToolCall | undefined;
  /** The position of the call in its message. */
  readonly index?: number | undefined;
  /** True while the message with the call is still streaming. A call that has to wait for an answer starts again once the message is complete. */
  readonly isEarly?: boolean | undefined;
  readonly left?: Left | undefined;
}

/** The messages and flags that finished nested runs pass on to the run that contains them. */
interface Left {
  /** True if a nested run was suspended by a drain. */
  isDrained: boolean;
  /** Messages that the nested runs did not send to a model. The run's caller gets them back. */
  readonly undelivered: UserMessage[];
}

/**
 * One call, request or run end in progress (an "activity"): its keys in the journal, its spending, and whether it can continue without an
 * answer from outside.
 */
export class Activity {
  readonly run: Run;
  readonly place: string;
  readonly path: string;
  readonly journal: Journal;
  readonly call: ToolCall | undefined;
  readonly index: number;
  readonly isEarly: boolean;
  /** The spending of the activity's nested runs. */
  readonly spent: NestedSpending[] = [];
  /** Called when the activity's tool has finished, so that a control can withdraw the tool's open questions. */
  onToolEnd: (() => void) | undefined;
  /** Waits until the call's tool may begin. Undefined if it does not need to wait for other calls. */
  takeTurn: ((isTogether: boolean) => Promise<void | Parked> | Parked | undefined) | undefined;
  /** The ending that an inner call has caused. It ends the run even if the surrounding code catches the error. */
  ends: Ending | undefined;
  /** Called when none of the loop's own work for the activity is in progress. */
  onIdle: (() => void) | undefined;
  /** The time limits of the activity's tool. Undefined until the tool begins. */
  deadline: Deadline | undefined;
  /** The call's newest outcome, before middleware has changed it. */
  made: Outcome | undefined;
  /** Sends the call's end event, at most once. */
  end: (outcome: Outcome) => void = () => {};
  isOver = false;
  /** The name of the hook that is running or waiting. */
  hook = "";
  /** The time at which the loop last returned control to the activity's hooks. */
  idleSince = 0;
  /** True while the call is waiting for its turn, because other calls come first. */
  isHeld = false;
  /** True while the tool's code is running. */
  isInTool = false;
  /** True if the newest step was new in this execution, false if it was replayed. Undefined before the first step, and without a journal. */
  isLive: boolean | undefined;
  /** True once the tool has begun. A call that then waits counts as a call that may have had effects. */
  hasBegun = false;
  /** True once the answer to a request has arrived. */
  isAnswered = false;
  /** The nested runs that the activity has started. Undefined if there are none. */
  nested: NestedRuns | undefined;
  /** The information that nested runs pass on to the outer run. Inner calls share this object. */
  readonly left: Left;
  #waits: readonly Wait[] = [];
  /** True once the activity is waiting for an answer that it does not have yet. */
  isParked = false;
  /** How many times each key was used. Activities with the same place share this map. */
  readonly used: Map<string, number>;
  /** The number of `inCore` calls in progress. */
  #pending = 0;
  #park: ((waits: readonly Wait[]) => void) | undefined;

  constructor(
    run: Run,
    { place, path, journal, call, index = -1, isEarly = false, left = { isDrained: false, undelivered: [] } }: ActivityPlace,
    used: Map<string, number> = new Map(),
  ) {
    this.used = used;
    this.left = left;
    this.call = call;
    this.run = run;
    this.place = place;
    this.path = path;
    this.journal = journal;
    this.index = index;
    this.isEarly = isEarly;
  }

  /** Records an effect under a full key, including the prefix. */
  record<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> {
    return this.run.record<T>(key, body, this);
  }

  /** True while the activity repeats what happened in an earlier execution. */
  get isReplayed(): boolean {
    return this.isLive === undefined ? this.run.isReplayed : !this.isLive;
  }

  /** Prevents new steps, and cancels the nested runs. */
  close(): void {
    this.isOver = true;
    this.run.watch?.leave(this);
    this.nested?.abort();
  }

  /** Waits for hooks. Rejects if a hook waits too long for something that the run cannot observe. */
  watched<T>(hooks: Promise<T>): Promise<T> {
    const { watch } = this.run;
    return watch === undefined ? hooks : Promise.race([hooks, watch.join(this)]);
  }

  /** True while the activity's hooks are waiting for the core, the tool or an answer. */
  get isInside(): boolean {
    return this.#pending > 0 || this.isInTool || this.isParked;
  }

  /** True while the activity does work that can finish without waiting for other calls. */
  get isWorking(): boolean {
    return this.isInside && !this.isHeld && !this.isParked;
  }

  /** Returns a key or an id that this activity has not used yet. The order of uses must be the same on a replay. */
  unique(name: string, mark = "~"): string {
    const { used } = this;
    const count = (used.get(name) ?? 0) + 1;
    used.set(name, count);
    return count === 1 ? name : `${name}${mark}${count}`;
  }

  /** Returns the full key for a new step. A later call with the same name returns a different key. */
  keyOf(name: string): string {
    return `${this.run.prefix}${this.place}/${this.unique(name)}`;
  }

  /** True while the activity is waiting for the core: for a step, a nested run, or its turn. */
  get isInCore(): boolean {
    return this.#pending > 0;
  }

  /**
   * Runs the loop's own work for a hook or a tool. Never resolves if the work must wait for an answer: the next execution runs the hook or
   * tool again from its start.
   */
  async inCore<T>(work: () => T | Parked | PromiseLike<T | Parked>): Promise<T> {
    if (this.isOver) return forever();
    this.#pending += 1;
    try {
      const value = await work();
      if (!(value instanceof Parked)) return this.isOver ? await forever() : value;
      this.#waits = [...this.#waits, ...value.waits];
      this.isParked = true;
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) {
        this.run.watch?.note(this);
        this.onIdle?.();
      }
      if (this.isParked) this.#check();
    }
    return forever();
  }

  /** Stops the activity, and stores what a replayed tool is waiting for. */
  park(waits: readonly Wait[]): Promise<never> {
    return this.inCore<never>(() => Promise.resolve(new Parked(waits)));
  }

  #check(): void {
    whenParked(() => {
      if (this.#pending > 0 || this.isOver) return;
      this.isOver = true;
      this.#park?.(this.#waits);
    });
  }

  /** Resolves when `work` ends, or when it needs an outside answer to continue. */
  settle<T>(work: Promise<T>): Promise<{ readonly value: T } | { readonly waits: readonly Wait[] }> {
    return new Promise((resolve, reject) => {
      const end = (settled: { readonly value: T } | { readonly waits: readonly Wait[] }): void => {
        this.close();
        resolve(settled);
      };
      this.#park = (waits) => end({ waits });
      work.then(
        (value) => end({ value }),
        (error: unknown) => {
          this.close();
          reject(error);
        },
      );
    });
  }
}

export type OpenedWait = Pick<Wait, "id" | "what" | "facts" | "until" | "call" | "schema" | "fromPage">;

export interface CallPast extends Past {
  /** Returns what earlier executions have recorded about a call. `owner` is the middleware that asks. */
  findEarlier(activity: Activity, owner: string): EarlierCall;
  /**
   * Reads the recorded answer to a wait, or takes it from the `answers` option. Opens the wait again if the facts shown to the person have
   * changed.
   */
  findAnswer<Answer>(activity: Activity, wait: OpenedWait, options: WaitOptions<Answer>): Promise<Answer | Parked>;
  /**
   * Returns the recorded outcome of a call that ended without running its tool, so that the tool does not run now. Parks a call that was
   * waiting when the run ended, even if its middleware would no longer wait.
   */
  findEnd(activity: Activity, keys: readonly string[]): Promise<Outcome | Parked | undefined>;
  /**
   * Returns the recorded outcome of a durable tool, after `execute` has run its code again with the recorded results. Parks the call if it
   * is waiting and the run was cancelled before anything new happened.
   */
  recallOutcome(activity: Activity, key: string, execute: (fork: Activity) => Promise<Outcome>): Promise<Outcome | undefined>;
}

/** The past of a call, or undefined if no earlier execution can have recorded it. */
export function pastOf({ past }: Run): CallPast | undefined {
  return past as CallPast | undefined;
}

/** A call as it reaches its tool. */
export interface GivenCall {
  /** The call as the model sent it. */
  readonly made: ToolCall;
  /** The call with the arguments that middleware has chosen. */
  readonly given: NextCall;
  readonly signal: AbortSignal | undefined;
}

/** The recorder of a middleware or a tool. Its activity is under a hidden key. */
export interface Owner {
  readonly callId: string;
  readonly owner: string | undefined;
  /** The call that was passed to the hook. */
  readonly given: ToolCall | undefined;
}

/** The purpose of a wait. */
export interface AskedFor<Answer> {
  readonly what: string;
  readonly facts: Json;
  readonly options: WaitOptions<Answer>;
}

export interface CallDurability extends Durability {
  /** Runs a call's tool, unless an earlier execution has run it. */
  runCall(activity: Activity, call: GivenCall): Promise<Outcome>;
  /** Records what middleware has changed about a call's outcome. */
  recordCallEnd(activity: Activity, outcome: Outcome): PromiseLike<unknown> | undefined;
  /** Records what middleware has changed about a request's answer. */
  recordRequestEnd(activity: Activity, answer: Answer, streamed: Answer | undefined): Promise<void>;
  /** Waits for an answer from outside. */
  wait<Answer>(by: Owner, asked: AskedFor<Answer>): Promise<Answer | null>;
  /** Calls another tool of the run, through the same middleware. */
  call(by: Owner, name: string, args: Json): Promise<Json>;
}

export function durabilityOf({ durability }: Run): CallDurability | undefined {
  return durability as CallDurability | undefined;
}
