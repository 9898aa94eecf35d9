// The object with which middleware and durable tools record effects and wait for answers from outside.

import type { Json, PlainError } from "../types/common.ts";
import type { LoopEvent } from "../types/loop-event.ts";

import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import { LoopError } from "../errors/loop-error.ts";
import { endingOfReason, isEnded } from "../cancellation/cancel-scope.ts";
import { Deadline, type Raced } from "../cancellation/deadline.ts";
import { costOf } from "../loop/run/pricing.ts";
import { addSpending, noUsage } from "../utils/count-usage.ts";
import { digest, stableJson, toJson } from "../utils/json.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { validateArgs } from "../tools/argument-schema.ts";
import { isRecord } from "../utils/guards.ts";
import { findTool } from "../tools/registry.ts";
import { renderIssues } from "../tools/to-outcome.ts";
import { Activity, Parked } from "./activity.ts";
import { type AskedWait, findAnswerProblem, isNoAnswer, toWaitId, waitKey, withoutSource } from "./answers.ts";
import { JournalFailure, StepCancelled } from "./hooks.ts";
import { EagerJournal } from "./journals.ts";
import type { WaitOptions } from "../types/wait.ts";
import type { CallRecorder, Ending, Outcome, Wait } from "./seam.ts";

/** The error of a recorded step. Made from its record in the first execution too, so that a replay sees the same error. */
export class StepError extends Error {
  readonly code: string | undefined;

  constructor({ name, message, code }: PlainError) {
    super(message);
    this.name = name;
    this.code = code;
  }
}

export function sumOf(spent: readonly NestedSpending[]): NestedSpending | undefined {
  if (spent.length === 0) return undefined;
  return spent.reduce(addSpending, { usage: noUsage, costUSD: 0, toolCallsExecuted: 0 });
}

type StepRecord = { readonly value?: Json } | { readonly failed: PlainError } | { readonly cancelled: Ending };

/** Runs a call through the middleware. */
type Perform = (activity: Activity, call: ToolCall) => Promise<Outcome>;

/** The recorder of one user of an activity: of a middleware ("@name"), or of the tool ("tool"). */
export class StepRecorder implements CallRecorder {
  readonly callId: string;
  readonly #activity: Activity;
  readonly #owner: string;
  readonly #perform: Perform;
  #isInBody = false;

