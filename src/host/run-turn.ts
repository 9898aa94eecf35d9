import { type LoopControl, type LoopResult } from "../core/entry-kit.ts";
import { createLoopControl } from "../core/index.ts";
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
  #readers = 0;

  /** True if there is something to read. */
  get isJoinable(): boolean {
    return this.isOpen || this.log.endOf(0) !== undefined;
  }

  open(): void {
    this.isOpen = true;
    this.opened.resolve(true);
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
