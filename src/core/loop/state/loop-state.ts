// The state of one run after its steps so far. It is updated in place, so that an iteration costs the same at iteration 5 and at
// iteration 5,000.

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

/** A message from outside with its verb: "steer" sends it, "interrupt" ends the run for it, "keep" only keeps it. */
export interface InboxMessage {
  readonly verb: "steer" | "interrupt" | "keep";
  readonly message: UserMessage;
}

/** The result of an inbox step. The loop reads this result, never the live control, so that a replay decides the same. */
export interface InboxAnswer {
  /** Clock time in milliseconds. */
  readonly now: number;
  /** Identifies the execution of the step. Times of different executions are not comparable. */
  readonly token: string;
  /** The ending if the run was stopped, killed or aborted, or reached a wall-clock limit of its own or of an outer run. */
  readonly ended?: Ending | undefined;
  /** The exhausted budget of an outer run. */
  readonly spentOutside?: Extract<EndReason, { kind: "max-tokens" | "max-cost" | "cost-unknown" }> | undefined;
  /** Messages to the control since the last look, in order. */
  readonly messages?: readonly InboxMessage[] | undefined;
  readonly drain?: true | undefined;
  /** Iterations whose results the caller newly wants to leave out. */
  readonly force?: readonly number[] | undefined;
  /** The ending that a last look was for. A look for another ending is out of date. */
  readonly before?: string | undefined;
  /** That ending with the phase before it, for readers without the limits of the run. */
  readonly ending?: Ending | undefined;
  readonly after?: LoopState["phase"] | undefined;
  /** Set if a steered message came with a last look, and the run goes on with it. */
  readonly goesOn?: true | undefined;
}

/** The answer of a hook step. */
export type HookAnswer =
  | { readonly kind: "continue" }
  | { readonly kind: "abort"; readonly reason?: string | undefined }
  | { readonly kind: "failed"; readonly error: PlainError };

/** The validation of an answer against its schema: its value, its issues, or the ending of the run instead. */
export type OutputAnswer =
  | { readonly kind: "valid"; readonly value: Json }
  | { readonly kind: "invalid"; readonly issues: readonly Issue[] }
  | { readonly kind: "ended"; readonly ending: Ending };

/** The decision to retry after a recorded ending. */
export interface ReopenAnswer {
  readonly reopen: boolean;
  /** The ending that it decides about. A decision about another ending is out of date. */
  readonly before: string;
  readonly now: number;
  readonly token: string;
}

/** One call of a batch with its outcome, and the restart that it requested. */
export interface SettledCall {
  readonly outcome: ToolOutcome;
  readonly restart?: ContextRestart | undefined;
  /** The text that replaces the result for the model, if a stage of `policies.results` changed it. */
  readonly textForModel?: string | undefined;
  /** The cost of extracting the result in USD; undefined if unknown. */
  readonly extraction?: { readonly usage: Usage; readonly costUSD: number | undefined } | undefined;
  /** True if the model has nothing to add after this tool. Undefined if the tool does not specify it. */
  readonly needsNoFollowUp?: boolean | undefined;
  /** Set if the call waits for a decision, or for its result if the outcome is "deferred": the id of the question in `decisions`. */
  readonly awaiting?: string | undefined;
  /** Changes of its tool since the last request for a decision. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
  /** The ending of the suspended run inside the call. The call is not over, and goes on when the run is resumed. */
  readonly suspended?: Ending | undefined;
}

/** The input of `applyStep`: the result of one step. */
export type StepResult =
  | { readonly kind: "inbox"; readonly answer: InboxAnswer }
  /** Steered messages join the transcript. */
  | { readonly kind: "steer" }
  | { readonly kind: "model"; readonly result: StreamResult; readonly finalAnswerTo?: Ending | undefined }
  /** `loop` is a loop that the model is warned of after the results. */
  | { readonly kind: "batch"; readonly settled: readonly SettledCall[]; readonly loop?: Repeats | undefined }
  /** `complaint` is the message to the model if it is asked again. */
  | { readonly kind: "output"; readonly answer: OutputAnswer; readonly complaint?: string | undefined }
  | { readonly kind: "hook"; readonly answer: HookAnswer }
  /** The last look at the inbox before an ending. */
  | { readonly kind: "last-look"; readonly answer: InboxAnswer; readonly ending: Ending; readonly attempt?: number | undefined }
  | { readonly kind: "reopen"; readonly answer: ReopenAnswer; readonly attempt: number }
  /** The run goes on past a recorded suspension. */
  | { readonly kind: "resume" };

/** The results that a tool released, and the iteration of the release. */
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
  /** Outcomes of the calls that were started during the stream. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
}

/** The calls of the last iteration, and the number of consecutive identical iterations. */
export interface IdenticalCalls {
  readonly outcomes: readonly ToolOutcome[];
  /** 0 if one of the calls did not succeed. */
  readonly count: number;
}

/** The value before the first iteration, and after one without calls. */
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
  /** Adds the results of the last iteration. If results are compared, iterations with different results differ. */
  noteResults(calls: readonly ToolCall[], results: readonly ToolResultPart[]): Repetition;
  /** Returns true if the last iteration equals the one `cycle` iterations before it. */
  repeats(cycle: number): boolean;
  /**
   * Returns the shortest cycle that the last iteration has completed for the `threshold`th time, or for a multiple of it. A cycle
   * that consists of a shorter one is not reported: A A A A is four times A, not twice A A.
   */
  findRepeats(threshold: number): Repeats | undefined;
}

