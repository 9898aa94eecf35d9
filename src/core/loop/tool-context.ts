// The second argument of a tool. A class with getters, so that only the values that the tool uses are built.

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
import { StepRecorder } from "./recorder.ts";

export class CallContext extends StepRecorder implements Omit<ToolContext, "step" | "wait" | "call"> {
  readonly name: string;
  readonly iteration: number;
  readonly #activity: Activity;
  readonly #deadline: Deadline;

  constructor(activity: Activity, { name }: ToolCall, deadline: Deadline) {
    super(activity, isDurable(activity.run, name) ? "tool" : undefined);
    this.name = name;
    this.iteration = activity.run.state.iteration;
    this.#activity = activity;
    this.#deadline = deadline;
  }

  get runId(): string {
    return this.#activity.run.runId;
  }

  get signal(): AbortSignal {
    const { signal } = this.#deadline;
    noteLevel(signal, this.#activity.run);
    return signal;
  }

  get messages(): readonly Message[] {
    return frozenView(this.#activity.run.state.messages);
  }

  get contextItems(): readonly Json[] {
    return this.#activity.run.draft?.contextItems ?? [];
  }

  get findableTools(): readonly ToolDefinition[] {
    return this.#activity.run.draft?.findableTools ?? [];
  }

  get messageIdMap(): unknown {
    return this.#activity.run.options.messageIdMap;
  }

  get provider(): { readonly id: string; readonly model: string } {
    const { state, options } = this.#activity.run;
    const { provider = options.provider.id, model = options.provider.model } = state.answers.at(-1) ?? {};
    return { id: provider, model };
  }

  get showKillHint(): boolean {
    return this.iteration >= this.#activity.run.limits.softWarnIteration;
  }

  get suppressProgressNotices(): boolean {
    return this.#activity.run.session.surfaceUserErrors === false;
  }

  get budget(): ToolBudget {
    const { state, limits, meter, scope, clock } = this.#activity.run;
    return {
      iterations: Math.max(0, limits.maxIterations - state.countedIterations),
      toolCalls: meter.toolCallsLeft,
      tokens: meter.tokensLeft,
      costUSD: meter.costLeftUSD,
      wallClockMs: scope.leftMs(clock.now()),
    };
  }

  get depth(): number {
    return this.#activity.run.depth;
  }

  // These getters return functions, so that tools may destructure the context.
  get progress(): (data: unknown) => void {
    return (data) => {
      if (this.#isAlive("tool-progress")) this.#activity.run.send("tool-progress", this.#activity.run.aboutCall(this, { data }));
    };
  }

  get emit(): ToolContext["emit"] {
    return (given) => {
      const part = toEmittedPart(given);
      if (this.#isAlive("tool-emit")) this.#activity.run.send("tool-emit", this.#activity.run.aboutCall(this, { part }));
    };
  }

  /** Counts as a heartbeat of the tool. Returns false if the call is over, or if nothing listens to the event. */
  #isAlive(type: LoopEventType): boolean {
    if (this.#deadline.isOver) return false;
    this.#deadline.heartbeat();
    return this.#activity.run.events.wants(type);
  }
}

/** Checks and copies a part that a tool sends to pages with `context.emit`. */
export function toEmittedPart(part: EmittedPart<unknown>): EmittedPart {
  edges.checkGiven?.("emit", part);
  return part.type === "text" ? { ...part } : { ...part, data: toJson(part.data) };
}
