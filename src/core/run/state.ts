// The state of a run after each step. Updated in place, so that iteration 5,000 takes as long as iteration 5. Uses no I/O, clock
// or randomness: equal results lead to an equal state.

import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ProviderMetadataPart,
  ToolResultPart,
  UserMessage,
} from "../types/message.ts";
import type { NestedSpending, ToolHistoryEntry } from "../types/tool-outcome.ts";
import { isUnfinished, problemOf } from "../../shared/judge-finish.ts";
import { detectContextRestart } from "../loop/restart/context-restart.ts";
import { malformedNote } from "../loop/state/apply-step.ts";
import { isNamed, restartedResult, seal } from "../loop/state/transcript.ts";
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
    agains: 0,
    isGranted: false,
    retry: 0,
    before: { messages: messages.length, functionHistory: 0, finalText: "" },
  };
}

/** Returns the active time at the look. Times of different executions cannot be compared, so the days between them do not count. */
export function activeAt({ look, activeMs }: State, { now, token }: Pick<Look, "now" | "token">): number {
  return look?.token === token ? activeMs + now - look.now : activeMs;
}

export function applyLook(state: State, look: Look): void {
  state.activeMs = activeAt(state, look);
  // An earlier execution has returned its unsent messages to its caller.
  if (state.look !== undefined && state.look.token !== look.token) state.unsent.length = 0;
  state.look = look;
  state.codeVersion = look.codeVersion ?? state.codeVersion;
  state.unsent.push(...(look.messages ?? []));
  if (look.ending === undefined) beginIteration(state, look);
  state.phase = "look";
}

function beginIteration(state: State, { retries }: Look): void {
  if (state.waits.length > 0) state.messages.splice(-1, 1, ...endWaiting(state).slice(-1));
  state.waits = [];
  if (retries === true) takeBack(state);
  else if (!state.isFresh) nextIteration(state);
  state.steered = takeSteered(state);
  clearIteration(state);
}

function takeSteered(state: State): readonly UserMessage[] {
  const steered = state.unsent.flatMap(({ verb, message }) => (verb === "steer" ? message : []));
  if (steered.length === 0) return steered;
  answerOpenCalls(state);
  state.messages.push(...steered);
  state.unsent.splice(0, state.unsent.length, ...state.unsent.filter(({ verb }) => verb !== "steer"));
  return steered;
}

