// One call, request or ending in progress (an "activity"): its keys in the journal, its spending, and whether it can go on without an
// answer from outside.

import type { UserMessage } from "../types/message.ts";
import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import { whenParked } from "./journals.ts";
import type { Deadline } from "../../shared/cancellation/deadline.ts";
import type { Past } from "./past.ts";
import type { Run } from "./run.ts";
import type { Journal } from "../types/journal.ts";
import type { Ending, Outcome, Wait } from "../types/middleware.ts";

/**
 * Returned when code needs an answer from outside. `inCore` then never resolves in this execution. When nothing else in the activity goes
 * on, `settle` returns the waits; when nothing else in the run goes on, the run is suspended. A later execution runs the code again from
 * its start, with the recorded results.
 */
export class Parked {
  readonly waits: readonly Wait[];

  constructor(waits: readonly Wait[]) {
    this.waits = waits;
  }
}

const forever = (): Promise<never> => new Promise<never>(() => {});

/** The nested runs of one call, request or ending. */
export interface NestedRuns {
  /** Cancels the nested runs that are still running. */
  abort(reason?: unknown): void;
  /** Ends the nested runs that the tool did not wait for, and gives them a moment, so that their usage is counted. */
  end(): Promise<void>;
}

export interface ActivityPlace {
  /** The prefix of the keys of its steps. */
  readonly place: string;
  /** The prefix of the ids of its waits. */
  readonly path: string;
  readonly journal: Journal;
  /** The tool call. Undefined for a request or an ending. */
  readonly call?: ToolCall | undefined;
  /** The position of the call in its message. */
  readonly index?: number | undefined;
  /** True while the message with the call is still streaming. If the call has to wait, it starts again when the message is complete. */
  readonly isEarly?: boolean | undefined;
  readonly left?: Left | undefined;
}

/** The facts that ended nested runs pass on to the run that contains them. */
interface Left {
  /** True if a nested run was suspended by a drain. */
  isDrained: boolean;
  /** Messages that the nested runs did not send to a model. The caller of the run gets them back. */
  readonly undelivered: UserMessage[];
}

/**
 * One call, request or ending in progress (an "activity"): its keys in the journal, its spending, and whether it can go on without an
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
  /** The spending of its nested runs. */
  readonly spent: NestedSpending[] = [];
  /** Called when its tool has ended, so that a control can withdraw the tool's open questions. */
  onToolEnd: (() => void) | undefined;
  /** Waits until the tool of the call may begin. Undefined if it need not wait for other calls. */
  takeTurn: ((isTogether: boolean) => Promise<void | Parked> | Parked | undefined) | undefined;
  /** The ending that an inner call has caused. It ends the run even if the surrounding code catches the error. */
  ends: Ending | undefined;
  /** Called when the core has nothing more to do for it. */
  onIdle: (() => void) | undefined;
  /** The time limits of its tool. Undefined until the tool begins. */
  deadline: Deadline | undefined;
  /** The newest outcome of its call, before middleware has changed it. */
  made: Outcome | undefined;
  /** Sends the end event of its call, at most once. */
  end: (outcome: Outcome) => void = () => {};
  isOver = false;
  /** The hook that is running or waiting now. */
  hook = "";
  /** The time since which its hooks have not been waiting for the core. */
  idleSince = 0;
  /** True while it waits for its turn, because other calls come first. */
  isHeld = false;
  /** True while the code of its tool runs. */
  isInTool = false;
  /** True if its newest step was new in this execution. Undefined before its first step. */
  isLive: boolean | undefined;
  /** True if its tool has begun, so that a call that waits counts as a call that may have had effects. */
  hasBegun = false;
  /** True after the answer of a request has arrived. */
  isAnswered = false;
  /** The nested runs that it has started. Undefined if there are none. */
  nested: NestedRuns | undefined;
  /** The facts that its nested runs pass on. Inner calls share this object. */
  readonly left: Left;
  #waits: readonly Wait[] = [];
  /** True after it has met a wait that has no answer yet. */
  isParked = false;
  /** How often each key was used. Activities with the same place share this map. */
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

  /** Records an effect under a full key, prefix included. */
  record<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> {
    const { past } = this.run.root;
    if (past !== undefined) return this.#recordOrReplay(past, key, body);
    this.isLive = true;
    return this.run.record<T>(key, body, this.journal);
  }

  async #recordOrReplay<T>(past: Past, key: string, body: () => T | PromiseLike<T>): Promise<T> {
    let isLive = false;
    const live = (): T | PromiseLike<T> => {
      this.isLive = isLive = true;
      past.endReplay();
      return body();
    };
    const value = await this.run.record<T>(key, live, this.journal);
    if (!isLive) past.noteReplayed();
    this.isLive = isLive;
    return value;
  }

  /** True while it repeats what happened in an earlier execution. */
  get isReplayed(): boolean {
    return this.isLive === undefined ? this.run.isReplayed : !this.isLive;
  }

  /** Lets no further step begin, and cancels its nested runs. */
  close(): void {
    this.isOver = true;
    this.run.watch?.leave(this);
    this.nested?.abort();
  }

  /** Waits for hooks. Rejects if one of them waits too long for something that the run does not know about. */
  watched<T>(hooks: Promise<T>): Promise<T> {
    const { watch } = this.run;
    return watch === undefined ? hooks : Promise.race([hooks, watch.join(this)]);
  }

  /** Runs the code of the tool. This time does not count against the time limit for hooks. */
  async inTool<T>(work: () => Promise<T>): Promise<T> {
    this.isInTool = true;
    try {
      return await work();
    } finally {
      this.isInTool = false;
      this.run.watch?.note(this);
    }
  }

  /** True while its hooks wait for the core, the tool or an answer. */
  get isInside(): boolean {
    return this.#pending > 0 || this.isInTool || this.isParked;
  }

  /** True while it is doing work that ends without the help of other calls. */
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

  /** Returns the full key for a step that this activity has not begun yet. */
  keyOf(name: string): string {
    return `${this.run.prefix}${this.place}/${this.unique(name)}`;
  }

  /** True while it waits for the core: for a step, a nested run, or its turn. */
  get isInCore(): boolean {
    return this.#pending > 0;
  }

  /**
   * Runs work of the core for a hook or a tool. Never resolves after a wait: the code stays where it is, and the next execution runs it
   * again from its start.
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

  /** Stops here with the waits of a replayed tool. */
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

  /** Resolves when `work` ends, or when it can only go on with an answer from outside. */
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
