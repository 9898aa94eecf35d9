import { checkFields, type ResultFields } from "../core/kit.ts";
import { followSignal, systemClock } from "../shared/signals.ts";
import {
  type Clock,
  enableJournals,
  isLoopError,
  type Journal,
  type LoopOptions,
  type LoopResult,
  type LoopStream,
  memoryJournal,
  type Message,
  runToolLoop,
  streamToolLoop,
  type Tool,
  type UserMessage,
} from "../core/index.ts";
import { pruneJournals } from "./keep-runs.ts";
import { waitingError } from "./waiting-calls.ts";
import { waitingCallsOf } from "../shared/wait-ids.ts";
import { hasBegun, lockConversation, recoverRun, repeatWaiting, startStream } from "./around-run.ts";
import { checkId, refused, toRunId } from "./check-id.ts";
import type { Conversation, ConversationOptions, ConversationStatus, ForkOptions, Listed, NewMessages } from "./conversation.ts";
import {
  beginRun,
  cancelRun,
  type Changed,
  emptyConversation,
  emptyState,
  endRun,
  forkAt,
  listJournals,
  reopenRun,
  settleLastRun,
  usageOf,
} from "./conversation-state.ts";
import { type ConversationUsage, type Left, reopenable, withHandover } from "./handover.ts";
import type { ConversationLock, ConversationState, StoredConversation, ConversationChange } from "./conversation-store.ts";
import { linesOf, type Waiting } from "./lines.ts";
import { type AnyOptions, checkConversation, mergeOptions, toNewMessages } from "./run-options.ts";
import { isRefusedByPostgres } from "../shared/postgres.ts";
import { repeatFailed } from "../shared/repeat-failed.ts";

/** The time between two attempts at the last write, in milliseconds. */
const waitMs = 250;

/** How long to keep retrying the last write, in milliseconds: for a store without leases, and for a store whose lease is still valid. */
const repeatForMs = { withoutLease: 1_000, withLease: 120_000 };

interface Ended {
  readonly result: LoopResult;
  readonly clock?: Clock | undefined;
}

/**
 * Stores a run's last change. If the store fails, for example because its database is restarting, retries while the lease lasts. If all
 * attempts fail, rejects with the store's error, whose `result` property is the run's result.
 */
async function appendEnd(
  lock: ConversationLock,
  change: ConversationChange,
  { result, clock = systemClock }: Ended,
): Promise<void> {
  const forMs = lock.lost === undefined ? repeatForMs.withoutLease : repeatForMs.withLease;
  const mayRepeat = (error: unknown): boolean =>
    !isLoopError(error, "conversation-busy") && !isRefusedByPostgres(error) && lock.lost?.aborted !== true;
  try {
    await repeatFailed(() => lock.append(change), { everyMs: waitMs, forMs, mayRepeat, clock });
  } catch (error) {
    throw withResult(error, result);
  }
}

const problem = 'The store failed. Its error is in "cause", and the result of the run is in "result".';

/** Adds the result to an error. The property is not enumerable, so that printing the error does not print the whole transcript. */
function withResult(error: unknown, result: LoopResult): unknown {
  const isOpen = error instanceof Error && Object.isExtensible(error);
  const given = isOpen ? error : new Error(problem, { cause: error });
  return Object.defineProperty(given, "result", { value: result, configurable: true });
}

/**
 * Creates an object for one conversation, which keeps its transcript in a store. Each `send` adds a message from the user, and runs the
 * loop with all messages. It then stores the run's messages, usage, cost and compaction. Any number of objects, in any
 * number of processes, may share a conversation. A conversation has one run at a time.
 *
 * Nothing is read or written before the first method call. Throws LoopError "invalid-option" or "unknown-option" if an
 * option is invalid, including those in `options`.
 *
 * @example
 * const conversation = createConversation({
 *   id: "chat-17",
 *   store: fileConversationStore("chats"),
 *   options: { provider, tools },
 * });
 * const { text } = await conversation.send("Do I need a coat in Oslo?");
 */
