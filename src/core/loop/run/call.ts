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
  /** Validated; the schema's own output. */
  readonly args: unknown;
  readonly approvedArgs?: Json | undefined;
  /** Why it may not run any more, though it was found fit before. It keeps the outcome that is recorded; without one, this is it. */
  readonly unfit?: ToolOutcome | undefined;
  /** Set for a recorded call whose tool has changed: its arguments are validated before it runs. */
  readonly unvalidated?: true | undefined;
}

/** A call that may run, or the outcome of one that may not. */
export type Prepared = ReadyCall | ToolOutcome;

/** The part of a run that stage 2 uses. */
export interface ToolCallPorts extends DeadlinePorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** The tools that the model was shown in this iteration. */
  readonly exposed: ReadonlyMap<string, ToolDefinition>;
  /** Tools of recorded calls that have changed since: what the calls ask for is not judged by them. */
  readonly changed?: ReadonlyMap<string, unknown> | undefined;
  /** Names that the deliberate gate lets through; undefined if it is not active. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** The `toolChoice` of this iteration, for servers and models that do not obey it. Default: any tool may run. */
  readonly choice?: StreamResult["toolChoice"];
  /** Finds the tool that a made-up name may mean. Default: the nearest by spelling. */
  hint?(name: string, known: ReadonlyMap<string, ToolDefinition>): string | undefined;
  /** Whether the result of a call may say why its arguments are not JSON. Default: always. */
  explain?(): boolean;
  /** How many of so many names the result of a call may list. Default: 50. */
  listable?(count: number): number;
  /** Whether the registry still has the tool that a call was shown. Default: nobody looks. */
  isCurrent?(definition: ToolDefinition): boolean;
  /** Makes the context that the tool gets beside its arguments. The deadline holds its signal and its heartbeat. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Receives the metadata of a result, which is for listeners only. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Called for a call that ended after it had been left behind. */
  onLate?(call: ToolCall, success: boolean): void;
}
