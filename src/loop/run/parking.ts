// A run inside a call that would be suspended while other calls of its batch still run waits ("parks") until those are over. Then the
// outer run is suspended, and so is the parked one; or somebody has ended the outer run meanwhile, and the parked one is ended too, so
// that what waited in it never runs.

import type { RunScope } from "../../kit/run-scope.ts";

/** Called by a run inside a call before it is suspended: waits until the calls beside it are over or wait as well. */
export type Park = (nested: RunScope, isDrained: boolean) => Promise<void>;

/** The calls of one batch that are runs. */
export class Parking {
  readonly #parked: RunScope[] = [];
  readonly #ends: Promise<void>[] = [];
  readonly #gate: Promise<void>;
  #openGate: () => void = () => {};

  constructor() {
    this.#gate = new Promise((resolve) => {
      this.#openGate = resolve;
    });
  }

  /** Begins a call. Settles when it is over, or when it waits, which is said first. */
  begin(call: (park: Park) => Promise<void>, onWait: (isDrained: boolean) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = call((nested, isDrained) => {
        this.#parked.push(nested);
        onWait(isDrained);
        resolve();
        return this.#gate;
      });
      this.#ends.push(end);
      end.then(resolve, reject);
    });
  }

  /** Lets go on what waits, and ends it first where the batch is the last one. Settles when all calls are over. */
  async leave(isLast: boolean): Promise<void> {
    const reason = new DOMException("The run around this one is over.", "AbortError");
    if (isLast) for (const scope of this.#parked) scope.cancel({ kind: "abort", reason });
    this.#openGate();
    await Promise.all(this.#ends);
  }

  /** Lets go on what waits in a run that broke. */
  open(): void {
    this.#openGate();
  }
}

/** Whether somebody ended a run, so that nothing waits in it. Its wall clock does not: it is for what works, and nobody does. */
export function isEnded({ cause }: RunScope): boolean {
  return cause?.kind === "stop" || cause?.kind === "kill" || cause?.kind === "abort";
}
