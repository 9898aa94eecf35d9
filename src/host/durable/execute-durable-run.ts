import {
  createLoopControl,
  type Json,
  type LoopControl,
  type LoopOptions,
  type LoopResult,
  runToolLoop,
} from "../../core/index.ts";
import { followSignal, maxTimerMs, untilAborted } from "../../shared/signals.ts";
import type { OutsideResult } from "../../core/types/middleware-options.ts";
import { createEmitter } from "../execute-run.ts";
import type { DurableLoopFields, DurableResult } from "./durable-loop.ts";
import { storeLargeParts } from "./durable-records.ts";
import { type DurableEngine, type DurableStore, type LiveRun, NotOwner, type Row, type RunMessage } from "./durable-store.ts";
import { EventWriter } from "./event-writer.ts";
import { createRecordJournal, type StepHooks } from "./record-journal.ts";
import { repeatFailed } from "../../shared/repeat-failed.ts";
import { type Answers, firstEnd, runUntilEnd, type ShownWait } from "./run-in-engine.ts";

/** Fields of the result that are rebuilt from the run's records, so that they are not stored twice. */
type RebuiltFields =
  | "messages"
  | "details"
  | "thoughtLog"
  | "streamResults"
  | "calls"
  | "functionHistory"
  | "accumulatedModelParts"
  | "pendingCalls";

/** The part of a run's result that is stored. */
export interface RunFacts extends Omit<DurableResult, RebuiltFields | "responseText"> {
  /** The response text. Absent if it is equal to `text`. */
  readonly responseText?: string | undefined;
  /** The position of the last message that the run has read. */
  readonly lastRead: number;
  /** True if the run has the `pricing` option. */
  readonly isPriced: boolean;
  /** The time at which the run ended, in milliseconds since 1970. */
  readonly endedAt: number;
}

export interface RunSite extends Pick<DurableEngine, "store" | "waitFor"> {
  /** The runs that this process is executing, by run id. */
  readonly live: Map<string, LiveRun>;
}

/** Lets an engine end an execution that is only waiting, and begin another one when a message arrives. */
export interface Resting {
  /** How long an execution waits before it ends, in milliseconds. */
  readonly afterMs: number;
  /**
   * Notes that the execution is about to end, so that any new message begins another execution. With `isResting: false`, withdraws the
   * note. Returns false if a newer execution has begun.
   */
  note(execution: number, isResting: boolean): Promise<boolean>;
}

export interface DurableExecution {
  readonly runId: string;
  /** `options` is called after the execution has begun, so an error from `options` ends this execution. */
  readonly fields: Pick<DurableLoopFields<Json>, "options" | "wrapOptions" | "maxCrashes">;
  /** The run's input, as JSON. Default: the stored input. */
  readonly input?: string | undefined;
  /** Fires when the engine has given up on this execution. The engine may then have begun another execution of the run. */
  readonly signal?: AbortSignal | undefined;
  readonly onBegin?: ((execution: number) => void) | undefined;
  readonly resting?: Resting | undefined;
}

export type ExecutionEnd =
  /** `facts` are the `RunFacts` of the run as JSON. */
  | { readonly kind: "ended"; readonly facts: string }
  /** The engine gave up on this execution, or a newer execution has begun. */
  | { readonly kind: "abandoned" }
  /** The run is waiting for a message, or for a wait to expire at `until`, in milliseconds since 1970. */
  | { readonly kind: "resting"; readonly until: number | undefined };

const abandoned: ExecutionEnd = { kind: "abandoned" };

export async function executeDurableRun(site: RunSite, execution: DurableExecution): Promise<ExecutionEnd> {
  const { signal } = execution;
  // Refuses an execution that the engine has already given up on, because it would abandon a newer one in this process.
  if (signal?.aborted === true) return abandoned;
  const own = new Execution(site, execution);
  signal?.addEventListener("abort", own.abandon);
  try {
    return await own.execute();
  } finally {
    signal?.removeEventListener("abort", own.abandon);
  }
}

type Messages = readonly Row<RunMessage>[];

interface OpenWait {
  readonly waits: readonly ShownWait[];
  isOver: boolean;
}

