// Computes a run's state after each step, without I/O, a clock or randomness, so that the same results always lead to the same state.
// Updates it in place, so that long runs do not slow down.

import type { AssistantPart, Message, ProviderMetadataPart, ToolResultPart, UserMessage } from "../types/message.ts";
import type { NestedSpending, ToolCall, ToolHistoryEntry } from "../types/tool-outcome.ts";
import { isUnfinished, problemOf } from "../../shared/judge-finish.ts";
import { detectContextRestart } from "./context-restart.ts";
import { malformedNote } from "../../shared/model-notes.ts";
import { isNamed, restartedResult, seal } from "../../shared/transcript.ts";
import { contentOf, countsAsError, renderOutcome, wasDispatched } from "../../shared/to-outcome.ts";
import { applyNested, applySpending, noUsage } from "../../shared/count-usage.ts";
import type { Answer, CurrentMessage, EndedCall, Ending, Look, Outcome, State, Wait } from "../types/middleware.ts";

export const emptyMessage: CurrentMessage = { text: "", reasoning: "", calls: [], early: [], providerMetadata: [] };

export function createState(messages: readonly Message[], heldIds: Iterable<string>, isPriced: boolean): State {
  return {
    phase: "start",
    isFresh: true,
    iteration: 0,
    continuation: 0,
    pauses: 0,
    countedIterations: 0,
    messages: [...messages],
    givenMessages: messages.length,
    heldIds: new Set(heldIds),
    answers: [],
    current: emptyMessage,
    isCurrentPlaced: false,
    lastBatch: [],
    waits: [],
    unsent: [],
    steered: [],
    functionHistory: [],
    finalText: "",
    contentDelivered: false,
    usage: noUsage,
    costUSD: isPriced ? 0 : undefined,
    spentUSD: 0,
    lastCostUSD: 0,
    unpriced: undefined,
    toolCallsExecuted: 0,
    consecutiveToolErrors: 0,
    skipped: undefined,
    look: undefined,
    lookAttempt: { base: "", count: 0 },
    codeVersion: undefined,
    activeMs: 0,
    activeMsAtLook: 0,
    agains: 0,
    isGranted: false,
    retry: 0,
    before: { messages: messages.length, functionHistory: 0, finalText: "" },
  };
}

/**
 * Returns the active time at the look. Clock times from different executions cannot be compared, so the time between executions does not
 * count. For an earlier execution, the recorded durations since its last look count.
 */
export function activeAt({ look, activeMs, activeMsAtLook }: State, { now, token }: Pick<Look, "now" | "token">): number {
  return look?.token === token ? activeMsAtLook + now - look.now : activeMs;
}

export function applyLook(state: State, look: Look): void {
  const { token, messages = [], ending, codeVersion = state.codeVersion } = look;
  const activeMs = activeAt(state, look);
  // Drops the unsent messages of an earlier execution, which has already returned them to its caller.
  if (state.look?.token !== token) state.unsent.length = 0;
  state.unsent.push(...messages);
  if (ending === undefined) {
    if (!state.isFresh) nextIteration(state);
    state.steered = takeSteered(state);
    clearIteration(state);
  }
  Object.assign(state, { phase: "look", look, activeMs, activeMsAtLook: activeMs, codeVersion });
}

function takeSteered(state: State): readonly UserMessage[] {
  const { unsent, messages } = state;
  const steered = unsent.flatMap(({ verb, message }) => (verb === "steer" ? message : []));
  if (steered.length === 0) return steered;
  answerOpenCalls(state);
  messages.push(...steered);
  unsent.splice(0, unsent.length, ...unsent.filter(({ verb }) => verb !== "steer"));
  return steered;
}

export function nextIteration(state: State): void {
  state.iteration += 1;
  state.retry = 0;
  state.isFresh = true;
}

function clearIteration(state: State): void {
  state.continuation = 0;
  state.current = emptyMessage;
  state.isCurrentPlaced = false;
  const { messages, functionHistory, finalText } = state;
  state.before = { messages: messages.length, functionHistory: functionHistory.length, finalText };
}

/** Returns the messages of a run that is no longer waiting. */
export function endWaiting({ messages, lastBatch }: State): readonly Message[] {
  if (lastBatch.every(({ waits }) => waits.length === 0)) return messages;
  const results = lastBatch.filter(({ call }) => isNamed(call)).map((one) => toResultPart({ ...one, waits: [] }));
  return [...messages.slice(0, -1), seal({ role: "tool", results })];
}

