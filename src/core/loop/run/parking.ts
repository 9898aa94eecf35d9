// A run inside a call that would be suspended waits ("parks") while other calls of the batch around it still run. What becomes of it is
// decided there, once nothing of that batch runs any more: it is suspended with the run around it; it goes on, because somebody has ended
// it meanwhile; or it is ended, so that what waited in it never runs.

import { type CancelScope, isEnded } from "../../cancellation/cancel-scope.ts";

/** A run inside a call that waits. */
interface Parked {
  readonly scope: CancelScope;
  readonly isDrained: boolean;
  /** Whether it has to end although nothing around it does. */
  mustEnd(): boolean;
  /** It is suspended for good. Called in the same moment for all runs of a tree, so that nothing is said to one of them and lost. */
  suspend(): void;
}

/** The next move of a parked run: it is suspended, it looks at its calls again, or it has to end. */
export type ParkedEnd = "suspended" | "look-again" | "ended";

/** Called by a run inside a call before it is suspended. */
export type Park = (parked: Parked) => Promise<ParkedEnd>;

/** A call that is a run, and waits. */
interface ParkedCall {
  readonly parked: Parked;
  /** Tells the run what becomes of it. Settles when the call is over, or waits again. */
  goOn(end: ParkedEnd): Promise<void>;
}

/** The calls of one batch that are runs. */
export class Parking {
  /** By the position of the call. */
  readonly #waiting = new Map<number, ParkedCall>();

  /** Whether a run that waits has to go on, so that it can end. */
  get mustGoOn(): boolean {
    return [...this.#waiting.values()].some(({ parked }) => parked.mustEnd());
  }

  /** Begins a call. Settles when it is over, or when it waits, which is said first. */
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
    // The last one that still waits decides for all.
    const end = (): void => stop();
    return start(() => void call(park).then(end, (error: unknown) => fail(error)));
  }

  /** Lets one that waits go on. Settles when its call is over, or waits again. */
  goOn(index: number): Promise<void> | undefined {
    return this.#waiting.get(index)?.goOn("look-again");
  }

  /** Lets the runs go on that were ended while they waited. */
  async goOnEnded(): Promise<void> {
    await this.#tell("look-again", ({ parked }) => parked.mustEnd());
  }

  /** Ends all that wait. */
  async end(): Promise<void> {
    const reason = new DOMException("The run around this one is over.", "AbortError");
    for (const { parked } of this.#waiting.values()) if (!isEnded(parked.scope)) parked.scope.cancel({ kind: "abort", reason });
    await this.#tell("ended");
  }

  /** Suspends all that wait, at once. */
  suspend(): void {
    for (const { parked } of this.#waiting.values()) parked.suspend();
  }

  /** Tells those that are suspended. Settles when their calls are over. */
  async leave(): Promise<void> {
    await this.#tell("suspended");
  }

  #tell(end: ParkedEnd, isMeant: (call: ParkedCall) => boolean = () => true): Promise<unknown> {
    return Promise.all([...this.#waiting.values()].filter(isMeant).map((call) => call.goOn(end)));
  }
}
