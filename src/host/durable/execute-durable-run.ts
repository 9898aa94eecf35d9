import {
  type Journal,
  type Json,
  type LoopControl,
  type LoopOptions,
  type LoopResult,
  type OutsideResult,
  runToolLoop,
} from "../../core/entry-kit.ts";
import { createLoopControl } from "../../core/index.ts";
import { createEmitter } from "../execute-run.ts";
import type { DurableLoopFields, DurableResult } from "./durable-loop.ts";
import { storeLargeParts } from "./durable-records.ts";
import { type DurableEngine, type DurableStore, type LiveRun, NotOwner, type StepHooks } from "./durable-store.ts";
import { EventWriter } from "./event-writer.ts";
import { repeatFailed, untilOver } from "./repeat-failed.ts";

/** The fields of a result that are rebuilt from the records of the run, so that they are not stored twice. */
type RebuiltFields =
  | "messages"
  | "details"
  | "thoughtLog"
  | "streamResults"
  | "calls"
  | "functionHistory"
  | "accumulatedModelParts"
  | "finalAnswer"
  | "pendingCalls";

/** The stored part of the result of a run. */
export interface RunFacts extends Omit<DurableResult, RebuiltFields | "responseText"> {
  /** Absent if it is equal to `text`. */
  readonly responseText?: string | undefined;
  /** The position of the last message that the run has read. */
  readonly lastRead: number;
}

export interface RunSite extends Pick<DurableEngine, "store" | "waitFor"> {
  /** The runs that this process executes, by run id. */
  readonly live: Map<string, LiveRun>;
}

export interface DurableExecution {
  readonly runId: string;
  /** `options` is called after the execution has begun, so that an error of `options` ends this execution. */
  readonly fields: Pick<DurableLoopFields<Json>, "options" | "wrapOptions" | "maxCrashes">;
  /** The input of the run, as JSON. Default: the input that the store has. */
  readonly input?: string | undefined;
  readonly createJournal: (hooks: StepHooks, live: LiveRun) => Journal | Promise<Journal>;
  /** Fires when the engine has given up this execution. The engine may then have begun another execution of the run. */
  readonly signal?: AbortSignal | undefined;
  readonly onBegin?: ((execution: number) => void) | undefined;
}

/**
 * Executes a run. Returns the `RunFacts` of the run as JSON. Returns undefined if this execution was abandoned, or a newer
 * execution has begun.
 */
export async function executeDurableRun(site: RunSite, execution: DurableExecution): Promise<string | undefined> {
  const { signal } = execution;
  // The engine no longer waits for this execution. Without this check, `execute` would abandon a newer execution of the run in this
  // process.
  if (signal?.aborted === true) return undefined;
  const own = new Execution(site, execution);
  signal?.addEventListener("abort", own.abandon);
  try {
    return await own.execute();
  } finally {
    signal?.removeEventListener("abort", own.abandon);
  }
}

class Execution implements LiveRun {
  static #claims = 0;
  readonly ended: Promise<void>;
  /** A newer execution in this process has a higher number. */
  readonly #claim = (Execution.#claims += 1);
  readonly #site: RunSite;
  readonly #given: DurableExecution;
  readonly #control: LoopControl = createLoopControl();
  readonly #over = new AbortController();
  #end: () => void = () => {};
  #writer: EventWriter | undefined;
  #isAbandoned = false;

  constructor(site: RunSite, given: DurableExecution) {
    this.#site = site;
    this.#given = given;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  get #isOver(): boolean {
    return this.#isAbandoned || this.#writer?.isFenced === true;
  }

  readonly abandon = (): void => {
    this.#isAbandoned = true;
    // Must come before the kill, so that the events and outcomes of the kill are dropped.
    this.#over.abort(new Error("This execution of the run was abandoned."));
    this.#writer?.close();
    this.#control.kill();
  };

  async obey(): Promise<void> {
    for (const { body } of await this.#site.store.readMessages(this.#given.runId, 0)) {
      if (body.verb === "kill") this.#control.kill();
      else if (body.verb === "stop") this.#control.stop(body.request as Parameters<LoopControl["stop"]>[0]);
      else if (body.verb === "answer") this.#answer(body.id, body.answer);
    }
  }

