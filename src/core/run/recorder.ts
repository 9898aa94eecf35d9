// What middleware and durable tools use to record effects and to wait for answers from outside.

import type { Json, PlainError } from "../types/common.ts";
import type { LoopEvent } from "../types/loop-event.ts";
import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import { Deadline } from "../cancellation/deadline.ts";
import { addSpending, noUsage } from "../utils/count-usage.ts";
import { digest, stableJson, toJson } from "../utils/json.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { validateArgs } from "../tools/argument-schema.ts";
import { findTool } from "../tools/registry.ts";
import { renderIssues } from "../tools/outcome-texts.ts";
import { StepCancelled } from "./hooks.ts";
import { EagerJournal, whenParked } from "./journals.ts";
import type { Run } from "./run.ts";
import type { CallRecorder, StepJournal, Wait, WaitOptions } from "./seam.ts";

class Parked {
  readonly waits: readonly Wait[];

  constructor(waits: readonly Wait[]) {
    this.waits = waits;
  }
}

/** The error of a recorded step. Made from its record in the first execution too, so that a replay sees the same error. */
export class StepError extends Error {
  readonly code: string | undefined;

  constructor({ name, message, code }: PlainError & { readonly code?: string | undefined }) {
    super(message);
    this.name = name;
    this.code = code;
  }
}

const forever = (): Promise<never> => new Promise<never>(() => {});

interface ActivityPlace {
  /** The beginning of the keys of its steps. */
  readonly place: string;
  /** The beginning of the ids of its waits. */
  readonly path: string;
  readonly journal: StepJournal;
  /** Undefined for a request or an ending. */
  readonly call?: ToolCall | undefined;
  /** The position of the call in its message. */
  readonly index?: number | undefined;
}

/** One call, request or ending: its place in the journal, what it spends, and whether only the outside can move it. */
export class Activity {
  readonly run: Run;
  readonly place: string;
  readonly path: string;
  readonly journal: StepJournal;
  readonly call: ToolCall | undefined;
  readonly index: number;
  /** The spending of its nested runs. */
  readonly spent: NestedSpending[] = [];
  /** Tells a deadline that the tool is alive. */
  beat: (() => void) | undefined;
  isOver = false;
  readonly #nested = new Set<AbortController>();
  readonly #waits: Wait[] = [];
  #isParked = false;
  #used = new Map<string, number>();
  #busy = 0;
  #park: ((waits: readonly Wait[]) => void) | undefined;

  constructor(run: Run, { place, path, journal, call, index = -1 }: ActivityPlace) {
    this.call = call;
    this.run = run;
    this.place = place;
    this.path = path;
    this.journal = journal;
    this.index = index;
  }

  /** The same place over another journal. */
  fork(journal: StepJournal): Activity {
    const { run, place, path, call, index } = this;
    const fork = new Activity(run, { place, path, journal, call, index });
    fork.#used = this.#used;
    return fork;
  }