function nextIteration(state: State): void {
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

/** Returns the messages of a run that does not wait any more. */
export function endWaiting({ messages, lastBatch }: State): readonly Message[] {
  const last = messages.at(-1);
  if (last?.role !== "tool") return messages;
  const open = new Map(lastBatch.filter((one) => one.waits.length > 0).map(({ call, outcome }) => [call.callId, outcome]));
  const results = last.results.map((part): ToolResultPart => {
    const outcome = open.get(part.callId);
    return outcome === undefined ? part : { ...part, outcome: outcome.kind, result: renderOutcome(outcome) };
  });
  return [...messages.slice(0, -1), seal({ ...last, results })];
}

/** Takes the newest message back, unless one of its calls has run. Its cost stays. */
function takeBack(state: State): void {
  state.retry += 1;
  state.consecutiveToolErrors = 0;
  state.pauses = 0;
  const outcomes = [...state.lastBatch.map(({ outcome }) => outcome), ...state.current.early];
  if (state.phase === "look" && state.isCurrentPlaced && outcomes.some(({ kind }) => wasDispatched(kind))) {
    answerOpenCalls(state);
    nextIteration(state);
    return;
  }
  const { messages, functionHistory, finalText } = state.before;
  state.messages.length = messages;
  state.functionHistory.length = functionHistory;
  state.finalText = finalText;
  if (state.skipped === undefined) state.countedIterations -= 1;
}

/** `spent` is the usage of nested runs that middleware made around the request. */
export function applyAnswer(state: State, answer: Answer, spent: readonly NestedSpending[]): void {
  state.lastBatch = [];
  state.isFresh = false;
  state.phase = "answer";
  state.skipped = answer.skipped === true ? answer.ends : undefined;
  for (const one of spent) applyNested(state, one);
  if (answer.skipped === true) {
    returnSteered(state);
    return;
  }
  state.answers.push(answer);
  if (state.continuation > 0) state.pauses += 1;
  else if (!state.isGranted) state.countedIterations += 1;
  state.isGranted = false;
  applyCost(state, answer);
  // The text of an interrupted iteration does not enter the transcript, because the next run answers again.
  if (answer.status !== "follow-up-interrupt") applyMessage(state, answer);
}

/** The model did not get the messages, because no request was made. */
function returnSteered(state: State): void {
  const { messages, unsent, steered, before } = state;
  if (steered.length === 0 || state.continuation > 0) return;
  const first = before.messages - steered.length;
  messages.splice(first, steered.length);
  unsent.unshift(...steered.map((message) => ({ verb: "steer", message }) as const));
  state.before = { ...before, messages: first };
}

function applyCost(state: State, answer: Answer): void {
  applySpending(state, answer);
  for (const one of answer.eagerSpent ?? []) applyNested(state, one);
  state.lastCostUSD = answer.costUSD ?? answer.knownCostUSD ?? state.lastCostUSD;
  if (answer.unpriced !== undefined) state.unpriced ??= { ...answer.unpriced, iteration: state.iteration };
}

function applyMessage(state: State, answer: Answer): void {
  const { calls, finish } = answer;
  const { current, continuation } = state;
  state.current = joinMessage(continuation === 0 ? emptyMessage : current, answer);
  for (const { callId } of calls) state.heldIds.add(callId);
  for (const callId of answer.discardedIds ?? []) state.heldIds.add(callId);
  if (state.current.text.trim() !== "") state.finalText = state.current.text;
  const isResent = isUnfinished(answer);
  // After the finish reason "continue", the same request is sent again. After "paused", the request includes the message so far.
  if (!isResent || finish === "paused") placeMessage(state);
  if (isResent) state.continuation += 1;
}

/** Adds an answer to the message that it continues. */
function joinMessage(current: CurrentMessage, answer: Answer): CurrentMessage {
  const { text, reasoning, calls, finish, eagerOutcomes = [] } = answer;
  const problem = problemOf(finish);
  return {
    text: current.text + text,
    reasoning: current.reasoning + reasoning,
    // If a continuation is cut off, the earlier calls of the message must not run either.
    calls: [...(problem === undefined ? current.calls : current.calls.map((call) => ({ ...call, problem }))), ...calls],
    early: [...current.early, ...eagerOutcomes],
    providerMetadata: [...current.providerMetadata, ...metadataOf(answer)],
  };
}

export function metadataOf({ provider, model, providerMetadata }: Answer): readonly ProviderMetadataPart[] {
  return providerMetadata.map((item) => ({ provider, model, item }));
}

/** Puts the current message at the end of the transcript. A continued message replaces its earlier version. */
function placeMessage(state: State): void {
  const message = toMessage(state.current);
  if (message === undefined) return;
  if (state.isCurrentPlaced) state.messages.pop();
  state.messages.push(message);
  state.isCurrentPlaced = true;
}

function toMessage({ reasoning, text, calls, providerMetadata }: CurrentMessage): AssistantMessage | undefined {
  const content: AssistantPart[] = [];
  if (reasoning !== "") content.push({ type: "reasoning", text: reasoning });
  if (text !== "") content.push({ type: "text", text });
  for (const { callId, providerCallId, name, args } of calls)
    if (name.trim() !== "")
      content.push({ type: "tool-call", callId, ...(providerCallId !== undefined && { providerCallId }), name, args });
  if (providerMetadata.length > 0) return { role: "assistant", content, providerMetadata };
  return content.length === 0 ? undefined : { role: "assistant", content };
}

export function applyCalls(state: State, ended: readonly EndedCall[]): void {
  const waits: Wait[] = [];
  const isMalformed = state.answers.at(-1)?.finish === "malformed-call";
  let hasFailed = isMalformed && ended.length === 0;
  let hasCompleted = false;
  placeResults(state, ended);
  for (const one of ended) {
    const { kind } = one.outcome;
    waits.push(...one.waits);
    hasCompleted ||= kind === "completed";
    hasFailed ||= countsAsError(kind);
    applyOutcome(state, one.outcome);
  }
  state.lastBatch = ended;
  state.waits = waits;
  // The failed calls of one message count as one error, because the model has read none of them before.
  if (waits.length === 0 && hasCompleted) state.consecutiveToolErrors = 0;
  else if (waits.length === 0 && hasFailed) state.consecutiveToolErrors += 1;
  if (isMalformed) state.messages.push({ role: "user", content: malformedNote });
  state.phase = "calls";
}

function applyOutcome(state: State, { kind, nested }: Outcome): void {
  if (wasDispatched(kind)) state.toolCallsExecuted += 1;
  if (nested !== undefined) applyNested(state, nested);
}

/** Each call has exactly one result, directly after its message. */
export function placeResults(state: State, ended: readonly EndedCall[]): void {
  const results: ToolResultPart[] = [];
  let isEdited = false;
  for (const one of ended) {
    if (!isNamed(one.call)) continue;
    const { outcome, waits } = one;
    const part = toResultPart(one);
    results.push(part);
    const isOver = waits.length === 0 && outcome.kind !== "interrupted" && outcome.kind !== "not-run";
    if (isOver && part.outcome !== "restarted") state.functionHistory.push(toHistoryEntry(state, outcome, part));
    if (outcome.kind === "completed" && outcome.content !== undefined) state.contentDelivered = true;
    isEdited ||= outcome.approvedArgs !== undefined;
  }
  if (results.length === 0) return;
  if (isEdited) noteEdits(state, ended);
  state.messages.push({ role: "tool", results });
}

function noteEdits(state: State, ended: readonly EndedCall[]): void {
  const last = state.messages.at(-1);
  if (last?.role !== "assistant") return;
  const edits = new Map(ended.map(({ call, outcome }) => [call.callId, outcome.approvedArgs]));
  const content = last.content.map((part): AssistantPart => {
    const approvedArgs = part.type === "tool-call" ? edits.get(part.callId) : undefined;
    return part.type === "tool-call" && approvedArgs !== undefined ? { ...part, approvedArgs } : part;
  });
  state.messages[state.messages.length - 1] = { ...last, content };
}

function toResultPart({ call: { callId, name }, outcome, waits }: EndedCall): ToolResultPart {
  const [wait] = waits;
  if (wait !== undefined) {
    const waitsFor = wait.what === "approval" ? "approval" : "result";
    return { callId, name, outcome: `awaiting-${waitsFor}`, result: { status: `awaiting_${waitsFor}` } };
  }
  const { textForModel } = outcome;
  if (detectContextRestart(outcome, undefined) !== undefined)
    return { callId, name, outcome: "restarted", result: restartedResult };
  // `textForModel` already includes the text parts.
  const content = contentOf(outcome).filter(({ type }) => textForModel === undefined || type !== "text");
  const part = { callId, name, outcome: outcome.kind, result: textForModel ?? renderOutcome(outcome) };
  return content.length === 0 ? part : { ...part, content };
}

function toHistoryEntry(state: State, outcome: Outcome, { result, content }: ToolResultPart): ToolHistoryEntry {
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
    ...(outcome.textForModel !== undefined && { processed: true as const }),
    ...(kind === "approval-failed" && { error: outcome.error }),
    ...(kind === "completed" && outcome.endTurn === true && { endTurn: true as const }),
  };
}

