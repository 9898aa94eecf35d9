// The second argument of a tool. A class with getters, so that only the values that the tool uses are built.

import type { Json, Session } from "../types/common.ts";
import type { CallEvent, EmittedPart, LoopEventType } from "../types/loop-event.ts";
import type { ToolContext } from "../types/loop-options.ts";
import type { Message } from "../types/message.ts";
import type { ToolBudget, ToolDefinition } from "../types/tool.ts";
import type { Deadline } from "../../shared/cancellation/deadline.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { edges } from "../../shared/edges.ts";
import { toJson } from "../../shared/json.ts";
import { noteLevel } from "./meter.ts";
import { frozenView } from "../../shared/transcript.ts";
import { type InsideCall, insideKey } from "../tools/inside-call.ts";
import type { Activity } from "./activity.ts";
import { StepRecorder } from "./recorder.ts";
import type { CallRecorder, NestedOptions, Outcome } from "../types/middleware.ts";

export interface ToolCallContext
  extends
    Omit<ToolContext, "runToolLoop" | "step" | "wait" | "run" | "call">,
    Pick<CallRecorder, "step" | "wait" | "run" | "call"> {
  runToolLoop(options: NestedOptions): ReturnType<CallRecorder["run"]>;
}

interface CallHow {
  readonly deadline: Deadline;
  /** Runs inner calls. Undefined for an ordinary tool. */
  readonly perform: ((activity: Activity, call: ToolCall) => Promise<Outcome>) | undefined;
}

export class CallContext implements ToolCallContext {
  readonly callId: string;
  readonly name: string;
  readonly iteration: number;
  readonly #activity: Activity;
  readonly #deadline: Deadline;
  readonly #perform: CallHow["perform"];
  #recorder: StepRecorder | undefined;

  constructor(activity: Activity, { callId, name }: ToolCall, { deadline, perform }: CallHow) {
    if (!(insideKey in this)) CallContext.#addKey();
    this.callId = callId;
    this.name = name;
    this.iteration = activity.run.state.iteration;
    this.#activity = activity;
    this.#deadline = deadline;
    this.#perform = perform;
  }

  /**
   * Gives agent tools access, and nested runs that get this object as the option `context`. Not a static block, which would keep the class in
   * bundles that do not use it.
   */
  static #addKey(): void {
    Object.defineProperty(this.prototype, insideKey, {
      get(this: CallContext): InsideCall {
        return this.#activity;
      },
    });
  }

  get #run(): Activity["run"] {
    return this.#activity.run;
  }

  get runId(): string {
    return this.#run.runId;
  }

  get signal(): AbortSignal {
    const { signal } = this.#deadline;
    noteLevel(signal, this.#run);
    return signal;
  }

  get messages(): readonly Message[] {
    return frozenView(this.#run.state.messages);
  }

  get contextItems(): readonly Json[] {
    return this.#run.draft?.contextItems ?? [];
  }

  get findableTools(): readonly ToolDefinition[] {
    return this.#run.draft?.findableTools ?? [];
  }

  get messageIdMap(): unknown {
    return this.#run.options.messageIdMap;
  }

  get provider(): { readonly id: string; readonly model: string } {
    const { state, options } = this.#run;
    const { provider = options.provider.id, model = options.provider.model } = state.answers.at(-1) ?? {};
    return { id: provider, model };
  }

  get showKillHint(): boolean {
    return this.iteration >= this.#run.limits.softWarnIteration;
  }

  get suppressProgressNotices(): boolean {
    return this.#run.session.surfaceUserErrors === false;
  }

  get budget(): ToolBudget {
    const { state, limits, meter, scope, clock } = this.#run;
    return {
      iterations: Math.max(0, limits.maxIterations - state.countedIterations),
      toolCalls: meter.toolCallsLeft,
      tokens: meter.tokensLeft,
      costUSD: meter.costLeftUSD,
      wallClockMs: scope.leftMs(clock.now()),
    };
  }

  get idempotencyKey(): string {
    return `${this.#run.runId}/${this.#activity.place}`;
  }

  get session(): Session {
    return this.#run.session;
  }

  get context(): unknown {
    return this.#run.options.context;
  }

  get depth(): number {
    return this.#run.depth;
  }

  // These getters return functions, so that tools may destructure the context.
  get heartbeat(): () => void {
    return () => this.#deadline.heartbeat();
  }

  get progress(): (data: unknown) => void {
    return (data) => {
      if (this.#isAlive("tool-progress")) this.#run.events.send({ type: "tool-progress", ...this.#place, data });
    };
  }

  get emit(): ToolContext["emit"] {
    return (given) => {
      const part = toEmittedPart(given);
      if (this.#isAlive("tool-emit")) this.#run.events.send({ type: "tool-emit", ...this.#place, part });
    };
  }

  get step(): CallRecorder["step"] {
    return this.#durable("step").step;
  }

  get wait(): CallRecorder["wait"] {
    return this.#durable("wait").wait;
  }

  get run(): CallRecorder["run"] {
    return this.#durable("run").run;
  }

  get call(): CallRecorder["call"] {
    return this.#durable("call").call;
  }

  get runToolLoop(): ToolCallContext["runToolLoop"] {
    return (options) => {
      const result = this.#perform !== undefined ? this.run(options) : this.#nest(options);
      // Avoids an unhandled rejection if the tool does not await the result.
      result.catch(() => {});
      return result;
    };
  }

  /** A nested run of an ordinary tool is part of the tool's step, and ends with it. */
  async #nest(options: NestedOptions): ReturnType<CallRecorder["run"]> {
    if (this.#deadline.isOver) throw new Error("The tool call has ended, so it cannot start a nested run.");
    const { callId } = this;
    // The nested run has time limits of its own.
    const letGo = this.#deadline.hold(false);
    return this.#activity.nest(options, { callId, path: callId }).finally(letGo);
  }

  /** Counts as a heartbeat of the tool. Returns false if the call is over, or if nothing listens to the event. */
  #isAlive(type: LoopEventType): boolean {
    if (this.#deadline.isOver) return false;
    this.#deadline.heartbeat();
    return this.#run.events.wants(type);
  }

  get #place(): CallEvent {
    const { iteration, callId, name } = this;
    return { runId: this.#run.runId, iteration, callId, name, index: this.#run.places.get(callId) ?? -1 };
  }

  #durable(method: string): StepRecorder {
    if (this.#perform === undefined)
      throw new Error(`Only a tool with "durable: true" can use context.${method}. Add it to the tool "${this.name}".`);
    this.#recorder ??= new StepRecorder(this.#activity, "tool", this.#perform);
    return this.#recorder;
  }
}

/** Checks and copies a part that a tool sends to pages with `context.emit`. */
export function toEmittedPart(part: EmittedPart<unknown>): EmittedPart {
  edges.checkGiven?.("emit", part);
  return part.type === "text" ? { ...part } : { ...part, data: toJson(part.data) };
}