  /** Ends what is left of it: no step begins any more, and its nested runs are cancelled. */
  close(): void {
    this.isOver = true;
    for (const one of this.#nested) one.abort();
  }

  /** Returns a key or an id that this activity has not used yet. The order of uses must be the same on a replay. */
  unique(name: string, mark = "~"): string {
    const count = (this.#used.get(name) ?? 0) + 1;
    this.#used.set(name, count);
    return count === 1 ? name : `${name}${mark}${count}`;
  }

  /** After a wait, never resolves: the code is left where it is, and the next execution runs it again from its start. */
  async busy<T>(work: () => PromiseLike<T | Parked>): Promise<T> {
    if (this.isOver) return forever();
    this.#busy += 1;
    try {
      const value = await work();
      if (!(value instanceof Parked)) return this.isOver ? await forever() : value;
      this.#waits.push(...value.waits);
      this.#isParked = true;
    } finally {
      this.#busy -= 1;
      if (this.#isParked) this.#check();
    }
    return forever();
  }

  #check(): void {
    whenParked(() => {
      if (this.#busy > 0 || this.isOver) return;
      this.isOver = true;
      this.#park?.(this.#waits);
    });
  }

  /** Resolves when `work` ends, or when it can only go on with an answer from outside. */
  async settle<T>(work: Promise<T>): Promise<{ readonly value: T } | { readonly waits: readonly Wait[] }> {
    try {
      return await new Promise((resolve, reject) => {
        this.#park = (waits) => resolve({ waits });
        work.then((value) => resolve({ value }), reject);
      });
    } finally {
      this.close();
    }
  }

  track(abort: AbortController): () => void {
    this.#nested.add(abort);
    return () => this.#nested.delete(abort);
  }
}

export function sumOf(spent: readonly NestedSpending[]): NestedSpending | undefined {
  if (spent.length === 0) return undefined;
  return spent.reduce(addSpending, { usage: noUsage, costUSD: 0, toolCallsExecuted: 0 });
}

type StepRecord = { readonly value?: Json } | { readonly failed: PlainError } | { readonly cancelled: true };

/** The recorder of one user of an activity: of a middleware ("@name"), or of the tool ("tool"). */
export class StepRecorder implements CallRecorder {
  readonly callId: string;
  readonly #activity: Activity;
  readonly #owner: string;
  #isInBody = false;

  constructor(activity: Activity, owner: string, callId: string) {
    this.callId = callId;
    this.#activity = activity;
    this.#owner = owner;
  }

  get state(): CallRecorder["state"] {
    return this.#activity.run.state;
  }

  get signal(): AbortSignal {
    return this.#activity.run.signal;
  }

  get idempotencyKey(): string {
    return `${this.#activity.run.runId}/${this.#activity.place}`;
  }

  get session(): CallRecorder["session"] {
    return this.#activity.run.session;
  }

  get context(): unknown {
    return this.#activity.run.options.context;
  }

  get mayWait(): boolean {
    return this.#activity.run.mayWait;
  }

  get tool(): CallRecorder["tool"] {
    const { run, call } = this.#activity;
    return call === undefined ? undefined : (run.shown.get(call.name) ?? findTool(run.registry, call.name));
  }

  readonly emit: CallRecorder["emit"] = (type, fields) => {
    const { run, call, index } = this.#activity;
    const { runId, state, isReplayed } = run;
    const place = { runId, iteration: state.iteration, ...(isReplayed && { replayed: true }) };
    const at = call === undefined ? place : { ...place, callId: call.callId, name: call.name, index };
    run.events.send({ type, ...at, ...fields } as LoopEvent);
  };

  readonly heartbeat: CallRecorder["heartbeat"] = () => this.#activity.beat?.();

  readonly step: CallRecorder["step"] = <T>(name: string, body: () => T | PromiseLike<T>): Promise<T> => {
    const { run, place, journal } = this.#activity;
    if (this.#isInBody)
      return Promise.reject(new Error(`The step "${name}" begins inside another step. Move it out of the body of that step.`));
    const key = `${place}/${this.#owner}/${this.#unique("step", name)}`;
    const live = async (): Promise<StepRecord> => {
      const work = this.#begin(body);
      const { settleMs } = run.timeouts;
      const end = await new Deadline({ limitMs: Number.POSITIVE_INFINITY, settleMs }, run).race(work);
      if (end.kind === "value") return end.value;
      return end.kind === "thrown" ? { failed: toStepFailure(end.error) } : { cancelled: true };
    };
    return this.#activity.busy(async () => {
      const record = await run.step<StepRecord>(key, live, journal);
      if ("failed" in record) throw new StepError(record.failed);
      if ("cancelled" in record) throw new StepCancelled(`The run was cancelled during the step "${name}".`);
      return record.value as T;
    });
  };

  async #begin(body: () => unknown): Promise<StepRecord> {
    this.#isInBody = true;
    let made: unknown;
    try {
      made = body();
    } finally {
      this.#isInBody = false;
    }
    const value = await made;
    return value === undefined ? {} : { value: toJson(value) };
  }

  #unique(kind: string, name: string): string {
    const used = `${this.#owner}/${kind}/`;
    return this.#activity.unique(used + name).slice(used.length);
  }

