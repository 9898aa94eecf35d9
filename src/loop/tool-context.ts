// What a tool gets beside its arguments. A class with getters, so that what a tool does not ask for is not made.

import type { Json } from "../contract/json.ts";
import type { Session } from "../contract/loop-options.ts";
import type { Message } from "../contract/message.ts";
import type { StreamResult } from "../contract/stream-result.ts";
import type { ToolBudget, ToolContext } from "../contract/tool.ts";
import type { ToolCall } from "../contract/tool-outcome.ts";
import type { Deadline } from "../kit/deadline.ts";
import type { Run } from "./run.ts";

/** One call, as its context needs it. */
export interface CallFacts {
  readonly call: ToolCall;
  readonly deadline: Deadline;
  /** The key of the call's step. */
  readonly key: string;
}

/** The context of one call in a run. */
export class CallContext implements ToolContext {
  readonly callId: string;
  readonly name: string;
  readonly iteration: number;
  readonly #run: Run;
  readonly #facts: CallFacts;

  constructor(run: Run, facts: CallFacts) {
    this.callId = facts.call.callId;
    this.name = facts.call.name;
    this.iteration = run.state.iteration;
    this.#run = run;
    this.#facts = facts;
  }

  get signal(): AbortSignal {
    return this.#facts.deadline.signal;
  }

  get messages(): readonly Message[] {
    return this.#run.state.messages;
  }

  get contextItems(): readonly Json[] {
    return this.#run.state.contextItems;
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
    return this.iteration >= this.#run.softWarnIteration;
  }

  get suppressProgressNotices(): boolean {
    return this.#run.session.surfaceUserErrors === false;
  }

  get budget(): ToolBudget {
    const { state, bounds } = this.#run;
    return {
      iterations: Math.max(0, bounds.maxIterations - state.iterations),
      toolCalls: Math.max(0, bounds.maxToolCalls - state.toolCallsExecuted),
      tokens: Math.max(0, bounds.maxTokens - state.usage.totalTokens),
      wallClockMs: Math.max(0, bounds.wallClockMs - state.activeMs),
    };
  }

  get idempotencyKey(): string {
    return `${this.#run.runId}/${this.#facts.key}`;
  }

  get session(): Session {
    return this.#run.session;
  }

  get context(): unknown {
    return this.#run.options.context;
  }

  // Fields, so that tools may take them out of the context.
  readonly heartbeat = (): void => this.#facts.deadline.heartbeat();

  readonly progress = (data: unknown): void => {
    const { events } = this.#run;
    // What a call says after it was left behind reaches nobody.
    if (this.#facts.deadline.isOver) return;
    this.heartbeat();
    if (!events.wants("tool-progress")) return;
    events.send("tool-progress", { runId: events.runId, iteration: this.iteration, callId: this.callId, name: this.name, data });
  };
}
