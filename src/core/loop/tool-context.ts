// Implements the second argument of a tool's `execute`. Its getters create only the values that the tool uses.

import type { Json } from "../types/common.ts";
import type { EmittedPart, LoopEventType } from "../types/loop-event.ts";
import type { ToolContext } from "../types/loop-options.ts";
import type { Message } from "../types/message.ts";
import type { ToolBudget, ToolDefinition } from "../types/tool.ts";
import type { Deadline } from "../../shared/cancellation/deadline.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { edges } from "../../shared/edges.ts";
import { toJson } from "../../shared/json.ts";
import { noteLevel } from "./meter.ts";
import { frozenView } from "../../shared/transcript.ts";
import { isDurable } from "../tools/inside-call.ts";
import type { Activity } from "./activity.ts";
import { activityOf, StepRecorder } from "./recorder.ts";

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
