// The types of one tool call, and of the parts of the run that the call uses.

import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Deadline, DeadlinePorts } from "../../cancellation/deadline.ts";
import type { Clock, Json, Timeouts } from "../../types/common.ts";
import type { ToolContext, ToolRegistry } from "../../types/loop-options.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import type { CallQuestions } from "./decisions.ts";

/** A call that may run, with the final arguments for its tool. */
export interface ReadyCall {
  readonly kind: "ready";
  readonly call: ToolCall;
  readonly definition: ToolDefinition;
  /** The arguments for the tool. Validated arguments are the output of the schema. */
  readonly args: unknown;
  readonly approvedArgs?: Json | undefined;
  /** Set if the call may no longer run. The call then ends with this outcome, unless the journal has recorded another outcome. */
  readonly unfit?: ToolOutcome | undefined;
  /** Set for a recorded call whose tool has changed. The arguments must be validated before the tool runs. */
  readonly unvalidated?: true | undefined;
  /** Called instead of the tool in the registry. Set for an agent tool whose nested run has ended. */
  readonly execute?: (() => unknown) | undefined;
}

/** The part of a run that a tool call uses. */
export interface ToolCallPorts extends DeadlinePorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** The tools that the model may call in this iteration. */
  readonly exposed: ReadonlyMap<string, ToolDefinition>;
  /** The tools that have changed after their calls were recorded. Recorded calls are not checked against the new definitions. */
  readonly changed?: ReadonlyMap<string, unknown> | undefined;
  /** The tool names that `policies.gate` allows. Undefined if the gate is not active. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** The `toolChoice` that the loop enforces, because servers and models may ignore it. Default: any tool may run. */
  readonly choice?: StreamResult["toolChoice"];
  /** Suggests a tool for an unknown name. Default: the tool with the most similar name. */
  hint?(name: string, known: ReadonlyMap<string, ToolDefinition>): string | undefined;
  /** Returns true if the next malformed call gets an explanation why its arguments are not JSON. Default: always true. */
  explain?(): boolean;
  /** Returns how many of the `count` known tool names a result may list. Default: 50. */
  listable?(count: number): number;
  /** Returns true if the registry still contains the tool that the model saw. Default: the registry is not checked. */
  isCurrent?(definition: ToolDefinition): boolean;
  /** False if the run cannot wait for a result from outside. Default true. */
  readonly mayDefer?: boolean | undefined;
  /** Creates the second argument of `execute`. The `signal` and the `heartbeat` of this context come from `deadline`. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Called with each value that the generator of a tool yields, until the call is over. Must not throw. */
  onYield?(call: ToolCall, value: unknown): void;
  /** Returns the questions that the tool asked with `context.ask`. Default: no questions. */
  questionsIn?(call: ToolCall): CallQuestions | undefined;
  /** Called with the metadata of a tool result, which only event listeners get. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Called when a call ends after the loop stopped waiting for it. */
  onLate?(call: ToolCall, success: boolean): void;
}
