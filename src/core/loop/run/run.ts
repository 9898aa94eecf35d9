// The state and resources of one run.

import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Clock, Session, Timeouts } from "../../types/common.ts";
import type { Agent, LoopOptions, ToolRegistry, LoopControl } from "../../types/loop-options.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { Ending, EndReason } from "../../types/termination.ts";
import type { WaitingCall, ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import type { EventBase } from "../../types/loop-event.ts";
import type { Journal } from "../../types/journal.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { LoopPolicies, ResultProcessing, StopCondition, StructuredOutput } from "../../types/policies.ts";
import type { IdleTimer } from "../../cancellation/deadline.ts";
import type { LoopState, SettledCall, InboxMessage } from "../state/loop-state.ts";
import type { ReadyCall, ToolCallPorts } from "./call.ts";
import type { Decisions } from "./decisions.ts";
import type { LoopEventSink } from "./emit.ts";
import type { LoopDetector, MaskedView, ResultMasking } from "./features.ts";
import type { JournalTraffic } from "./journal-call.ts";
import type { Meter } from "./meter.ts";
import type { Park, Parking } from "./parking.ts";
import type { FirstTools, OpenIteration, RequestViews, VisibleTools } from "./request.ts";
import type { RunBounds } from "./limits.ts";
import { sharedMap } from "../../utils/guards.ts";

/** Returns the common fields of an event. Set `live` to false for a replayed event. Default true. */
export function eventBase({ runId, state }: Pick<Run, "runId" | "state">, live: boolean = true): EventBase {
  return { runId, iteration: state.iteration, replayed: live ? undefined : true };
}

export interface RunCallPorts extends ToolCallPorts {
  isCurrent(definition: ToolDefinition): boolean;
  takeMetadata(call: ToolCall): unknown;
  /**
   * The position of each call within its iteration, by call id. The positions are kept for all iterations, because an abandoned
   * tool may end much later.
   */
  readonly places: Map<string, number>;
  indexOf(callId: string): number;
  /** The emitted outcomes of the calls in the current iteration, by call id. */
  readonly ended: Map<string, ToolOutcome["kind"]>;
  addNested(callId: string, nested: NestedRun): void;
  countNested(callId: string): number;
  takeNested(callId: string): readonly NestedRun[] | undefined;
}

export interface NestedRun {
  readonly run: Run;
  readonly result: Promise<LoopResult>;
}

/** A run that holds its resources but has not taken a step yet. It must be driven or released. */
export interface StartedRun {
  readonly run: Run;
  drive(): Promise<LoopResult>;
}

/** The facts that a nested run needs about the call that contains it. `run` is the outer run. */
export interface Nesting {
  readonly run: Run;
  readonly callId: string;
  /** True if the steps of the nested run are in the outer run's journal. Default false. */
  readonly sharesJournal?: boolean | undefined;
  readonly park?: Park | undefined;
  /** True if the nested run must wait for its turn before it takes a step that is not recorded. Default false. */
  readonly awaitsTurn?: boolean | undefined;
}

export interface Run {
  readonly options: LoopOptions;
  readonly runId: string;
  /** Identifies this execution of the run. Another execution with the same journal has another token. */
  readonly token: string;
  readonly registry: ToolRegistry;
  readonly state: LoopState;
  readonly bounds: RunBounds;
  readonly timeouts: Timeouts;
  readonly clock: Clock;
  readonly journal: Journal;
  /** The journal calls that have not returned yet. */
  readonly traffic: JournalTraffic;
  readonly scope: CancelScope;
  readonly events: LoopEventSink;
  /** The timer that the streams of the run share. */
  readonly alarm: IdleTimer;
  readonly control: ControlClaim | undefined;
  readonly decisions: Decisions;
  /** The tool names that the deliberate gate allows. Undefined if the gate is not active. */
  readonly allowedNames: ReadonlySet<string> | undefined;
  readonly session: Session;
  readonly stopConditions: readonly StopCondition[];
  readonly features: Features;
  readonly ports: RunCallPorts;
  /** The number of outer runs. `maxDepth` is the maximum number of nested levels. */
  readonly depth: number;
  readonly maxDepth: number;
  readonly meter: Meter;
  /** The run whose tool call contains this run. Undefined if this run is not nested. */
  readonly outer: Run | undefined;
  /** True for a nested run whose steps are in the outer run's journal. The outer run then decides about retries. */
  readonly sharesJournal: boolean;
  /** Set for a nested run, which waits here before it is suspended. */
  readonly park: Park | undefined;
  /** True while a nested run may only replay its records, because calls in the same batch are still replaying. */
  awaitsTurn: boolean;
  /** Settles when the run may take new steps. Undefined if the run has not had to wait. */
  turn: Promise<void> | undefined;
  /** The waiting nested runs of the current batch. Undefined if the batch has no nested runs. */
  parking: Parking | undefined;
  /** The transcript as sent to the model. Undefined if nothing can be masked. */
  view: MaskedView | undefined;
  /** The nested runs that share this run's journal and still hold resources. */
  readonly sharingRuns: Set<Run>;
  failure: { readonly error: unknown } | undefined;
  nest(options: LoopOptions, nesting: Nesting): StartedRun;
  visibleTools: VisibleTools;
  toolChoice: StreamResult["toolChoice"];
  /** The tools in the first record of the run. Undefined for a run that cannot be resumed. */
  firstTools: FirstTools | undefined;
  /** True while all steps of the current iteration were replayed. `runIteration` and `readInbox` set it; a new step clears it. */
  isIterationReplayed: boolean;
  /**
   * "begun" after the first step with an effect was replayed, "over" after `replay-end` was emitted. Nested runs that share the
   * journal do not use this field.
   */
  replayPhase: "none" | "begun" | "over";
  /** The calls of the last stream, prepared when the stream ended, by call id. Undefined if the stream was replayed. */
  prepared: ReadonlyMap<string, ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome>> | undefined;
  /** The transcript in the forms that requests use. Created for the first request. */
  requestViews: RequestViews | undefined;
  openIteration: OpenIteration | undefined;
  release(): void;
}

/** Changes results before the model reads them. */
export interface ResultProcessor extends ResultProcessing {
  process(run: Run, settled: readonly SettledCall[]): readonly SettledCall[] | PromiseLike<readonly SettledCall[]>;
}

/** Validates the answer against its schema, and turns it into a value. */
export interface OutputReader extends StructuredOutput {
  /** Instructions for the model, which become part of the system text. */
  readonly prompt: string;
  readonly maxRetries: number;
  judge(run: Run, mayAskAgain: boolean): void | PromiseLike<void>;
}

/** The state of one call of a batch, from the end of its message to its result. */
export interface BatchCall {
  readonly call: ToolCall;
  /** The position among the calls of the message. */
  readonly index: number;
  ready: ReadyCall | undefined;
  /** Set if the tool is an agent, so that the call is a nested run. */
  agent: RunnableAgent | undefined;
  deferred: DeferredOutcome | undefined;
  /** The outcome, or the preliminary outcome of a call that is waiting. */
  outcome: ToolOutcome | undefined;
  isLive: boolean | undefined;
  isTold: boolean;
  /**
   * Set while the call waits for a decision or for its result. It has the id for the option `decisions`, and the key of the step
   * that will record the decision or the result.
   */
  question: CallQuestion | undefined;
  /** The ending of the call's nested run, while that run is suspended. */
  suspended: Ending | undefined;
  isApproved: boolean;
  /** Set if the call needs a decision before it runs: for the first time, or again because its tool has changed. */
  mustAsk: "first" | "again" | undefined;
  /** True if the step of the call found that the call needs a decision first. */
  isOpen: boolean;
  /** How often a decision was requested again because the tool had changed. */
  round: number;
  /** How often an execution ended before a decision about the call, and left the decision to a later execution. */
  questions: number;
  /** True if the tool may have run in an earlier execution, which did not record an outcome. */
  mayHaveRun: boolean;
  /** True after a fatal failure of another call. The call may no longer begin, but its recorded outcome is replayed. */
  isBarred: boolean;
  /** True if the nested run replays its records first, and then waits for its turn. */
  awaitsTurn: boolean;
  /** True if the nested run has begun, and waits for permission to continue. */
  hasBegun: boolean;
  /** Parks the nested run of the call. Set when the nested run has begun. */
  park: Park | undefined;
}

/** A question about a waiting call. A later execution can get the answer through the option `decisions`. */
export type CallQuestion = Pick<WaitingCall, "id" | "toolChanges"> & { readonly key: string };

export type DeferredOutcome = Extract<ToolOutcome, { readonly kind: "deferred" }>;

export function toBatchCall(call: ToolCall, index: number): BatchCall {
  return {
    call,
    index,
    ready: undefined,
    agent: undefined,
    deferred: undefined,
    outcome: undefined,
    isLive: undefined,
    isTold: false,
    question: undefined,
    suspended: undefined,
    isApproved: false,
    mustAsk: undefined,
    isOpen: false,
    round: 0,
    questions: 0,
    mayHaveRun: false,
    isBarred: false,
    awaitsTurn: false,
    hasBegun: false,
    park: undefined,
  };
}

export function readyOf({ call, ready }: BatchCall): ReadyCall {
  if (ready === undefined) throw new Error(`The call ${call.callId} was not prepared.`);
  return ready;
}

/** An agent with the code that runs a call as a nested run. */
export interface RunnableAgent extends Agent {
  run(run: Run, one: BatchCall): Promise<void>;
  /** Makes the `Parking` for the nested runs of a batch. */
  createParking(): Parking;
}

export interface Features {
  readonly loopDetection: LoopDetector | undefined;
  readonly masking: ResultMasking | undefined;
  readonly results: ResultProcessor | undefined;
  readonly output: OutputReader | undefined;
}

export function readFeatures({ loopDetection, masking, results, output }: LoopPolicies = {}): Features {
  return {
    loopDetection: loopDetection as LoopDetector | undefined,
    masking: masking as ResultMasking | undefined,
    results: results as ResultProcessor | undefined,
    output: output as OutputReader | undefined,
  };
}

export interface ClaimPorts {
  readonly scope: CancelScope;
  readonly maxInterrupts: number;
}

/** The function that claims each control. `createLoopControl` adds it. All copies of the package share this map. */
export const claims: WeakMap<LoopControl, (ports: ClaimPorts) => ControlClaim> = /* @__PURE__ */ sharedMap("controls");

/** The access of a run to the control that it has claimed. */
export interface ControlClaim {
  /** The messages that were not taken yet, in order. New messages may be added at the end. */
  readonly messages: readonly InboxMessage[];
  takeMessages(count: number): void;
  readonly drains: boolean;
  /** Called when the first tool call of the run is about to start. From then on, no message interrupts the run. */
  startToolChain(): void;
  /** Called after the last look at the inbox. From then on, the control's methods return "finished". */
  shut(): void;
  /** Releases the control. From then on, its methods return "finished". Remaining messages are kept for the next run. */
  release(ending?: EndReason["kind"]): void;
}