  readonly wait: CallRecorder["wait"] = (what, facts, options = {}) => {
    const activity = this.#activity;
    const { run, path } = activity;
    if (!run.mayWait) return Promise.reject(new Error("A run that an ordinary tool started cannot wait for answers."));
    const id = run.path + activity.unique(path, "#");
    return activity.busy(() => findAnswer(activity, { id, what, facts }, options));
  };

  readonly run: CallRecorder["run"] = (options, name = "") => {
    const activity = this.#activity;
    const { run, place, path, journal } = activity;
    const own = this.#unique("run", name === "" ? "run" : `run/${name}`);
    const suffix = own === "run" ? "" : `/${own.slice(own.startsWith("run/") ? 4 : 3)}`;
    return activity.busy(async () => {
      const abort = new AbortController();
      const forget = activity.track(abort);
      const key = `${place}/${this.#owner}/${own}`;
      const result = await run.nest(options, { key, path: path + suffix, callId: this.callId, journal, signal: abort.signal });
      forget();
      activity.spent.push(spendingOf(result));
      const { reason } = result;
      if (result.status === "suspended") return new Parked("waits" in reason ? (reason.waits as readonly Wait[]) : []);
      return result;
    });
  };

  readonly call: CallRecorder["call"] = (name, args) => {
    const activity = this.#activity;
    const { run, place, path, journal } = activity;
    // Keyed by content, because the order of parallel calls depends on how long each takes.
    const id = this.#unique("call", `${name}-${digest(stableJson(args))}`).replaceAll("/", "%2F");
    return activity.busy(async () => {
      const call = { callId: `${this.callId}/${id}`, name, args: toJson(args) };
      const inner = new Activity(run, { place: `${place}/${this.#owner}/call/${id}`, path: `${path}/${id}`, journal, call });
      const end = await inner.settle(run.perform(inner, call));
      activity.spent.push(...inner.spent);
      if ("waits" in end) return new Parked(end.waits);
      const { value } = end;
      if (value.kind === "completed") return value.data;
      throw new StepError(value.kind === "failed" ? value.error : { name: "CallFailed", message: `${name}: ${value.kind}` });
    });
  };
}

function spendingOf({ usage, costUSD, knownCostUSD, toolCallsExecuted }: NestedSpending & { readonly knownCostUSD?: number | undefined }): NestedSpending {
  return { usage, costUSD, ...(costUSD === undefined && knownCostUSD !== undefined && { knownCostUSD }), toolCallsExecuted };
}

function toStepFailure(thrown: unknown): PlainError {
  const error = toPlainError(thrown);
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, "code") : undefined;
  return typeof code === "string" ? { ...error, code } : error;
}

/** Reads the answer to a wait, or takes it from the option `answers`. Opens the wait again if what was shown has changed. */
async function findAnswer(activity: Activity, shown: Omit<Wait, "until">, { schema, until }: WaitOptions): Promise<Json | Parked> {
  const { run, journal } = activity;
  if (journal instanceof EagerJournal && journal.isOpen) return new Parked([]);
  const wait: Wait = until === undefined ? shown : { ...shown, until };
  const { id, ...facts } = wait;
  const text = stableJson(facts);
  for (let attempt = 1; ; attempt += 1) {
    const key = `wait/${id}/${attempt}`;
    const asked = await run.record<object>(`${key}/asked`, () => facts, journal);
    // An answer is for what was shown.
    if (stableJson(asked) !== text) continue;
    const recorded = (await journal.read(`${key}/answer`)) as { readonly value: Json } | undefined;
    if (recorded !== undefined) return recorded.value;
    const given = run.takeAnswer(id) ?? (until !== undefined && run.now >= until ? { value: null } : undefined);
    if (given === undefined || run.scope.cause !== undefined) return new Parked([wait]);
    const checked = schema === undefined || given.value === null ? { value: given.value } : await validateArgs(schema, given.value);
    if ("issues" in checked) return new Parked([{ ...wait, problem: renderIssues(checked.issues) }]);
    return (await run.record<{ readonly value: Json }>(`${key}/answer`, () => given, journal)).value;
  }
}
