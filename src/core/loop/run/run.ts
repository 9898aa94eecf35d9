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
import type { Prepared, ReadyCall, ToolCallPorts } from "./call.ts";
import type { Decisions } from "./decisions.ts";
import type { LoopEventSink } from "./emit.ts";
import type { LoopDetector, MaskedView, ResultMasking } from "./features.ts";
import type { JournalTraffic } from "./journal-call.ts";
import type { Meter } from "./meter.ts";
import type { Park, Parking } from "./parking.ts";
import type { FirstTools, OpenIteration, RequestViews, VisibleTools } from "./request.ts";
import type { RunBounds } from "./limits.ts";
import { sharedMap } from "../../utils/guards.ts";

/** Returns the common fields of an event. `live` is false for a replayed one. Default true. */
export function eventBase({ runId, state }: Pick<Run, "runId" | "state">, live: boolean = true): EventBase {
  return { runId, iteration: state.iteration, replayed: live ? undefined : true };
}

/** The part of a run that its calls use. */
export interface RunCallPorts extends ToolCallPorts {
  isCurrent(definition: ToolDefinition): boolean;
  /** Removes and returns the metadata of a result. */
  takeMetadata(call: ToolCall): unknown;
  /**
   * The position of each call among the calls of its iteration. Kept for all iterations, because a tool that the loop no longer
   * waits for may end much later.
   */
  readonly places: Map<string, number>;
  /** Returns the position of a call. */
  indexOf(callId: string): number;
  /** The outcomes of the current iteration's calls that were emitted so far. */
  readonly ended: Map<string, ToolOutcome["kind"]>;
  /** Adds a run that a call has started. */
  addNested(callId: string, nested: NestedRun): void;
  /** Returns how many runs a call has started, including its earlier attempts. */
  countNested(callId: string): number;
  /** Removes and returns the runs that a call has started; undefined if there are none. */
  takeNested(callId: string): readonly NestedRun[] | undefined;
}

/** A run inside a call of another run. */
export interface NestedRun {
  readonly run: Run;
  readonly result: Promise<LoopResult>;
}

/** A run that has claimed its resources and taken no step yet. It must be driven or released. */
export interface StartedRun {
  readonly run: Run;
  /** Runs it to its end, and releases it. */
  drive(): Promise<LoopResult>;
}

/** The call that a nested run belongs to, and the run of that call. */
export interface Nesting {
  readonly run: Run;
  readonly callId: string;
  /** True if the steps of the nested run are in the outer run's journal. Default false. */
  readonly isPart?: boolean | undefined;
  readonly park?: Park | undefined;
  /** True if the nested run has to wait for its turn before it does anything new. Default false. */
  readonly awaitsTurn?: boolean | undefined;
}

/** One live run. */
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
  /** The pending steps of the journal. */
  readonly traffic: JournalTraffic;
  readonly scope: CancelScope;
  readonly events: LoopEventSink;
  /** The timer that the streams of the run share. */
  readonly alarm: IdleTimer;
  readonly control: ControlClaim | undefined;
  /** Decisions about calls that wait. */
  readonly decisions: Decisions;
  /** Names that the deliberate gate allows; undefined if it is not active. */
  readonly allowedNames: ReadonlySet<string> | undefined;
  readonly session: Session;
  readonly stopConditions: readonly StopCondition[];
  /** The optional parts that its policies name. */
  readonly features: Features;
  /** The part of the run that its calls use. */
  readonly ports: RunCallPorts;
  /** The number of runs around this one, and the most levels allowed. */
  readonly depth: number;
  readonly maxDepth: number;
  readonly meter: Meter;
  /** The run whose call contains this one. */
  readonly outer: Run | undefined;
  /** True if its steps are in the journal of the outer run. The outer run then decides about retries. */
  readonly isPart: boolean;
  /** Waits before the run is suspended, if it is inside a call. */
  readonly park: Park | undefined;
  /** True while the run only replays its records, until its sibling calls have caught up. */
  awaitsTurn: boolean;
  /** Settles when its turn has come. */
  turn: Promise<void> | undefined;
  /** The runs inside calls of the current batch, if there are any. */
  parking: Parking | undefined;
  /** The transcript as sent to the model, if something may be masked. */
  view: MaskedView | undefined;
  /** Runs inside its calls that share its journal and still hold resources. */
  readonly parts: Set<Run>;
  /** The error that broke the run, for example one of its journal. */
  failure: { readonly error: unknown } | undefined;
  /** Starts the loop again, inside a call of this run. */
  nest(options: LoopOptions, nesting: Nesting): StartedRun;
  /** The visible tools of the last stream. */
  visibleTools: VisibleTools;
  /** Limits the tools of the current iteration; undefined if any tool may run. */
  toolChoice: StreamResult["toolChoice"];
  /** The tools in the first record of the run; undefined for runs that cannot be resumed. */
  firstTools: FirstTools | undefined;
  /** True while all steps of the current iteration were replayed. `runStep` clears it; `runIteration` and `readInbox` set it. */
  replayed: boolean;
  /**
   * "begun" once an acting step was recalled, "over" once `replay-end` was sent. Only kept by the run that the journal belongs to,
   * not by runs inside its calls.
   */
  replay: "none" | "begun" | "over";
  /** The calls of a live stream, as they were judged when it ended; undefined if the stream was replayed. */
  prepared: ReadonlyMap<string, Prepared | Promise<Prepared>> | undefined;
  /** The transcript as the requests show it; made with the first request. */
  requestViews: RequestViews | undefined;
  /** The last stream, until `iteration-end` is sent. */
  openIteration: OpenIteration | undefined;
  /** Releases all resources of the run and its parts. May be called more than once. */
  release(): void;
}

