// Builds a run's result from its state.

import type { LoopResult, PartialResult } from "../types/loop-result.ts";
import type { UserMessage } from "../types/message.ts";
import type { EndReason } from "../types/termination.ts";
import type { PlainError } from "../types/common.ts";
import { frozenView, isNamed } from "../../shared/transcript.ts";
import { edges } from "../../shared/edges.ts";
import type { Durability, Run } from "./run.ts";
import type { Ending } from "../types/middleware.ts";
import { answerOpenCalls, metadataOf } from "./state.ts";
import type { RunCall } from "../types/typed-call.ts";
import type { ToolHistoryEntry, WaitingCall } from "../types/tool-outcome.ts";

/** Returns the fields of a result that do not depend on how the run ended. */
export function summarize({ runId, state }: Run): Omit<PartialResult, "unrecorded"> {
  return {
    runId,
    text: state.finalText.trim(),
    messages: [...frozenView(state.messages)],
    streamResults: state.answers,
    functionHistory: state.functionHistory,
    usage: state.usage,
    costUSD: state.costUSD,
    iterations: state.countedIterations,
    toolCallsExecuted: state.toolCallsExecuted,
  };
}

export function buildResult(run: Run, ending: Ending): LoopResult {
  const { state, limits, session } = run;
  answerOpenCalls(state);
  const undelivered = takeUndelivered(run, ending);
  const facts = summarize(run);
  const { text } = facts;
  const { reason, ...waiting } = concludeRun(run, ending);
  const details = state.answers.findLast((answer) => answer.details.trim() !== "")?.details.trim() ?? "";
  const thoughtLog = state.answers.findLast((answer) => (answer.thoughtLog ?? null) !== null)?.thoughtLog;
  const { records } = run.root;
  // Uses `Object.assign` because V8 uses ten times as much memory for an object literal that starts with a spread.
  const result: LoopResult = Object.assign(facts, {
    status: ending.status,
    reason,
    details,
    responseText: joinDetails(text, details, session.detailsLabel),
    thoughtLog,
    thoughtLogOwner: thoughtLog === undefined ? undefined : { kind: "default", name: undefined, ...session.responseTarget },
    calls: state.functionHistory.map(toRunCall),
    accumulatedModelParts: state.answers.flatMap(metadataOf),
    ...waiting,
    knownCostUSD: state.spentUSD,
    durationMs: state.activeMs,
    error: errorOf(ending.reason),
    budgetExceeded: state.spentUSD > limits.maxCostUSD,
    finalAnswer: false,
    pendingCalls: reason.kind === "stop-condition" ? state.current.calls.filter(isNamed) : pendingOf(reason),
    undelivered,
    journal: records,
  });
  for (const hooks of run.hooks) {
    const extra = hooks.result?.(state);
    if (extra !== undefined) Object.assign(result, extra);
  }
  return "toJSON" in records ? result : Object.defineProperty(result, "journal", { enumerable: false });
}

/** Returns the reason that users see. Also returns the messages of a run that ends while calls are waiting. */
function concludeRun({ state, durability }: Run, ending: Ending): ReturnType<Durability["conclude"]> {
  // Safe cast: without `durability`, no run waits.
  return durability?.conclude(state, ending) ?? { reason: ending.reason as EndReason };
}

/** Returns this run's calls that are waiting. The ids of calls in nested runs are paths. */
function pendingOf(reason: EndReason): readonly WaitingCall[] {
  return "calls" in reason ? reason.calls.filter(({ id }) => !id.includes("/")) : [];
}

function takeUndelivered({ state, control, returned }: Run, { reason }: Ending): readonly UserMessage[] {
  const said = control?.messages ?? [];
  const left = [...state.unsent, ...returned, ...said];
  control?.takeMessages(said.length);
  control?.release(reason.kind as EndReason["kind"]);
  const consumed = reason.kind === "interrupted" ? left.findIndex(({ verb }) => verb === "interrupt") : -1;
  return left.filter((_, index) => index !== consumed).map(({ message }) => message);
}

function errorOf(reason: Ending["reason"]): PlainError | undefined {
  if ("error" in reason) return reason.error;
  const { kind } = reason;
  const isCost = kind === "max-cost" || kind === "cost-unknown";
  if (!isCost && !("guardrail" in reason)) return undefined;
  const words = edges.describeReason?.(reason);
  const message = `The run ended as ${kind}${words === undefined ? "" : `: ${words}`}.`;
  return { name: isCost ? "CostLimitError" : "GuardrailError", message };
}

export function toRunCall(entry: ToolHistoryEntry): RunCall {
  const { functionCall, functionResponse, processed, approvedArgs, error, iteration, durationMs, content, preToolText } = entry;
  const { endTurn } = entry;
  const { id: callId, name, args } = functionCall;
  const { result } = functionResponse.response;
  const outcome = processed && entry.outcome === "completed" ? "processed" : entry.outcome;
  // Lists each field because V8 uses ten times as much memory for an object created by a rest pattern or a leading spread.
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

export function joinDetails(text: string, details: string, label: string | undefined): string {
  if (details === "") return text;
  const labelled = label === undefined ? details : `${label}\n${details}`;
  return text === "" ? labelled : `${text}\n\n${labelled}`;
}
