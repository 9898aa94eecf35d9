// One tool call on its way through a run.

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
  /** The output of the schema, if the arguments were validated. */
  readonly args: unknown;
  readonly approvedArgs?: Json | undefined;
  /**
   * Set if the call may no longer run, although it was ready before. A recorded outcome takes precedence; without one, this is
   * the outcome.
   */
  readonly unfit?: ToolOutcome | undefined;
  /** Set for a recorded call whose tool has changed: its arguments are validated before it runs. */
  readonly unvalidated?: true | undefined;
}

/** A call that may run, or the outcome of a refused call. */
export type Prepared = ReadyCall | ToolOutcome;

/** The part of a run that stage 2 uses. */
export interface ToolCallPorts extends DeadlinePorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** The visible tools of this iteration. */
  readonly exposed: ReadonlyMap<string, ToolDefinition>;
  /** Tools of recorded calls that have changed since. Their new definitions do not judge these calls. */
  readonly changed?: ReadonlyMap<string, unknown> | undefined;
  /** Names that the deliberate gate lets through; undefined if it is not active. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** The `toolChoice` of this iteration, for servers and models that ignore it. Default: any tool may run. */
  readonly choice?: StreamResult["toolChoice"];
  /** Suggests a tool for an unknown name. Default: the nearest by spelling. */
  hint?(name: string, known: ReadonlyMap<string, ToolDefinition>): string | undefined;
  /** Returns true if a result may explain why the arguments are not JSON. Default: always. */
  explain?(): boolean;
  /** Returns how many of `count` names a result may list. Default: 50. */
  listable?(count: number): number;
  /** Returns true if the registry still has the tool that the model saw. Default: not checked. */
  isCurrent?(definition: ToolDefinition): boolean;
  /** False if the run cannot wait for a result from outside. Default true. */
  readonly mayDefer?: boolean | undefined;
  /** Builds the second argument of the tool. The deadline provides its signal and its heartbeat. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Receives the metadata of a result, which is for listeners only. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Called when a call ends that the loop no longer waited for. */
  onLate?(call: ToolCall, success: boolean): void;
}
