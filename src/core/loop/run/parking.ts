// Before a nested run is suspended, it waits until no other call of the outer iteration is running. The outer run then decides:
// the nested run is suspended, ends together with the outer run, or continues. A nested run that was cancelled during the wait
// continues too, and then ends because of its cancellation.

import { type CancelScope, isEnded } from "../../cancellation/cancel-scope.ts";

interface Parked {
  readonly scope: CancelScope;
  readonly isDrained: boolean;
  /** True if the run has to end, even if its outer runs continue. */
  mustEnd(): boolean;
  /** Suspends the run. The outer run suspends all waiting runs synchronously, so that no message to these runs is lost. */
  suspend(): void;
}

/** The next action of a waiting nested run: it is suspended, checks its calls again, or ends. */
export type ParkedEnd = "suspended" | "look-again" | "ended";

/** A nested run calls this function before it is suspended. Resolves to the action that follows. */
export type Park = (parked: Parked) => Promise<ParkedEnd>;

interface ParkedCall {
  readonly parked: Parked;
  /** Lets the run continue with the action `end`. Resolves when the call that contains the nested run is over, or waits again. */
  goOn(end: ParkedEnd): Promise<void>;
}

export class Parking {
  readonly #waiting = new Map<number, ParkedCall>();

  get mustGoOn(): boolean {
    return [...this.#waiting.values()].some(({ parked }) => parked.mustEnd());
  }

  /** Starts a call. Resolves when the call is over, or when it waits. If the call waits, `onWait` is called first. */
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
        const goOn = (how: ParkedEnd): Promise<void> => {
          this.#waiting.delete(index);
          return start(() => {
            resolve(how);
            // The call may have ended while one of its steps waited, because the journal has failed in another of its steps.
            watch();
          });
        };
        this.#waiting.set(index, { parked, goOn });
        onWait(parked.isDrained);
        stop();
      });
    let called: Promise<void> | undefined;
    // `stop` and `fail` change with each new promise, so they are read when the call ends.
    const watch = (): void =>
      void called?.then(
        () => stop(),
        (error: unknown) => fail(error),
      );
    return start(() => {
      called = call(park);
      watch();
    });
  }

  goOn(index: number): Promise<void> | undefined {
    return this.#waiting.get(index)?.goOn("look-again");
  }

  async goOnEnded(): Promise<void> {
    await this.#continueAll("look-again", ({ parked }) => parked.mustEnd());
  }

  async end(): Promise<void> {
    const reason = new DOMException("The outer run has ended.", "AbortError");
    for (const { parked } of this.#waiting.values()) if (!isEnded(parked.scope)) parked.scope.cancel({ kind: "abort", reason });
    await this.#continueAll("ended");
  }

  suspend(): void {
    for (const { parked } of this.#waiting.values()) parked.suspend();
  }

  async leave(): Promise<void> {
    await this.#continueAll("suspended");
  }

  #continueAll(end: ParkedEnd, isMeant: (call: ParkedCall) => boolean = () => true): Promise<unknown> {
    return Promise.all([...this.#waiting.values()].filter(isMeant).map((call) => call.goOn(end)));
  }
}
