// The state of one run after each step. The state is updated in place, so that iteration 5,000 takes as long as iteration 5.

import type { Json, Usage } from "../../types/common.ts";
import type { Message, ProviderMetadataPart, ToolResultPart, UserMessage } from "../../types/message.ts";
import type { CompactedMessages, CompactionAnswer } from "../../types/policies.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { Ending } from "../../types/termination.ts";
import type { ContextRelease, Handoff, ToolCall, ToolHistoryEntry, ToolOutcome } from "../../types/tool-outcome.ts";
import type { HookAnswer, InboxAnswer, InboxMessage, OutputAnswer, Phase, Repeats, SettledCall } from "./step-result.ts";

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

/** The different calls of the newest iteration, and how often the model has made them in a row. */
export interface IdenticalCalls {
  readonly outcomes: readonly ToolOutcome[];
  /** 0 if a call failed. */
  readonly count: number;
}

/**
 * Counts repeated calls. Created by `detectLoops`. The object is immutable: the methods that change the counts return another
 * object.
 */
export interface Repetition {
  /** Returns a counter that has counted no iteration. */
  restart(): Repetition;
  /**
   * Counts one more iteration, as often as its most frequent call. The order of calls and argument keys has no effect. An
   * iteration without calls resets the count.
   */
  countCalls(calls: readonly ToolCall[]): Repetition;
  /** Adds the results of the newest iteration. With `compareResults`, iterations with different results are not repetitions. */
  noteResults(calls: readonly ToolCall[], results: readonly ToolResultPart[]): Repetition;
  /** True if the newest iteration equals the iteration `cycle` positions before. */
  repeats(cycle: number): boolean;
  /**
   * Returns the shortest sequence that has now occurred `threshold` times in a row, or reached a multiple of `threshold`. A
   * sequence that itself consists of repetitions is not reported: A A A A counts as four times A, not as twice A A.
   */
  findRepeats(threshold: number): Repeats | undefined;
}

/** Applies the handoffs of a message. */
export interface HandOver {
  /** Refuses all handoffs of a message after the first one. */
  keepFirst(settled: readonly SettledCall[]): readonly SettledCall[];
  /** Carries out the first handoff of a message. */
  apply(state: LoopState, settled: readonly SettledCall[]): void;
}

/** The state of a run. Only `applyStep` writes its fields. */
export interface LoopState {
  /** The kind of the newest step. */
  phase: Phase;
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
  /** The iterations whose results are masked because the caller added them to `force`, an option of `maskResults`. */
  readonly forcedIterations: number[];
  /** The results that tools have released, in order. */
  readonly releases: ReleasedResults[];
  /** The summary that replaces old messages in requests. Undefined before the first compaction. */
  compaction: CompactedMessages | undefined;
  /** The newest compaction, and the number of streams before that compaction. */
  lastCompaction: { readonly answer: CompactionAnswer; readonly streams: number } | undefined;

  /** The agent that the run acts as. Undefined without `policies.handoffs`. */
  agent: string | undefined;
  /** The number of messages before the handoff to the first agent, if an earlier run made this handoff. */
  agentSince: number | undefined;
  /** Carries out handoffs. Undefined without `policies.handoffs`. */
  readonly handOver: HandOver | undefined;
  /** The handoffs so far. */
  readonly handoffs: Handoff[];
  /** True if there are new user messages that have not passed the input checks of `policies.guardrails` yet. */
  hasNewInput: boolean;

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
  /** The cost in USD of the newest stream with a known cost. The next stream is expected to cost the same. */
  lastCostUSD: number;

  /** The messages that were sent to the run but not to the model. */
  readonly unsent: InboxMessage[];
  /** True as soon as the run has called tools. Messages can then no longer interrupt the run. */
  chainStarted: boolean;

  /** The number of consecutive messages in which a call failed and none succeeded. */
  consecutiveToolErrors: number;
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
  /** The calls of the newest iteration, and the number of consecutive iterations with these calls. */
  identical: IdenticalCalls;
  /** The validation result of the newest answer, kept until the next iteration. */
  lastOutput: OutputAnswer | undefined;
  /** The number of consecutive answers that failed output validation. */
  invalidAnswers: number;
  /** The ending of the run after a final answer. Set if the newest stream was a final answer. */
  finalAnswerTo: Ending | undefined;
  /** The number of the current retry, which is 0 before the first retry. */
  retry: number;
  /** How often the run was resumed after a suspension within this iteration. */
  resumes: number;
  /** How often this iteration has read the inbox because an ending was about to follow. */
  endChecks: number;
  /** The number of messages at the beginning of this iteration. */
  iterationStart: number;
  /** The values of some fields before this iteration added its message. A retry restores these values. */
  beforeMessage: BeforeMessage;
  /** The kind of the step before the ending. */
  closedAfter: Phase;
  /** The ending of the run. Undefined until the ending is decided. */
  ending: Ending | undefined;
}

/** The values that a retry restores when the retry removes the newest message. The numbers are array lengths. */
export interface BeforeMessage {
  readonly modelParts: number;
  readonly functionHistory: number;
  readonly finalText: string;
  readonly detailsText: string;
  readonly thoughtLog: Json | undefined;
}

/** Returns the message with the context items, which comes at the end of each request. */
export function toContextMessage(items: readonly Json[]): UserMessage | undefined {
  if (items.length === 0) return undefined;
  const lines = items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  return { role: "user", content: ["Context:", ...lines].join("\n") };
}
