// What the calls of a run see of it: one object for all of them, so that a call costs no ports of its own.

import type { Clock, Timeouts } from "../contract/clock.ts";
import type { ToolContext, ToolDefinition, ToolRegistry } from "../contract/tool.ts";
import type { ToolCall } from "../contract/tool-outcome.ts";
import type { Deadline } from "../kit/deadline.ts";
import type { RunScope } from "../kit/run-scope.ts";
import type { Run, RunCallPorts } from "./run.ts";
import { CallContext } from "./tool-context.ts";

/** The ports of stage 02 in a run. */
export class CallPorts implements RunCallPorts {
  readonly #run: Run;
  /** What results carried for listeners only, by call, until they are told. */
  readonly #metadata = new Map<string, unknown>();
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly scope: RunScope;
  readonly timeouts: Timeouts;
  readonly allowed: ReadonlySet<string> | undefined;

  constructor(run: Run) {
    this.#run = run;
    this.registry = run.registry;
    this.clock = run.clock;
    this.scope = run.scope;
    this.timeouts = run.timeouts;
    this.allowed = run.allowedNames;
  }

  get exposed(): ReadonlyMap<string, ToolDefinition> {
    return this.#run.exposure.byName;
  }

  contextFor(call: ToolCall, deadline: Deadline): ToolContext {
    return new CallContext(this.#run, call, deadline);
  }

  onMetadata(call: ToolCall, metadata: unknown): void {
    this.#metadata.set(call.callId, metadata);
  }

  /** What a result carried, once. */
  takeMetadata({ callId }: ToolCall): unknown {
    const metadata = this.#metadata.get(callId);
    this.#metadata.delete(callId);
    return metadata;
  }

  onLate({ callId, name }: ToolCall, success: boolean): void {
    const { events, state } = this.#run;
    events.send({ type: "late-result", runId: events.runId, iteration: state.iteration, callId, name, success });
  }
}
