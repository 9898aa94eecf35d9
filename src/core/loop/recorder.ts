// Implements the object that middleware and durable tools use to record effects and wait for outside answers.

import type { Json, PlainError } from "../types/common.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { Deadline } from "../../shared/cancellation/deadline.ts";
import { costOf } from "./meter.ts";
import { noUsage } from "../../shared/count-usage.ts";
import { digest, stableJson, toJson } from "../../shared/json.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { convertSchema } from "../../shared/argument-schema.ts";
import { edges } from "../../shared/edges.ts";
import { isRecord } from "../../shared/guards.ts";
import { insideKey } from "../tools/inside-call.ts";
import { findTool, toShown } from "../tools/registry.ts";
import { Activity, Parked } from "./activity.ts";
import { isReplay, waitKey } from "./journals.ts";
import { endOfCall } from "./next-step.ts";
import { JournalFailure, StepCancelled } from "./hooks.ts";
import { type OpenedWait, pastOf } from "./past-calls.ts";
import type { WaitOptions } from "../types/wait.ts";
import type { CallRecorder, Ending } from "../types/middleware.ts";

/** The error from a recorded step. Created from its record even in the first execution, so that a replay sees the same error. */
export class StepError extends Error {
  readonly code: string | undefined;

  constructor({ name, message, code }: PlainError) {
    super(message);
    this.name = name;
    this.code = code;
  }
}

type StepRecord = { readonly value?: Json } | { readonly failed: PlainError } | { readonly cancelled: Ending };

interface InActivity {
  [insideKey]: Activity;
}

/** Returns the activity that a recorder or a context belongs to. */
export function activityOf(holder: object): Activity {
  return (holder as InActivity)[insideKey];
}

/**
 * Records effects for one user of an activity: a middleware ("@name"), or the tool ("tool"). Its getters return functions, so that callers
 * may destructure them and unused functions are never created.
 */
export class StepRecorder {
  readonly callId: string;
  /** The middleware or tool that records the steps. Undefined for a tool that is not durable, which records nothing. */
  readonly owner: string | undefined;
  /** The call that was passed to the hook. */
  readonly #given: ToolCall | undefined;
  #isInBody = false;

  constructor(activity: Activity, owner: string | undefined, given: ToolCall | undefined = activity.call) {
    this.callId = activity.call?.callId ?? activity.path;
    this.owner = owner;
    // Stores the activity under a hidden key, so that `runNested`, `ask` and agent tools can find it through the context.
    (this as unknown as InActivity)[insideKey] = activity;
    this.#given = given;
  }

