// The conversations that this process has: which run is live, who waits for it, and which ended runs can be read.

import type { Clock } from "../core/entry-kit.ts";
import { EndedLogs } from "./ended-logs.ts";
import type { HostedStream, JoinOptions } from "./hosted-event.ts";
import { LogReader } from "./log-reader.ts";
import type { RunLog } from "./run-log.ts";
import { RunTurn } from "./run-turn.ts";

/** A run that has ended here. */
interface EndedRun {
  readonly runId: string;
  readonly number: number;
  readonly log: RunLog;
}

interface Conversation {
  current: RunTurn | undefined;
  /** The oldest first. */
  ended: readonly EndedRun[];
  waiting: number;
}

/** The limits of a host. */
export interface ConversationLimits {
  readonly maxQueued: number;
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly clock: Clock;
}

/** The answer to entering a conversation. */
export type Entered =
  /** The conversation is taken, until `leave`. */
  | { readonly kind: "entered"; readonly turn: RunTurn }
  | { readonly kind: "busy"; readonly turn: RunTurn }
  | { readonly kind: "closed" };

/** Holds the conversations of one host. */
export class Conversations {
  readonly #limits: ConversationLimits;
  readonly #endedLogs: EndedLogs;
  readonly #all = new Map<string, Conversation>();
  #isClosed = false;

  constructor(limits: ConversationLimits) {
    this.#limits = limits;
    this.#endedLogs = new EndedLogs(limits);
  }

  /** Takes a conversation for one execution. If it is taken, waits for its end if `waits`, and else is refused. */
  async enter(id: string, waits: boolean): Promise<Entered> {
    for (;;) {
      if (this.#isClosed) return { kind: "closed" };
      const conversation = this.#open(id);
      const { current } = conversation;
      if (current === undefined) {
        conversation.current = new RunTurn();
        return { kind: "entered", turn: conversation.current };
      }
      // A conversation whose run is ending is free soon.
      if (!current.isEnding && (!waits || conversation.waiting >= this.#limits.maxQueued)) return { kind: "busy", turn: current };
      conversation.waiting += 1;
      await current.settled.promise;
      conversation.waiting -= 1;
    }
  }

  /** Frees a conversation. The events of the run stay readable for a while if `keeps`. */
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

  /** Takes the log of an ended run back, if it has all that happened in the run. */
  takeLog(id: string, number: number, epoch: string | undefined): RunLog | undefined {
    const conversation = this.#open(id);
    const found = conversation.ended.find((one) => one.number === number && one.log.epoch === epoch && !one.log.isBroken);
    if (found === undefined) return undefined;
    this.#endedLogs.take(found.log);
    conversation.ended = conversation.ended.filter((one) => one !== found);
    return found.log;
  }

  /** Returns the run that has taken a conversation. */
  currentOf(id: string): RunTurn | undefined {
    return this.#all.get(id)?.current;
  }

  /** Returns how many starts wait. */
  waitingOf(id: string): number {
    return this.#all.get(id)?.waiting ?? 0;
  }

  /** Reads the last run, or the one that `from` belongs to while that has something left. */
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

  /** Refuses new runs, drains the live ones and waits for them. */
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

/** True if a reader with the event `from` of this log has something left to read. */
function hasMore(log: RunLog, from: string | undefined): boolean {
  const cursor = from === undefined ? undefined : log.find(from);
  return cursor !== undefined && !log.isOverAt(cursor);
}
