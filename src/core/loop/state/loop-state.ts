// The accumulator of one run: all that is known after the steps so far. Owned by the run and folded in place, so that an iteration costs
// the same at iteration 5 and at iteration 5,000.

import type { Json } from "../../types/json.ts";
import type { Message, ProviderMetadataPart, ToolResultPart, UserMessage } from "../../types/message.ts";
import type { Issue, PlainError, Usage } from "../../types/common.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { Ending, EndReason } from "../../types/termination.ts";
import type {
  ContextRelease,
  ContextRestart,
  PendingApproval,
  ToolCall,
  ToolChange,
  ToolHistoryEntry,
  ToolOutcome,
} from "../../types/tool-outcome.ts";
import { noUsage } from "../../utils/count-usage.ts";

/** A message from outside, and what it asks for: to be sent, to end the run and be the next one's, or nothing any more. */
export interface InboxMessage {
  readonly verb: "steer" | "interrupt" | "keep";
  readonly message: UserMessage;
}

/** The answer of an inbox step. The loop judges this answer, never the live control, so that a replay decides the same. */
export interface InboxAnswer {
  /** Clock time in milliseconds. */
  readonly now: number;
  /** Names the execution that gave the answer: times of different executions do not compare. */
  readonly token: string;
  /** How the run ends, where it was stopped, killed or aborted, or where the wall clock struck: its own, or that of a run around it. */
  readonly ended?: Ending | undefined;
  /** A budget of a run around this one that is used up. */
  readonly spentOutside?: Extract<EndReason, { kind: "max-tokens" | "max-cost" | "cost-unknown" }> | undefined;
  /** Messages to the control since the last look, in order. */
  readonly messages?: readonly InboxMessage[] | undefined;
  readonly drain?: true | undefined;
  /** Iterations whose results the caller wants left out, and did not before. */
  readonly force?: readonly number[] | undefined;
  /** The ending that a last look was for; one for another ending is out of date. */
  readonly before?: string | undefined;
  /** That ending itself, for readers that do not have the limits of the run, and what was folded last before it. */
  readonly ending?: Ending | undefined;
  readonly after?: LoopState["phase"] | undefined;
  /** Set if a steered message came with a last look and the run goes on with it. */
  readonly goesOn?: true | undefined;
}

/** The answer of a hook step. */
export type HookAnswer =
  | { readonly kind: "continue" }
  | { readonly kind: "abort"; readonly reason?: string | undefined }
  | { readonly kind: "failed"; readonly error: PlainError };

/** The verdict on an answer that has to fit a schema: its value, its faults, or how the run ends instead. */
export type OutputAnswer =
  | { readonly kind: "valid"; readonly value: Json }
  | { readonly kind: "invalid"; readonly issues: readonly Issue[] }
  | { readonly kind: "ended"; readonly ending: Ending };

/** Whether the run goes on past a recorded ending. */
export interface ReopenAnswer {
  readonly reopen: boolean;
  /** The ending that it was asked about; an answer about another one is out of date. */
  readonly before: string;
  readonly now: number;
  readonly token: string;
}

/** One call of a batch with its outcome, and the restart that it asked for. */
export interface SettledCall {
  readonly outcome: ToolOutcome;
  readonly restart?: ContextRestart | undefined;
  /** The text that the model reads in place of the result, if a stage of `policies.results` has changed it. */
  readonly textForModel?: string | undefined;
  /** The cost of extracting the result in USD; undefined if unknown. */
  readonly extraction?: { readonly usage: Usage; readonly costUSD: number | undefined } | undefined;
  /** Whether nothing is left to say after its tool. Undefined if the tool does not say. */
  readonly needsNoFollowUp?: boolean | undefined;
  /** Set if somebody has to decide about the call before it can run: the name of the question in `decisions`. */
  readonly awaiting?: string | undefined;
  /** Changes of its tool since somebody was last asked about the call. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
  /** How the run inside the call was suspended. The call is not over, and goes on when the run is resumed. */
  readonly suspended?: Ending | undefined;
}

/** The input of `applyStep`: the answer of one step. */
export type StepResult =
  | { readonly kind: "inbox"; readonly answer: InboxAnswer }
  /** Steered messages join the transcript. */
  | { readonly kind: "steer" }
  | { readonly kind: "model"; readonly result: StreamResult; readonly finalAnswerTo?: Ending | undefined }
  /** `loop` is one that the model is told of, behind the results. */
  | { readonly kind: "batch"; readonly settled: readonly SettledCall[]; readonly loop?: Repeats | undefined }
  /** `complaint` is for the model, where it is asked again. */
  | { readonly kind: "output"; readonly answer: OutputAnswer; readonly complaint?: string | undefined }
  | { readonly kind: "hook"; readonly answer: HookAnswer }
  /** The last look at the inbox before an ending. */
  | { readonly kind: "close"; readonly answer: InboxAnswer; readonly ending: Ending; readonly attempt?: number | undefined }
  | { readonly kind: "reopen"; readonly answer: ReopenAnswer; readonly attempt: number }
  /** The run goes on past a recorded suspension. */
  | { readonly kind: "resume" };

