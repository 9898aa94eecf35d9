import type { LoopControl, LoopResult, UserMessage } from "../core/entry-kit.ts";
import { createLoopControl } from "../core/index.ts";
import type { ConversationRecord } from "./run-store.ts";
import type { HostedStream, JoinOptions } from "./hosted-event.ts";
import { LogReader } from "./log-reader.ts";
import { RunLog } from "./run-log.ts";

/** A promise that is settled from outside. */
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

/** One execution of a run, from the claim on its conversation until that is free again. */
export class RunTurn {
  readonly control: LoopControl = createLoopControl();
  log: RunLog = new RunLog();
  runId = "";
  /** The number of the run in its conversation. */
  number = 0;
  stopWhenUnread = false;
  /** True once its ending is decided. The conversation is free soon. */
  isEnding = false;
  /** True once its record is stored and it runs. */
  isOpen = false;
  /** Resolves to true once it is open, or to false if it was refused. */
  readonly opened: Deferred<boolean> = defer();
  /** Resolves once it does something new. Until then it may still be refused. */
  readonly begun: Deferred<undefined> = defer();
  /** Resolves once the conversation is free. */
  readonly settled: Deferred<undefined> = defer();
  result: Promise<LoopResult> | undefined;
  /** The stored record, once the run is open. */
  record: ConversationRecord | undefined;
  #readers = 0;
  #writes: Promise<void> = Promise.resolve();
  #isFinished = false;

  /** True if there is something to read. */
  get isJoinable(): boolean {
    return this.isOpen || this.log.endOf(0) !== undefined;
  }

  open(): void {
    this.isOpen = true;
    this.opened.resolve(true);
  }

  /**
   * Stores a message and passes it to the run, one message at a time. Stored first, so that an accepted message survives the process.
   * Returns false if the run can no longer take it. Rejects with errors of the store; the run does not get the message then.
   */
  steer(message: UserMessage, write: (record: ConversationRecord) => PromiseLike<void> | void): Promise<boolean> {
    const steered = this.#writes.then(async () => {
      if (this.record === undefined || this.#isFinished) return false;
      const record = { ...this.record, steered: [...(this.record.steered ?? []), message] };
      await write(record);
      this.record = record;
      return this.control.steer(message) === "accepted";
    });
    this.#writes = steered.then(
      () => {},
      () => {},
    );
    return steered;
  }

  /** Refuses further messages, and waits until those before are stored. */
  async finishWrites(): Promise<void> {
    this.#isFinished = true;
    await this.#writes;
  }

  /** Adds a reader. `marksEarlier` marks what happened before this execution as `replayed`. */
  read({ from, signal }: JoinOptions = {}, marksEarlier = false): HostedStream {
    const { log, runId } = this;
    this.#readers += 1;
    return new LogReader({ runId, log, from, signal, marksEarlier, onLeave: ({ isEarly }) => this.#leave(isEarly) });
  }

  #leave(isEarly: boolean): void {
    this.#readers -= 1;
    if (isEarly && this.#readers === 0 && this.stopWhenUnread) this.control.stop({ note: "The last reader left." });
  }
}
