// One tool call on its way through a run.

import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Deadline, DeadlinePorts } from "../../cancellation/deadline.ts";
import type { Clock, Timeouts } from "../../types/common.ts";
import type { Json } from "../../types/json.ts";
import type { ToolContext, ToolRegistry } from "../../types/loop-options.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { Ending } from "../../types/termination.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ToolCall, ToolChange, ToolOutcome } from "../../types/tool-outcome.ts";

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
  /** Whether somebody has decided that it runs. */
  readonly approved?: true | undefined;
  /** How many questions about it were left to a later execution; absent for none. */
  readonly questions?: number | undefined;
  /** Set where somebody has to decide before it runs: for the first time, or again because its tool has changed. */
  readonly mustAsk?: "first" | "again" | undefined;
}

/** A call that may run, or the outcome of one that may not. */
export type Prepared = ReadyCall | ToolOutcome;

/** What stage 2 uses of a run. */
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

/** A ready call about which nobody has decided yet. */
export interface AwaitingCall {
  readonly kind: "awaiting";
  readonly call: ToolCall;
  /** Its name in the option `decisions`. */
  readonly id: string;
  /** The key of the step that will record the decision. */
  readonly key: string;
  /** Whether its tool is sequential: then the calls after it wait as well. */
  readonly isSequential: boolean;
  /** What has changed of its tool since it was last asked about. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
}

/** What the step of a call gives: its outcome, or that somebody has to decide about the call before it can run. */
export type ToolAnswer = ToolOutcome & { readonly mustAsk?: ReadyCall["mustAsk"] };

/** A call's outcome, whether it came about in this execution, and how the run inside the call was suspended, where it was. */
export interface Dispatched {
  readonly outcome: ToolAnswer;
  readonly live: boolean;
  readonly suspended?: Ending | undefined;
  /** Set where somebody has to decide about the call first. */
  readonly awaiting?: AwaitingCall | undefined;
}
