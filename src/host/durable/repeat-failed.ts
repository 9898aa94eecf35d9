// Repeats requests that fail, and limits how long a request is awaited.

import { untilAborted } from "../../shared/signals.ts";

export interface Repetition {
  /** The time between two requests, in milliseconds. */
  readonly everyMs: number;
  readonly mayRepeat: (error: unknown) => boolean;
}

/**
 * Repeats a request that fails, for example while a server restarts. Rejects with the first error for which `mayRepeat` returns
 * false.
 */
export async function repeatFailed<T>(request: () => Promise<T>, { everyMs, mayRepeat }: Repetition): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!mayRepeat(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}

/**
 * Waits for `work` for at most `ms` milliseconds, and then rejects. The work goes on, but its result is dropped. `what` is the name
 * of the method that the caller has called.
 */
export async function withinTime<T>(
  work: () => Promise<T>,
  { what, ms }: { readonly what: string; readonly ms: number },
): Promise<T> {
  const over = new AbortController();
  const refuse = (): void =>
    over.abort(
      new Error(
        `"${what}" got no answer within ${ms} ms, and may still take effect. Check that the server of the runs can be reached, then call "${what}" again.`,
      ),
    );
  const timer = setTimeout(refuse, ms);
  try {
    return await untilAborted(work(), over.signal);
  } finally {
    clearTimeout(timer);
  }
}
