// Updates the state with the result of one step. Uses no I/O, clock or randomness: equal results lead to an equal state.

import type { ToolResultPart } from "../../types/message.ts";
import type { CompactionAnswer } from "../../types/policies.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { Ending } from "../../types/termination.ts";
import { assertNever } from "../../utils/guards.ts";
import { applyNested, applySpending } from "../../utils/count-usage.ts";
import { applyCall, applyChecks, countErrors, countIdenticalCalls } from "./apply-call.ts";
import {
  earlyOutcomesOf,
  isNamed,
  joinMessage,
  noteBeforeMessage,
  placeResults,
  placeMessage,
  toMetadataParts,
  takeMessageBack,
} from "./transcript.ts";
import { isUnfinished } from "../../providers/judge-finish.ts";
import { emptyMessage, type LoopState, noIdenticalCalls } from "./loop-state.ts";
import type { InboxAnswer, Repeats, SettledCall, StepResult } from "./step-result.ts";
import { wasDispatched } from "../../tools/outcome-texts.ts";

/** The beginning and the end of the message that the loop adds after an answer that does not fit the schema. */
export const misfitNote = {
  start: "Your answer does not fit the schema: ",
  end: "\nSend the whole answer again, as JSON and nothing else.",
} as const;

export const malformedNote = "Your last tool call was malformed. Send the complete call again.";

export function applyStep(state: LoopState, step: StepResult): void {
  switch (step.kind) {
    case "inbox":
      applyInbox(state, step.answer);
      break;
    case "steer":
      applySteering(state);
      break;
    case "compaction":
      applyCompaction(state, step.answer);
      break;
    case "model":
      applyModel(state, step);
      break;
    case "batch":
      applyBatch(state, step);
      break;
    case "output":
      applyOutput(state, step);
      break;
    case "hook":
      state.lastHook = step.answer;
      break;
    case "last-look":
      applyMessages(state, step.answer);
      applyEnding(state, step.ending);
      state.endChecks = (step.attempt ?? 0) + 1;
      break;
    case "reopen":
      applyReopening(state, step);
      break;
    case "resume":
      applyResumption(state);
      break;
    default:
      assertNever(step);
  }
  state.phase = step.kind;
}

function applyInbox(state: LoopState, answer: InboxAnswer): void {
  if (state.phase !== "start" && state.phase !== "resume") beginIteration(state);
  applyMessages(state, answer);
  if (answer.force !== undefined) state.forcedIterations.push(...answer.force);
  state.ending = undefined;
  clearIteration(state);
}

function beginIteration(state: LoopState): void {
  state.iteration += 1;
  state.resumes = 0;
  state.endChecks = 0;
}

function clearIteration(state: LoopState): void {
  state.continuation = 0;
  state.current = emptyMessage;
  state.isCurrentPlaced = false;
  state.lastOutput = undefined;
  state.iterationStart = state.messages.length;
  noteBeforeMessage(state);
}

/**
 * Prepares another model request after a recorded ending. Removes the newest assistant message if none of the calls in the
 * message has finished.
 */
function applyReopening(state: LoopState, { answer, attempt }: Extract<StepResult, { kind: "reopen" }>): void {
  if (state.closedAfter === "model" || state.closedAfter === "output") {
    const hasRun = state.current.eagerOutcomes?.some(({ kind }) => wasDispatched(kind)) === true;
    if (!hasRun) takeMessageBack(state);
    if (state.finalAnswerTo === undefined) state.countedIterations -= 1;
  }
  applyTime(state, { now: answer.now, token: answer.token });
  state.retry = attempt;
  state.endChecks = 0;
  state.unsent.length = 0;
  state.ending = undefined;
  state.finalAnswerTo = undefined;
  state.consecutiveToolErrors = 0;
  state.restarts = 0;
  state.pauses = 0;
  state.toolLimitBroken = false;
  beginCounts(state);
  clearIteration(state);
}

function applyResumption(state: LoopState): void {
  state.resumes += 1;
}

