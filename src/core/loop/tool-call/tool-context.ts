// What a tool gets beside its arguments. A class with getters, so that what a tool does not ask for is not made.

import type { Json } from "../../types/json.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { Session } from "../../types/common.ts";
import type { Message } from "../../types/message.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolBudget } from "../../types/tool.ts";
import type { NestedLoopOptions, ToolContext } from "../../types/loop-options.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import type { Deadline } from "../../cancellation/deadline.ts";
import { startNested } from "./nested-run.ts";
import { frozenView } from "../state/transcript.ts";
import { type Level, levelKey, noteLevel } from "../run/meter.ts";
import type { Run } from "../run/run.ts";
import { callKey } from "../state/step-key.ts";

/** The context of one call in a run. */
export class CallContext implements ToolContext {
  readonly callId: string;
  readonly name: string;
  readonly iteration: number;
  readonly #run: Run;
  readonly #deadline: Deadline;
  /** Where the call stands. A tool that was left behind may ask when the run is elsewhere. */
  readonly #retry: number;
  readonly #index: number;

  static {
    // Read by runs that are handed this context as theirs.
    Object.defineProperty(this.prototype, levelKey, {
      get(this: CallContext): Level {
        return this.#run;
      },
    });
  }

  constructor(run: Run, call: ToolCall, deadline: Deadline) {
    this.callId = call.callId;
    this.name = call.name;
    this.iteration = run.state.iteration;
    this.#run = run;
    this.#deadline = deadline;
    this.#retry = run.state.retry;
    this.#index = run.ports.indexOf(call.callId);
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
    return Object.freeze([...this.#run.state.contextItems]);
  }

  get messageIdMap(): unknown {
    return this.#run.options.messageIdMap;
  }

  get provider(): { readonly id: string; readonly model: string } {
    const last: StreamResult | undefined = this.#run.state.streamResults.at(-1);
    const { provider } = this.#run.options;
    return { id: last?.provider ?? provider.id, model: last?.model ?? provider.model };
  }

  get showKillHint(): boolean {
    return this.iteration >= this.#run.bounds.softWarnIteration;
  }

  get suppressProgressNotices(): boolean {
    return this.#run.session.surfaceUserErrors === false;
  }

  get budget(): ToolBudget {
    const { state, bounds, meter, scope, clock } = this.#run;
    return {
      iterations: Math.max(0, bounds.maxIterations - state.countedIterations),
      toolCalls: meter.toolCallsLeft,
      tokens: meter.tokensLeft,
      costUSD: meter.costLeftUSD,
      wallClockMs: scope.leftMs(clock.now()),
    };
  }

  get idempotencyKey(): string {
    const { iteration, name } = this;
    const place = { iteration, retry: this.#retry };
    return `${this.#run.runId}/${callKey(place, "tool", { index: this.#index, name })}`;
  }

  get session(): Session {
    return this.#run.options.session ?? {};
  }

  get context(): unknown {
    return this.#run.options.context;
  }

  get depth(): number {
    return this.#run.depth;
  }

  // Getters of functions, so that tools may take them out of the context.
  get heartbeat(): () => void {
    return () => this.#deadline.heartbeat();
  }

  get progress(): (data: unknown) => void {
    return (data) => this.#tell(data);
  }

  get runToolLoop(): (options: NestedLoopOptions) => Promise<LoopResult> {
    return (options) => {
      const result = this.#nest(options);
      // A tool that does not wait for it is no reason for the process to end.
      result.catch(() => {});
      return result;
    };
  }

  async #nest(options: NestedLoopOptions): Promise<LoopResult> {
    const { callId } = this;
    if (this.#deadline.isOver) throw new Error("The call is over: it can start no more runs.");
    const { ports } = this.#run;
    const made = `${this.idempotencyKey}/run${ports.countNested(callId)}`;
    const { run, drive } = startNested({ run: this.#run, callId }, { ...options, runId: runIdOf(options) ?? made });
    const nested = { run, result: drive() };
    ports.addNested(callId, nested);
    this.#deadline.holdWhile(nested.result);
    return nested.result;
  }

  /** What a call says after its end reaches nobody. */
  #tell(data: unknown): void {
    const { events } = this.#run;
    if (this.#deadline.isOver) return;
    this.#deadline.heartbeat();
    if (!events.wants("tool-progress")) return;
    events.send({
      type: "tool-progress",
      runId: events.runId,
      iteration: this.iteration,
      callId: this.callId,
      name: this.name,
      index: this.#run.ports.indexOf(this.callId),
      data,
    });
  }
}

/** A tool written without types may hand in nothing at all. */
function runIdOf(options: NestedLoopOptions | undefined): string | undefined {
  return options?.runId;
}