  get #run(): Activity["run"] {
    return activityOf(this).run;
  }

  get idempotencyKey(): string {
    return `${this.#run.runId}/${activityOf(this).place}`;
  }

  get session(): CallRecorder["session"] {
    return this.#run.session;
  }

  get context(): unknown {
    return this.#run.options.context;
  }

  get heartbeat(): CallRecorder["heartbeat"] {
    return () => activityOf(this).deadline?.heartbeat();
  }

  get step(): CallRecorder["step"] {
    this.#assertDurable("step");
    return <T>(name: string, body: () => T | PromiseLike<T>, { recordErrors = true } = {}): Promise<T> => {
      if (this.#isInBody) return Promise.reject(new Error(`The step "${name}" starts inside another step. Move it out.`));
      const key = keyOf(activityOf(this), this.owner, this.#unique("step", name));
      return activityOf(this).inCore(async () => {
        let record: StepRecord;
        try {
          record = await activityOf(this).record<StepRecord>(key, () => this.#runStep(body, recordErrors));
        } catch (error) {
          // Throws a JournalFailure, which rejects the run, because hooks and tools must not be able to turn this error into a result.
          throw error instanceof JournalFailure ? error : new JournalFailure("A step has failed.", { cause: error });
        }
        if ("failed" in record) throw new StepError(record.failed);
        if ("cancelled" in record) throw new StepCancelled(name, record.cancelled);
        return record.value as T;
      });
    };
  }

  #assertDurable(method: string): void {
    if (this.owner === undefined)
      throw new Error(`The tool "${activityOf(this).call?.name}" needs "durable: true" to use context.${method}.`);
  }

  async #runStep(body: () => unknown, recordErrors: boolean): Promise<StepRecord> {
    const run = this.#run;
    const work = this.#begin(body);
    // After a stop, only a tool's step gets cleanup time. A hook's step is cancelled at once.
    const limits = { limitMs: Number.POSITIVE_INFINITY, toolCleanupMs: this.owner === "tool" ? run.timeouts.toolCleanupMs : 0 };
    let end = await new Deadline(limits, run).race(work);
    while (end.kind === "cancelled" && activityOf(this).isAnswered && run.scope.cause?.kind === "interrupt") {
      // The model's message is already complete, so the interrupt comes too late and is withdrawn.
      run.scope.withdrawInterrupt();
      end = await new Deadline(limits, run).race(work);
    }
    if (end.kind === "value") return end.value;
    // Throws the error without recording it, as if the journal itself had failed.
    if (end.kind === "thrown" && !recordErrors) throw end.error;
    if (end.kind === "thrown") return { failed: toPlainError(end.error) };
    return { cancelled: endingOfReason(end.kind === "cancelled" ? end.cause : { kind: "kill" }) };
  }

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
    const used = `${this.owner}/${kind}/`;
    return activityOf(this)
      .unique(used + name)
      .slice(used.length);
  }

  get wait(): CallRecorder["wait"] {
    this.#assertDurable("wait");
    return (what, facts, options = {}) => {
      const activity = activityOf(this);
      const { run, path } = activity;
      if (!run.mayWait)
        return Promise.reject(new Error("This nested run cannot wait for answers. Start it with defineAgentTool."));
      if (this.owner !== "tool" && !isReplay(activity.journal)) edges.checkGiven?.("wait", { what, by: this.owner });
      const id = run.path + activity.unique(path, "#");
      return activity.inCore(() => openWait(activity, { id, what, facts, ...this.#subjectOf(what) }, options));
    };
  }

  /** Returns the call that a wait is about. Approvals and results need none, because their facts already describe the call. */
  #subjectOf(what: string): Pick<OpenedWait, "call"> {
    const given = this.#given;
    if (given === undefined || what === "approval" || what === "result") return {};
    const { name, args } = given;
    if (this.owner === "tool") return { call: { name, args } };
    const tool = toolOf(activityOf(this));
    return { call: { name, args, ...(tool !== undefined && { tool: toShown(tool) }) } };
  }

  get call(): CallRecorder["call"] {
    this.#assertDurable("call");
    return (name, args) => {
      const activity = activityOf(this);
      const { run, place, path, journal } = activity;
      // Parallel calls may start in any order, so the key is made from the call's content, not from a counter.
      const id = this.#unique("call", `${name}-${digest(stableJson(args))}`).replaceAll("/", "%2F");
      return activity.inCore(async () => {
        const call = { callId: `${this.callId}/${id}`, name, args: toJson(args) };
        const own = `${place}/${this.owner}/call/${id}`;
        const { isEarly, left } = activity;
        const inner = new Activity(run, { place: own, path: `${path}/${id}`, journal, call, isEarly, left });
        const end = await inner.settle(run.ports.perform(inner, call));
        activity.spent.push(...inner.spent);
        activity.ends ??= inner.ends;
        if ("waits" in end) return new Parked(end.waits);
        const { value } = end;
        activity.ends ??= endOfCall(value);
        if (value.kind === "completed") return value.data;
        throw new StepError(value.kind === "failed" ? value.error : { name: "CallFailed", message: `${name}: ${value.kind}` });
      });
    };
  }
}

/** The recorder of a hook. */
export class HookRecorder extends StepRecorder implements CallRecorder {
  constructor(activity: Activity, name: string, given?: ToolCall) {
    super(activity, `@${name}`, given);
  }

  get state(): CallRecorder["state"] {
    return activityOf(this).run.state;
  }

  get signal(): AbortSignal {
    return activityOf(this).run.signal;
  }

  get isReplayed(): boolean {
    return activityOf(this).run.isReplayed;
  }

  get mayWait(): boolean {
    return activityOf(this).run.mayWait;
  }

  get tool(): CallRecorder["tool"] {
    return toolOf(activityOf(this));
  }

  get isChanged(): boolean {
    const { run, call } = activityOf(this);
    return call !== undefined && run.past?.isChanged(call) === true;
  }

  get isOver(): boolean {
    const { past } = activityOf(this).run;
    return past?.isSealed === true || past?.recalled.get(this.callId)?.hasRun === true;
  }

  get earlier(): CallRecorder["earlier"] {
    const activity = activityOf(this);
    return pastOf(activity.run)?.findEarlier(activity, `${this.owner}`);
  }

  get validated(): CallRecorder["validated"] {
    return async ({ name, args }) => {
      const { registry } = activityOf(this).run;
      const value = toJson(args);
      if (registry.validate === undefined) return { value };
      const made: unknown = await registry.validate(name, value);
      return isRecord(made) && "value" in made ? { value: made["value"] } : undefined;
    };
  }

  get afterMessage(): CallRecorder["afterMessage"] {
    return async () => (activityOf(this).isEarly ? activityOf(this).park([]) : undefined);
  }

  get emit(): CallRecorder["emit"] {
    return (type, fields) => {
      const { run, call, isReplayed } = activityOf(this);
      const about: object = call === undefined ? fields : run.aboutCall(call, fields);
      run.send(type, about as never, isReplayed);
    };
  }

  get price(): CallRecorder["price"] {
    return (usage, model) => {
      const { options, events, state } = activityOf(this).run;
      const { pricing, provider } = options;
      const by = model ?? { provider: provider.id, model: provider.model };
      const cost = costOf(usage, { ...by, iteration: state.iteration }, { pricing, events });
      return typeof cost === "number" ? cost : undefined;
    };
  }

  get spend(): CallRecorder["spend"] {
    return (spending) => {
      const { usage = noUsage, costUSD, knownCostUSD } = spending;
      activityOf(this).run.meter.addUsage(spending);
      activityOf(this).spent.push({ usage, costUSD, knownCostUSD, toolCallsExecuted: 0 });
    };
  }

  get addMessage(): CallRecorder["addMessage"] {
    return (message) => void activityOf(this).run.state.messages.push(message);
  }

  get findSpent(): CallRecorder["findSpent"] {
    return (expectedUSD, spent) => activityOf(this).run.meter.findSpent(expectedUSD, spent);
  }

  get end(): CallRecorder["end"] {
    return (outcome) => activityOf(this).end(outcome);
  }
}

export function keyOf({ run, place }: Activity, owner: string | undefined, name: string): string {
  return `${run.prefix}${place}/${owner}/${name}`;
}

function toolOf({ run, call }: Activity): ToolDefinition | undefined {
  const now = call && findTool(run.registry, call.name);
  return now && (run.shown.get(now.name) ?? now);
}

/** Records the facts shown to the person, unless an earlier execution has done so. The answer comes in a later execution. */
export async function openWait<Answer>(
  activity: Activity,
  wait: OpenedWait,
  options: WaitOptions<Answer>,
): Promise<Answer | null | Parked> {
  const { run } = activity;
  const { until, schema, fromPage } = options;
  if (activity.isEarly) return new Parked([]);
  const { id, ...facts } = wait;
  const made = schema && convertSchema(schema);
  const json = made && "json" in made ? made.json : undefined;
  const shown = { ...facts, until, schema: json, fromPage: fromPage || undefined };
  const past = pastOf(run);
  if (past !== undefined) return past.findAnswer(activity, { id, ...shown }, options);
  const key = waitKey(id);
  await activity.record(`${key}/asked`, () => shown);
  if (until === undefined || run.now < until || run.scope.cause !== undefined) return new Parked([{ id, ...shown }]);
  await activity.record(`${key}/answer`, () => ({ value: null }));
  options.answered?.(id);
  return null;
}
