// The types of one tool call, and what the call needs from its run.

import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Deadline, DeadlinePorts } from "../../cancellation/deadline.ts";
import type { Clock, Timeouts } from "../../types/common.ts";
import type { Json } from "../../types/json.ts";
import type { ToolContext, ToolRegistry } from "../../types/loop-options.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";

/** A call that may run, with the arguments that the tool will get. */
export interface ReadyCall {
  readonly kind: "ready";
  readonly call: ToolCall;
  readonly definition: ToolDefinition;
  /** The arguments for the tool. If the arguments were validated, this is the output of the schema. */
  readonly args: unknown;
  readonly approvedArgs?: Json | undefined;
  /** Set if the call may no longer run. The call then gets this outcome, unless the journal has recorded another outcome. */
  readonly unfit?: ToolOutcome | undefined;
  /** Set for a recorded call whose tool has changed. Its arguments must be validated before it runs. */
  readonly unvalidated?: true | undefined;
  /** Called instead of the tool in the registry. Set for agent tools, whose nested run has ended. */
  readonly execute?: (() => unknown) | undefined;
}

/** The part of a run that stage 2 uses. */
export interface ToolCallPorts extends DeadlinePorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** The visible tools of this iteration. */
  readonly exposed: ReadonlyMap<string, ToolDefinition>;
  /** The tools that have changed since their calls were recorded. Recorded calls are not checked with the new definitions. */
  readonly changed?: ReadonlyMap<string, unknown> | undefined;
  /** The tool names that the deliberate gate allows. Undefined if the gate is not active. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** The `toolChoice` that is enforced in this iteration, because servers and models may ignore it. Default: any tool may run. */
  readonly choice?: StreamResult["toolChoice"];
  /** Suggests a tool for an unknown name. Default: the tool with the most similar name. */
  hint?(name: string, known: ReadonlyMap<string, ToolDefinition>): string | undefined;
  /** Returns true if the result of the next malformed call may say why its arguments are not JSON. Default: always true. */
  explain?(): boolean;
  /** Returns how many of `count` tool names a result may list. Default: 50. */
  listable?(count: number): number;
  /** Returns true if the registry still has the tool that the model saw. Default: the registry is not checked. */
  isCurrent?(definition: ToolDefinition): boolean;
  /** False if the run cannot wait for a result from outside. Default true. */
  readonly mayDefer?: boolean | undefined;
  /** Builds the second argument of `execute`. `deadline` provides the signal and the heartbeat. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Called with the metadata of a result. Metadata is only for event listeners. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Called when a call ends after the loop stopped waiting for it. */
  onLate?(call: ToolCall, success: boolean): void;
}