export function createConversation<
  Output = unknown,
  T extends Tool = Tool,
  List extends readonly [] | readonly unknown[] = readonly [],
>(
  options: ConversationOptions<Output, T> & { readonly options: Listed<List, Output> },
): Conversation<Output, T, ResultFields<List>> {
  checkConversation(options);
  enableJournals();
  // Safe cast: the schema, the tools and the middleware in `options` determine the types of the results.
  return new StoredChat({ ...options }) as unknown as Conversation<Output, T, ResultFields<List>>;
}

/** A run that is ready to begin: the conversation is locked, and the new messages are stored. */
interface Prepared extends Pick<Changed, "undo" | "undoUnbegun"> {
  readonly lock: ConversationLock;
  readonly stored: StoredConversation;
  readonly start: number;
  readonly options: LoopOptions<never>;
  /** Removes the listener from the caller's signal. */
  unlink(): void;
}

/** Implements `Conversation`. `createConversation` gives the methods their public types. */
class StoredChat {
  readonly id: string;
  readonly #given: ConversationOptions;
  readonly #removeJournal: ConversationOptions["removeJournal"];
  /** The journal of this object's latest run. Set only without the `journal` option. */
  #last: { readonly runId: string; readonly journal: Journal } | undefined;

  constructor(given: ConversationOptions) {
    this.id = given.id;
    const { store, journal, removeJournal } = given;
    this.#given = given;
    // A `journal` function might merely wrap the store's journals, for example with `withBlobs`, so the store removes them by default.
    this.#removeJournal = removeJournal ?? (journal && store.removeJournal?.bind(store));
  }

  async send(message?: NewMessages, own: object = {}): Promise<LoopResult> {
    return this.#run(await this.#planSend(message, own)());
  }

  stream(message?: NewMessages, own: object = {}): LoopStream {
    return this.#stream(this.#planSend(message, own));
  }

  async resume(own: object = {}): Promise<LoopResult> {
    return this.#run(await this.#planResume(own)());
  }

  resumeStream(own: object = {}): LoopStream {
    return this.#stream(this.#planResume(own));
  }