class Execution implements LiveRun {
  static #claims = 0;
  readonly ended: Promise<void>;
  /** The number of this execution. A newer execution in this process has a higher number. */
  readonly #claim = (Execution.#claims += 1);
  readonly #site: RunSite;
  readonly #given: DurableExecution;
  /** Controls the running loop. Undefined while the run is waiting. */
  #control: LoopControl | undefined;
  readonly #over = new AbortController();
  #end: () => void = () => {};
  #writer: EventWriter | undefined;
  #isAbandoned = false;
  #rest: ExecutionEnd | undefined;
  #checked: Promise<void> = Promise.resolve();

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
    // Aborts before killing the run, so that the events and outcomes caused by the kill are dropped.
    this.#over.abort(new Error("This execution of the run was abandoned."));
    this.#writer?.close();
    this.#control?.kill();
  };

  async obey(): Promise<void> {
    this.#obey(await this.#site.store.readMessages(this.#given.runId, 0));
  }

  /** Acts on messages. Old messages may be handled again. An old answer then has no effect, because its question is no longer open. */
  #obey(messages: Messages): void {
    for (const { body } of messages) {
      if (body.verb === "kill") this.#control?.kill();
      else if (body.verb === "stop") this.#control?.stop(body.request as Parameters<LoopControl["stop"]>[0]);
      else if (body.verb === "answer") this.#answer(body.id, body.answer);
    }
  }

  #answer(id: string, answer: Json): void {
    try {
      this.#control?.answer(id, answer as OutsideResult);
    } catch {
      // `control.answer` throws if a web page answers a question that web pages may not answer. The question then stays open.
    }
  }

  async execute(): Promise<ExecutionEnd> {
    const { live } = this.#site;
    const { runId } = this.#given;
    // This process may still have an earlier execution of the run: if a freeze or a lost connection lets another worker take the run over,
    // the engine may later give it back.
    const earlier = live.get(runId);
    // Registers this execution before the first `await`, so that a worker that stops during the `await` abandons it too.
    live.set(runId, this);
    try {
      earlier?.abandon();
      await earlier?.ended;
      return this.#isAbandoned ? abandoned : { kind: "ended", facts: await this.#run() };
    } catch (error) {
      // Stores the events and records written before the failure.
      if (!this.#isOver) await this.#writer?.flush().catch(() => {});
      if (this.#isOver) return this.#rest ?? abandoned;
      throw error;
    } finally {
      await this.#leave();
    }
  }

  async #leave(): Promise<void> {
    const { live, store } = this.#site;
    const { runId } = this.#given;
    this.#over.abort(new Error("The run has ended."));
    this.#writer?.close();
    // An abandoned execution must not count as a crash, because this worker is still alive.
    if (this.#isAbandoned && this.#writer !== undefined) await store.resetStalls(runId).catch(() => {});
    if (live.get(runId) === this) live.delete(runId);
    this.#end();
  }

  async #run(): Promise<string> {
    const { store } = this.#site;
    const { runId, fields, onBegin } = this.#given;
    const { maxCrashes = 10 } = fields;
    const { signal } = this.#over;
    const events = (this.#writer = await this.#begin());
    onBegin?.(events.execution);
    signal.throwIfAborted();
    if (events.stalls > maxCrashes) throw new Error(toGivenUp(events.stalls));
    const { input = events.input ?? "null" } = this.#given;
    // Stops waiting for `options` if the execution is abandoned, so that the worker can stop.
    const made = (async () => fields.options(JSON.parse(input) as Json))();
    const options = await untilAborted(made, signal);
    const hooks = this.#createHooks(events);
    const earlier = await this.#repeat(() => store.readRecords(runId));
    /** The large strings that earlier executions have stored. A replay needs all of them. */
    let texts: ReturnType<DurableStore["readBlobs"]> | undefined;
    const journal = storeLargeParts(createRecordJournal(earlier, hooks), {
      put: (id, text) => events.addBlob(id, text),
      get: () => (texts ??= this.#repeat(() => store.readBlobs(runId))),
    });
    const given: LoopOptions = { ...options, timeouts: { journalMs, ...options.timeouts }, runId, journal };
    const result = await runUntilEnd({
      execute: async (answers, now) => {
        const result = await this.#executeOnce({ ...given, answers, now }, events);
        // A run that was stopped before it used its answers has not recorded the stop, so it is executed again without the answers.
        const isStopped = result.status === "stopped-by-user" && Object.keys(answers).length > 0;
        return isStopped ? this.#executeOnce({ ...given, now }, events) : result;
      },
      now: () => Date.now(),
      // Wakes the readers, because those with the `endsWhenWaiting` option may end now.
      show: () => store.wake(runId).catch(() => {}),
      receive: (waits, limitMs) => this.#receive(waits, limitMs),
    });
    await events.flush();
    const isPriced = options.pricing !== undefined;
    return JSON.stringify({ ...factsOf(result), lastRead: hooks.lastRead, isPriced, endedAt: Date.now() } satisfies RunFacts);
  }

  async #executeOnce(given: LoopOptions, events: EventWriter): Promise<LoopResult> {
    const { store } = this.#site;
    const { runId, fields } = this.#given;
    const messages = await this.#repeat(() => store.readMessages(runId, 0));
    this.#over.signal.throwIfAborted();
    events.replay();
    const control = (this.#control = createLoopControl());
    const options: LoopOptions = { ...given, control, events: createEmitter(events.take) };
    try {
      const running = runToolLoop(fields.wrapOptions?.(options) ?? options);
      // Handles messages only after the run has begun, because a stop before that would not be recorded and the calls would keep waiting.
      this.#obey(messages);
      // Checks again, because more messages may have arrived since `readMessages`.
      void this.obey().catch(() => {});
      return await running;
    } finally {
      this.#control = undefined;
    }
  }

  async #begin(): Promise<EventWriter> {
    const { store } = this.#site;
    try {
      const begun = this.#repeat(() => EventWriter.begin(store, this.#given.runId, this.#claim));
      return await untilAborted(begun, this.#over.signal);
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

  #createHooks(events: EventWriter): StepHooks {
    const { store } = this.#site;
    const { runId } = this.#given;
    const { signal } = this.#over;
    const hooks: StepHooks = {
      lastRead: 0,
      // Each check for messages (a "look") records what it has read, so that a replay does not lose a message or read it twice.
      beforeLook: async () => {
        for (const { seq, body } of await this.#repeat(() => store.readMessages(runId, hooks.lastRead))) {
          if (body.verb === "steer") this.#control?.steer(body.message);
          hooks.lastRead = seq;
        }
      },
      record: async (record) => {
        signal.throwIfAborted();
        try {
          await untilAborted(events.writeRecord(record), signal);
        } catch (error) {
          if (!signal.aborted) this.abandon();
          throw error;
        }
      },
    };
    return hooks;
  }

  /** Waits for answers. Returns no answers if the time is up, or if a stop or a kill was sent. */
  async #receive(waits: readonly ShownWait[], limitMs: number | undefined): Promise<Answers> {
    const { store } = this.#site;
    const { runId, resting } = this.#given;
    const { signal: over } = this.#over;
    const own = followSignal(over);
    const wait = { waits, isOver: false };
    const timers = [
      // Counts waiting as progress only after a while, because another call in the run may still crash the process.
      setTimeout(() => void store.resetStalls(runId).catch(() => {}), calmMs),
      limitMs && setTimeout(() => own.abort(), Math.min(limitMs, maxTimerMs)),
      resting && setTimeout(() => this.#restSoon(wait, resting), resting.afterMs),
    ];
    try {
      over.throwIfAborted();
      return await this.#site.waitFor(runId, () => this.#findAnswers(waits), own.signal);
    } catch (error) {
      if (over.aborted || !own.signal.aborted) throw error;
      return {};
    } finally {
      wait.isOver = true;
      own.release();
      for (const timer of timers) clearTimeout(timer);
    }
  }

  /**
   * Reads the answers that were sent. Returns undefined if none of them lets the run continue, or if the store fails. The caller then
   * continues to wait.
   */
  async #findAnswers(waits: readonly ShownWait[]): Promise<Answers | undefined> {
    const messages = await this.#site.store.readMessages(this.#given.runId, 0).catch((): Messages => []);
    if (messages.some(({ body: { verb } }) => verb === "stop" || verb === "kill")) return {};
    const given = waits.flatMap(({ id, what, attempt }) => {
      const sent = messages.flatMap(({ body }) => (body.verb === "answer" && body.id === id ? [body.answer] : []));
      const answer = sent[attempt];
      // A nested call's result cannot be checked yet, because only the nested run knows the tool. An invalid result would make the
      // execution fail, so each of these results is passed on separately.
      return answer === undefined ? [] : [{ id, answer, isSure: what !== "result" || !id.includes("/") }];
    });
    const sure = given.filter(({ isSure }) => isSure);
    const next = sure.length > 0 ? sure : given.slice(0, 1);
    return next.length === 0 ? undefined : Object.fromEntries(next.map(({ id, answer }) => [id, answer]));
  }

  /**
   * Checks whether this execution may end. Runs one check at a time, because a slow check could otherwise withdraw a later check's note.
   */
  #restSoon(wait: OpenWait, resting: Resting): void {
    this.#checked = this.#checked.then(() => this.#mayRest(wait, resting)).catch(() => {});
  }

  /** Ends this execution, unless something was sent in the meantime. */
  async #mayRest(wait: OpenWait, { note }: Resting): Promise<void> {
    const execution = this.#writer?.execution ?? 0;
    if (wait.isOver || this.#isOver || !(await note(execution, true))) return;
    // Reads all messages again. A message that arrived before the call to `note` did not start another execution, so it would otherwise be
    // missed.
    const found = await this.#findAnswers(wait.waits);
    if (wait.isOver || found !== undefined) {
      await note(execution, false);
      return;
    }
    this.#rest = { kind: "resting", until: firstEnd(wait.waits) };
    this.abandon();
  }
}

/** How long a wait must last to count as progress, in milliseconds. */
const calmMs = 10_000;

/** How long to wait before retrying a failed read, in milliseconds. */
const repeatMs = 250;

/** The default of `timeouts.journalMs` in a durable run, in milliseconds: the database may be unreachable for this long. */
const journalMs = 3_600_000;

function toGivenUp(stalls: number): string {
  return `The run was abandoned because ${stalls} workers in a row died while executing the same step. Find the cause, then continue the run with "retry".`;
}

function factsOf(result: LoopResult): Omit<RunFacts, "lastRead" | "isPriced" | "endedAt"> {
  const { messages: _messages, details: _details, thoughtLog: _log, streamResults: _streams, calls: _calls, ...rest } = result;
  const { functionHistory: _history, accumulatedModelParts: _parts, pendingCalls: _pending, ...own } = rest;
  const { journal: _journal, responseText, ...facts } = own;
  return { ...facts, ...(responseText !== facts.text && { responseText }) };
}
