// A summary for llms.txt: the parts of the loop. If a type here differs from the real type, the compiler reports an error.

import type {
  ContextSource,
  Journal,
  Json,
  LoopResult,
  Message,
  ModelRequest,
  Session,
  StreamResult,
  ToolCall,
  ToolOutcome,
  UserMessage,
} from "turnwright";
import type { ContextRestart, Ending } from "turnwright/parts";
import * as parts from "turnwright/parts";
import type { Bounds, LoopState, NextStep, StepResult, StreamPorts, ToolCallPorts } from "turnwright/parts";
import { type Differing, expectNone } from "./same-names.ts";

// #region parts
interface PartsEntry {
  createLoopState(initial: {
    messages: readonly Message[];
    heldIds: Iterable<string>;
    contextItems: readonly Json[];
    priced: boolean;
  }): LoopState;
  nextStep(state: LoopState, bounds: Bounds): NextStep; // decides, without effects
  applyStep(state: LoopState, step: StepResult): void; // updates the state with a result
  streamOnce(request: ModelRequest, ports: StreamPorts): Promise<StreamResult>;
  executeToolCall(call: ToolCall, ports: ToolCallPorts): Promise<ToolOutcome>;
  detectContextRestart(
    outcome: ToolOutcome,
    policy: { effects?: Record<string, readonly string[]>; stash?: ContextSource } | undefined,
  ): ContextRestart | undefined;
  buildResult(
    state: LoopState,
    facts: { ending: Ending; undelivered?: readonly UserMessage[]; runId: string; journal: Journal; session: Session },
  ): LoopResult;
  CancelScope: new () => object; // cancellation, for the ports of the stages
}
// #endregion parts

parts satisfies PartsEntry;
expectNone<Differing<PartsEntry, typeof parts>>();