  /** `obey` carries out old messages again. An old answer has no effect, because its question no longer waits. */
  #answer(id: string, answer: Json): void {
    try {
      this.#control.answer(id, answer as OutsideResult);
    } catch {
      // `control.answer` throws if a page sent the answer and the question does not allow answers from pages. The question still
      // waits.
    }
  }

  async execute(): Promise<string | undefined> {
    const { live, store } = this.#site;
    const { runId } = this.#given;
    // This process may still have a previous execution of the run. If this process froze or lost the connection to the engine,
    // another worker took over the run, and the engine may later give the run back to this process.
    const earlier = live.get(runId);
    // Must come before the first `await`, so that a worker that stops during the `await` abandons this execution too.
    live.set(runId, this);
    try {
      earlier?.abandon();
      await earlier?.ended;
      return this.#isAbandoned ? undefined : await this.#run();
    } catch (error) {
      // Stores the events and records that preceded the failure.
      if (!this.#isOver) await this.#writer?.flush().catch(() => {});
      if (this.#isOver) return undefined;
      throw error;
    } finally {
      this.#over.abort(new Error("The run has ended."));
      this.#writer?.close();
      // This worker is alive, so the execution must not count as a crash.
      if (this.#isAbandoned && this.#writer !== undefined) await store.resetStalls(runId).catch(() => {});
      if (live.get(runId) === this) live.delete(runId);
      this.#end();
    }
  }

  async #run(): Promise<string> {
    const { store } = this.#site;
    const { runId, fields, createJournal, onBegin } = this.#given;
    const { maxCrashes = 10 } = fields;
    const events = (this.#writer = await this.#begin());
    onBegin?.(events.execution);
    this.#over.signal.throwIfAborted();
    if (events.stalls > maxCrashes) throw new Error(toGivenUp(events.stalls));
    const { input = events.input ?? "null" } = this.#given;
    // An abandoned execution does not wait for `options`, so that the worker can stop.
    const made = (async () => fields.options(JSON.parse(input) as Json))();
    const options = await untilOver(made, this.#over.signal);
    await this.#repeat(() => this.obey());
    this.#over.signal.throwIfAborted();
    const hooks = this.#createHooks(events);
    /** The large texts of earlier executions. A replay needs all of them. */
    let texts: ReturnType<DurableStore["readBlobs"]> | undefined;
    const journal = storeLargeParts(await createJournal(hooks, this), {
      put: (id, text) => events.addBlob(id, text),
      get: () => (texts ??= this.#repeat(() => store.readBlobs(runId))),
    });
    const given: LoopOptions = {
      ...options,
      timeouts: { journalMs, ...options.timeouts },
      runId,
      control: this.#control,
      journal,
      events: createEmitter(events.take),
    };
    const result = await runToolLoop(fields.wrapOptions?.(given) ?? given);
    await events.flush();
    return JSON.stringify(factsOf(result, hooks.lastRead));
  }

  async #begin(): Promise<EventWriter> {
    const { store } = this.#site;
    try {
      const begun = this.#repeat(() => EventWriter.begin(store, this.#given.runId, this.#claim));
      return await untilOver(begun, this.#over.signal);
    } catch (error) {
      if (error instanceof NotOwner) this.abandon();
      throw error;
    }
  }

  #repeat<T>(read: () => Promise<T>): Promise<T> {
    const { store } = this.#site;
    const mayRepeat = (error: unknown): boolean =>
      !this.#over.signal.aborted && !(error instanceof NotOwner) && store.mayRepeat(error);
    return repeatFailed(read, { everyMs: repeatMs, mayRepeat });
  }

  async #orAbandon(written: Promise<void>): Promise<void> {
    try {
      await written;
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  #createHooks(events: EventWriter): StepHooks {
    const { store } = this.#site;
    const { runId } = this.#given;
    const { signal } = this.#over;
    const hooks: StepHooks = {
      repeat: (read) => this.#repeat(read),
      lastRead: 0,
      // The inbox step records which messages it has read, so that a replay neither loses a message nor reads it twice.
      beforeInbox: async () => {
        for (const { seq, body } of await this.#repeat(() => store.readMessages(runId, hooks.lastRead))) {
          if (body.verb === "steer") this.#control.steer(body.message);
          hooks.lastRead = seq;
        }
      },
      beforeRecord: async () => {
        signal.throwIfAborted();
        await untilOver(this.#orAbandon(events.flush()), signal);
      },
      record: async (record) => {
        signal.throwIfAborted();
        await untilOver(this.#orAbandon(events.writeRecord(record)), signal);
      },
      receive: async (key) => {
        // Readers with `endsWhenWaiting` may end now.
        await store.wake(runId).catch(() => {});
        // Another call of the run may still crash the process, so only a long wait counts as progress.
        const timer = setTimeout(() => void store.resetStalls(runId).catch(() => {}), calmMs);
        try {
          return await this.#site.waitFor(runId, () => findDecision(store, runId, key), signal);
        } finally {
          clearTimeout(timer);
        }
      },
    };
    return hooks;
  }
}

/** When a run has waited for this time, in milliseconds, the wait counts as progress. */
const calmMs = 10_000;

/** The time before a failed read is repeated, in milliseconds. */
const repeatMs = 250;

/** The default of `timeouts.journalMs` in a durable run, in milliseconds. The database may be out of reach for this long. */
const journalMs = 3_600_000;

function toGivenUp(stalls: number): string {
  return `The run was given up, because ${stalls} workers in a row died while they executed the same step. Find the cause, then continue the run with "retry".`;
}

/**
 * Returns the first decision with the key. Returns undefined if there is none, or if the store fails. The caller then continues
 * to wait.
 */
async function findDecision(store: DurableStore, runId: string, key: string): Promise<Json | undefined> {
  const messages = await store.readMessages(runId, 0).catch(() => []);
  for (const { body } of messages) if (body.verb === "decide" && body.key === key) return body.decision;
  return undefined;
}

function factsOf(result: LoopResult, lastRead: number): RunFacts {
  const { messages: _messages, details: _details, thoughtLog: _log, streamResults: _streams, calls: _calls, ...rest } = result;
  const { functionHistory: _history, accumulatedModelParts: _parts, finalAnswer: _final, pendingCalls: _pending, ...own } = rest;
  const { journal: _journal, responseText, ...facts } = own;
  return { ...facts, ...(responseText !== facts.text && { responseText }), lastRead };
}
