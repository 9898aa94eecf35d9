// The state of one run after the steps that were applied so far. The state is updated in place, so that iteration 5,000 takes as
// long as iteration 5.

import type { Json } from "../../types/json.ts";
import type { Message, ProviderMetadataPart, ToolResultPart, UserMessage } from "../../types/message.ts";
import type { Issue, PlainError, Usage } from "../../types/common.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { Ending, EndReason } from "../../types/termination.ts";
import type {
  ContextRelease,
  ContextRestart,
  WaitingCall,
  ToolCall,
  ToolChange,
  ToolHistoryEntry,
  ToolOutcome,
} from "../../types/tool-outcome.ts";
import { noUsage } from "../../utils/count-usage.ts";

/** A message to a run. "steer" sends it to the model, "interrupt" ends the run with it, and "keep" only returns it at the end. */
export interface InboxMessage {
  readonly verb: "steer" | "interrupt" | "keep";
  readonly message: UserMessage;
}

/** The result of an inbox step. The loop uses this result and not the live control, so that a replay makes the same decisions. */
export interface InboxAnswer {
  /** The time of the run's clock in milliseconds. */
  readonly now: number;
  /** Identifies the execution that ran the step. Times from different executions are not comparable. */
  readonly token: string;
  /** Set if the run was stopped, killed or aborted, or if its wall clock or an outer run's wall clock expired. */
  readonly ended?: Ending | undefined;
  /** Set if a budget of an outer run is exhausted. */
  readonly spentOutside?: Extract<EndReason, { kind: "max-tokens" | "max-cost" | "cost-unknown" }> | undefined;
  /** The messages sent to the control since the inbox was last read, in order. */
  readonly messages?: readonly InboxMessage[] | undefined;
  readonly drain?: true | undefined;
  /** The iterations that the caller has newly added to `force` of `maskResults`. */
  readonly force?: readonly number[] | undefined;
  /** For a last look: the key of the ending that follows. A recorded look before another ending is out of date. */
  readonly before?: string | undefined;
  /** For a last look: the ending, and in `after` the phase before it. For code that reads a journal without the run's limits. */
  readonly ending?: Ending | undefined;
  readonly after?: LoopState["phase"] | undefined;
  /** Set if a last look found a steered message, with which the run continues. */
  readonly goesOn?: true | undefined;
}

/** The result of a hook step. */
export type HookAnswer =
  | { readonly kind: "continue" }
  | { readonly kind: "abort"; readonly reason?: string | undefined }
  | { readonly kind: "failed"; readonly error: PlainError };

/** The result of validating an answer against its schema: the value, the issues, or the ending if the validation failed. */
export type OutputAnswer =
  | { readonly kind: "valid"; readonly value: Json }
  | { readonly kind: "invalid"; readonly issues: readonly Issue[] }
  | { readonly kind: "ended"; readonly ending: Ending };

/** The decision to retry after a recorded ending. */
export interface ReopenAnswer {
  readonly reopen: boolean;
  /** The key of the ending that the decision is about. A decision about another ending is out of date. */
  readonly before: string;
  readonly now: number;
  readonly token: string;
}

/** One call of a batch, with its outcome and its effects on the run. */
export interface SettledCall {
  readonly outcome: ToolOutcome;
  readonly restart?: ContextRestart | undefined;
  /** The text that replaces the result for the model, if a stage of `policies.results` changed it. */
  readonly textForModel?: string | undefined;
  /** The usage and the cost in USD of extracting the result. `costUSD` is undefined if the cost is unknown. */
  readonly extraction?: { readonly usage: Usage; readonly costUSD: number | undefined } | undefined;
  /** True if the model has nothing to add after this tool. Undefined if the tool does not say. */
  readonly needsNoFollowUp?: boolean | undefined;
  /** Set while the call waits: the id for the option `decisions`. The call waits for its result if the outcome is "deferred". */
  readonly awaiting?: string | undefined;
  /** The changes to the tool since a decision was last requested. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
  /** The ending of the call's suspended nested run. The call is not over: it continues when the run is resumed. */
  readonly suspended?: Ending | undefined;
}