function applyMessages(state: LoopState, answer: InboxAnswer): void {
  if (wasGivenBack(state, answer)) state.unsent.length = 0;
  applyTime(state, answer);
  if (answer.messages !== undefined) state.unsent.push(...answer.messages);
}

/**
 * True if an earlier execution was suspended, and returned the unsent messages to the caller in its result. False for a nested
 * run that was cancelled while it waited: the nested run continues in the same execution, and has not returned its messages.
 */
function wasGivenBack({ phase, lastInbox }: LoopState, { token }: InboxAnswer): boolean {
  return phase === "resume" && token !== lastInbox?.token;
}

function applySteering(state: LoopState): void {
  const { unsent, messages } = state;
  for (const { verb, message } of unsent) if (verb === "steer") messages.push(message);
  const rest = unsent.filter(({ verb }) => verb !== "steer");
  unsent.splice(0, unsent.length, ...rest);
  state.iterationStart = messages.length;
  state.hasNewInput = true;
  // After a new message, the model may have a good reason to repeat calls.
  beginCounts(state);
}

function applyCompaction(state: LoopState, answer: CompactionAnswer): void {
  if (answer.spending !== undefined) applySpending(state, answer.spending);
  if (answer.kind === "compacted") state.compaction = answer.compaction;
  state.lastCompaction = { answer, streams: state.streamResults.length };
}

function beginCounts(state: LoopState): void {
  state.repetition = state.repetition?.restart();
  state.identical = noIdenticalCalls;
  state.invalidAnswers = 0;
}

function applyTime(state: LoopState, answer: InboxAnswer): void {
  state.activeMs = activeAt(state, answer);
  state.lastInbox = answer;
}

/** Compares only times from the same execution, so the days between two executions do not count. */
function activeAt({ activeMs, lastInbox }: LoopState, { now, token }: InboxAnswer): number {
  return lastInbox?.token === token ? activeMs + now - lastInbox.now : activeMs;
}

function applyModel(state: LoopState, { result, checked, finalAnswerTo }: Extract<StepResult, { kind: "model" }>): void {
  applyChecks(state, checked, result.guardrails);
  state.streamResults.push(result);
  state.finalAnswerTo = finalAnswerTo;
  if (state.continuation > 0) state.pauses += 1;
  else if (finalAnswerTo === undefined) state.countedIterations += 1;
  applyStream(state, result);
  state.thoughtLog = result.thoughtLog ?? state.thoughtLog;
  // The text of an interrupted iteration does not enter the transcript, because the next run answers again.
  if (result.status !== "follow-up-interrupt") applySaid(state, result);
  if (result.status !== "tool-calls" && !isUnfinished(result)) state.identical = noIdenticalCalls;
  if (finalAnswerTo === undefined && !isUnfinished(result)) countCalls(state, result);
}

/** Adds the spending of the stream, and of calls that ran during its discarded attempts. */
function applyStream(state: LoopState, result: StreamResult): void {
  applySpending(state, result);
  for (const spent of result.eagerSpent ?? []) applyNested(state, spent);
  applyPrice(state, result);
}

function applyPrice(state: LoopState, { costUSD, knownCostUSD, unpriced }: StreamResult): void {
  state.lastCostUSD = costUSD ?? knownCostUSD ?? state.lastCostUSD;
  if (unpriced !== undefined) state.unpriced ??= { ...unpriced, iteration: state.iteration };
}

function countCalls(state: LoopState, { status }: StreamResult): void {
  state.repetition = state.repetition?.countCalls(status === "tool-calls" ? state.current.calls : []);
}

function applySaid(state: LoopState, result: StreamResult): void {
  applyMessage(state, result);
  if (state.current.text.trim() !== "") state.finalText = state.current.text;
  if (result.details.trim() !== "") state.detailsText = result.details;
  const resent = isUnfinished(result);
  // After the finish reason "continue", the same request is sent again. After "paused", the request includes the message so far.
  if (!resent || result.finish === "paused") placeMessage(state);
  state.continuation = resent ? state.continuation + 1 : state.continuation;
}