/** Applies an answer to the state. `spent` is the usage of nested runs that middleware started around the request. */
export function applyAnswer(state: State, answer: Answer, spent: readonly NestedSpending[]): void {
  const { ends, skipped, status, costUSD, knownCostUSD, unpriced, eagerSpent = [] } = answer;
  const isSkipped = skipped === true;
  Object.assign(state, { phase: "answer", lastBatch: [], isFresh: false, skipped: isSkipped ? ends : undefined });
  for (const one of [...spent, ...eagerSpent]) applyNested(state, one);
  if (isSkipped) return returnSteered(state);
  state.answers.push(answer);
  state.activeMs += answer.durationMs;
  if (state.continuation > 0) state.pauses += 1;
  else if (!state.isGranted) state.countedIterations += 1;
  state.isGranted = false;
  applySpending(state, answer);
  state.lastCostUSD = costUSD ?? knownCostUSD ?? state.lastCostUSD;
  if (unpriced !== undefined) state.unpriced ??= { ...unpriced, iteration: state.iteration };
  // An interrupted iteration leaves no text in the transcript, because the next run answers again.
  if (status !== "follow-up-interrupt") applyMessage(state, answer);
}

/** Puts steered messages back, because no request sent them to the model. */
function returnSteered(state: State): void {
  const { messages, unsent, steered, before } = state;
  if (steered.length === 0 || state.continuation > 0) return;
  const first = before.messages - steered.length;
  messages.splice(first, steered.length);
  unsent.unshift(...steered.map((message) => ({ verb: "steer", message }) as const));
  state.before = { ...before, messages: first };
}

/** Adds an answer's content to the message that it continues. */
function applyMessage(state: State, answer: Answer): void {
  const { text, reasoning, calls, finish, eagerOutcomes = [], discardedIds = [] } = answer;
  const before = state.continuation === 0 ? emptyMessage : state.current;
  const problem = problemOf(finish);
  const current = {
    text: before.text + text,
    reasoning: before.reasoning + reasoning,
    // If a continuation was cut off, marks the message's earlier calls with the same problem, so that they do not run either.
    calls: [...(problem === undefined ? before.calls : before.calls.map((call) => ({ ...call, problem }))), ...calls],
    early: [...before.early, ...eagerOutcomes],
    providerMetadata: [...before.providerMetadata, ...metadataOf(answer)],
  };
  state.current = current;
  for (const callId of [...calls.map((call) => call.callId), ...discardedIds]) state.heldIds.add(callId);
  if (current.text.trim() !== "") state.finalText = current.text;
  const isResent = isUnfinished(answer);
  // Places the message in the transcript unless the finish reason is "continue", because the request is then repeated without the message.
  if (!isResent || finish === "paused") placeMessage(state);
  if (isResent) state.continuation += 1;
}

export function metadataOf({ provider, model, providerMetadata }: Answer): readonly ProviderMetadataPart[] {
  return providerMetadata.map((item) => ({ provider, model, item }));
}

/** Puts the current message at the end of the transcript. A continued message replaces its earlier version. */
function placeMessage(state: State): void {
  const { reasoning, text, calls, providerMetadata } = state.current;
  const content: AssistantPart[] = [];
  if (reasoning !== "") content.push({ type: "reasoning", text: reasoning });
  if (text !== "") content.push({ type: "text", text });
  for (const { callId, providerCallId, name, args } of calls.filter(isNamed))
    content.push({ type: "tool-call", callId, ...(providerCallId !== undefined && { providerCallId }), name, args });
  if (content.length === 0 && providerMetadata.length === 0) return;
  if (state.isCurrentPlaced) state.messages.pop();
  state.messages.push({ role: "assistant", content, ...(providerMetadata.length > 0 && { providerMetadata }) });
  state.isCurrentPlaced = true;
}

export function applyCalls(state: State, ended: readonly EndedCall[]): void {
  const isMalformed = state.answers.at(-1)?.finish === "malformed-call";
  const waits = ended.flatMap((one) => one.waits);
  applyEnded(state, ended);
  // The calls ran in parallel, so only the longest one counts as active time.
  state.activeMs += Math.max(0, ...ended.map(({ outcome }) => outcome.durationMs));
  // Counts all failed calls of a message as one error, because the model made them before it could read any of the errors.
  if (waits.length === 0) {
    const kinds = ended.map(({ outcome }) => outcome.kind);
    if (kinds.includes("completed")) state.consecutiveToolErrors = 0;
    else if (kinds.some(countsAsError) || (isMalformed && kinds.length === 0)) state.consecutiveToolErrors += 1;
  }
  if (isMalformed) state.messages.push({ role: "user", content: malformedNote });
  Object.assign(state, { phase: "calls", lastBatch: ended, waits });
}

