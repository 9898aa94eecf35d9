// Implements the object that middleware and durable tools use to record effects and wait for outside answers.

import type { Json, PlainError } from "../types/common.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import type { ToolDefinition, ToolBudget } from "../types/tool.ts";
import { endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { Deadline } from "../../shared/cancellation/deadline.ts";
import { never } from "../../shared/signals.ts";
import { toJson } from "../../shared/json.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { insideKey, isDurable } from "../tools/inside-call.ts";
import { findTool } from "../tools/registry.ts";
import { type Activity, type CallDurability, durabilityOf, type Owner, pastOf } from "./activity.ts";
import { StepCancelled, toJournalFailure } from "./hooks.ts";
import { howToEnable } from "./run.ts";
import type { CallRecorder, Ending } from "../types/middleware.ts";
import type { EmittedPart, LoopEventType } from "../types/loop-event.ts";
import type { ToolContext } from "../types/loop-options.ts";
import type { Message } from "../types/message.ts";
import { edges } from "../../shared/edges.ts";
import { noteLevel } from "./meter.ts";
import { frozenView } from "../../shared/transcript.ts";

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
  readonly given: ToolCall | undefined;
  #isInBody = false;

  constructor(activity: Activity, owner: string | undefined, given: ToolCall | undefined = activity.call) {
    this.callId = activity.call?.callId ?? activity.path;
    this.owner = owner;
    // Stores the activity under a hidden key, so that `runNested`, `ask` and agent tools can find it through the context.
    (this as unknown as InActivity)[insideKey] = activity;
    this.given = given;
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
      const key = keyOf(activityOf(this), this.owner, uniqueName(this, "step", name));
      return activityOf(this).inCore(async () => {
        let record: StepRecord;
        try {
          record = await activityOf(this).record<StepRecord>(key, () => this.#runStep(body, recordErrors));
        } catch (error) {
          // Throws a JournalFailure, which rejects the run, because hooks and tools must not be able to turn this error into a result.
          throw toJournalFailure(error);
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
    const limits = { limitMs: never, toolCleanupMs: this.owner === "tool" ? run.timeouts.toolCleanupMs : 0 };
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

  get wait(): CallRecorder["wait"] {
    this.#assertDurable("wait");
    return async (what, facts, options = {}) => this.#durability.wait(this, { what, facts, options });
  }

  get call(): CallRecorder["call"] {
    this.#assertDurable("call");
    return async (name, args) => this.#durability.call(this, name, args);
  }

  get #durability(): CallDurability {
    const durability = durabilityOf(this.#run);
    if (durability === undefined) throw new Error(`Nothing can wait ${howToEnable}.`);
    return durability;
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

  get earlier(): CallRecorder["earlier"] {
    const activity = activityOf(this);
    return pastOf(activity.run)?.findEarlier(activity, `${this.owner}`);
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

  get end(): CallRecorder["end"] {
    return (outcome) => activityOf(this).end(outcome);
  }
}

/** Returns a name that this middleware or tool has not used yet in its activity. */
export function uniqueName(by: Owner, kind: string, name: string): string {
  const used = `${by.owner}/${kind}/`;
  return activityOf(by)
    .unique(used + name)
    .slice(used.length);
}

export function keyOf({ run, place }: Activity, owner: string | undefined, name: string): string {
  return `${run.prefix}${place}/${owner}/${name}`;
}

export function toolOf({ run, call }: Activity): ToolDefinition | undefined {
  const now = call && findTool(run.registry, call.name);
  return now && (run.shown.get(now.name) ?? now);
}

export class CallContext extends StepRecorder implements Omit<ToolContext, "step" | "wait" | "call"> {
  readonly name: string;
  readonly iteration: number;
  readonly #deadline: Deadline;

  constructor(activity: Activity, { name }: ToolCall, deadline: Deadline) {
    super(activity, isDurable(activity.run, name) ? "tool" : undefined);
    this.name = name;
    this.iteration = activity.run.state.iteration;
    this.#deadline = deadline;
  }

  get runId(): string {
    return activityOf(this).run.runId;
  }

  get signal(): AbortSignal {
    const { signal } = this.#deadline;
    noteLevel(signal, activityOf(this).run);
    return signal;
  }

  get messages(): readonly Message[] {
    return frozenView(activityOf(this).run.state.messages);
  }

  get contextItems(): readonly Json[] {
    return activityOf(this).run.draft?.contextItems ?? [];
  }

  get findableTools(): readonly ToolDefinition[] {
    return activityOf(this).run.draft?.findableTools ?? [];
  }

  get messageIdMap(): unknown {
    return activityOf(this).run.options.messageIdMap;
  }

  get provider(): { readonly id: string; readonly model: string } {
    const { state, options } = activityOf(this).run;
    const { provider = options.provider.id, model = options.provider.model } = state.answers.at(-1) ?? {};
    return { id: provider, model };
  }

  get showKillHint(): boolean {
    return this.iteration >= activityOf(this).run.limits.softWarnIteration;
  }

  get suppressProgressNotices(): boolean {
    return activityOf(this).run.session.surfaceUserErrors === false;
  }

  get budget(): ToolBudget {
    const { state, limits, meter, scope, clock } = activityOf(this).run;
    return {
      iterations: Math.max(0, limits.maxIterations - state.countedIterations),
      toolCalls: meter.toolCallsLeft,
      tokens: meter.tokensLeft,
      costUSD: meter.costLeftUSD,
      wallClockMs: scope.leftMs(clock.now()),
    };
  }

  get depth(): number {
    return activityOf(this).run.depth;
  }

  // Each getter returns a function without `this`, so that tools may destructure the context.
  get progress(): (data: unknown) => void {
    return (data) => {
      if (this.#isAlive("tool-progress"))
        activityOf(this).run.send("tool-progress", activityOf(this).run.aboutCall(this, { data }));
    };
  }

  get emit(): ToolContext["emit"] {
    return (given) => {
      const part = toEmittedPart(given);
      if (this.#isAlive("tool-emit")) activityOf(this).run.send("tool-emit", activityOf(this).run.aboutCall(this, { part }));
    };
  }

  /** Counts as a heartbeat from the tool. Returns false if the call is over or nothing listens to the event. */
  #isAlive(type: LoopEventType): boolean {
    if (this.#deadline.isOver) return false;
    this.#deadline.heartbeat();
    return activityOf(this).run.events.wants(type);
  }
}

/** Checks and copies a part that a tool sends to web pages with `context.emit`. */
export function toEmittedPart(part: EmittedPart<unknown>): EmittedPart {
  edges.checkGiven?.("emit", part);
  return part.type === "text" ? { ...part } : { ...part, data: toJson(part.data) };
}