  async messages(): Promise<readonly Message[]> {
    return (await this.#load())?.messages ?? [];
  }

  async status(): Promise<ConversationStatus | undefined> {
    const load = async (): Promise<ConversationState> => (await this.#load())?.state ?? emptyState;
    let state = await load();
    const before = state.lastRun;
    const isRunning = before?.status === "running";
    const isLocked = isRunning && (await this.#given.store.isLocked(this.id));
    // Loads the state again, because the run may have ended, or the next one may have begun, since the first load.
    if (isRunning) state = await load();
    const { lastRun, undelivered } = state;
    if (lastRun === undefined) return undefined;
    const { runId, status, reason } = lastRun;
    return { runId, status, isLive: status === "running" && (isLocked || runId !== before?.runId), reason, undelivered };
  }

  async usage(): Promise<ConversationUsage> {
    return usageOf((await this.#load())?.state ?? emptyState);
  }

  async fork(id: string, options: ForkOptions = {}): Promise<Conversation> {
    checkId(id);
    checkFields("options", options, { atMessage: { min: 1, infinite: false } });
    const stored = await this.#load();
    if (stored === undefined) throw refused(this.id, "has no messages yet, so it cannot be forked. Call send first");
    const recovered = (await this.#given.store.isLocked(this.id)) ? undefined : await this.#recover(stored);
    const change = forkAt(settleLastRun(stored, recovered), options.atMessage);
    const lock = await this.#given.store.lock(id);
    try {
      if (lock.stored !== undefined) throw refused(id, "already exists. Fork to a different id");
      await lock.append(change);
    } finally {
      await unlock(lock);
    }
    return createConversation({ ...this.#given, id });
  }

  async #load(): Promise<StoredConversation | undefined> {
    return this.#given.store.load(this.id);
  }

  async cancel(): Promise<void> {
    await this.#change(async (lock) => {
      const { stored = emptyConversation } = lock;
      const { lastRun } = stored.state;
      if (lastRun?.status !== "suspended") throw refused(this.id, "has no suspended run. See its status()");
      await lock.append(cancelRun(stored, lastRun));
    });
  }

  async remove(): Promise<"removed" | "unknown"> {
    const { store, removeJournal } = this.#given;
    const stored = await this.#change(async (lock) => {
      for (const { runId } of listJournals(lock.stored?.state ?? emptyState)) {
        // The store may have journals that this object does not use, for example those of a run host.
        await store.removeJournal?.(runId);
        if (removeJournal !== store.removeJournal) await removeJournal?.(runId);
      }
      return lock.stored;
    });
    await store.remove(this.id);
    return stored === undefined ? "unknown" : "removed";
  }

  async #change<T>(change: (lock: ConversationLock) => T | Promise<T>): Promise<T> {
    const lock = await lockConversation(this.#given, this.#waitingFor({}));
    try {
      return await change(lock);
    } finally {
      await unlock(lock);
    }
  }

  #waitingFor({ clock = systemClock, signal }: Pick<AnyOptions, "clock" | "signal">): Waiting {
    return { clock, signal, until: clock.now() + (this.#given.waitMs ?? 0) };
  }

  /** Checks the arguments immediately. The returned function locks the conversation and stores the messages. */
  #planSend(message: NewMessages | undefined, own: object): () => Promise<Prepared> {
    const given = toNewMessages(message);
    const options = this.#merge(own, false);
    return async () => {
      const waiting = this.#waitingFor(options);
      const leave = await linesOf(this.#given.store).take(this.id, "send", waiting);
      try {
        return await this.#prepareSend(options, given, waiting);
      } finally {
        leave();
      }
    };
  }

  /** Locks the conversation for a new message. With `whenSuspended: "queue"`, waits until a suspended run has ended. */
  async #prepareSend(options: AnyOptions, given: readonly UserMessage[], waiting: Waiting): Promise<Prepared> {
    const isQueued = (error: unknown): boolean =>
      this.#given.whenSuspended === "queue" && isLoopError(error, "conversation-refused") && error.details.calls !== undefined;
    return repeatWaiting(() => this.#prepare(options, waiting, (before) => this.#planRun(before, given)), isQueued, waiting);
  }

  async #planRun(before: StoredConversation, given: readonly UserMessage[]): Promise<Changed> {
    const { lastRun, runs } = before.state;
    const calls = waitingCallsOf(lastRun?.reason);
    const denied = this.#given.whenSuspended === "deny";
    if (calls.length > 0 && !denied) throw waitingError(this.id, calls);
    const recovered = await this.#recover(before);
    const runId = toRunId(this.id, runs + 1);
    const listsJournals = this.#removeJournal !== undefined;
    return beginRun(before, given, { id: this.id, runId, recovered, denied, listsJournals });
  }

  /** Reads what the last run recorded, if its process was killed. */
  async #recover(stored: StoredConversation): Promise<Left | undefined> {
    const { lastRun } = stored.state;
    return lastRun?.status === "running" ? recoverRun(this.#journalOf(lastRun.runId), stored, lastRun) : undefined;
  }

  #planResume(own: object): () => Promise<Prepared> {
    const options = this.#merge(own, true);
    return () => this.#prepare(options, this.#waitingFor(options), async (before) => this.#planReopening(before, options));
  }

  #planReopening(before: StoredConversation, { resume }: AnyOptions): Changed {
    const { lastRun } = before.state;
    if (lastRun === undefined) throw refused(this.id, "has no run yet. Call send");
    const { status, reason, runId } = lastRun;
    const isOpen = status === "running" || status === "suspended";
    // If an input guardrail refused the run, its messages were removed from the conversation, so the run cannot be repeated.
    const isRetried = resume !== undefined && reopenable.has(status) && reason?.kind !== "input-guardrail";
    if (!isOpen && !isRetried)
      throw refused(this.id, `has no run to resume: the last one ended as "${status}". Call send to begin another`);
    if (this.#journalOf(runId) === undefined)
      throw refused(
        this.id,
        'cannot resume its last run without its journal: set the option "journal", or end the run with cancel',
      );
    return reopenRun(before, lastRun);
  }

  #merge(own: object, resumes: boolean): AnyOptions {
    return mergeOptions(this.#given.options, own, resumes);
  }

  async #prepare(
    options: AnyOptions,
    waiting: Waiting,
    plan: (before: StoredConversation) => Promise<Changed>,
  ): Promise<Prepared> {
    const lock = await lockConversation(this.#given, waiting);
    try {
      const { change, ...changed } = await plan(lock.stored ?? emptyConversation);
      await lock.append(change);
      return { lock, ...changed, ...this.#complete(options, changed.stored, lock) };
    } catch (error) {
      await unlock(lock);
      throw error;
    }
  }

  #complete(
    options: AnyOptions,
    { messages, state }: StoredConversation,
    lock: ConversationLock,
  ): Pick<Prepared, "start" | "options" | "unlink"> {
    const { runId = "", start = 0 } = state.lastRun ?? {};
    const journal = this.#journalOf(runId) ?? memoryJournal();
    if (this.#given.journal === undefined) this.#last = { runId, journal };
    const stop = followSignal(options.signal, lock.lost);
    return {
      start,
      unlink: stop.release,
      options: {
        ...withHandover(options, state),
        signal: stop.signal,
        session: { conversationId: this.id, ...options.session },
        messages: messages.slice(0, start),
        runId,
        journal,
      },
    };
  }

  /**
   * Makes other callers wait until a run that is being stopped has ended. `hasLeft` returns true if the reader has stopped reading the
   * run's stream.
   */
  #watchStop({ options: { signal, control } }: Prepared, hasLeft: () => boolean = () => false): void {
    const isStopping = (): boolean => signal?.aborted === true || control?.hasStopRequest() === true || hasLeft();
    linesOf(this.#given.store).watch(this.id, isStopping);
  }

  #journalOf(runId: string): Journal | undefined {
    if (this.#given.journal !== undefined) return this.#given.journal(runId);
    return this.#last?.runId === runId ? this.#last.journal : undefined;
  }

  async #run(prepared: Prepared): Promise<LoopResult> {
    this.#watchStop(prepared);
    const ended = (async () => runToolLoop(this.#wrap(prepared.options)))();
    return this.#finish(prepared, ended);
  }

  #wrap(options: LoopOptions<never>): LoopOptions {
    const { wrapOptions } = this.#given;
    return wrapOptions === undefined ? options : wrapOptions(options);
  }

  #stream(prepare: () => Promise<Prepared>): LoopStream {
    let hasLeft = false;
    const begin = async () => {
      const prepared = await prepare();
      this.#watchStop(prepared, () => hasLeft);
      try {
        const stream = streamToolLoop(this.#wrap(prepared.options));
        return { events: stream, result: this.#finish(prepared, stream.result) };
      } catch (error) {
        await this.#finish(prepared, Promise.reject(error));
        throw error;
      }
    };
    return startStream(begin, () => (hasLeft = true));
  }

  async #finish(prepared: Prepared, ended: Promise<LoopResult>): Promise<LoopResult> {
    const { lock, stored, start, undo, undoUnbegun, options, unlink } = prepared;
    try {
      const result = await ended.catch(async (error: unknown) => {
        const change = undo ?? ((await hasBegun(options.journal)) ? undefined : undoUnbegun);
        if (change !== undefined) await lock.append(change);
        throw error;
      });
      const { keepRuns = 1 } = this.#given;
      const isPriced = options.pricing !== undefined;
      const journals = await pruneJournals(stored.state, { result, isPriced }, { keepRuns, remove: this.#removeJournal });
      await appendEnd(lock, endRun(stored, { start, result, journals }), { result, clock: options.clock });
      return result;
    } finally {
      unlink();
      await unlock(lock);
    }
  }
}

/** Releases a lock. Ignores an error from `release`, which must not replace the run's result or error. */
async function unlock(lock: ConversationLock): Promise<void> {
  try {
    await lock.release();
  } catch {
    // Ignores a failed release, because the lock blocks the conversation only until its lease expires or its process ends.
  }
}
