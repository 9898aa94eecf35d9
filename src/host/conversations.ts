import type { Clock, UserMessage } from "../core/index.ts";
import { isRecord } from "../core/kit.ts";
import type { HostedStream, JoinOptions } from "./run-host.ts";
import { LogReader } from "./log-reader.ts";
import type { RunLog } from "./run-log.ts";
import { RunTurn } from "./run-turn.ts";

interface EndedRun {
  readonly runId: string;
  readonly number: number;
  readonly log: RunLog;
}

interface Entering {
  readonly caller: "start" | "resume";
  /** True if the caller is willing to wait while a run is live. */
  readonly waits: boolean;
  /** The new message that is passed to `start`. */
  readonly message?: UserMessage | undefined;
}

interface Caller extends Pick<Entering, "caller" | "message"> {
  /** Called with a `RunTurn` when it is the caller's turn, or with undefined if the host is closed. */
  readonly wake: (turn: RunTurn | undefined) => void;
}

interface Conversation {
  current: RunTurn | undefined;
  ended: readonly EndedRun[];
  /** The callers that are waiting for the conversation, in the order of their calls. */
  readonly line: Caller[];
}

export interface ConversationLimits {
  readonly maxQueued: number;
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly clock: Clock;
}

export type Entered =
  /** The conversation stays reserved for the caller until it calls `leave`. */
  | { readonly kind: "entered"; readonly turn: RunTurn }
  | { readonly kind: "busy"; readonly turn: RunTurn }
  | { readonly kind: "closed" };

/** How often a call to `start` rereads the stored conversation while it waits for a suspended run's decisions, in milliseconds. */
const lookAgainMs = 5_000;

export class Conversations {
  readonly #limits: ConversationLimits;
  readonly #endedLogs: EndedLogs;
  readonly #all = new Map<string, Conversation>();
  #isClosed = false;

  constructor(limits: ConversationLimits) {
    this.#limits = limits;
    this.#endedLogs = new EndedLogs(limits);
  }

