// Parking: before a nested run is suspended, it waits until no other call in the outer run's batch is running. Then the outer run
// decides: it suspends the nested run, ends the nested run, or lets the nested run continue because it was cancelled meanwhile.

import { type CancelScope, isEnded } from "../../cancellation/cancel-scope.ts";

interface Parked {
  readonly scope: CancelScope;
  readonly isDrained: boolean;
  /** Returns true if the run has to end, even if its outer runs do not end. */
  mustEnd(): boolean;
  /** Suspends the run. Called synchronously for all nested runs, so that no message to them is lost. */
  suspend(): void;
}

/** The next action of a parked run: it is suspended, it looks at its calls again, or it has to end. */
export type ParkedEnd = "suspended" | "look-again" | "ended";

/** Called by a nested run before it is suspended. */
export type Park = (parked: Parked) => Promise<ParkedEnd>;

interface ParkedCall {
  readonly parked: Parked;
  /** Lets the run continue; `end` says how. Settles when the call is over, or waits again. */
  goOn(end: ParkedEnd): Promise<void>;
}

export class Parking {
  /** The parked calls, by the index of the call. */
  readonly #waiting = new Map<number, ParkedCall>();

  get mustGoOn(): boolean {
    return [...this.#waiting.values()].some(({ parked }) => parked.mustEnd());
  }

  /** Begins a call. Settles when the call is over or waits. Calls `onWait` before it settles for a waiting call. */
  begin(index: number, call: (park: Park) => Promise<void>, onWait: (isDrained: boolean) => void): Promise<void> {
    let stop: () => void = () => {};
    let fail: (error: unknown) => void = () => {};
    const start = (go: () => void): Promise<void> =>
      new Promise((resolve, reject) => {
        stop = resolve;
        fail = reject;
        go();
      });
    const park: Park = (parked) =>
      new Promise((resolve) => {
        const goOn = (end: ParkedEnd): Promise<void> => {
          this.#waiting.delete(index);
          return start(() => resolve(end));
        };
        this.#waiting.set(index, { parked, goOn });
        onWait(parked.isDrained);
        stop();
      });
    // `stop` and `fail` belong to the latest promise, so read them late.
    const end = (): void => stop();
    return start(() => void call(park).then(end, (error: unknown) => fail(error)));
  }

  /** Lets a parked run continue. Settles when its call is over, or waits again. */
  goOn(index: number): Promise<void> | undefined {
    return this.#waiting.get(index)?.goOn("look-again");
  }

  /** Lets the runs continue that were cancelled while they waited. */
  async goOnEnded(): Promise<void> {
    await this.#tell("look-again", ({ parked }) => parked.mustEnd());
  }

  async end(): Promise<void> {
    const reason = new DOMException("The outer run has ended.", "AbortError");
    for (const { parked } of this.#waiting.values()) if (!isEnded(parked.scope)) parked.scope.cancel({ kind: "abort", reason });
    await this.#tell("ended");
  }

  /** Suspends all parked runs synchronously. */
  suspend(): void {
    for (const { parked } of this.#waiting.values()) parked.suspend();
  }

  /** Lets the suspended runs return. Settles when their calls are over. */
  async leave(): Promise<void> {
    await this.#tell("suspended");
  }

  #tell(end: ParkedEnd, isMeant: (call: ParkedCall) => boolean = () => true): Promise<unknown> {
    return Promise.all([...this.#waiting.values()].filter(isMeant).map((call) => call.goOn(end)));
  }
}