  constructor(activity: Activity, owner: string, perform: Perform) {
    this.callId = activity.call?.callId ?? activity.path;
    this.#activity = activity;
    this.#owner = owner;
    this.#perform = perform;
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

  get isReplayed(): boolean {
    return this.#activity.run.isReplayed;
  }

  get mayWait(): boolean {
    return this.#activity.run.mayWait;
  }

  get tool(): CallRecorder["tool"] {
    const { run, call } = this.#activity;
    return call === undefined ? undefined : (run.shown.get(call.name) ?? findTool(run.registry, call.name));
  }

  get isChanged(): boolean {
    const { run, call } = this.#activity;
    return call !== undefined && run.changes.has(call.name) && run.recalled.get(call.callId)?.hasRun === false;
  }

  get isOver(): boolean {
    const { run, call } = this.#activity;
    return run.isSealed || (call !== undefined && run.recalled.get(call.callId)?.hasRun === true);
  }

  get wasAsked(): boolean {
    const { run, call } = this.#activity;
    return call !== undefined && run.recalled.get(call.callId)?.wasAsked === true;
  }

  readonly validated: CallRecorder["validated"] = async ({ name, args }) => {
    const { registry } = this.#activity.run;
    const value = toJson(args);
    if (registry.validate === undefined) return { value };
    const made: unknown = await registry.validate(name, value);
    return isRecord(made) && "value" in made ? { value: made["value"] } : undefined;
  };

  readonly afterMessage: CallRecorder["afterMessage"] = () =>
    isStreaming(this.#activity) ? this.#activity.park([]) : Promise.resolve();

  readonly emit: CallRecorder["emit"] = (type, fields) => {
    const { run, call, index, isReplayed } = this.#activity;
    const { runId, state } = run;
    const place = { runId, iteration: state.iteration, ...(isReplayed && { replayed: true }) };
    const at = call === undefined ? place : { ...place, callId: call.callId, name: call.name, index };
    run.events.send({ type, ...at, ...fields } as LoopEvent);
  };

  readonly price: CallRecorder["price"] = (usage, model) => {
    const { options, events, state } = this.#activity.run;
    const { pricing, provider } = options;
    const by = model ?? { provider: provider.id, model: provider.model };
    const cost = costOf(usage, { ...by, iteration: state.iteration }, { pricing, events });
    return typeof cost === "number" ? cost : undefined;
  };

  readonly spend: CallRecorder["spend"] = ({ usage, costUSD }) => {
    const { run, spent } = this.#activity;
    spent.push({ usage, costUSD, toolCallsExecuted: 0 });
    run.meter.addUsage({ usage, costUSD });
  };

  readonly addMessage: CallRecorder["addMessage"] = (message) => void this.#activity.run.state.messages.push(message);

  readonly findSpent: CallRecorder["findSpent"] = (expectedUSD, spent) => this.#activity.run.meter.findSpent(expectedUSD, spent);

  readonly addSpending: CallRecorder["addSpending"] = (spending) => {
    const { usage = noUsage, costUSD, knownCostUSD } = spending;
    this.#activity.run.meter.addUsage(spending);
    this.#activity.spent.push({ usage, costUSD, knownCostUSD, toolCallsExecuted: 0 });
  };

  readonly end: CallRecorder["end"] = (outcome) => this.#activity.end(outcome);

  readonly heartbeat: CallRecorder["heartbeat"] = () => this.#activity.beat?.();

  readonly step: CallRecorder["step"] = <T>(name: string, body: () => T | PromiseLike<T>): Promise<T> => {
    const { run, place } = this.#activity;
    if (this.#isInBody)
      return Promise.reject(new Error(`The step "${name}" begins inside another step. Move it out of the body of that step.`));
    const key = `${place}/${this.#owner}/${this.#unique("step", name)}`;
    const live = async (): Promise<StepRecord> => {
      const work = this.#begin(body);
      // Only tools may finish their work after a stop.
      const settleMs = this.#owner === "tool" ? run.timeouts.settleMs : 0;
      const race = (): Promise<Raced<StepRecord>> =>
        new Deadline({ limitMs: Number.POSITIVE_INFINITY, settleMs }, run).race(work);
      let end = await race();
      while (end.kind === "cancelled" && this.#activity.isAnswered && run.scope.cause?.kind === "interrupt") {
        // The message has ended, so the interrupt comes too late.
        run.scope.withdrawInterrupt();
        end = await race();
      }
      if (end.kind === "value") return end.value;
      if (end.kind === "thrown") return { failed: toPlainError(end.error) };
      return { cancelled: endingOfReason(end.kind === "cancelled" ? end.cause : { kind: "kill" }) };
    };
    return this.#activity.busy(async () => {
      const record = await this.#activity.record<StepRecord>(run.prefix + key, live);
      if ("failed" in record) throw new StepError(record.failed);
      if ("cancelled" in record) throw new StepCancelled(name, record.cancelled);
      return record.value as T;
    });
  };

  readonly isRecorded: CallRecorder["isRecorded"] = (name) => {
    const { run, place, journal } = this.#activity;
    const key = `${run.prefix}${place}/${this.#owner}/${name}`;
    return this.#activity.busy(async () => (await journal.read(key)) !== undefined);
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
      const nesting = { key, path: path + suffix, callId: this.callId, journal, signal: abort.signal };
      const result = await activity.follow(run.nest(options, nesting), forget);
      const { reason } = result;
      // Otherwise, the code that began the nested run has its result.
      if (result.status === "suspended" || isEnded(run.scope)) activity.giveBack(result);
      if (result.status !== "suspended") return result;
      activity.isDrained = reason.kind === "drained";
      return new Parked("waits" in reason ? (reason.waits as readonly Wait[]) : []);
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
      const end = await inner.settle(this.#perform(inner, call));
      activity.spent.push(...inner.spent);
      if ("waits" in end) return new Parked(end.waits);
      const { value } = end;
      if (value.kind === "completed") return value.data;
      throw new StepError(value.kind === "failed" ? value.error : { name: "CallFailed", message: `${name}: ${value.kind}` });
    });
  };
}

