// What all conformance suites share: a check that any test runner can run, plain assertions, and a limit to every wait.

import { type Check, checkFields, type Clock, invalidOption, is, systemClock } from "../core/entry-kit.ts";

/** One check of a suite. `run` resolves where it holds and rejects with an Error that says what does not. */
export interface SuiteCheck {
  /** A fact in the present tense; unique in its suite. */
  readonly title: string;
  run(): Promise<void>;
}

/** How long a check waits for anything foreign. */
export interface Patience {
  /** Default: the platform's. */
  readonly clock?: Clock | undefined;
  /** Longest single wait in milliseconds. Default 2,000. */
  readonly withinMs?: number | undefined;
}

const setupChecks: { readonly [field: string]: Check } = {
  create: is.fn,
  clock: is.object,
  withinMs: ["a number of milliseconds above 0", (value) => typeof value === "number" && value > 0],
};

/** Throws LoopError "unknown-option" or "invalid-option" for the setup of a suite that has no `create`, or a field that no suite knows. */
export function checkSetup(setup: Patience & { readonly create: unknown }): void {
  checkFields("setup", setup, setupChecks);
  if (setup.create === undefined) throw invalidOption("setup.create", is.fn[0], undefined);
}

/** Throws an Error with this message unless the condition holds. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

/** Waits for `work`; rejects with `complaint` when it takes too long. */
export async function within<T>(work: PromiseLike<T>, complaint: string, patience: Patience): Promise<T> {
  const { clock = systemClock, withinMs = 2_000 } = patience;
  let timer: unknown;
  const late = new Promise<never>((_, reject) => {
    timer = clock.setTimeout(() => reject(new Error(`${complaint} within ${withinMs} ms.`)), withinMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clock.clearTimeout(timer);
  }
}
