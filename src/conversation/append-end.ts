// Stores the last change of a run, which contains its answer.

import { type Clock, isLoopError, isRecord, type LoopResult, systemClock } from "../core/entry-kit.ts";
import type { ConversationChange, ConversationLock } from "./conversation-store.ts";

/** The time between two tries, and how often a store without leases gets another try. */
const againMs = 250;
const moreTries = 4;

/** How long the change is tried at most, in milliseconds, if the lease is renewed but the change fails. */
const tryForMs = 120_000;

interface Ended {
  readonly result: LoopResult;
  readonly clock?: Clock | undefined;
}

/**
 * Stores the last change of a run. If the store fails, for example because its database restarts, tries again while the lease
 * holds. At last rejects with the error of the store, which has the result of the run as its property `result`.
 */
export async function appendEnd(
  lock: ConversationLock,
  change: ConversationChange,
  { result, clock = systemClock }: Ended,
): Promise<void> {
  const until = clock.now() + (lock.lost === undefined ? moreTries * againMs : tryForMs);
  for (;;) {
    try {
      return await lock.append(change);
    } catch (error) {
      if (lock.lost?.aborted === true || clock.now() >= until || isFinal(error)) throw withResult(error, result);
    }
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, againMs));
  }
}

/** True if another try would fail too: the lock is lost, or a database has refused the data (SQLSTATE classes 22, 23 and 42). */
function isFinal(error: unknown): boolean {
  const code = isRecord(error) ? error["code"] : undefined;
  return isLoopError(error, "conversation-busy") || (typeof code === "string" && /^(22|23|42)[0-9A-Z]{3}$/.test(code));
}

/** The property is not enumerable, because the transcript of the result must not be printed with the error. */
function withResult(error: unknown, result: LoopResult): unknown {
  const given = error instanceof Error ? error : new Error("The store of the conversation has failed.", { cause: error });
  try {
    return Object.defineProperty(given, "result", { value: result, configurable: true });
  } catch {
    // The error is frozen.
    return Object.defineProperty(new Error(given.message, { cause: given }), "result", { value: result });
  }
}
