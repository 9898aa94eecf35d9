// Changes the state of a run after a tool call, or after the calls of one iteration. These functions also run in a replay, so they only
// depend on records.

import type { LoopAction } from "../../types/loop-event.ts";
import type { ContentPart } from "../../types/common.ts";
import type { ToolResultPart } from "../../types/message.ts";
import type { PreToolTextPolicy } from "../../types/policies.ts";
import type { GuardrailRecord } from "../../types/guardrails.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ContextRestart, NestedSpending, ToolHistoryEntry, ToolOutcome } from "../../types/tool-outcome.ts";
import { countsAsError, wasDispatched } from "../../tools/outcome-texts.ts";
import { addCost, addUsage } from "../../utils/count-usage.ts";
import { type IdenticalCalls, type LoopState, noIdenticalCalls, toContextMessage } from "./loop-state.ts";
import type { Repeats, SettledCall } from "./step-result.ts";
import { isSameJson, stableJson } from "../../utils/json.ts";

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

/** Adds the usage, cost and tool calls of a call's nested runs. No other code may add them, because they would count twice. */
export function applyNested(state: LoopState, { usage, costUSD, knownCostUSD = 0, toolCallsExecuted }: NestedSpending): void {
  state.usage = addUsage(state.usage, usage);
  state.costUSD = addCost(state.costUSD, costUSD);
  state.spentUSD += costUSD ?? knownCostUSD;
  state.toolCallsExecuted += toolCallsExecuted;
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

export function applySpending(state: LoopState, result: Pick<StreamResult, "usage" | "costUSD" | "knownCostUSD">): void {
  if (result.usage !== undefined) state.usage = addUsage(state.usage, result.usage);
  state.costUSD = addCost(state.costUSD, result.costUSD);
  state.spentUSD += result.costUSD ?? result.knownCostUSD ?? 0;
}

/** Outcomes that do not count as errors, but are a loop if the model gets them again and again for the same calls. */
const repeatable: ReadonlySet<ToolOutcome["kind"]> = new Set(["completed", "denied", "approval-failed"]);

/**
 * Counts how often the model made the same calls with the same outcomes. A message counts as often as its most frequent call.
 * Calls of polling tools do not count. An iteration with waiting calls is counted later, when all of them are finished.
 */
export function countIdenticalCalls(
  last: IdenticalCalls,
  settled: readonly Pick<SettledCall, "outcome" | "awaiting" | "suspended" | "polls">[],
): IdenticalCalls {
  if (settled.some(isWaiting)) return last;
  const made = settled.filter(({ polls }) => polls !== true).map(({ outcome }) => outcome);
  if (made.length === 0 || made.some(({ kind }) => !repeatable.has(kind))) return noIdenticalCalls;
  const { distinct: outcomes, most } = groupOutcomes(made);
  const isSame =
    outcomes.length === last.outcomes.length && outcomes.every((outcome, index) => isSameOutcome(outcome, last.outcomes[index]));
  return { outcomes, count: isSame ? last.count + most : most };
}

/** Takes linear time: an outcome is compared only with the last outcome of the same call. */
function groupOutcomes(outcomes: readonly ToolOutcome[]): { readonly distinct: readonly ToolOutcome[]; readonly most: number } {
  const distinct: ToolOutcome[] = [];
  const groups = new Map<string, { readonly outcome: ToolOutcome; count: number }>();
  let most = 1;
  for (const outcome of outcomes) {
    const key = outcomes.length === 1 ? "" : stableJson([outcome.call.name, outcome.call.args]);
    const group = groups.get(key);
    if (group !== undefined && isSameOutcome(outcome, group.outcome)) {
      group.count += 1;
      most = Math.max(most, group.count);
    } else {
      distinct.push(outcome);
      groups.set(key, { outcome, count: 1 });
    }
  }
  return { distinct, most };
}

function isSameOutcome(one: ToolOutcome, other: ToolOutcome | undefined): boolean {
  if (other === undefined || one.call.name !== other.call.name || !isSameJson(one.call.args, other.call.args)) return false;
  if (one.kind !== "completed" || other.kind !== "completed") return one.kind === other.kind;
  return isSameJson(one.data, other.data) && isSameContent(one.content, other.content);
}

function isSameContent(one: readonly ContentPart[] = [], other: readonly ContentPart[] = []): boolean {
  return isSameJson(one.map(toFacts), other.map(toFacts));
}

function toFacts(part: ContentPart): readonly string[] {
  return part.type === "text" ? [part.type, part.text] : [part.type, part.mediaType, String(part.data)];
}

/** The rule that says how many repetitions are a loop, and how the run reacts to a loop. */
export interface LoopRule {
  readonly threshold: number;
  readonly action: LoopAction;
}

export interface FoundLoop extends Repeats {
  readonly toolName: string;
}

/** Returns undefined if `maxIterations` ends the run anyway. */
export function findIdenticalCalls(
  { identical, countedIterations }: LoopState,
  { maxIdenticalCalls, maxIterations }: { readonly maxIdenticalCalls?: number | undefined; readonly maxIterations: number },
): Pick<FoundLoop, "toolName" | "count"> | undefined {
  const { count, outcomes } = identical;
  if (maxIdenticalCalls === undefined || count < maxIdenticalCalls || countedIterations >= maxIterations) return undefined;
  return { toolName: outcomes[0]?.call.name ?? "", count };
}

/**
 * Returns the loop that is detected in the model's last calls. Undefined if there is no loop, or if the iteration ends the run
 * for another reason.
 */
export function findLoop(state: LoopState, rule: LoopRule | undefined): FoundLoop | undefined {
  const { repetition, current, streamResults, finalAnswerTo } = state;
  const last = streamResults.at(-1);
  const isAsking = last?.status === "tool-calls" && last.stop === undefined && finalAnswerTo === undefined;
  if (!isAsking || rule === undefined || repetition === undefined) return undefined;
  const repeats = repetition.findRepeats(rule.threshold);
  return repeats === undefined ? undefined : { ...repeats, toolName: current.calls[0]?.name ?? "" };
}

export interface FinishedIteration {
  readonly text: string;
  readonly family: string | undefined;
  readonly calls: readonly Pick<SettledCall, "outcome" | "restart" | "needsNoFollowUp">[];
}

/**
 * True if text before tool calls is already the answer. This requires that all calls succeeded without a context restart. It also
 * requires that `policy` lists the provider's family, or that none of the called tools needs a follow-up.
 */
export function shouldEndAfterPreToolText({ text, family, calls }: FinishedIteration, policy: PreToolTextPolicy = {}): boolean {
  if (calls.length === 0 || text.trim() === "") return false;
  if (!calls.every(({ outcome, restart }) => outcome.kind === "completed" && restart === undefined)) return false;
  const { endAfterTextFamilies = [], suppressFollowUpAfterText = [] } = policy;
  if (family !== undefined && endAfterTextFamilies.includes(family)) return true;
  return calls.every(
    ({ outcome, needsNoFollowUp }) => needsNoFollowUp === true || suppressFollowUpAfterText.includes(outcome.call.name),
  );
}