/** The input of `applyStep`: the result of one step. */
export type StepResult =
  | { readonly kind: "inbox"; readonly answer: InboxAnswer }
  /** The messages sent with `steer` are added to the transcript. */
  | { readonly kind: "steer" }
  | { readonly kind: "model"; readonly result: StreamResult; readonly finalAnswerTo?: Ending | undefined }
  /** `loop` is the loop about which the model gets a warning, after the results. */
  | { readonly kind: "batch"; readonly settled: readonly SettledCall[]; readonly loop?: Repeats | undefined }
  /** `complaint` is the message that asks the model for another answer. */
  | { readonly kind: "output"; readonly answer: OutputAnswer; readonly complaint?: string | undefined }
  | { readonly kind: "hook"; readonly answer: HookAnswer }
  /** The last look at the inbox before an ending. */
  | { readonly kind: "last-look"; readonly answer: InboxAnswer; readonly ending: Ending; readonly attempt?: number | undefined }
  | { readonly kind: "reopen"; readonly answer: ReopenAnswer; readonly attempt: number }
  /** The run continues past a recorded suspension. */
  | { readonly kind: "resume" };

/** The results that a tool released, and the iteration in which it did so. */
export interface ReleasedResults {
  readonly iteration: number;
  readonly release: ContextRelease;
}

/** The assistant message of the current iteration, including its earlier continuations. */
export interface CurrentMessage {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly providerMetadata: readonly ProviderMetadataPart[];
  /** The outcomes of the calls that were started while the model was streaming. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
}

/** The calls of the last iteration, and the number of consecutive identical iterations. */
export interface IdenticalCalls {
  readonly outcomes: readonly ToolOutcome[];
  /** 0 if a call did not succeed. */
  readonly count: number;
}

/** The value before the first iteration, and after an iteration without calls. */
export const noIdenticalCalls: IdenticalCalls = { outcomes: [], count: 0 };

/** A cycle of iterations, and how often it occurred. */
export interface Repeats {
  /** The number of iterations in the cycle. */
  readonly cycle: number;
  readonly count: number;
}

/** Counts repeated calls. Immutable: each method returns the next count. Provided by `detectLoops`. */
export interface Repetition {
  /** Forgets all iterations. */
  restart(): Repetition;
  /**
   * Counts one more iteration. The order of its calls and of the keys in their arguments does not matter. An iteration without
   * calls resets the count.
   */
  countCalls(calls: readonly ToolCall[]): Repetition;
  /** Adds the results of the last iteration. If results are compared, an iteration only repeats another if both have the same results. */
  noteResults(calls: readonly ToolCall[], results: readonly ToolResultPart[]): Repetition;
  /** Returns true if the last iteration equals the one `cycle` iterations before it. */
  repeats(cycle: number): boolean;
  /**
   * Returns the shortest cycle that has now occurred `threshold` times in a row, or a multiple of `threshold` times. A cycle that
   * consists of a shorter cycle is not reported: A A A A is four times A, not twice A A.
   */
  findRepeats(threshold: number): Repeats | undefined;
}

/** The state of a run. Only `applyStep` writes its fields. */
export interface LoopState {
  /** The step that was applied last. */
  phase: "start" | StepResult["kind"];
  /** The index of the iteration, counted from 0. */
  iteration: number;
  /** The index of the stream in this iteration, counted from 0. Continuations have an index above 0. */
  continuation: number;
  /** The number of iterations that count towards `maxIterations`. */
  countedIterations: number;
  pauses: number;
  restarts: number;
  toolCallsExecuted: number;

  readonly messages: Message[];
  /** The number of messages that were passed to the run. They are the first in `messages`. */
  readonly givenMessages: number;
  /** All call ids in the transcript. */
  readonly heldIds: Set<string>;
  current: CurrentMessage;
  /** True if the current message is already at the end of `messages`. */
  isCurrentPlaced: boolean;
  readonly contextItems: Json[];
  /** The context items in the form of one message. It is built again when the items change. */
  contextMessage: UserMessage | undefined;
  readonly hiddenTools: Set<string>;
  /** The iterations whose results the caller masks with `force` of `maskResults`. */
  readonly forcedIterations: number[];
  /** The results that tools have released, in order. */
  readonly releases: ReleasedResults[];

  readonly streamResults: StreamResult[];
  readonly functionHistory: ToolHistoryEntry[];
  readonly modelParts: ProviderMetadataPart[];
  finalText: string;
  detailsText: string;
  thoughtLog: Json | undefined;
  /** True if a tool has returned content parts, which users see. */
  contentDelivered: boolean;
  usage: Usage;
  /** The cost of the run in USD. Undefined after an iteration whose cost is unknown. */
  costUSD: number | undefined;
  /** The first stream whose cost is unknown, and its iteration. */
  unpriced: (NonNullable<StreamResult["unpriced"]> & { readonly iteration: number }) | undefined;
  /** The sum of the known costs in USD. */
  spentUSD: number;
  /** The cost in USD of the last stream with a known cost. The next stream is assumed to cost the same. */
  lastCostUSD: number;

