// Everything that one run holds.

import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Deadline, DeadlinePorts } from "../../cancellation/deadline.ts";
import type { Clock, Session, Timeouts } from "../../types/common.ts";
import type { Json } from "../../types/json.ts";
import type { LoopOptions, ToolContext, ToolRegistry } from "../../types/loop-options.ts";
import type { RequestTranscript, StreamResult } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ShownTool, ToolCall, ToolChange, ToolOutcome } from "../../types/tool-outcome.ts";
import type { EventBase } from "../../types/loop-event.ts";
import type { Journal } from "../../types/journal.ts";
import type { Message } from "../../types/message.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { StopCondition } from "../../types/policies.ts";
import type { Ending } from "../../types/termination.ts";
import type { IdleTimer } from "../../cancellation/idle-timer.ts";
import type { WantedOutput } from "../../policies/structured-output.ts";
import type { MaskedView } from "../state/masked-view.ts";
import type { LoopState } from "../state/loop-state.ts";
import type { ControlClaim, Decisions } from "./decisions.ts";
import type { LoopEventSink } from "./emit.ts";
import type { JournalTraffic } from "./journal-call.ts";
import type { Meter } from "./meter.ts";
import type { Park, Parking } from "./parking.ts";
import type { RunBounds } from "./resolve-policies.ts";

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

/** Which run, which iteration, and whether it happened in this execution: default true. */
export function eventBase({ runId, state }: Pick<Run, "runId" | "state">, live: boolean = true): EventBase {
  return { runId, iteration: state.iteration, replayed: live ? undefined : true };
}

/** What the calls of a run see of it. */
export interface RunCallPorts extends ToolCallPorts {
  isCurrent(definition: ToolDefinition): boolean;
  /** What a result carried for listeners only, once. */
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

/** A stream whose end listeners have not heard of. */
export interface OpenIteration {
  readonly result: StreamResult;
  readonly continuation: number;
  /** The calls of earlier streams of the iteration. */
  readonly earlier: readonly ToolCall[];
  /** Whether it was streamed in this execution. */
  readonly live: boolean;
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
  /** What goes on over the journal. */
  readonly traffic: JournalTraffic;
  readonly scope: CancelScope;
  readonly events: LoopEventSink;
  /** The timer that the streams of the run share. */
  readonly alarm: IdleTimer;
  readonly control: ControlClaim | undefined;
  /** What was decided about calls that wait. */
  readonly decisions: Decisions;
  /** Names that the deliberate gate lets through, where it is active. */
  readonly allowedNames: ReadonlySet<string> | undefined;
  readonly session: Session;
  readonly stopConditions: readonly StopCondition[];
  /** The answer that is wanted, where it has to fit a schema. */
  readonly output: WantedOutput | undefined;
  /** What the calls of the run see of it. */
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
  /** What is sent in place of the transcript, where something may be masked. */
  view: MaskedView | undefined;
  /** The runs inside its calls whose steps are in its journal, as long as they hold something. */
  readonly parts: Set<Run>;
  /** What broke the run, such as a journal that threw. */
  failure: { readonly error: unknown } | undefined;
  /** Starts the loop again, inside a call of this run. */
  nest(options: LoopOptions, nesting: Nesting): StartedRun;
  /** The tools that the model was shown last. */
  visibleTools: VisibleTools;
  /** What `toolChoice` forbids in the current iteration; undefined if any tool may run. */
  toolChoice: StreamResult["toolChoice"];
  /** The tools that the run's first record names; undefined in runs that nobody can go on with. */
  firstTools: FirstTools | undefined;
  /** Whether all that the current iteration has done so far was replayed from the journal: `runStep` clears it, and so does `readInbox`. */
  replayed: boolean;
  /** The calls of a turn whose stream was live, as they were found when it ended; undefined where the stream was replayed. */
  prepared: ReadonlyMap<string, Prepared | Promise<Prepared>> | undefined;
  /** What the requests of the run show of its transcript; made with the first one. */
  requestViews: RequestViews | undefined;
  /** The last stream, until listeners are told that its iteration is over. */
  openIteration: OpenIteration | undefined;
  /** Lets go of all that it and its parts hold, once. */
  release(): void;
}

/** The tools that a run began with. */
interface FirstTools {
  readonly shown: { readonly [name: string]: ShownTool };
  /** The definitions that they were made of; undefined where an execution before this one began the run. */
  readonly registered: readonly ToolDefinition[] | undefined;
}

/** What a replayed iteration says of the tools of its calls. */
interface RecordedTools {
  /** Whether a policy was there to decide about the calls. */
  readonly asks: boolean;
  /** The called tools as they were shown. */
  readonly tools: ReadonlyMap<string, ShownTool>;
  /** Changes since then that break calls, by tool. */
  readonly changes: ReadonlyMap<string, readonly ToolChange[]>;
}

/** Tools by name, and the definitions that they were made from. */
export interface VisibleTools {
  readonly tools: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  /** The definitions that it may be used again for; none where it is for one iteration. */
  readonly source: readonly ToolDefinition[];
  /** What the registry gave when it was made. */
  readonly registered: readonly ToolDefinition[];
  /** Set in a replayed iteration. */
  readonly recorded?: RecordedTools | undefined;
  readonly hiddenCount: number;
  /** Whether one of them starts early. */
  readonly hasEager: boolean;
  /** Whether one of them wants calls to be decided about. */
  readonly hasApproval: boolean;
}

/** No tools, made from nothing: never mistaken for what a registry says. */
export const noVisibleTools: VisibleTools = {
  tools: [],
  byName: new Map(),
  source: [],
  registered: [],
  hiddenCount: -1,
  hasEager: false,
  hasApproval: false,
};

/** The lists of the requests of one run. */
export interface RequestViews {
  /** The messages to send. */
  sent(): readonly Message[];
  /** The same, as a property of each request: one getter for all of them costs little. */
  readonly messages: PropertyDescriptor;
  readonly transcript: RequestTranscript;
}
