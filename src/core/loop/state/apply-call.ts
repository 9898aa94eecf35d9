// Changes the state of a run after a tool call, or after the calls of one iteration. These functions also run in a replay, so they only
// depend on records.

import type { LoopAction } from "../../types/loop-event.ts";
import type { ToolResultPart } from "../../types/message.ts";
import type { GuardrailRecord } from "../../types/guardrails.ts";
import type { ContextRestart, ToolHistoryEntry, ToolOutcome } from "../../types/tool-outcome.ts";
import { countsAsError, wasDispatched } from "../../tools/outcome-texts.ts";
import { countOutcomes } from "../../run/identical-calls.ts";
import { applyNested, applySpending } from "../../utils/count-usage.ts";
import { type IdenticalCalls, type LoopState, toContextMessage } from "./loop-state.ts";
import type { SettledCall } from "./step-result.ts";

export function applyCall(state: LoopState, settled: SettledCall, part: ToolResultPart | undefined): void {
  const { outcome, restart, extraction } = settled;
  const { kind } = outcome;
  if (wasDispatched(kind)) state.toolCallsExecuted += 1;
  loadTools(state, outcome);
  if (extraction !== undefined) applySpending(state, extraction);
  if (outcome.nested !== undefined) applyNested(state, outcome.nested);
  if (kind === "limit") state.toolLimitReached = true;
  if (kind === "completed" && outcome.release !== undefined) {
    state.releases.push({ iteration: state.iteration, release: outcome.release });
  }
  if (restart !== undefined) applyRestart(state, restart);
  else if (kind !== "interrupted" && kind !== "not-run" && kind !== "deferred" && part !== undefined) {
    addHistory(state, settled, part);
  }
}

function addHistory(state: LoopState, settled: SettledCall, part: ToolResultPart): void {
  const { outcome } = settled;
  state.functionHistory.push(toHistoryEntry(state, settled, part));
  // Content counts as delivered even if a stage of `policies.results` has moved its text parts into the result.
  if (outcome.kind === "completed" && outcome.content !== undefined) state.contentDelivered = true;
}

/** A called tool also counts as loaded, so that the model sees the schema of the tool in the following requests. */
function loadTools({ loadedTools }: LoopState, outcome: ToolOutcome): void {
  if (outcome.kind !== "unknown-tool" && outcome.kind !== "blocked") loadedTools.add(outcome.call.name);
  if (outcome.kind === "completed") for (const name of outcome.load ?? []) loadedTools.add(name);
}

/**
 * Adds the usage of the guardrails. `input` contains the checks of new user messages. If a check did not pass, the next request
 * checks the messages again.
 */
export function applyChecks(
  state: LoopState,
  input: readonly GuardrailRecord[] | undefined,
  output: readonly GuardrailRecord[] = [],
): void {
  if (input !== undefined) state.hasNewInput = input.some(({ verdict }) => verdict !== "pass");
  for (const { spent } of [...(input ?? []), ...output]) if (spent !== undefined) applySpending(state, spent);
}

function applyRestart(state: LoopState, restart: ContextRestart): void {
  state.restarts += 1;
  for (const name of restart.disableTools) state.hiddenTools.add(name);
  const items = [restart.item, restart.pendingContext].filter((item) => item !== undefined);
  if (items.length === 0) return;
  state.contextItems.push(...items);
  state.contextMessage = toContextMessage(state.contextItems);
}

/**
 * Counts the failed calls of one message as one error, because the model has read none of them before. If a call succeeded, the
 * count starts again. An iteration with waiting calls is counted later, when all of them are finished.
 */
export function countErrors(state: LoopState, settled: readonly SettledCall[]): void {
  if (settled.some(isWaiting)) return;
  const isMalformed = settled.length === 0 && state.streamResults.at(-1)?.finish === "malformed-call";
  if (settled.some(({ outcome }) => outcome.kind === "completed")) state.consecutiveToolErrors = 0;
  else if (isMalformed || settled.some(({ outcome }) => countsAsError(outcome.kind))) state.consecutiveToolErrors += 1;
}

export function isWaiting({ awaiting, suspended }: Pick<SettledCall, "awaiting" | "suspended">): boolean {
  return awaiting !== undefined || suspended !== undefined;
}

function toHistoryEntry(
  state: LoopState,
  { outcome, textForModel }: SettledCall,
  { result, content }: ToolResultPart,
): ToolHistoryEntry {
  const { call, kind, durationMs, approvedArgs } = outcome;
  const { text } = state.current;
  return {
    functionCall: { id: call.callId, name: call.name, args: call.args },
    functionResponse: { name: call.name, response: { result } },
    outcome: kind,
    iteration: state.iteration,
    durationMs,
    content,
    preToolText: text.trim() === "" ? undefined : text,
    ...(approvedArgs !== undefined && { approvedArgs }),
    ...(textForModel !== undefined && { processed: true as const }),
    ...(kind === "approval-failed" && { error: outcome.error }),
    ...(kind === "completed" && outcome.endTurn === true && { endTurn: true as const }),
  };
}

/** Like `countOutcomes`. An iteration with waiting calls is counted later, when all of them are finished. */
export function countIdenticalCalls(
  last: IdenticalCalls,
  settled: readonly Pick<SettledCall, "outcome" | "awaiting" | "suspended" | "polls">[],
): IdenticalCalls {
  return settled.some(isWaiting) ? last : countOutcomes(last, settled);
}

/** The rule that says how many repetitions are a loop, and how the run reacts to a loop. */
export interface LoopRule {
  readonly threshold: number;
  readonly action: LoopAction;
}