function applyMessage(state: LoopState, result: StreamResult): void {
  const providerMetadata = toMetadataParts(result);
  for (const part of providerMetadata) state.modelParts.push(part);
  for (const call of result.calls) state.heldIds.add(call.callId);
  for (const callId of result.discardedIds ?? []) state.heldIds.add(callId);
  const { text, reasoning, calls, eagerOutcomes } = result;
  const { current } = state;
  state.current =
    state.continuation === 0
      ? { text, reasoning, calls, providerMetadata, eagerOutcomes }
      : {
          ...joinMessage(current, result),
          providerMetadata: [...current.providerMetadata, ...providerMetadata],
          eagerOutcomes: [...(current.eagerOutcomes ?? []), ...(eagerOutcomes ?? [])],
        };
}

function applyBatch(state: LoopState, { settled: made, loop }: Extract<StepResult, { kind: "batch" }>): void {
  const settled = state.handOver?.keepFirst(made) ?? made;
  const results = placeResults(state, settled);
  state.chainStarted ||= settled.length > 0;
  state.toolLimitBroken = state.toolLimitReached && settled.length > 0;
  state.lastBatch = settled;
  state.identical = countIdenticalCalls(state.identical, settled);
  countErrors(state, settled);
  settled.forEach((call, index) => applyCall(state, call, results[index]));
  keepUndelivered(state, settled);
  state.handOver?.apply(state, settled);
  if (state.streamResults.at(-1)?.finish === "malformed-call") state.messages.push({ role: "user", content: malformedNote });
  applyRepetition(state, results, loop);
}

/**
 * Keeps the undelivered messages of nested runs for the result. The model of this run does not get these messages, because the
 * messages were meant for other models.
 */
function keepUndelivered({ unsent }: LoopState, settled: readonly SettledCall[]): void {
  for (const { outcome } of settled)
    for (const content of outcome.undelivered ?? []) unsent.push({ verb: "keep", message: { role: "user", content } });
}

/** Warns the model about a loop, unless the results of the repeated calls have changed. */
function applyRepetition(state: LoopState, results: readonly ToolResultPart[], loop: Repeats | undefined): void {
  state.repetition = state.repetition?.noteResults(state.current.calls, results);
  if (loop === undefined || state.repetition?.repeats(loop.cycle) === false) return;
  state.messages.push({ role: "user", content: warnOfLoop(loop.count) });
}

export function warnOfLoop(count: number): string {
  return `You repeated identical tool calls ${count} times. Change your approach or answer.`;
}

/** Adds only the complaint about an invalid answer. The answer itself is already in the transcript. */
function applyOutput(state: LoopState, { answer, complaint }: Extract<StepResult, { kind: "output" }>): void {
  state.lastOutput = answer;
  if (answer.kind === "invalid") state.invalidAnswers += 1;
  if (complaint !== undefined) state.messages.push({ role: "user", content: complaint });
}

/** Adds results for the open calls of the last message, so that the transcript is valid for another request. */
function applyEnding(state: LoopState, ending: Ending): void {
  state.ending = ending;
  if (state.phase !== "resume") state.closedAfter = state.phase;
  if (state.phase !== "model") return;
  // Also place a message that is already in the transcript, because the text of its last continuation may be missing.
  placeMessage(state);
  answerOpenCalls(state);
}

/** Adds `not-run` results for the calls that cannot run any more. Calls that have already run keep their outcome. */
function answerOpenCalls(state: LoopState): void {
  const early = earlyOutcomesOf(state.current);
  const settled = state.current.calls
    .filter(isNamed)
    .map((call): SettledCall => ({ outcome: early.get(call.callId) ?? { call, durationMs: 0, kind: "not-run" } }));
  const results = placeResults(state, settled);
  settled.forEach((call, index) => applyCall(state, call, results[index]));
}
