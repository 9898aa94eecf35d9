// A tool call before it runs, and what running it uses of a run.

import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Deadline, DeadlinePorts } from "../../cancellation/deadline.ts";
import type { Clock, Timeouts } from "../../types/clock.ts";
import type { Json } from "../../types/json.ts";
import type { ToolContext, ToolRegistry } from "../../types/loop-options.ts";
import type { StreamResult } from "../../types/stream-result.ts";
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
  /** Whether somebody has decided that it runs. */
  readonly approved?: true | undefined;
  /** How many questions about it were left to a later execution; absent for none. */
  readonly questions?: number | undefined;
  /** Set where somebody has to decide before it runs: for the first time, or again because its tool has changed. */
  readonly mustAsk?: "first" | "again" | undefined;
}

/** A call that may run, or the outcome of one that may not. */
export type Prepared = ReadyCall | ToolOutcome;

/** What preparing uses of a run. */
export interface PreparePorts extends DeadlinePorts {
  readonly registry: ToolRegistry;
  /** The tools that the model was shown in this iteration. */
  readonly exposed: ReadonlyMap<string, ToolDefinition>;
  /** Tools of recorded calls that have changed since: what the calls ask for is not judged by them. */
  readonly changed?: ReadonlyMap<string, unknown> | undefined;
  /** Names that the deliberate gate lets through; undefined where it is not active. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** What `toolChoice` says of this iteration, for servers and models that do not obey it. Default: any tool may run. */
  readonly choice?: StreamResult["toolChoice"];
  /** Finds the tool that a made-up name may mean. Default: the nearest by spelling. */
  hint?(name: string, known: ReadonlyMap<string, ToolDefinition>): string | undefined;
  /** Whether the result of a call may say why its arguments are no JSON. Default: always. */
  explain?(): boolean;
  /** How many of so many names the result of a call may list. Default: 50. */
  listable?(count: number): number;
  /** Longest run of an asynchronous validation. */
  readonly timeouts: Pick<Timeouts, "hookMs">;
}

/** What dispatching uses of a run. */
export interface DispatchPorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** Whether the registry still has the tool that a call was shown. Default: nobody looks. */
  isCurrent?(definition: ToolDefinition): boolean;
  /** Makes what the tool gets beside its arguments. The deadline holds its signal and its heartbeat. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Hears what a result carried for listeners only. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Hears of a call that ended after it had been left behind. */
  onLate?(call: ToolCall, success: boolean): void;
}

/** What stage 02 uses of a run. */
export type ToolCallPorts = PreparePorts & DispatchPorts;