/** Results that a tool has released, and in which iteration it did. */
export interface ReleasedResults {
  readonly iteration: number;
  readonly release: ContextRelease;
}

/** The turn of the current iteration, its earlier continuations included. */
export interface CurrentMessage {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly providerMetadata: readonly ProviderMetadataPart[];
  /** Outcomes of the calls that were started while the model spoke. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
}

/** The calls of the last iteration, and how many iterations in a row have been equal to it. */
export interface IdenticalCalls {
  readonly outcomes: readonly ToolOutcome[];
  /** 0 if one of the calls did not succeed. */
  readonly count: number;
}

/** Before the first iteration, and after one without calls. */
export const noIdenticalCalls: IdenticalCalls = { outcomes: [], count: 0 };

/** How often a cycle has come. */
export interface Repeats {
  /** How many iterations the cycle has. */
  readonly cycle: number;
  readonly count: number;
}

/** Counts repeated calls. Immutable: each method returns the next count. Comes with `detectLoops`. */
export interface Repetition {
  /** Forgets all iterations. */
  restart(): Repetition;
  /** Counts one more iteration. The order of its calls and of the keys of their arguments does not matter. Without calls it starts anew. */
  countCalls(calls: readonly ToolCall[]): Repetition;
  /** Notes the results of the last iteration. If they are compared, iterations with other results differ. */
  noteResults(calls: readonly ToolCall[], results: readonly ToolResultPart[]): Repetition;
  /** Whether the last iteration equals the one `cycle` iterations before it. */
  repeats(cycle: number): boolean;
  /**
   * The shortest cycle that the last iteration has completed for the `threshold`th time, or for a multiple of that. A cycle made of a shorter
   * one is not reported again: A A A A are four times A, not twice A A.
   */
  findRepeats(threshold: number): Repeats | undefined;
}

/** The state of a run. Anybody may read its fields; only `applyStep` writes them. */
export interface LoopState {
  /** The step that was applied last. */
  phase: "start" | StepResult["kind"];
  /** 0-based iteration. */
  iteration: number;
  /** 0-based stream of this iteration; more than one where a paused turn is resent. */
  continuation: number;
  /** Iterations that count towards `maxIterations`. */
  countedIterations: number;
  pauses: number;
  restarts: number;
  toolCallsExecuted: number;

  // transcript
  readonly messages: Message[];
  /** How many of them were there before the run. */
  readonly givenMessages: number;
  /** Every call id in the transcript. */
  readonly heldIds: Set<string>;
  current: CurrentMessage;
  /** Whether the turn already stands at the end of `messages`. */
  isCurrentPlaced: boolean;
  readonly contextItems: Json[];
  /** The context items as one message; made anew when they change. */
  contextMessage: UserMessage | undefined;
  readonly hiddenTools: Set<string>;
  /** Iterations whose results the caller wants left out of what is sent. */
  readonly forcedIterations: number[];
  /** Releases that tools asked for, in order. */
  readonly releases: ReleasedResults[];

  // results
  readonly streamResults: StreamResult[];
  readonly functionHistory: ToolHistoryEntry[];
  readonly modelParts: ProviderMetadataPart[];
  finalText: string;
  detailsText: string;
  thoughtLog: Json | undefined;
  /** A tool has delivered content that users see. */
  contentDelivered: boolean;
  usage: Usage;
  /** USD; undefined once the cost of one iteration is unknown. */
  costUSD: number | undefined;
  /** The first stream of this run whose cost is not known, and its iteration. */
  unpriced: (NonNullable<StreamResult["unpriced"]> & { readonly iteration: number }) | undefined;
  /** USD, of the streams whose cost is known. */
  spentUSD: number;
  /** USD of the last stream whose cost is known: what one more is taken to cost. */
  lastCostUSD: number;

  /** Messages from outside that have not been sent. */
  readonly unsent: InboxMessage[];
  /** Whether the model has asked for tools: from then on nothing interrupts. */
  chainStarted: boolean;

