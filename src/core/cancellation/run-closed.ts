// How an emitter that watches runs is told that one is over, also where the run broke and no `run-end` came.

import { dropPromise } from "../utils/drop-promise.ts";

/** A method of such an emitter, which the loop calls last of all. By a name that every copy of this package has in common. */
const method = "turnwright.run-closed";

/** An emitter that wants to know. */
export interface RunWatcher {
  readonly [method]: (run: ClosedRun) => void;
}

/** A run that is over. */
export interface ClosedRun {
  readonly runId: string;
  /** Set where it did not end, but broke. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/** Tells an emitter, if it wants to know. What it throws disturbs nobody: the run is over. */
export function tellClosed(emitter: object | undefined, run: ClosedRun): void {
  try {
    const tell: unknown = emitter === undefined ? undefined : Reflect.get(emitter, method);
    if (typeof tell === "function") dropPromise(Reflect.apply(tell, emitter, [run]));
  } catch {
    // An emitter of the caller's own may throw whatever is asked of it.
  }
}
