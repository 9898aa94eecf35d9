import { type Clock, isRecord } from "../core/entry-kit.ts";
import type { HostedStream, JoinOptions } from "./run-host.ts";
import { LogReader } from "./log-reader.ts";
import type { RunLog } from "./run-log.ts";
import { RunTurn } from "./run-turn.ts";

interface EndedRun {
  readonly runId: string;
  readonly number: number;
  readonly log: RunLog;
}

interface Conversation {
  current: RunTurn | undefined;
  ended: readonly EndedRun[];
  waiting: number;
}

export interface ConversationLimits {
  readonly maxQueued: number;
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly clock: Clock;
}

export type Entered =
  /** The conversation is reserved for the caller until the caller calls `leave`. */
  | { readonly kind: "entered"; readonly turn: RunTurn }
  | { readonly kind: "busy"; readonly turn: RunTurn }
  | { readonly kind: "closed" };

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
   * Reserves a conversation for one start or resume of a run. If the conversation has a live run and `waits` is true, waits until
   * the live run has ended. Returns "busy" if `waits` is false, or if `maxQueued` callers already wait.
   */
  async enter(id: string, waits: boolean): Promise<Entered> {
    for (;;) {
      if (this.#isClosed) return { kind: "closed" };
      const conversation = this.#open(id);
      const { current } = conversation;
      if (current === undefined) {
        conversation.current = new RunTurn();
        return { kind: "entered", turn: conversation.current };
      }
      // A run that is ending soon frees the conversation, so the caller waits even if `waits` is false.
      if (!current.isEnding && (!waits || conversation.waiting >= this.#limits.maxQueued)) return { kind: "busy", turn: current };
      conversation.waiting += 1;
      await current.settled.promise;
      conversation.waiting -= 1;
    }
  }

  /** Frees a conversation. If `keeps` is true, readers can still read the events of the run for `keepMs`. */
  leave(id: string, turn: RunTurn, keeps: boolean): void {
    const conversation = this.#open(id);
    conversation.current = undefined;
    const { runId, number, log } = turn;
    if (keeps && !this.#isClosed) {
      const ended: EndedRun = { runId, number, log };
      conversation.ended = [...conversation.ended, ended];
      this.#endedLogs.add(log, () => {
        conversation.ended = conversation.ended.filter((one) => one !== ended);
        this.#prune(id);
      });
    }
    turn.opened.resolve(false);
    turn.settled.resolve(undefined);
    this.#prune(id);
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
    return this.#all.get(id)?.waiting ?? 0;
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
    this.#endedLogs.clear();
    await Promise.all(turns.map(({ settled }) => settled.promise));
  }

  #open(id: string): Conversation {
    const conversation = this.#all.get(id) ?? { current: undefined, ended: [], waiting: 0 };
    this.#all.set(id, conversation);
    return conversation;
  }

  #prune(id: string): void {
    const { current, ended, waiting } = this.#open(id);
    if (current === undefined && ended.length === 0 && waiting === 0) this.#all.delete(id);
  }
}

/**
 * True if a log contains the event with the id `from`, and a reader that continues after this event gets more events or an error.
 */
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

  /** Takes the log of a resumed run off the list of ended logs. Does not call `drop`, because the resumed run uses the log. */
  take(log: RunLog): void {
    if (!this.#logs.delete(log)) return;
    this.#bytes -= log.bytes;
    if (this.#logs.size === 0) this.#disarm();
  }

  clear(): void {
    for (const ended of this.#logs.values()) this.#drop(ended);
    this.#disarm();
  }

  #drop(ended: EndedLog): void {
    this.take(ended.log);
    ended.drop();
  }

  /** Logs expire in the order in which they were added, so one timer for the oldest log is enough. */
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

/** Lets the process end while the timer is pending. Only timers of Node have `unref`. */
function unrefTimer(timer: unknown): void {
  const { unref }: { readonly unref?: unknown } = isRecord(timer) ? timer : {};
  if (typeof unref === "function") Reflect.apply(unref, timer, []);
}