  // counters and what the last steps said
  consecutiveToolErrors: number;
  /** The most errors in a row that the last batch reached, also where a later call succeeded. */
  errorPeak: number;
  lastInbox: InboxAnswer | undefined;
  activeMs: number;
  lastHook: HookAnswer | undefined;
  lastBatch: readonly SettledCall[];
  /** A batch has crossed `maxToolCalls`. */
  toolLimitReached: boolean;
  /** The model has asked for tools even after that. */
  toolLimitBroken: boolean;
  /** How the calls of the last iterations repeat; undefined where nobody looks. */
  repetition: Repetition | undefined;
  /** How many iterations in a row have done the same. */
  identical: IdenticalCalls;
  /** The verdict on the last answer, until the next iteration. */
  lastOutput: OutputAnswer | undefined;
  /** Answers in a row that did not fit. */
  invalidAnswers: number;
  /** The ending whose final answer the last iteration was. */
  finalAnswerTo: Ending | undefined;
  /** The retry that the run is in; 0 before the first. */
  retry: number;
  /** How often the run was resumed past a suspension of this iteration. */
  resumes: number;
  /** How often the inbox was read before an ending in this iteration. */
  endChecks: number;
  /** How many messages there were when this iteration began. */
  iterationStart: number;
  /** The state before the message of this iteration added to it. */
  beforeTurn: BeforeMessage;
  /** The step that was applied last before the ending. */
  closedAfter: LoopState["phase"];
  /** How the run ends, once that is decided. */
  ending: Ending | undefined;
}

/** The start of a new run. */
export interface InitialState {
  readonly messages: readonly Message[];
  readonly heldIds: Iterable<string>;
  readonly contextItems: readonly Json[];
  /** Whether costs can be known at all. */
  readonly priced: boolean;
  /** Counts repeated calls. Default: they are not counted. */
  readonly repetition?: Repetition | undefined;
}

/** Restored by a retry that takes a message back. */
export interface BeforeMessage {
  readonly modelParts: number;
  readonly functionHistory: number;
  readonly finalText: string;
  readonly detailsText: string;
  readonly thoughtLog: Json | undefined;
}

const nothingBefore: BeforeMessage = {
  modelParts: 0,
  functionHistory: 0,
  finalText: "",
  detailsText: "",
  thoughtLog: undefined,
};

/** A turn that has not begun. */
export const emptyMessage: CurrentMessage = { text: "", reasoning: "", calls: [], providerMetadata: [] };

/** The state before the first step. */
export function createLoopState(initial: InitialState): LoopState {
  return {
    phase: "start",
    iteration: 0,
    continuation: 0,
    countedIterations: 0,
    pauses: 0,
    restarts: 0,
    toolCallsExecuted: 0,
    messages: [...initial.messages],
    givenMessages: initial.messages.length,
    heldIds: new Set(initial.heldIds),
    current: emptyMessage,
    isCurrentPlaced: false,
    contextItems: [...initial.contextItems],
    contextMessage: toContextMessage(initial.contextItems),
    hiddenTools: new Set(),
    forcedIterations: [],
    releases: [],
    streamResults: [],
    functionHistory: [],
    modelParts: [],
    finalText: "",
    detailsText: "",
    thoughtLog: undefined,
    contentDelivered: false,
    unsent: [],
    chainStarted: false,
    usage: noUsage,
    costUSD: initial.priced ? 0 : undefined,
    unpriced: undefined,
    spentUSD: 0,
    lastCostUSD: 0,
    consecutiveToolErrors: 0,
    errorPeak: 0,
    lastInbox: undefined,
    activeMs: 0,
    lastHook: undefined,
    lastBatch: [],
    toolLimitReached: false,
    toolLimitBroken: false,
    repetition: initial.repetition,
    identical: noIdenticalCalls,
    lastOutput: undefined,
    invalidAnswers: 0,
    finalAnswerTo: undefined,
    retry: 0,
    resumes: 0,
    endChecks: 0,
    iterationStart: 0,
    beforeTurn: nothingBefore,
    closedAfter: "start",
    ending: undefined,
  };
}

/** Renders context items as the message that closes each view. */
export function toContextMessage(items: readonly Json[]): UserMessage | undefined {
  if (items.length === 0) return undefined;
  const lines = items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  return { role: "user", content: ["Context:", ...lines].join("\n") };
}

/** The things that the last batch waits for: decisions about its calls, or runs inside them that were suspended. */
export function suspensionOf({ lastBatch }: LoopState): Ending | undefined {
  const calls = lastBatch.flatMap(pendingIn);
  if (calls.length > 0) return { status: "suspended", reason: { kind: "approval-required", calls } };
  return lastBatch.find(({ suspended }) => suspended !== undefined)?.suspended;
}

function pendingIn({ outcome: { call }, awaiting, toolChanges, suspended }: SettledCall): readonly PendingApproval[] {
  const { callId, name, args } = call;
  if (awaiting !== undefined)
    return [{ id: awaiting, callId, name, args, ...(toolChanges === undefined ? {} : { toolChanges }) }];
  if (suspended?.reason.kind !== "approval-required") return [];
  return suspended.reason.calls.map((inner) => ({ ...inner, id: `${callId}/${inner.id}` }));
}
