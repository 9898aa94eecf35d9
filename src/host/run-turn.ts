import { createLoopControl, type LoopControl, type LoopResult, type UserMessage } from "../core/index.ts";
import type { StopRequest } from "../core/types/loop-options.ts";
import { steerRun } from "../conversation/conversation-state.ts";
import type { ConversationLock, StoredConversation } from "../conversation/conversation-store.ts";
import type { HostedStream, JoinOptions } from "./run-host.ts";
import { isRepetition } from "../conversation/next-messages.ts";
import { LogReader } from "./log-reader.ts";
import { RunLog } from "./run-log.ts";

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

function defer<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}

/** The result of steering. "repeated" means that the run already has the message, and "over" that it accepts no more messages. */
type Steered = "steered" | "repeated" | "over";

/** One start or resume of a run, from the moment it reserves its conversation until the conversation is free again. */
export class RunTurn {
  readonly control: LoopControl = createLoopControl();
  log: RunLog = new RunLog();
  runId = "";
  number = 0;
  stopWhenUnread = false;
  /** True if the run had already ended and is only being read again. Such a run accepts no messages. */
  isReplay = false;
  /** True once the run has decided how it ends. The run then soon frees the conversation. */
  isEnding = false;
  /** True once `stop` has been called. The run's tools may still be cleaning up. */
  isStopping = false;
  /** The message that the run answers. */
  message: UserMessage | undefined;
  /** True once the run has begun, and its beginning is stored. */
  isOpen = false;
  /** Resolves to true when `isOpen` becomes true, or to false if the run was refused. */
  readonly opened: Deferred<boolean> = defer();
  /** Resolves when the run does something new. Before that, the run may still be refused. */
  readonly begun: Deferred<undefined> = defer();
  readonly settled: Deferred<undefined> = defer();
  result: Promise<LoopResult> | undefined;
  /** The conversation as it was when the run began. Undefined until the beginning of the run is stored. */
  stored: StoredConversation | undefined;
  #lock: Pick<ConversationLock, "append"> | undefined;
  #readers = 0;
  #writes: Promise<void> = Promise.resolve();
  #isFinished = false;

  /** True if readers can join: the run has begun, in this turn or in an earlier one. */
  get isJoinable(): boolean {
    return this.isOpen || this.log.endOf(0) !== undefined;
  }

  get endsSoon(): boolean {
    return this.isEnding || this.isStopping;
  }

  stop(request?: StopRequest): "accepted" | "not-running" {
    const isAccepted = this.control.stop(request) === "accepted";
    this.isStopping ||= isAccepted;
    return isAccepted ? "accepted" : "not-running";
  }

  /** True if the run answers this message, or received it as a steering message. */
  has(message: UserMessage): boolean {
    const own = this.message === undefined ? [] : [this.message];
    return [...own, ...(this.stored?.state.lastRun?.steered ?? [])].some((one) => isRepetition(one, message));
  }

  open(stored: StoredConversation, lock: Pick<ConversationLock, "append">): void {
    this.stored = stored;
    this.#lock = lock;
    this.isOpen = true;
    this.opened.resolve(true);
  }

  /**
   * Stores a message so that a crash cannot lose it, then passes it to the run. Handles one message at a time. Resolves to "over" if the
   * run no longer accepts messages. If the store fails, rejects without passing the message to the run.
   */
  steer(message: UserMessage): Promise<Steered> {
    const steered = this.#writes.then(async (): Promise<Steered> => {
      if (this.stored === undefined || this.#isFinished || this.isReplay) return "over";
      if (this.has(message)) return "repeated";
      const { stored, change } = steerRun(this.stored, message);
      await this.#lock?.append(change);
      if (this.control.steer(message) !== "accepted") return "over";
      this.stored = stored;
      return "steered";
    });
    this.#writes = steered.then(
      () => {},
      () => {},
    );
    return steered;
  }

  async finishWrites(): Promise<void> {
    this.#isFinished = true;
    await this.#writes;
  }

  /** Returns a reader of the run's events. If `marksEarlier` is true, events from before the last resume are marked as `replayed`. */
  read({ from, signal }: JoinOptions = {}, marksEarlier = false): HostedStream {
    const { log, runId } = this;
    this.#readers += 1;
    return new LogReader({ runId, log, from, signal, marksEarlier, onLeave: ({ isEarly }) => this.#leave(isEarly) });
  }

  #leave(isEarly: boolean): void {
    this.#readers -= 1;
    if (isEarly && this.#readers === 0 && this.stopWhenUnread) this.stop({ note: "The last reader left." });
  }
}
