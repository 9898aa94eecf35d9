// The state of one run after each step. It is updated in place, so that iteration 5,000 takes as long as iteration 5.

import type { Json } from "../../types/json.ts";
import type { Message, ProviderMetadataPart, UserMessage } from "../../types/message.ts";
import type { Issue, PlainError, Usage } from "../../types/common.ts";
import type { CompactedMessages, CompactionAnswer } from "../../types/policies.ts";
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
import type { IdenticalCalls, Repeats, Repetition } from "./repeated-calls.ts";
import { noUsage } from "../../utils/count-usage.ts";

/**
 * A message that was sent to a run. `verb` is "steer" for a message to the model, "interrupt" for a message that ends the run,
 * and "keep" for a message that is only returned in the result.
 */
export interface InboxMessage {
  readonly verb: "steer" | "interrupt" | "keep";
  readonly message: UserMessage;
}

/**
 * The result of an inbox step: everything that arrived from outside the run. A replay uses this recorded result instead of the
 * live control, and so makes the same decisions.
 */
export interface InboxAnswer {
  /** The time of the run's clock, in milliseconds. */
  readonly now: number;
  /** The id of the execution that ran the step. Times from different executions cannot be compared. */
  readonly token: string;
  /** Set if the run was stopped, killed or aborted, or if a time limit of the run or an outer run has expired. */
  readonly ended?: Ending | undefined;
  /** Set if a spending limit of an outer run is reached. */
  readonly spentOutside?: Extract<EndReason, { kind: "max-tokens" | "max-cost" | "cost-unknown" }> | undefined;
  /** The messages that were sent to the control after the inbox was last read, in order. */
  readonly messages?: readonly InboxMessage[] | undefined;
  readonly drain?: true | undefined;
  /** The option `version` of this execution, if the last recorded version differs. */
  readonly codeVersion?: string | undefined;
  /** The iterations that are new in the set `force` of `maskResults`. */
  readonly force?: readonly number[] | undefined;
  /**
   * Set if old messages are summarized before the next request: "due" because the context is nearly full, or "forced" because
   * the service refused the last request as too long.
   */
  readonly compact?: "due" | "forced" | undefined;
  /**
   * The key of the ending, if this was the last reading before an ending. A recorded reading before another ending is out of
   * date.
   */
  readonly before?: string | undefined;
  /**
   * Set if the run ended after it had read this inbox. `after` is the phase before the ending. Code that reads a journal needs both
   * fields, because it has no access to the limits.
   */
  readonly ending?: Ending | undefined;
  readonly after?: LoopState["phase"] | undefined;
  /** Set if the last reading before an ending found a message sent with `steer`, so that the run continues. */
  readonly goesOn?: true | undefined;
}

/** The result of a hook step. */
export type HookAnswer =
  | { readonly kind: "continue" }
  | { readonly kind: "abort"; readonly reason?: string | undefined }
  | { readonly kind: "failed"; readonly error: PlainError };

/** The result of the output validation: the value, the issues, or the ending if the validation itself failed. */
export type OutputAnswer =
  | { readonly kind: "valid"; readonly value: Json }
  | { readonly kind: "invalid"; readonly issues: readonly Issue[] }
  | { readonly kind: "ended"; readonly ending: Ending };

/** The recorded decision after an ending: to retry, or not to retry. */
export interface ReopenAnswer {
  readonly reopen: boolean;
  /** The key of the ending to retry. A decision about another ending is out of date. */
  readonly before: string;
  readonly now: number;
  readonly token: string;
}

/** One finished or waiting call, with its effects on the run. */
export interface SettledCall {
  readonly outcome: ToolOutcome;
  readonly restart?: ContextRestart | undefined;
  /** The text that the model gets instead of the result, if a stage of `policies.results` changed the result. */
  readonly textForModel?: string | undefined;
  /** The usage and the cost in USD of the extractor in `policies.results`. `costUSD` is undefined if the cost is unknown. */
  readonly extraction?: { readonly usage: Usage; readonly costUSD: number | undefined } | undefined;
  /** True if the model need not answer after this tool. Undefined if the tool does not specify it. */
  readonly needsNoFollowUp?: boolean | undefined;
  /** The id for the option `decisions`, set while the call waits. With the outcome "deferred", the call waits for its result. */
  readonly awaiting?: string | undefined;
  /** The changes to the tool after the last request for a decision. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
  /** The ending of the call's nested run, if that run is suspended. The call continues when the run is resumed. */
  readonly suspended?: Ending | undefined;
}

