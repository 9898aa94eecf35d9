// Reads and writes the events and messages of runs through Restate's ingress.

import { connect, HttpCallError, Opts, type Ingress } from "@restatedev/restate-sdk-clients";
import type { Added, Begun, DurableStore, Row, RunMessage, StepRecord } from "../host/durable/durable-store.ts";
import { repeatFailed } from "../shared/repeat-failed.ts";
import { whileOpen } from "./admin.ts";
import type { Appended, EventsFound, RunHead } from "./run-events.ts";
import { type FailedBefore, jsonSerde, type ServiceNames } from "./run-object.ts";

/** How long to keep retrying a failed request, for example while Restate restarts, in milliseconds. */
const repeatForMs = 60_000;
const repeatAfterMs = 100;

/** The maximum number of entries in `#places`. */
const maxPlaces = 1_000;

export interface RestateStoreOptions {
  readonly ingressUrl: string;
  readonly names: ServiceNames;
  readonly workerId: string;
  /** Aborts all requests when it fires. */
  readonly signal: AbortSignal;
  /** Called after this process has changed a run. `mayBeOver` is true if the run may have ended, or continues in another process. */
  readonly onChange: (runId: string, mayBeOver: boolean) => void;
}

/** Thrown for a run that failed and has not been retried since. */
export class FailedRun extends Error {}

export class RestateStore implements DurableStore {
  readonly #ingress: Ingress;
  readonly #options: RestateStoreOptions;
  /**
   * The chunk from which each reader continues. The key is the run id and the next event's position, and the value is the
   * number of the chunk.
   */
  readonly #places = new Map<string, number>();

  constructor(options: RestateStoreOptions) {
    this.#options = options;
    this.#ingress = connect({ url: options.ingressUrl.replace(/\/+$/, "") });
  }

  start(runId: string, loop: string, input: string): Promise<boolean> {
    return this.#change(runId, "start", { loop, input });
  }

  /** Begins an execution of a run. Rejects with FailedRun if the run has failed. */
  async begin(runId: string, claim: number): Promise<Begun> {
    const { workerId: worker } = this.#options;
    const begun = await this.#change<Begun | FailedBefore>(runId, "begin", { worker, claim });
    if ("failure" in begun) throw new FailedRun(begun.failure);
    return begun;
  }

  async append(runId: string, execution: number, { blobs, ...added }: Added): Promise<boolean> {
    const appended: Appended = { execution, ...added, blobs: Object.fromEntries(blobs) };
    const isCurrent = await this.#change<boolean>(runId, "append", appended);
    this.#options.onChange(runId, !isCurrent);
    return isCurrent;
  }

  async readRecords(runId: string): Promise<readonly StepRecord[]> {
    const records: StepRecord[] = [];
    for (;;) {
      const found = await this.#call<readonly StepRecord[]>(runId, "records", records.length);
      if (found.length === 0) return records;
      records.push(...found);
    }
  }