function isStreaming({ journal }: Activity): boolean {
  return journal instanceof EagerJournal && journal.isOpen;
}

/** Reads the answer to a wait or takes it from the option `answers`. Opens the wait again if what was shown has changed. */
async function findAnswer(
  activity: Activity,
  shown: Omit<Wait, "until">,
  { schema, until, isSame, answered }: WaitOptions,
): Promise<Json | Parked> {
  const { run, journal } = activity;
  if (isStreaming(activity)) return new Parked([]);
  const { key, wait } = await openWait(activity, until === undefined ? shown : { ...shown, until }, isSame);
  const recorded = (await journal.read(`${key}/answer`)) as { readonly value: Json } | undefined;
  if (recorded !== undefined) {
    activity.isLive = false;
    answered?.(wait.id);
    return recorded.value;
  }
  run.root.opened.add(wait.id);
  const given = await findGiven(activity, wait);
  if (given === undefined || isNoAnswer(given.value)) return new Parked([wait]);
  const checked = schema === undefined || given.value === null ? given : await validateArgs(schema, given.value);
  if ("issues" in checked) return new Parked([{ ...wait, problem: renderIssues(checked.issues) }]);
  const { value } = await activity.record<{ readonly value: Json }>(`${key}/answer`, () => given);
  answered?.(wait.id);
  return value;
}

/** Finds or opens the wait that shows these facts. An answer is for what was shown. */
async function openWait(
  activity: Activity,
  shown: Wait,
  isSame: WaitOptions["isSame"],
): Promise<{ readonly key: string; readonly wait: Wait }> {
  const { id, ...facts } = shown;
  const text = stableJson(facts);
  let earlier: Json | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const place = { id, attempt };
    const key = waitKey(place);
    const asked = await activity.record<AskedWait>(`${key}/asked`, () => facts);
    if (stableJson(asked) === text || isSame?.(asked.facts) === true || (await hasEnded(activity, key)))
      return { key, wait: { ...shown, id: toWaitId(place), ...(earlier !== undefined && { earlier }) } };
    earlier = asked.facts;
  }
}

/** True for an answered wait of a call that has ended. Nobody is asked again, whatever has changed since. */
async function hasEnded({ run, journal, place, call }: Activity, key: string): Promise<boolean> {
  if (call === undefined || (await journal.read(`${run.prefix}${place}/outcome`)) === undefined) return false;
  return (await journal.read(`${key}/answer`)) !== undefined;
}

/** True if the run has ended while the call waited, or the limit was reached. Nothing waits for an answer any more. */
function isSealed({ run, call }: Pick<Activity, "run" | "call">): boolean {
  return run.isSealed || (call !== undefined && run.recalled.get(call.callId)?.isLimited === true);
}

/** Returns the answer of this execution. A run that is being ended takes none, and neither do calls that have ended. */
async function findGiven({ run, call }: Activity, wait: Wait): Promise<{ readonly value: Json } | undefined> {
  if (run.scope.cause !== undefined) return undefined;
  const { id, until } = wait;
  const given = run.takeAnswer(id);
  const isOver = isSealed({ run, call });
  if (isOver && given !== undefined && !isNoAnswer(given.value))
    throw refuseAnswer(run, new LoopError("unknown-decision", { call: id }));
  if (isOver) return undefined;
  if (given === undefined) return until !== undefined && run.now >= until ? { value: null } : undefined;
  const problem = id.includes("/") ? await findAnswerProblem(run, wait, given.value) : undefined;
  if (problem === undefined) return { value: withoutSource(given.value) };
  throw refuseAnswer(run, problem);
}

/** Returns the error with which the run rejects, even if a tool or a middleware catches it. */
export function refuseAnswer({ root }: Activity["run"], cause: LoopError): JournalFailure {
  root.refusal = cause;
  return new JournalFailure("An answer does not fit its wait.", { cause });
}
