// One call, request or ending: its place in the journal, what it spends, and whether only the outside can move it.

import type { UserMessage } from "../types/message.ts";
import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import { whenParked } from "./journals.ts";
import type { Deadline } from "../../shared/cancellation/deadline.ts";
import type { Past } from "./past.ts";
import type { Run } from "./run.ts";
import type { Journal } from "../types/journal.ts";
import type { Ending, Outcome, Wait } from "../types/middleware.ts";

/**
 * The answer of code that waits for something from outside. `inCore` leaves the code there: its promise stays pending in this execution. When
 * nothing else of the activity goes on, `settle` returns the waits. When nothing else of the run goes on, the run is suspended. A later
 * execution runs the code again from its start, over the records.
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
  /** Cancels those that still run. */
  abort(reason?: unknown): void;
  /** Ends those that the tool has left, and waits for them a moment, so that their usage is counted. */
  end(): Promise<void>;
}

export interface ActivityPlace {
  /** The beginning of the keys of its steps. */
  readonly place: string;
  /** The beginning of the ids of its waits. */
  readonly path: string;
  readonly journal: Journal;
  /** Undefined for a request or an ending. */
  readonly call?: ToolCall | undefined;
  /** The position of the call in its message. */
  readonly index?: number | undefined;
  /** True while the message of the call streams. A wait then leaves the call until its message is complete. */
  readonly isEarly?: boolean | undefined;
  readonly left?: Left | undefined;
}

/** The rest of nested runs, which the run that contains them gets. */
interface Left {
  /** True if a nested run was suspended by a drain. */
  isDrained: boolean;
  /** The messages that the nested runs have not sent to a model, for the caller of the run. */
  readonly undelivered: UserMessage[];
}

/** One call, request or ending: its place in the journal, what it spends, and whether only the outside can move it. */
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
  /** Called when its tool has ended. A control withdraws the questions of the tool. */
  onToolEnd: (() => void) | undefined;
  /** Waits until the tool of the call may begin. Undefined if it need not wait for other calls. */
  takeTurn: ((isTogether: boolean) => Promise<void | Parked> | Parked | undefined) | undefined;
  /** The ending that an inner call has caused, which ends the run even if the code around it catches the error. */
  ends: Ending | undefined;
  /** Called when it has nothing more to wait for in the core. */
  onIdle: (() => void) | undefined;
  /** The time limits of its tool. Undefined until the tool begins. */
  deadline: Deadline | undefined;
  /** The newest outcome of its call, before middleware has changed it. */
  made: Outcome | undefined;
  /** Sends the end of its call once. */
  end: (outcome: Outcome) => void = () => {};
  isOver = false;
  /** The hook whose code runs or waits now. */
  hook = "";
  /** The time from which its hooks have nothing to wait for in the core. */
  idleSince = 0;
  /** True while it waits for its turn, which other calls may hold back. */
  isHeld = false;
  /** True while the code of its tool runs. */
  isInTool = false;
  /** True if its newest step was new in this execution. Undefined before its first step. */
  isLive: boolean | undefined;
  /** True if its tool has begun, so that a call that waits counts as a call that may have had effects. */
  hasBegun = false;
  /** True after the answer of a request has arrived. */
  isAnswered = false;
  /** Undefined if it has started no nested run. */
  nested: NestedRuns | undefined;
  /** The rest of its nested runs. Inner calls share it. */
  readonly left: Left;
  #waits: readonly Wait[] = [];
  /** True after a wait without an answer. */
  isParked = false;
  /** How often each key was used. Shared by the activities of one place. */
  readonly used: Map<string, number>;
  /** The number of the calls of `inCore` that have not ended. */
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

  /** Records an effect. The key is a whole key. */
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

  /** True if what happens now happened in an earlier execution too. */
  get isReplayed(): boolean {
    return this.isLive === undefined ? this.run.isReplayed : !this.isLive;
  }

  /** Ends what is left of it: no step begins any more, and its nested runs are cancelled. */
  close(): void {
    this.isOver = true;
    this.run.watch?.leave(this);
    this.nested?.abort();
  }

  /** Waits for hooks. Rejects if one of them waits too long for something that the run knows nothing of. */
  watched<T>(hooks: Promise<T>): Promise<T> {
    const { watch } = this.run;
    return watch === undefined ? hooks : Promise.race([hooks, watch.join(this)]);
  }

  /** Runs the code of the tool. Its time does not count as time of a hook. */
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

  /** True while it does something that ends without other calls. */
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

  /** Returns the whole key of a step that this activity has not begun yet. */
  keyOf(name: string): string {
    return `${this.run.prefix}${this.place}/${this.unique(name)}`;
  }

  /** True while it waits for the core: for a step, a nested run, or its turn. */
  get isInCore(): boolean {
    return this.#pending > 0;
  }

  /** After a wait, never resolves: the code is left where it is, and the next execution runs it again from its start. */
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

  /** Waits for what the code of a replayed tool waits for. */
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
