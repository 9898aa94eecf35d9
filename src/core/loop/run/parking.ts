// Parking: a run inside a call that would be suspended waits while other calls of the outer batch still run. The outer run
// decides when nothing of that batch runs any more. It either suspends the inner run, lets it go on because somebody ended it
// meanwhile, or ends it.

import { type CancelScope, isEnded } from "../../cancellation/cancel-scope.ts";

/** A run inside a call that waits. */
interface Parked {
  readonly scope: CancelScope;
  readonly isDrained: boolean;
  /** Returns true if the run has to end, although nothing around it ends. */
  mustEnd(): boolean;
  /** Suspends the run. Called synchronously for all runs of a tree, so that no message to one of them is lost. */
  suspend(): void;
}

/** The next move of a parked run: it is suspended, it looks at its calls again, or it has to end. */
export type ParkedEnd = "suspended" | "look-again" | "ended";

/** Called by a run inside a call before it is suspended. */
export type Park = (parked: Parked) => Promise<ParkedEnd>;

/** A call with a parked run. */
interface ParkedCall {
  readonly parked: Parked;
  /** Resumes the run with its next move. Settles when the call is over, or waits again. */
  goOn(end: ParkedEnd): Promise<void>;
}

/** The parked runs of one batch. */
export class Parking {
  /** By the index of the call. */
  readonly #waiting = new Map<number, ParkedCall>();

  /** True if a parked run has to go on in order to end. */
  get mustGoOn(): boolean {
    return [...this.#waiting.values()].some(({ parked }) => parked.mustEnd());
  }

  /** Begins a call. Settles when it is over, or when it waits; `onWait` is called first. */
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
    // `stop` and `fail` belong to the promise that waits now.
    const end = (): void => stop();
    return start(() => void call(park).then(end, (error: unknown) => fail(error)));
  }

  /** Lets a parked run go on. Settles when its call is over, or waits again. */
  goOn(index: number): Promise<void> | undefined {
    return this.#waiting.get(index)?.goOn("look-again");
  }

  /** Lets those runs go on that were ended while they waited. */
  async goOnEnded(): Promise<void> {
    await this.#tell("look-again", ({ parked }) => parked.mustEnd());
  }

  /** Ends all parked runs. */
  async end(): Promise<void> {
    const reason = new DOMException("The run around this one is over.", "AbortError");
    for (const { parked } of this.#waiting.values()) if (!isEnded(parked.scope)) parked.scope.cancel({ kind: "abort", reason });
    await this.#tell("ended");
  }

  /** Suspends all parked runs synchronously. */
  suspend(): void {
    for (const { parked } of this.#waiting.values()) parked.suspend();
  }

  /** Resumes the suspended runs, so that they can return. Settles when their calls are over. */
  async leave(): Promise<void> {
    await this.#tell("suspended");
  }

  #tell(end: ParkedEnd, isMeant: (call: ParkedCall) => boolean = () => true): Promise<unknown> {
    return Promise.all([...this.#waiting.values()].filter(isMeant).map((call) => call.goOn(end)));
  }
}