/** Changes results before the model reads them. */
export interface ResultProcessor extends ResultProcessing {
  process(run: Run, settled: readonly SettledCall[]): readonly SettledCall[] | PromiseLike<readonly SettledCall[]>;
}

/** Turns the answer into a value. */
export interface OutputReader extends StructuredOutput {
  /** Instructions for the model, part of the system text. */
  readonly prompt: string;
  readonly maxRetries: number;
  /** Validates the answer, or replays the validation. */
  judge(run: Run, mayAskAgain: boolean): void | PromiseLike<void>;
}

/** The state of one call of a batch, from the end of its message to its result. */
export interface BatchCall {
  readonly call: ToolCall;
  /** The position among the calls of the message. */
  readonly index: number;
  /** Set once the call is ready to run. */
  ready: ReadyCall | undefined;
  /** Set if the call is a run of its own. */
  agent: RunnableAgent | undefined;
  /** Set once the tool has deferred its result. */
  deferred: DeferredOutcome | undefined;
  /** The outcome, or the preliminary outcome of a call that waits. */
  outcome: ToolOutcome | undefined;
  /** True if the outcome was produced in this execution. */
  isLive: boolean | undefined;
  /** True if the outcome was emitted. */
  isTold: boolean;
  /**
   * Set while the call waits for a decision or its result: the id in the option `decisions`, and the key of the step that will
   * record the answer.
   */
  question: CallQuestion | undefined;
  /** The ending of the suspended run inside the call, while it waits. */
  suspended: Ending | undefined;
  /** True if the call was approved. */
  isApproved: boolean;
  /** Set if a decision is required before it runs: for the first time, or again because its tool has changed. */
  mustAsk: "first" | "again" | undefined;
  /** True if its step found that a decision is required first. */
  isOpen: boolean;
  /** How often a decision was requested again because the tool had changed. */
  round: number;
  /** Number of decisions about it that were left to a later execution. */
  questions: number;
  /** True if it may have run in an execution that did not record its end. */
  mayHaveRun: boolean;
  /** Set after a fatal failure: the call may not begin any more, but a recorded outcome is replayed. */
  isBarred: boolean;
  /** True if it replays its records first, and then waits for its turn. */
  awaitsTurn: boolean;
  /** True if it has begun, and waits to go on. */
  hasBegun: boolean;
  /** Parks the run of the call, if it has begun. */
  park: Park | undefined;
}

/** A question for a later execution to answer. */
export type CallQuestion = Pick<WaitingCall, "id" | "toolChanges"> & { readonly key: string };

/** The outcome of a call that waits for its result. */
export type DeferredOutcome = Extract<ToolOutcome, { readonly kind: "deferred" }>;

/** Makes a call in its initial state. */
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

/** Returns the prepared call. Throws if it was not prepared. */
export function readyOf({ call, ready }: BatchCall): ReadyCall {
  if (ready === undefined) throw new Error(`The call ${call.callId} was not prepared.`);
  return ready;
}

/** Runs a call as a run of its own. */
export interface RunnableAgent extends Agent {
  run(run: Run, one: BatchCall): Promise<void>;
  /** Makes the `Parking` for runs inside calls. */
  createParking(): Parking;
}

/** The optional parts of one run. */
export interface Features {
  readonly loopDetection: LoopDetector | undefined;
  readonly masking: ResultMasking | undefined;
  readonly results: ResultProcessor | undefined;
  readonly output: OutputReader | undefined;
}

/** Reads the optional parts from checked policies. */
export function readFeatures({ loopDetection, masking, results, output }: LoopPolicies = {}): Features {
  return {
    loopDetection: loopDetection as LoopDetector | undefined,
    masking: masking as ResultMasking | undefined,
    results: results as ResultProcessor | undefined,
    output: output as OutputReader | undefined,
  };
}

/** The part of a run that a control uses. */
export interface ClaimPorts {
  readonly scope: CancelScope;
  readonly maxInterrupts: number;
}

/** How each control is claimed. `createLoopControl` registers its function here, from any copy of the package. */
export const claims: WeakMap<LoopControl, (ports: ClaimPorts) => ControlClaim> = /* @__PURE__ */ sharedMap("controls");

/** The hold of a run on its control. */
export interface ControlClaim {
  /** Messages that were not taken yet, in order. More may come. */
  readonly messages: readonly InboxMessage[];
  /** Removes the first `count` messages. */
  takeMessages(count: number): void;
  readonly drains: boolean;
  /** Called when the first call of the run is about to start. Nothing interrupts the run from then on. */
  startToolChain(): void;
  /** Called after the last look at the inbox. The verbs return "finished" from then on. */
  shut(): void;
  /** Releases the control, once. The verbs return "finished" from then on, and remaining messages wait for the next run. */
  release(ending?: EndReason["kind"]): void;
}
