// Everything that one run holds.

import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Clock, Session, Timeouts } from "../../types/common.ts";
import type { Agent, LoopOptions, ToolRegistry, LoopControl } from "../../types/loop-options.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { Ending, EndReason } from "../../types/termination.ts";
import type { PendingApproval, ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
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
import type { RunBounds } from "./resolve-policies.ts";
import { sharedMap } from "../../utils/guards.ts";

/** Which run, which iteration, and whether it happened in this execution: default true. */
export function eventBase({ runId, state }: Pick<Run, "runId" | "state">, live: boolean = true): EventBase {
  return { runId, iteration: state.iteration, replayed: live ? undefined : true };
}

/** The part of a run that its calls use. */
export interface RunCallPorts extends ToolCallPorts {
  isCurrent(definition: ToolDefinition): boolean;
  /** The metadata of a result, once. */
  takeMetadata(call: ToolCall): unknown;
  /** The place of each call among the calls of its iteration. Of all iterations: a tool that was left behind may end much later. */
  readonly places: Map<string, number>;
  /** The place of a call. */
  indexOf(callId: string): number;
  /** How the calls of the current iteration ended, as far as listeners were told. */
  readonly ended: Map<string, ToolOutcome["kind"]>;
  /** Notes a run that a call has started. */
  addNested(callId: string, nested: NestedRun): void;
  /** How many runs a call has started, its earlier attempts included. */
  countNested(callId: string): number;
  /** The runs that a call has started, once; undefined for none. */
  takeNested(callId: string): readonly NestedRun[] | undefined;
}

/** A run inside another one's call. */
export interface NestedRun {
  readonly run: Run;
  readonly result: Promise<LoopResult>;
}

/** A run that holds what it needs and has not taken a step yet: it is driven, or released. */
export interface StartedRun {
  readonly run: Run;
  /** Runs it to its end, and releases it. */
  drive(): Promise<LoopResult>;
}

/** The call that a nested run belongs to, and the run of that call. */
export interface Nesting {
  readonly run: Run;
  readonly callId: string;
  /** Whether the nested run's steps are in the outer one's journal. Default false. */
  readonly isPart?: boolean | undefined;
  readonly park?: Park | undefined;
  /** Set if it has to wait for its turn before it does something new. Default false. */
  readonly awaitsTurn?: boolean | undefined;
}

/** One live run. */
export interface Run {
  readonly options: LoopOptions;
  readonly runId: string;
  /** Names this execution of the run: another one over the same journal has another token. */
  readonly token: string;
  readonly registry: ToolRegistry;
  readonly state: LoopState;
  readonly bounds: RunBounds;
  readonly timeouts: Timeouts;
  readonly clock: Clock;
  readonly journal: Journal;
  /** The steps that are under way in the journal. */
  readonly traffic: JournalTraffic;
  readonly scope: CancelScope;
  readonly events: LoopEventSink;
  /** The timer that the streams of the run share. */
  readonly alarm: IdleTimer;
  readonly control: ControlClaim | undefined;
  /** Decisions about calls that wait. */
  readonly decisions: Decisions;
  /** Names that the deliberate gate lets through, where it is active. */
  readonly allowedNames: ReadonlySet<string> | undefined;
  readonly session: Session;
  readonly stopConditions: readonly StopCondition[];
  /** The optional parts that its policies name. */
  readonly features: Features;
  /** The part of the run that its calls use. */
  readonly ports: RunCallPorts;
  /** How many runs there are around this one, and how many levels there may be. */
  readonly depth: number;
  readonly maxDepth: number;
  readonly meter: Meter;
  /** The run that this one is inside a call of. */
  readonly outer: Run | undefined;
  /** Whether its steps are in the journal of the run around it: then that one says whether something is tried again. */
  readonly isPart: boolean;
  /** Waits before it is suspended, where it is inside a call. */
  readonly park: Park | undefined;
  /** Whether it only replays what is recorded, until the calls beside it have come as far. */
  awaitsTurn: boolean;
  /** Settles when its turn has come. */
  turn: Promise<void> | undefined;
  /** The runs inside calls of the current batch, where there are any. */
  parking: Parking | undefined;
  /** The transcript as it is sent, if something may be masked. */
  view: MaskedView | undefined;
  /** The runs inside its calls whose steps are in its journal, as long as they hold something. */
  readonly parts: Set<Run>;
  /** The error that broke the run, such as one of its journal. */
  failure: { readonly error: unknown } | undefined;
  /** Starts the loop again, inside a call of this run. */
  nest(options: LoopOptions, nesting: Nesting): StartedRun;
  /** The tools that the model was shown last. */
  visibleTools: VisibleTools;
  /** Limits the tools of the current iteration; undefined if any tool may run. */
  toolChoice: StreamResult["toolChoice"];
  /** The tools that the run's first record names; undefined in runs that nobody can go on with. */
  firstTools: FirstTools | undefined;
  /** Whether all that the current iteration has done so far was replayed from the journal: `runStep` clears it, and so does `readInbox`. */
  replayed: boolean;
  /** The calls of a turn whose stream was live, as they were found when it ended; undefined where the stream was replayed. */
  prepared: ReadonlyMap<string, Prepared | Promise<Prepared>> | undefined;
  /** The transcript as the requests of the run show it; made with the first one. */
  requestViews: RequestViews | undefined;
  /** The last stream, until listeners are told that its iteration is over. */
  openIteration: OpenIteration | undefined;
  /** Lets go of all that it and its parts hold, once. */
  release(): void;
}

/** Changes results before the model reads them. */
export interface ResultProcessor extends ResultProcessing {
  process(run: Run, settled: readonly SettledCall[]): readonly SettledCall[] | PromiseLike<readonly SettledCall[]>;
}

/** Makes the answer a value. */
export interface OutputReader extends StructuredOutput {
  /** Instructions for the model, part of the system text. */
  readonly prompt: string;
  readonly maxRetries: number;
  /** Validates the answer, or replays what came of it. */
  judge(run: Run, mayAskAgain: boolean): void | PromiseLike<void>;
}

/** One call of a batch, from the end of its message to its result: whatever becomes of it is written down here. */
export interface BatchCall {
  readonly call: ToolCall;
  /** Its place among the calls of the message. */
  readonly index: number;
  /** Set once the call was found fit to run. */
  ready: ReadyCall | undefined;
  /** Set if the call is a run of its own. */
  agent: RunnableAgent | undefined;
  /** Its outcome; the outcome so far for a call that waits. */
  outcome: ToolOutcome | undefined;
  /** Whether the outcome was made in this execution. */
  isLive: boolean | undefined;
  /** Whether listeners know the outcome. */
  isTold: boolean;
  /** Set while the call waits for a decision: its id in the option `decisions`, and the key of the step that will record the decision. */
  question: CallQuestion | undefined;
  /** How the run inside the call was suspended, while it waits. */
  suspended: Ending | undefined;
  /** Whether somebody has decided that it runs. */
  isApproved: boolean;
  /** Set if somebody has to decide before it runs: for the first time, or again because its tool has changed. */
  mustAsk: "first" | "again" | undefined;
  /** Whether its step found that somebody has to decide first. */
  isOpen: boolean;
  /** How often it was asked about again because its tool had changed. */
  round: number;
  /** How many questions about it were left to a later execution. */
  questions: number;
  /** Whether it may have run in an execution that did not record its end. */
  mayHaveRun: boolean;
  /** Set after a fatal failure: the call begins no more, but a recorded outcome is replayed. */
  isBarred: boolean;
  /** Whether it replays its records first, and then waits for its turn. */
  awaitsTurn: boolean;
  /** Whether it has begun, and waits to go on. */
  hasBegun: boolean;
  /** Waits in its place, if it is a run that has begun. */
  park: Park | undefined;
}

/** A question that a later execution has to answer. */
export type CallQuestion = Pick<PendingApproval, "id" | "toolChanges"> & { readonly key: string };

/** A call of which nothing is known yet. */
export function toBatchCall(call: ToolCall, index: number): BatchCall {
  return {
    call,
    index,
    ready: undefined,
    agent: undefined,
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

/** The call as it was found fit to run. */
export function readyOf({ call, ready }: BatchCall): ReadyCall {
  if (ready === undefined) throw new Error(`The call ${call.callId} was not prepared.`);
  return ready;
}

/** Runs a call as a run of its own. */
export interface RunnableAgent extends Agent {
  run(run: Run, one: BatchCall): Promise<void>;
  /** Makes the place where runs inside calls wait. */
  createParking(): Parking;
}

/** The optional parts of one run. */
export interface Features {
  readonly loopDetection: LoopDetector | undefined;
  readonly masking: ResultMasking | undefined;
  readonly results: ResultProcessor | undefined;
  readonly output: OutputReader | undefined;
}

/** The optional parts that checked policies name. */
export function readFeatures({ loopDetection, masking, results, output }: LoopPolicies = {}): Features {
  return {
    loopDetection: loopDetection as LoopDetector | undefined,
    masking: masking as ResultMasking | undefined,
    results: results as ResultProcessor | undefined,
    output: output as OutputReader | undefined,
  };
}

/** The part of a run that its claim needs. */
export interface ClaimPorts {
  readonly scope: CancelScope;
  readonly maxInterrupts: number;
}

/** How each control is claimed: `createLoopControl` adds its code here, whichever copy of the package it comes from. */
export const claims: WeakMap<LoopControl, (ports: ClaimPorts) => ControlClaim> = /* @__PURE__ */ sharedMap("controls");

/** A run's hold on its control. */
export interface ControlClaim {
  /** Messages that were not taken yet, in order; more may come. */
  readonly messages: readonly InboxMessage[];
  /** Takes the first so many of them. */
  takeMessages(count: number): void;
  readonly drains: boolean;
  /** The first call of the run is about to start: from now on nothing interrupts it. */
  startToolChain(): void;
  /** The run has looked for the last time: from then on the verbs answer "finished". */
  shut(): void;
  /** Lets go of the control, once. From then on the verbs answer "finished", and messages that nobody took wait for the next run. */
  release(ending?: EndReason["kind"]): void;
}