/** The state of a run. Only `applyStep` writes its fields. */
export interface LoopState {
  /** The step that was applied last. */
  phase: "start" | StepResult["kind"];
  /** 0-based iteration. */
  iteration: number;
  /** 0-based stream of this iteration; above 0 for continuations. */
  continuation: number;
  /** Iterations that count towards `maxIterations`. */
  countedIterations: number;
  pauses: number;
  restarts: number;
  toolCallsExecuted: number;

  readonly messages: Message[];
  /** How many of them were passed to the run. */
  readonly givenMessages: number;
  /** Every call id in the transcript. */
  readonly heldIds: Set<string>;
  current: CurrentMessage;
  /** True if the current message is already at the end of `messages`. */
  isCurrentPlaced: boolean;
  readonly contextItems: Json[];
  /** The context items as one message; rebuilt when they change. */
  contextMessage: UserMessage | undefined;
  readonly hiddenTools: Set<string>;
  /** Iterations whose results the caller wants to leave out of requests. */
  readonly forcedIterations: number[];
  /** Releases by tools, in order. */
  readonly releases: ReleasedResults[];

  readonly streamResults: StreamResult[];
  readonly functionHistory: ToolHistoryEntry[];
  readonly modelParts: ProviderMetadataPart[];
  finalText: string;
  detailsText: string;
  thoughtLog: Json | undefined;
  /** True if a tool has delivered content that users see. */
  contentDelivered: boolean;
  usage: Usage;
  /** USD; undefined once the cost of one iteration is unknown. */
  costUSD: number | undefined;
  /** The first stream of this run with unknown cost, and its iteration. */
  unpriced: (NonNullable<StreamResult["unpriced"]> & { readonly iteration: number }) | undefined;
  /** USD; the sum of the known costs. */
  spentUSD: number;
  /** USD of the last stream with a known cost. The next stream is assumed to cost the same. */
  lastCostUSD: number;

  /** Messages from outside that have not been sent. */
  readonly unsent: InboxMessage[];
  /** True once the model has requested tools. Nothing interrupts the run from then on. */
  chainStarted: boolean;

  consecutiveToolErrors: number;
  /** Most consecutive errors within the last batch, even if a later call succeeded. */
  errorPeak: number;
  lastInbox: InboxAnswer | undefined;
  activeMs: number;
  lastHook: HookAnswer | undefined;
  lastBatch: readonly SettledCall[];
  /** True if a batch has crossed `maxToolCalls`. */
  toolLimitReached: boolean;
  /** True if the model has requested tools even after that. */
  toolLimitBroken: boolean;
  /** The repetition of the last calls; undefined without loop detection. */
  repetition: Repetition | undefined;
  /** The consecutive identical iterations. */
  identical: IdenticalCalls;
  /** The validation of the last answer, until the next iteration. */
  lastOutput: OutputAnswer | undefined;
  /** Consecutive answers that did not fit. */
  invalidAnswers: number;
  /** The ending that the last iteration was the final answer to. */
  finalAnswerTo: Ending | undefined;
  /** The number of the current retry; 0 before the first. */
  retry: number;
  /** How often the run was resumed after a suspension in this iteration. */
  resumes: number;
  /** How often the inbox was read before an ending in this iteration. */
  endChecks: number;
  /** The number of messages when this iteration began. */
  iterationStart: number;
  /** The state before this iteration's message was added. */
  beforeMessage: BeforeMessage;
  /** The last step before the ending. */
  closedAfter: LoopState["phase"];
  /** The ending, once it is decided. */
  ending: Ending | undefined;
}

/** The inputs of a new run. */
export interface InitialState {
  readonly messages: readonly Message[];
  readonly heldIds: Iterable<string>;
  readonly contextItems: readonly Json[];
  /** True if the run has `pricing`. */
  readonly priced: boolean;
  /** Counts repeated calls. Default: they are not counted. */
  readonly repetition?: Repetition | undefined;
}

/** The values that a retry restores when it removes a message. */
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

/** An empty message. */
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

/** Renders context items as the last message of each request. */
export function toContextMessage(items: readonly Json[]): UserMessage | undefined {
  if (items.length === 0) return undefined;
  const lines = items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  return { role: "user", content: ["Context:", ...lines].join("\n") };
}

/** Returns what a call with a question waits for. */
export function neededBy({ kind }: Pick<ToolOutcome, "kind">): WaitingCall["waitsFor"] {
  return kind === "deferred" ? "result" : "approval";
}

/** Returns the suspension that the last batch requires: its calls wait, or runs inside them were suspended. */
export function suspensionOf({ lastBatch }: LoopState): Ending | undefined {
  const calls = lastBatch.flatMap(pendingIn);
  const isAsking = calls.some(({ waitsFor }) => waitsFor === "approval");
  if (calls.length > 0)
    return { status: "suspended", reason: { kind: isAsking ? "approval-required" : "result-required", calls } };
  return lastBatch.find(({ suspended }) => suspended !== undefined)?.suspended;
}

function pendingIn({ outcome, awaiting, toolChanges, suspended }: SettledCall): readonly WaitingCall[] {
  const { callId, name, args } = outcome.call;
  const waitsFor = neededBy(outcome);
  if (awaiting !== undefined)
    return [{ id: awaiting, callId, name, args, waitsFor, ...(toolChanges === undefined ? {} : { toolChanges }) }];
  if (suspended === undefined || !("calls" in suspended.reason)) return [];
  return suspended.reason.calls.map((inner) => ({ ...inner, id: `${callId}/${inner.id}` }));
}
