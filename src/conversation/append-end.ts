// Stores the last change of a run, which contains its answer.

import { type Clock, isLoopError, type LoopResult, systemClock } from "../core/entry-kit.ts";
import { isRefusedByPostgres } from "../host/durable/repeat-failed.ts";
import type { ConversationChange, ConversationLock } from "./conversation-store.ts";

/** The time between two attempts, in milliseconds. */
const waitMs = 250;

/** How long the change is repeated, in milliseconds: in a store without leases, and in a store whose lease still holds. */
const repeatForMs = { withoutLease: 1_000, withLease: 120_000 };

interface Ended {
  readonly result: LoopResult;
  readonly clock?: Clock | undefined;
}

/**
 * Stores the last change of a run. If the store fails, for example because its database restarts, tries again while the lease
 * holds. If all tries fail, rejects with the error of the store, whose property `result` is the result of the run.
 */
export async function appendEnd(
  lock: ConversationLock,
  change: ConversationChange,
  { result, clock = systemClock }: Ended,
): Promise<void> {
  const until = clock.now() + (lock.lost === undefined ? repeatForMs.withoutLease : repeatForMs.withLease);
  for (;;) {
    try {
      return await lock.append(change);
    } catch (error) {
      if (
        lock.lost?.aborted === true ||
        clock.now() >= until ||
        isLoopError(error, "conversation-busy") ||
        isRefusedByPostgres(error)
      )
        throw withResult(error, result);
    }
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, waitMs));
  }
}

const problem = 'The store of the conversation has failed. Read its error in "cause", and the result of the run in "result".';

/** The property is not enumerable, because the transcript of the result must not be printed with the error. */
function withResult(error: unknown, result: LoopResult): unknown {
  const isOpen = error instanceof Error && Object.isExtensible(error);
  const given = isOpen ? error : new Error(problem, { cause: error });
  return Object.defineProperty(given, "result", { value: result, configurable: true });
}