/** The result of one step, which `applyStep` adds to the state. */
export type StepResult =
  | { readonly kind: "inbox"; readonly answer: InboxAnswer }
  /** Adds the messages sent with `steer` to the transcript. */
  | { readonly kind: "steer" }
  | { readonly kind: "compaction"; readonly answer: CompactionAnswer }
  | { readonly kind: "model"; readonly result: StreamResult; readonly finalAnswerTo?: Ending | undefined }
  /** `loop` is the loop about which the model is warned after the results. */
  | { readonly kind: "batch"; readonly settled: readonly SettledCall[]; readonly loop?: Repeats | undefined }
  /** `complaint` is the message to the model that requests a new answer. */
  | { readonly kind: "output"; readonly answer: OutputAnswer; readonly complaint?: string | undefined }
  | { readonly kind: "hook"; readonly answer: HookAnswer }
  /** The last reading of the inbox before an ending. */
  | { readonly kind: "last-look"; readonly answer: InboxAnswer; readonly ending: Ending; readonly attempt?: number | undefined }
  | { readonly kind: "reopen"; readonly answer: ReopenAnswer; readonly attempt: number }
  /** Continues the run after a recorded suspension. */
  | { readonly kind: "resume" };

/** The results that a tool released, and the iteration of that tool call. */
export interface ReleasedResults {
  readonly iteration: number;
  readonly release: ContextRelease;
}

/** The assistant message of the current iteration, including all its continuations so far. */
export interface CurrentMessage {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly providerMetadata: readonly ProviderMetadataPart[];
  /** The outcomes of the calls that started while the model was streaming. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
}

/** The count at the start of a run, and after an iteration without calls. */
export const noIdenticalCalls: IdenticalCalls = { outcomes: [], count: 0 };

/** The state of a run. Only `applyStep` writes its fields. */
export interface LoopState {
  /** The kind of the step that was applied last. */
  phase: "start" | StepResult["kind"];
  /** The index of the iteration, counted from 0. */
  iteration: number;
  /** The index of the stream in this iteration, counted from 0. A continuation has an index above 0. */
  continuation: number;
  /** The number of iterations that count towards `maxIterations`. */
  countedIterations: number;
  pauses: number;
  restarts: number;
  toolCallsExecuted: number;

  readonly messages: Message[];
  /** The number of messages at the start of `messages` that the caller passed to the run. */
  readonly givenMessages: number;
  /** The ids of all calls in the transcript. */
  readonly heldIds: Set<string>;
  current: CurrentMessage;
  /** True if the assistant message of this iteration is already the last message in `messages`. */
  isCurrentPlaced: boolean;
  readonly contextItems: Json[];
  /** One message with all context items. Created again when the items change. */
  contextMessage: UserMessage | undefined;
  readonly hiddenTools: Set<string>;
  /** The names of the tools that were found or called, in this order. A deferred tool is visible if its name is here. */
  readonly loadedTools: Set<string>;
  /** The iterations whose results are masked because of the set `force` of `maskResults`. */
  readonly forcedIterations: number[];
  /** The results that tools have released, in order. */
  readonly releases: ReleasedResults[];
  /** The summary that replaces old messages in requests. Undefined before the first compaction. */
  compaction: CompactedMessages | undefined;
  /** The last compaction, and the number of streams before it. */
  lastCompaction: { readonly answer: CompactionAnswer; readonly streams: number } | undefined;

