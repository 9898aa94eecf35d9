import type { Journal } from "../../types/old-journal.ts";
import type { PlainError, Session } from "../../types/common.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { UserMessage } from "../../types/message.ts";
import type { Ending, EndReason } from "../../types/termination.ts";
import type { RunCall } from "../../types/typed-call.ts";
import type { ToolHistoryEntry } from "../../types/tool-outcome.ts";
import { edges } from "../../utils/edges.ts";
import { endWaitingResults, frozenView, isNamed } from "../state/transcript.ts";
import { type LoopState, neededBy } from "../state/loop-state.ts";

/** The parts of the result that are not in the state of the run. */
export interface ResultFacts {
  readonly ending: Ending;
  /** The messages that were sent to the run but not to the model. Default: none. */
  readonly undelivered?: readonly UserMessage[] | undefined;
  /** The cost limit of the run in USD. Default: no limit. */
  readonly maxCostUSD?: number | undefined;
  /** The use of the prompt cache. Undefined if the cache was not watched. */
  readonly cache?: LoopResult["cache"];
  readonly runId: string;
  readonly journal: Journal;
  readonly session: Session;
}

/** Builds the result. The result shares arrays with `state`, so `state` must not change after this call. */
export function buildResult(state: LoopState, facts: ResultFacts): LoopResult {
  const { ending, undelivered = [], maxCostUSD = Number.POSITIVE_INFINITY, cache, runId, journal, session } = facts;
  const text = state.finalText.trim();
  const details = state.detailsText.trim();
  const { thoughtLog } = state;
  const result: Omit<LoopResult, "journal"> = {
    status: ending.status,
    reason: ending.reason,
    text,
    details,
    responseText: joinDetails(text, details, session.detailsLabel),
    thoughtLog,
    thoughtLogOwner: thoughtLog === undefined ? undefined : { kind: "default", name: undefined, ...session.responseTarget },
    streamResults: state.streamResults,
    calls: state.functionHistory.map(toRunCall),
    functionHistory: state.functionHistory,
    accumulatedModelParts: state.modelParts,
    // Copies the array, because the caller may change the array of the result. The messages themselves are frozen.
    messages: [...frozenView(ending.status === "suspended" ? state.messages : endWaitingResults(state))],
    agent: state.agent,
    handoffs: state.agent === undefined ? undefined : [...state.handoffs],
    compaction: state.compaction,
    usage: state.usage,
    cache,
    costUSD: state.costUSD,
    knownCostUSD: state.spentUSD,
    iterations: state.countedIterations,
    toolCallsExecuted: state.toolCallsExecuted,
    durationMs: state.activeMs,
    error: errorOf(ending.reason),
    budgetExceeded: state.spentUSD > maxCostUSD,
    finalAnswer: state.finalAnswerTo !== undefined && ending.status !== "follow-up-interrupt",
    output: state.lastOutput?.kind === "valid" ? state.lastOutput.value : undefined,
    pendingCalls: pendingCallsOf(state, ending),
    undelivered,
    runId,
  };
  return withJournal(result, journal);
}

export function toRunCall(entry: ToolHistoryEntry): RunCall {
  const { functionCall, functionResponse, processed, approvedArgs, error, iteration, durationMs, content, preToolText } = entry;
  const { endTurn } = entry;
  const { id: callId, name, args } = functionCall;
  const { result } = functionResponse.response;
  const outcome = processed && entry.outcome === "completed" ? "processed" : entry.outcome;
  // Lists each field, because V8 needs ten times the memory for an object from a rest pattern or a leading spread.
  return {
    iteration,
    durationMs,
    content,
    preToolText,
    callId,
    name,
    args,
    outcome,
    result,
    ...(approvedArgs !== undefined && { approvedArgs }),
    ...(error !== undefined && { error }),
    ...(endTurn !== undefined && { endTurn }),
  };
}

function pendingCallsOf({ lastBatch, current }: LoopState, { status, reason }: Ending): LoopResult["pendingCalls"] {
  if (reason.kind === "stop-condition") return current.calls.filter(isNamed);
  if (status !== "suspended") return [];
  return lastBatch.flatMap(({ awaiting, outcome }) =>
    awaiting !== undefined ? [{ ...outcome.call, ...neededBy(outcome) }] : [],
  );
}

/** A journal without `toJSON` may contain connections and keys, so JSON must omit the property. */
function withJournal(result: Omit<LoopResult, "journal">, journal: Journal): LoopResult {
  const enumerable = "toJSON" in journal;
  return Object.defineProperty(result, "journal", { value: journal, enumerable }) as LoopResult;
}

export function joinDetails(text: string, details: string, label: string | undefined): string {
  if (details === "") return text;
  const labelled = label === undefined ? details : `${label}\n${details}`;
  return text === "" ? labelled : `${text}\n\n${labelled}`;
}

function errorOf(reason: EndReason): PlainError | undefined {
  if ("error" in reason) return reason.error;
  const { kind } = reason;
  const isCost = kind === "max-cost" || kind === "cost-unknown";
  if (!isCost && !("guardrail" in reason)) return undefined;
  const words = edges.describeReason?.(reason);
  const message = `The run ended as ${kind}${words === undefined ? "" : `: ${words}`}.`;
  return { name: isCost ? "CostLimitError" : "GuardrailError", message };
}