export interface Again {
  readonly again: readonly UserMessage[];
  readonly isCounted?: true | undefined;
}

/** Goes on after an ending. A limit that was reached does not count for one more iteration. */
export function applyAgain(state: State, { again, isCounted }: Again, ending: Ending): void {
  answerOpenCalls(state);
  if (ending.status !== "completed") nextIteration(state);
  state.messages.push(...again);
  // Without a limit, the next look takes the messages.
  const isGranted = ending.status !== "completed" && isCounted !== true;
  state.steered = isGranted ? takeSteered(state) : [];
  state.agains += 1;
  state.isGranted = isGranted;
  state.lastBatch = [];
  clearIteration(state);
  state.phase = "again";
}

/** Calls that cannot run any more get a result too, so that the transcript can be sent. */
export function answerOpenCalls(state: State): void {
  if (state.phase !== "look" && state.phase !== "answer") return;
  // After "continue", the message would be lost, although calls of it have run.
  if (!state.isCurrentPlaced && state.current.early.length > 0) placeMessage(state);
  if (state.lastBatch.length > 0 || !state.isCurrentPlaced) return;
  const early = new Map(state.current.early.map((outcome) => [outcome.call.callId, outcome]));
  const ended = state.current.calls.map((call): EndedCall => ({
    call,
    outcome: early.get(call.callId) ?? { call, durationMs: 0, kind: "not-run" },
    waits: [],
  }));
  placeResults(state, ended);
  for (const { outcome } of ended) applyOutcome(state, outcome);
}
