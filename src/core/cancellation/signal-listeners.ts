// One listener on a caller's signal for all that listens to it. A server hands one shutdown signal to all of its runs; with a listener for
// each, Node would warn of a leak from the eleventh on.

import { dropPromise } from "../utils/drop-promise.ts";

/** What waits for each signal, and the one listener that tells them. */
interface Waiting {
  readonly calls: Set<() => void>;
  readonly tell: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/** Calls `call` when the signal fires, until the returned function lets go. The signal keeps a listener only while somebody waits. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  // Its own function, so that one caller may wait twice.
  const own = (): void => call();
  const known = waiting.get(signal) ?? listen(signal);
  known.calls.add(own);
  return () => {
    if (!known.calls.delete(own) || known.calls.size > 0 || waiting.get(signal) !== known) return;
    waiting.delete(signal);
    letGo(signal, known.tell);
  };
}

function listen(signal: AbortSignal): Waiting {
  const calls = new Set<() => void>();
  const tell = (): void => {
    waiting.delete(signal);
    letGo(signal, tell);
    for (const call of [...calls]) if (calls.has(call)) callAlone(call);
  };
  const made: Waiting = { calls, tell };
  // First, because a signal of the caller's own may throw.
  dropPromise(signal.addEventListener("abort", tell));
  waiting.set(signal, made);
  return made;
}

/** A signal of the caller's own that cannot be let go harms no run: what it calls later does nothing. */
function letGo(signal: AbortSignal, tell: () => void): void {
  try {
    dropPromise(signal.removeEventListener("abort", tell));
  } catch {
    // As above.
  }
}

/** What fails harms no other: its error is reported as that of a listener of its own would be. */
function callAlone(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