  readonly streamResults: StreamResult[];
  readonly functionHistory: ToolHistoryEntry[];
  readonly modelParts: ProviderMetadataPart[];
  finalText: string;
  detailsText: string;
  thoughtLog: Json | undefined;
  /** True if a tool has returned content parts that users can see. */
  contentDelivered: boolean;
  usage: Usage;
  /** The cost of the run in USD. Undefined after an iteration whose cost is unknown. */
  costUSD: number | undefined;
  /** The first stream with an unknown cost, and its iteration. */
  unpriced: (NonNullable<StreamResult["unpriced"]> & { readonly iteration: number }) | undefined;
  /** The sum of the known costs in USD. */
  spentUSD: number;
  /** The cost in USD of the last stream with a known cost. It is also the estimate for the next stream. */
  lastCostUSD: number;

  /** The messages that were sent to the run but not to the model. */
  readonly unsent: InboxMessage[];
  /** True after the first tool calls of the run. After that, messages cannot interrupt the run. */
  chainStarted: boolean;

  consecutiveToolErrors: number;
  /** The highest number of consecutive tool errors in the last iteration, even if a later call succeeded. */
  errorPeak: number;
  lastInbox: InboxAnswer | undefined;
  activeMs: number;
  lastHook: HookAnswer | undefined;
  lastBatch: readonly SettledCall[];
  /** True if an iteration had more calls than `maxToolCalls` allows. */
  toolLimitReached: boolean;
  /** True if the model has called tools although `maxToolCalls` was already reached. */
  toolLimitBroken: boolean;
  /** Counts repeated calls. Undefined without loop detection. */
  repetition: Repetition | undefined;
  /** The last calls, and the number of consecutive identical iterations. */
  identical: IdenticalCalls;
  /** The validation result of the last answer, kept until the next iteration. */
  lastOutput: OutputAnswer | undefined;
  /** The number of consecutive answers that failed output validation. */
  invalidAnswers: number;
  /** The ending that follows a final answer. Set if the last stream was a final answer. */
  finalAnswerTo: Ending | undefined;
  /** The number of the current retry, which is 0 before the first retry. */
  retry: number;
  /** How often the run was resumed after a suspension within this iteration. */
  resumes: number;
  /** How often the inbox was read before an ending within this iteration. */
  endChecks: number;
  /** The number of messages at the beginning of this iteration. */
  iterationStart: number;
  /** The values before the message of this iteration was added. A retry restores these values. */
  beforeMessage: BeforeMessage;
  /** The kind of the last step before the ending. */
  closedAfter: LoopState["phase"];
  /** The ending of the run. Undefined until it is decided. */
  ending: Ending | undefined;
}

/** The data from which the state of a new run is created. */
export interface InitialState {
  readonly messages: readonly Message[];
  readonly heldIds: Iterable<string>;
  /** The names of the deferred tools that are visible from the start. Default none. */
  readonly loadedTools?: Iterable<string> | undefined;
  readonly contextItems: readonly Json[];
  /** True if the caller set the option `pricing`. */
  readonly priced: boolean;
  /** The summary of an earlier run. Default: none. */
  readonly compaction?: CompactedMessages | undefined;
  /** Counts repeated calls. Default: they are not counted. */
  readonly repetition?: Repetition | undefined;
}

/** Values that a retry restores when it removes the last message. The numbers are array lengths. */
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

/** Returns the state of a run before its first step. */
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
    loadedTools: new Set(initial.loadedTools),
    forcedIterations: [],
    releases: [],
    compaction: initial.compaction,
    lastCompaction: undefined,
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

/** Returns the message with the context items. Requests have this message at the end. */
export function toContextMessage(items: readonly Json[]): UserMessage | undefined {
  if (items.length === 0) return undefined;
  const lines = items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  return { role: "user", content: ["Context:", ...lines].join("\n") };
}

/** Says if a waiting call needs a decision or a result, and if a page may send the result. */
export function neededBy(outcome: ToolOutcome): Pick<WaitingCall, "waitsFor" | "fromPage"> {
  if (outcome.kind !== "deferred") return { waitsFor: "approval" };
  return outcome.fromPage === true ? { waitsFor: "result", fromPage: true } : { waitsFor: "result" };
}

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