  async readBlobs(runId: string, ids?: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const wanted = new Set(ids ?? (await this.#call<readonly string[]>(runId, "textIds", null)));
    const texts = new Map<string, string>();
    while (wanted.size > 0) {
      const found = await this.#call<{ readonly [id: string]: string | null }>(runId, "texts", [...wanted]);
      for (const [id, text] of Object.entries(found)) {
        wanted.delete(id);
        if (text !== null) texts.set(id, text);
      }
    }
    return texts;
  }

  async readEvents(runId: string, from: number): Promise<readonly Row<string>[]> {
    const chunk = this.#places.get(placeOf(runId, from));
    const found = await this.#call<EventsFound>(runId, "events", { from, chunk });
    const last = found.rows.at(-1);
    if (last !== undefined) {
      this.#places.delete(placeOf(runId, from));
      this.#places.set(placeOf(runId, last.seq + 1), found.chunk);
      for (const [oldest] of this.#places) if (this.#places.size > maxPlaces) this.#places.delete(oldest);
    }
    return found.rows;
  }

  async send(runId: string, ...messages: readonly RunMessage[]): Promise<void> {
    await this.#change(runId, "send", messages);
    this.#options.onChange(runId, false);
  }

  readMessages(runId: string, after: number): Promise<readonly Row<RunMessage>[]> {
    return this.#call(runId, "messages", after);
  }

  async countEvents(runId: string): Promise<number> {
    return (await this.peek(runId))?.next ?? 0;
  }

  /** Wakes the readers in this process. Readers in other processes poll. */
  async wake(runId: string): Promise<void> {
    this.#options.onChange(runId, true);
  }

  async resetStalls(runId: string): Promise<void> {
    await this.#change(runId, "resetStalls", null);
  }

  readRuns(conversation: string): Promise<number> {
    return this.#request(this.#options.names.conversations, { key: conversation, handler: "count", parameter: null });
  }

  async noteRuns(conversation: string, runs: number): Promise<void> {
    await this.#request(this.#options.names.conversations, { key: conversation, handler: "note", parameter: runs });
  }

  /** Returns the head of a run, or null if the run does not exist. */
  peek(runId: string): Promise<RunHead | null> {
    return this.#call(runId, "peek", null);
  }

  /** Returns a run's input, or the `RunFacts` of an ended run, as JSON. */
  read(runId: string, what: "input" | "end"): Promise<string | null> {
    return this.#call(runId, "read", what);
  }

  /** Stores a run's end or failure. Returns false if a newer execution of the run has begun. */
  async finish(runId: string, execution: number, end: { readonly end: string } | { readonly error: string }): Promise<boolean> {
    const isStored = await this.#change<boolean>(runId, "end" in end ? "finish" : "fail", { execution, ...end });
    this.#options.onChange(runId, true);
    return isStored;
  }

  /** Sets a run's `isResting` flag. Returns false if a newer execution of the run has begun. */
  rest(runId: string, execution: number, isResting: boolean): Promise<boolean> {
    return this.#change(runId, "rest", { execution, isResting });
  }

  /** Lets a failed run continue. Returns false if the run has not failed. */
  retry(runId: string): Promise<boolean> {
    return this.#change(runId, "retry", null);
  }

  /** Deletes a run, unless it is live. */
  async remove(runId: string): Promise<void> {
    await this.#change(runId, "remove", null);
    this.#options.onChange(runId, true);
  }

  /** Returns this worker's runs that have received messages since the previous call. */
  takeNotified(): Promise<readonly string[]> {
    return this.#request(this.#options.names.workers, { key: this.#options.workerId, handler: "take", parameter: null });
  }

  #call<T>(runId: string, handler: string, parameter: unknown): Promise<T> {
    return this.#request(this.#options.names.runs, { key: runId, handler, parameter });
  }

  /** Calls a handler that changes the run. Restate executes the call once, even if the request is repeated. */
  #change<T = unknown>(runId: string, handler: string, parameter: unknown): Promise<T> {
    const idempotencyKey = globalThis.crypto.randomUUID();
    return this.#request(this.#options.names.runs, { key: runId, handler, parameter, idempotencyKey });
  }

  #request<T>(service: string, { idempotencyKey, ...call }: HandlerCall): Promise<T> {
    const { signal } = this.#options;
    const serdes = { input: jsonSerde, output: jsonSerde };
    const request = (own: AbortSignal): Promise<T> => {
      const opts = Opts.from<unknown, T>({ ...serdes, signal: own, ...(idempotencyKey && { idempotencyKey }) });
      return this.#ingress.call<unknown, T>({ service, ...call, opts });
    };
    return repeatFailed(() => whileOpen(signal, request), {
      everyMs: repeatAfterMs,
      forMs: repeatForMs,
      mayRepeat: (error) => {
        signal.throwIfAborted();
        return this.mayRepeat(error);
      },
    });
  }

  /** True if Restate is unreachable or busy, or if no worker has registered the handlers yet. */
  mayRepeat(error: unknown): boolean {
    if (this.#options.signal.aborted || error instanceof FailedRun) return false;
    return !(error instanceof HttpCallError) || error.status === 404 || error.status === 429 || error.status >= 500;
  }
}

interface HandlerCall {
  readonly key: string;
  readonly handler: string;
  readonly parameter: unknown;
  readonly idempotencyKey?: string;
}

function placeOf(runId: string, seq: number): string {
  return `${seq} ${runId}`;
}
