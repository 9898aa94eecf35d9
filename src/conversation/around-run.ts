import {
  isLoopError,
  type Journal,
  type LoopEvent,
  type LoopResult,
  type LoopStream,
  type Message,
  type Tool,
} from "../core/index.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { inspectJournal, type JournalInspection } from "../journal/index.ts";
import type { ConversationOptions } from "./conversation.ts";
import { leaveCutOff, type Left } from "./handover.ts";
import { linesOf, type Waiting } from "./lines.ts";
import { repeatFailed } from "../shared/repeat-failed.ts";
import { addedBy, handoverOf } from "./conversation-state.ts";
import type { ConversationLock, StoredConversation, StoredRun } from "./conversation-store.ts";

const retryMs = 50;

type Locked = Pick<ConversationOptions, "id" | "store">;

/** Repeats `work` after errors for which `isWaiting` returns true, until the time is up or the signal is aborted. */
export function repeatWaiting<T>(
  work: () => Promise<T>,
  isWaiting: (error: unknown) => boolean,
  { clock, until, signal }: Waiting,
): Promise<T> {
  const mayRepeat = (error: unknown): boolean => isWaiting(error) && clock.now() < until && signal?.aborted !== true;
  return repeatFailed(work, { everyMs: retryMs, mayRepeat, clock });
}

/**
 * Locks the conversation. If another run holds the lock, waits for it. Callers in this process acquire the lock in the order in which they
 * requested it. Rejects with LoopError "conversation-busy" when the time is up or the signal is aborted.
 */
export async function lockConversation({ id, store }: Locked, waiting: Waiting): Promise<ConversationLock> {
  const leave = await linesOf(store).take(id, "lock", waiting);
  try {
    // Requests the lock repeatedly, because another process may hold it and nothing reports when that process releases it.
    const lock = await repeatWaiting(
      async () => store.lock(id),
      (error) => isLoopError(error, "conversation-busy"),
      waiting,
    );
    const release = async (): Promise<void> => {
      try {
        await lock.release();
      } finally {
        leave();
      }
    };
    return { stored: lock.stored, lost: lock.lost, append: (change) => lock.append(change), release };
  } catch (error) {
    leave();
    throw error;
  }
}

/** The messages and the handover of a run that was cut off. */
export interface Recovered extends Left {
  /** The messages that the run added to those it began with. */
  readonly added: readonly Message[];
}

/** Reads a run that was cut off. Returns undefined if its journal is unknown, because the run's spending is then unknown too. */
export async function recoverRun(
  journal: Journal | undefined,
  { messages, state }: StoredConversation,
  { start, own = start }: Pick<StoredRun, "start" | "own">,
): Promise<Recovered | undefined> {
  if (journal === undefined) return undefined;
  const found = await inspectRun(journal);
  if (found === undefined && !journal.durable) return undefined;
  const left = leaveCutOff(found, { messages, own, handover: handoverOf(state) });
  return { ...left, added: addedBy(found) };
}

/** Reads a run from its journal. Returns undefined if nothing was recorded, or if the process was killed before the journal existed. */
async function inspectRun(journal: Journal): Promise<JournalInspection | undefined> {
  const inspection = await inspectJournal(journal).catch(unlessMissing);
  return inspection?.status === "not-started" ? undefined : inspection;
}

/**
 * True if a rejected run may have recorded something. False only if it certainly recorded nothing, for example because its journal
 * could not be opened.
 */
export async function hasBegun(journal: Journal | undefined): Promise<boolean> {
  if (journal === undefined) return true;
  try {
    return (await inspectRun(journal)) !== undefined;
  } catch {
    return true;
  }
}

interface Started<Output, T extends Tool> {
  readonly events: AsyncIterable<LoopEvent>;
  readonly result: Promise<LoopResult<Output, T>>;
}

/** Starts a run, and returns its stream. `onLeave` is called when the consumer stops reading the stream, which stops the run. */
export function startStream<Output, T extends Tool>(
  begin: () => Promise<Started<Output, T>>,
  onLeave: () => void,
): LoopStream<Output, T> {
  const started = begin();
  const result = started.then((run) => run.result);
  // Marks the promise as handled for callers that only read events. Awaiting `result` still throws the error.
  const stored = result.catch(() => {});
  const iterator = started.then(({ events }) => events[Symbol.asyncIterator]());
  iterator.catch(() => {});
  const own: AsyncIterator<LoopEvent<T>, undefined> = {
    next: async () => {
      const step = await (await iterator).next();
      // A reader that has read all events may continue the conversation at once, so it waits until the end of the run is stored.
      if (step.done === true) await stored;
      // Safe cast: the run's tools determine the types of its events.
      return step as IteratorResult<LoopEvent<T>, undefined>;
    },
    return: async () => {
      onLeave();
      await (await iterator).return?.();
      return { done: true, value: undefined };
    },
  };
  return { result, [Symbol.asyncIterator]: () => own };
}
