import {
  type Clock,
  isLoopError,
  type Journal,
  type LoopEvent,
  type LoopResult,
  type LoopStream,
  systemClock,
  unlessMissing,
} from "../core/entry-kit.ts";
import { inspectJournal, type JournalInspection } from "../journal/index.ts";
import { endCalls } from "../journal/inspect/end-calls.ts";
import type { ConversationOptions } from "./conversation.ts";
import type { Recovered } from "./conversation-state.ts";
import type { ConversationLock } from "./conversation-store.ts";

const retryMs = 50;

interface Waiting {
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Locks the conversation. If another run holds the lock, waits up to `waitMs` for that run. Stops waiting if `signal` is aborted.
 */
export async function lockConversation(
  { id, store, waitMs = 0 }: Pick<ConversationOptions, "id" | "store" | "waitMs">,
  { clock = systemClock, signal }: Waiting,
): Promise<ConversationLock> {
  const until = clock.now() + waitMs;
  for (;;) {
    try {
      return await store.lock(id);
    } catch (error) {
      const left = until - clock.now();
      if (left <= 0 || signal?.aborted === true || !isLoopError(error, "conversation-busy")) throw error;
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, Math.min(retryMs, left)));
    }
  }
}

export async function recoverRun(journal: Journal | undefined): Promise<Recovered | undefined> {
  const inspection = journal?.read === undefined ? undefined : await inspectRun(journal);
  if (inspection === undefined) return undefined;
  const { usage, costUSD } = inspection;
  return { messages: endCalls(inspection), usage, costUSD };
}

/** Returns undefined if the run has recorded nothing, or if its process was killed before the journal existed. */
async function inspectRun(journal: Journal): Promise<JournalInspection | undefined> {
  const inspection = await inspectJournal(journal).catch(unlessMissing);
  return inspection?.status === "not-started" ? undefined : inspection;
}

/**
 * Called after a run has rejected. Returns false only if the run has certainly recorded nothing, for example because its journal
 * could not be opened.
 */
export async function hasBegun(journal: Journal | undefined): Promise<boolean> {
  if (journal?.read === undefined) return true;
  try {
    return (await inspectRun(journal)) !== undefined;
  } catch {
    return true;
  }
}

interface Started<Output> {
  readonly events: AsyncIterable<LoopEvent>;
  readonly result: Promise<LoopResult<Output>>;
}

export function startStream<Output>(begin: () => Promise<Started<Output>>): LoopStream<Output> {
  const started = begin();
  const result = started.then((run) => run.result);
  // Prevents an unhandled rejection for callers that only read events. A caller that awaits `result` still gets the error.
  result.catch(() => {});
  const iterator = started.then(({ events }) => events[Symbol.asyncIterator]());
  iterator.catch(() => {});
  const own: AsyncIterator<LoopEvent, undefined> = {
    next: async () => (await iterator).next(),
    return: async () => {
      await (await iterator).return?.();
      return { done: true, value: undefined };
    },
  };
  return { result, [Symbol.asyncIterator]: () => own };
}