  /** The messages to the run that were not sent to the model. */
  readonly unsent: InboxMessage[];
  /** True after the first batch of tool calls. From then on, no message interrupts the run. */
  chainStarted: boolean;

  consecutiveToolErrors: number;
  /** The highest number of consecutive errors during the last batch, even if a later call succeeded. */
  errorPeak: number;
  lastInbox: InboxAnswer | undefined;
  activeMs: number;
  lastHook: HookAnswer | undefined;
  lastBatch: readonly SettledCall[];
  /** True if a batch had more calls than `maxToolCalls` allows. */
  toolLimitReached: boolean;
  /** True if the model has requested tools although `maxToolCalls` was reached. */
  toolLimitBroken: boolean;
  /** Counts repeated calls. Undefined without loop detection. */
  repetition: Repetition | undefined;
  /** The consecutive identical iterations. */
  identical: IdenticalCalls;
  /** The validation of the last answer, until the next iteration. */
  lastOutput: OutputAnswer | undefined;
  /** The number of consecutive answers that did not fit their schema. */
  invalidAnswers: number;
  /** Set if the last stream was a final answer: the ending of the run after the answer. */
  finalAnswerTo: Ending | undefined;
  /** The number of the current retry. 0 before the first retry. */
  retry: number;
  /** How often the run was resumed after a suspension in this iteration. */
  resumes: number;
  /** How often the inbox was read before an ending in this iteration. */
  endChecks: number;
  /** The number of messages when this iteration began. */
  iterationStart: number;
  /** The values from before this iteration's message was added. */
  beforeMessage: BeforeMessage;
  /** The last step before the ending. */
  closedAfter: LoopState["phase"];
  /** The ending. Undefined until it is decided. */
  ending: Ending | undefined;
}

/** The inputs of a new run. */
export interface InitialState {
  readonly messages: readonly Message[];
  readonly heldIds: Iterable<string>;
  readonly contextItems: readonly Json[];
  /** True if the run has `pricing`. */
  readonly priced: boolean;
  /** Counts repeated calls. Default: repeated calls are not counted. */
  readonly repetition?: Repetition | undefined;
}

/** The values that are restored when a retry removes the last message. The numbers are array lengths. */
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

export const emptyMessage: CurrentMessage = { text: "", reasoning: "", calls: [], providerMetadata: [] };

/** Returns the state before the first step. */
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
    beforeMessage: nothingBefore,
    closedAfter: "start",
    ending: undefined,
  };
}

/** Returns the message for the context items, which is the last message in each request. */
export function toContextMessage(items: readonly Json[]): UserMessage | undefined {
  if (items.length === 0) return undefined;
  const lines = items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  return { role: "user", content: ["Context:", ...lines].join("\n") };
}

/** Returns what a waiting call needs, and whether a page may send it. */
export function neededBy(outcome: ToolOutcome): Pick<WaitingCall, "waitsFor" | "fromPage"> {
  if (outcome.kind !== "deferred") return { waitsFor: "approval" };
  return outcome.fromPage === true ? { waitsFor: "result", fromPage: true } : { waitsFor: "result" };
}

/** Returns the suspension of the run if calls of the last batch wait, or if their nested runs are suspended. */
export function suspensionOf({ lastBatch }: LoopState): Ending | undefined {
  const calls = lastBatch.flatMap(pendingIn);
  const isAsking = calls.some(({ waitsFor }) => waitsFor === "approval");
  if (calls.length > 0)
    return { status: "suspended", reason: { kind: isAsking ? "approval-required" : "result-required", calls } };
  return lastBatch.find(({ suspended }) => suspended !== undefined)?.suspended;
}

function pendingIn({ outcome, awaiting, toolChanges, suspended }: SettledCall): readonly WaitingCall[] {
  const { callId, name, args } = outcome.call;
  if (awaiting !== undefined)
    return [{ id: awaiting, callId, name, args, ...neededBy(outcome), ...(toolChanges === undefined ? {} : { toolChanges }) }];
  if (suspended === undefined || !("calls" in suspended.reason)) return [];
  return suspended.reason.calls.map((inner) => ({ ...inner, id: `${callId}/${inner.id}` }));
}