function applyEnded(state: State, ended: readonly EndedCall[]): void {
  placeResults(state, ended);
  for (const { outcome } of ended) {
    if (wasDispatched(outcome.kind)) state.toolCallsExecuted += 1;
    if (outcome.nested !== undefined) applyNested(state, outcome.nested);
  }
}

/** Adds the results to the transcript. Each call has exactly one result, directly after its message. */
export function placeResults(state: State, ended: readonly EndedCall[]): void {
  const results: ToolResultPart[] = [];
  for (const one of ended) {
    if (!isNamed(one.call)) continue;
    const { outcome, waits } = one;
    const { kind } = outcome;
    const part = toResultPart(one);
    results.push(part);
    const isOver = waits.length === 0 && kind !== "interrupted" && kind !== "not-run" && part.outcome !== "restarted";
    if (isOver) state.functionHistory.push(toHistoryEntry(state, outcome, part));
    if (kind === "completed" && outcome.content !== undefined) state.contentDelivered = true;
    if (outcome.approvedArgs !== undefined) noteEdit(state, outcome);
  }
  if (results.length > 0) state.messages.push({ role: "tool", results });
}

/** Adds edited and approved arguments to the call in the newest message. */
function noteEdit({ messages }: State, { call, approvedArgs }: Outcome): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return;
  const content = last.content.map((part): AssistantPart =>
    part.type === "tool-call" && part.callId === call.callId && approvedArgs !== undefined ? { ...part, approvedArgs } : part,
  );
  messages[messages.length - 1] = { ...last, content };
}

function toResultPart({ call: { callId, name }, outcome, waits }: EndedCall): ToolResultPart {
  const { kind, textForModel } = outcome;
  const [wait] = waits;
  if (wait !== undefined) {
    const waitsFor = wait.what === "approval" ? "approval" : "result";
    return { callId, name, outcome: `awaiting-${waitsFor}`, result: { status: `awaiting_${waitsFor}` } };
  }
  if (detectContextRestart(outcome, undefined) !== undefined)
    return { callId, name, outcome: "restarted", result: restartedResult };
  // Drops text parts if `textForModel` is set, because it includes them and the model would read them twice.
  const content = contentOf(outcome).filter(({ type }) => textForModel === undefined || type !== "text");
  const result = textForModel ?? renderOutcome(outcome);
  return { callId, name, outcome: kind, result, ...(content.length > 0 && { content }) };
}

function toHistoryEntry(state: State, outcome: Outcome, { result, content }: ToolResultPart): ToolHistoryEntry {
  const { call, kind, durationMs, approvedArgs, textForModel } = outcome;
  const { callId: id, name, args } = call;
  const { text } = state.current;
  return {
    functionCall: { id, name, args },
    functionResponse: { name, response: { result } },
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

export interface Again {
  readonly again: readonly UserMessage[];
  readonly isCounted?: true | undefined;
}

/** Lets a run that was about to end continue for one iteration, which is exempt from the limit that was reached. */
export function applyAgain(state: State, { again, isCounted }: Again, { status }: Ending): void {
  const isLimited = status !== "completed";
  const isGranted = isLimited && isCounted !== true;
  answerOpenCalls(state);
  if (isLimited) nextIteration(state);
  state.messages.push(...again);
  // Unless `beforeEnd` granted this iteration, leaves the user's new messages for the next look.
  const steered = isGranted ? takeSteered(state) : [];
  Object.assign(state, { phase: "again", agains: state.agains + 1, isGranted, steered, lastBatch: [] });
  clearIteration(state);
}

/** Adds a result for each call that can no longer run, so that the transcript can be sent. */
export function answerOpenCalls(state: State): void {
  const { phase, current, lastBatch } = state;
  if (phase !== "look" && phase !== "answer") return;
  // Adds a message that ended with "continue" to the transcript, because some of its calls have already run.
  if (!state.isCurrentPlaced && current.early.length > 0) placeMessage(state);
  if (lastBatch.length > 0 || !state.isCurrentPlaced) return;
  applyEnded(state, endOpen(current, current.calls));
}

/** Returns the outcomes of calls that can no longer run. Some may have run while the message streamed. */
export function endOpen({ early }: CurrentMessage, calls: readonly ToolCall[]): readonly EndedCall[] {
  return calls.map((call) => {
    const made = early.find((outcome) => outcome.call.callId === call.callId);
    return { call, outcome: made ?? { call, durationMs: 0, kind: "not-run" }, waits: [] };
  });
}

/** Returns the ending of a run that is waiting for answers. */
export function waitFor(state: State, waits: readonly Wait[]): Ending {
  state.waits = waits;
  return { status: "suspended", reason: { kind: "waiting", waits } };
}
