// Defines the types that the loop's stages share: for tool calls, messages, request watchers and controls.

import type { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import type { Clock, Timeouts, Json } from "../types/common.ts";
import type { LoopControl, ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { StreamResult } from "../types/provider.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { EndReason } from "../types/termination.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import type { Deadline, DeadlinePorts } from "../../shared/cancellation/deadline.ts";
import type { InboxMessage, Ending, JoinedRun, State } from "../types/middleware.ts";
import { sharedMap } from "../../shared/guards.ts";

/** A call that may run, with the final arguments for its tool. */
export interface ReadyCall {
  readonly kind: "ready";
  readonly call: ToolCall;
  readonly definition: ToolDefinition;
  /** The arguments for the tool: the schema's output if they were validated. */
  readonly args: unknown;
  readonly approvedArgs?: Json | undefined;
  /** Runs the call in place of the tool. */
  readonly together?: JoinedRun | undefined;
}

/** Counts the advice given in the results of one message. Advice is limited, because a model may make thousands of mistakes. */
export interface Advice {
  given: number;
  listed: number;
}

/** The part of a run that is needed to check a call. */
export interface PreparePorts extends DeadlinePorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** The tools that the model may call in this iteration. */
  readonly shown: ReadonlyMap<string, ToolDefinition>;
  /** The `toolChoice` that the loop enforces, because servers and models may ignore it. Default: any tool may run. */
  readonly toolChoice?: StreamResult["toolChoice"];
  /** Counts the advice given in the results of the same message. */
  readonly advice: Advice;
}

/** The part of a run that a tool call needs. */
export interface ToolCallPorts extends PreparePorts {
  /** The tool names that `gateTools` allows. Undefined if the gate is not active. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** Returns true if the registry still contains the tool that the model saw. Default: the registry is not checked. */
  isCurrent?(definition: ToolDefinition): boolean;
  /** False if the run cannot wait for a result from outside. Default true. */
  readonly mayDefer?: boolean | undefined;
  /** Creates the second argument of `execute`. The `signal` and the `heartbeat` of this context come from `deadline`. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Called with each value that a tool's generator yields, until the call is over. Must not throw. */
  onYield?(call: ToolCall, value: unknown): void;
  /** Called with a tool result's metadata, which only event listeners receive. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Called when a call ends after the loop stopped waiting for it. */
  onLate?(call: ToolCall, success: boolean): void;
}

/** Maps each control to the function that connects it to a run. All copies of the package share this map. */
export const claims: WeakMap<LoopControl, (scope: CancelScope, maxInterrupts: number) => ControlClaim> =
  /* @__PURE__ */ sharedMap("control-claims");

/** The actions requested by messages to a run. */
export interface Requested {
  /** The ending of a run that a message interrupts. */
  readonly interrupted?: Ending | undefined;
  /** True if a message is waiting for the model. */
  readonly isSteered: boolean;
  readonly drains: boolean;
}

export interface ControlClaim {
  /** The messages that the run has not taken yet, in order. New messages may be added at the end. */
  readonly messages: readonly InboxMessage[];
  takeMessages(count: number): void;
  /** Determines which actions the messages request. */
  see(state: State, token: string): Requested;
  /** Called when the first tool call in the run is about to start. Later messages cannot interrupt the run. */
  startToolChain(): void;
  /** Called after the inbox was read for the last time. The control's methods then return "finished". */
  shut(): void;
  /** Releases the control. Its methods then return "finished", and remaining messages are kept for the next run. */
  release(ending?: EndReason["kind"]): void;
}