  /**
   * Reserves a conversation for one start or resume of a run. If the conversation has a live run and `waits` is true, waits until the live
   * run has ended, and until all earlier callers have had their turn. Returns "busy" if a run is live and `waits` is false, or if
   * `maxQueued` callers are already waiting.
   */
  async enter(id: string, { caller, waits, message }: Entering): Promise<Entered> {
    if (this.#isClosed) return { kind: "closed" };
    const conversation = this.#open(id);
    const { current, line } = conversation;
    // Without a live run, the queue can contain only calls to `start` that wait for a suspended run's decisions. Resumes and callers that
    // do not wait go first.
    if (current === undefined && (caller === "resume" || !waits || line.length === 0))
      return toEntered(this.#take(conversation, message));
    // If the live run is about to end, waits even if `waits` is false, because the conversation will soon be free.
    const isFull = !waits || line.length >= this.#limits.maxQueued;
    if (current !== undefined && isFull && !current.endsSoon) return { kind: "busy", turn: current };
    return toEntered(await this.#wait(conversation, { caller, message }, "last"));
  }

  /**
   * Frees a conversation whose run is suspended, and waits at the head of the line until a resume has changed the run. Also returns after
   * some time, because another process may have resumed the run. Later starts stay in line behind this caller. Returns undefined if the
   * host is closed.
   */
  async waitForChange(id: string, turn: RunTurn): Promise<RunTurn | undefined> {
    const conversation = this.#open(id);
    const waiting = this.#wait(conversation, { caller: "start", message: turn.message }, "first");
    const { clock } = this.#limits;
    const timer = clock.setTimeout(() => this.#wakeNext(conversation), lookAgainMs);
    unrefTimer(timer);
    this.#end(conversation, turn);
    this.#wakeNext(conversation, ({ caller }) => caller === "resume");
    try {
      return await waiting;
    } finally {
      clock.clearTimeout(timer);
    }
  }

  #wait(
    conversation: Conversation,
    waiting: Pick<Entering, "caller" | "message">,
    place: "first" | "last",
  ): Promise<RunTurn | undefined> {
    return new Promise((wake) => {
      if (this.#isClosed) wake(undefined);
      else if (place === "first") conversation.line.unshift({ ...waiting, wake });
      else conversation.line.push({ ...waiting, wake });
    });
  }

  #take(conversation: Conversation, message: UserMessage | undefined): RunTurn {
    const turn = new RunTurn();
    // Sets the message now, so that the same message sent again is recognized while its run is still being planned.
    turn.message = message;
    conversation.current = turn;
    return turn;
  }

  /** Gives the conversation to the first caller in line, before a new caller can take it. */
  #wakeNext(conversation: Conversation, fits: (waiter: Caller) => boolean = () => true): void {
    if (conversation.current !== undefined || this.#isClosed) return;
    const index = conversation.line.findIndex(fits);
    const [next] = index < 0 ? [] : conversation.line.splice(index, 1);
    next?.wake(this.#take(conversation, next.message));
  }

  #end(conversation: Conversation, turn: RunTurn): void {
    conversation.current = undefined;
    turn.opened.resolve(false);
    turn.settled.resolve(undefined);
  }

  /** Frees a conversation. If `keeps` is true, readers can still read the events of the run for `keepMs`. */
  leave(id: string, turn: RunTurn, keeps: boolean): void {
    const conversation = this.#open(id);
    const { runId, number, log } = turn;
    if (keeps && !this.#isClosed) {
      const ended: EndedRun = { runId, number, log };
      conversation.ended = [...conversation.ended, ended];
      this.#endedLogs.add(log, () => {
        conversation.ended = conversation.ended.filter((one) => one !== ended);
        this.#prune(id);
      });
    }
    this.#end(conversation, turn);
    this.#wakeNext(conversation);
    this.#prune(id);
  }

  /** Forgets the events of a conversation's ended runs. */
  forget(id: string): void {
    for (const { log } of this.#all.get(id)?.ended ?? []) this.#endedLogs.drop(log);
  }

  /** Forgets the events of a conversation if its last run, whose events have the given epoch, belongs to another process. */
  forgetOutdated(id: string, runs: number, epoch: string | undefined): void {
    const last = this.#all.get(id)?.ended.at(-1);
    if (last !== undefined && last.number <= runs && last.log.epoch !== epoch) this.forget(id);
  }

  /** Removes and returns the kept log of an ended run. Returns undefined if the log was not kept or ends with an error. */
  takeLog(id: string, number: number, epoch: string | undefined): RunLog | undefined {
    const conversation = this.#open(id);
    const found = conversation.ended.find((one) => one.number === number && one.log.epoch === epoch && !one.log.isBroken);
    if (found === undefined) return undefined;
    this.#endedLogs.take(found.log);
    conversation.ended = conversation.ended.filter((one) => one !== found);
    return found.log;
  }

  currentOf(id: string): RunTurn | undefined {
    return this.#all.get(id)?.current;
  }

  waitingOf(id: string): number {
    return this.#all.get(id)?.line.length ?? 0;
  }

  join(id: string, options: JoinOptions): HostedStream | undefined {
    const conversation = this.#all.get(id);
    if (conversation === undefined || this.#isClosed) return undefined;
    const { current, ended } = conversation;
    const live = current?.isJoinable === true ? current : undefined;
    const last = live ?? ended.at(-1);
    const earlier = ended.find((one) => one !== last && hasMore(one.log, options.from));
    if (earlier === undefined && live !== undefined) return live.read(options);
    const run = earlier ?? last;
    return run === undefined ? undefined : new LogReader({ ...options, runId: run.runId, log: run.log });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const turns = [...this.#all.values()].flatMap(({ current }) => current ?? []);
    for (const { control } of turns) control.drain();
    for (const { line } of this.#all.values()) for (const { wake } of line.splice(0)) wake(undefined);
    this.#endedLogs.clear();
    await Promise.all(turns.map(({ settled }) => settled.promise));
  }

  #open(id: string): Conversation {
    const conversation = this.#all.get(id) ?? { current: undefined, ended: [], line: [] };
    this.#all.set(id, conversation);
    return conversation;
  }

  #prune(id: string): void {
    const { current, ended, line } = this.#open(id);
    if (current === undefined && ended.length === 0 && line.length === 0) this.#all.delete(id);
  }
}

function toEntered(turn: RunTurn | undefined): Entered {
  return turn === undefined ? { kind: "closed" } : { kind: "entered", turn };
}

/** True if a log contains the event with the id `from`, and a reader that continues after this event receives more events or an error. */
function hasMore(log: RunLog, from: string | undefined): boolean {
  const cursor = from === undefined ? undefined : log.find(from);
  return cursor !== undefined && !log.isOverAt(cursor);
}

interface EndedLog {
  readonly log: RunLog;
  readonly endedAt: number;
  readonly drop: () => void;
}

class EndedLogs {
  readonly #limits: ConversationLimits;
  readonly #logs = new Map<RunLog, EndedLog>();
  #bytes = 0;
  #timer: unknown;

  constructor(limits: ConversationLimits) {
    this.#limits = limits;
  }

  /** Keeps the log of an ended run for `keepMs`. Drops the oldest logs while all logs together exceed `maxBytes`. */
  add(log: RunLog, drop: () => void): void {
    this.take(log);
    this.#logs.set(log, { log, endedAt: this.#limits.clock.now(), drop });
    this.#bytes += log.bytes;
    for (const oldest of this.#logs.values()) {
      if (this.#bytes <= this.#limits.maxBytes) break;
      this.#drop(oldest);
    }
    this.#arm();
  }

  /** Removes a resumed run's log from the logs of ended runs. Does not call `drop`, because the resumed run uses the log. */
  take(log: RunLog): void {
    if (!this.#logs.delete(log)) return;
    this.#bytes -= log.bytes;
    if (this.#logs.size === 0) this.#disarm();
  }

  drop(log: RunLog): void {
    const ended = this.#logs.get(log);
    if (ended !== undefined) this.#drop(ended);
  }

  clear(): void {
    for (const ended of this.#logs.values()) this.#drop(ended);
    this.#disarm();
  }

  #drop(ended: EndedLog): void {
    this.take(ended.log);
    ended.drop();
  }

  /** Sets a timer for the oldest log. One is enough, because logs expire in the order in which they were added. */
  #arm(): void {
    const { keepMs, clock } = this.#limits;
    const [oldest] = this.#logs.values();
    if (oldest === undefined || this.#timer !== undefined || keepMs === Number.POSITIVE_INFINITY) return;
    this.#timer = clock.setTimeout(() => this.#expire(), Math.max(0, oldest.endedAt + keepMs - clock.now()));
    unrefTimer(this.#timer);
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#limits.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #expire(): void {
    this.#timer = undefined;
    const { keepMs, clock } = this.#limits;
    const now = clock.now();
    for (const ended of this.#logs.values()) {
      if (ended.endedAt + keepMs > now) break;
      this.#drop(ended);
    }
    this.#arm();
  }
}

/** Lets the process exit while the timer is pending. Only Node's timers have `unref`. */
function unrefTimer(timer: unknown): void {
  const { unref }: { readonly unref?: unknown } = isRecord(timer) ? timer : {};
  if (typeof unref === "function") Reflect.apply(unref, timer, []);
}
