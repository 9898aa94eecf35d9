// The messages of a run, and the changes that steps make to them. A message that was sent to a model is frozen.

import { emptyMessage, type LoopState, neededBy, type CurrentMessage } from "./loop-state.ts";
import type { SettledCall } from "./step-result.ts";
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ToolResultPart,
  UserMessage,
  ProviderMetadataPart,
} from "../../types/message.ts";
import { freezeDeep, toJson } from "../../utils/json.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { problemOf } from "../../providers/judge-finish.ts";
import type { Json } from "../../types/common.ts";
import type { CompactedMessages } from "../../types/policies.ts";
import { memoize } from "../../utils/promises.ts";
import { contentOf, renderOutcome } from "../../tools/outcome-texts.ts";

export function noteBeforeMessage(state: LoopState): void {
  const { modelParts, functionHistory, finalText, detailsText, thoughtLog } = state;
  state.beforeMessage = {
    modelParts: modelParts.length,
    functionHistory: functionHistory.length,
    finalText,
    detailsText,
    thoughtLog,
  };
}

/** Removes the last assistant message, and restores the saved values. The cost and the stream result of the message stay. */
export function takeMessageBack(state: LoopState): void {
  const { modelParts, functionHistory, ...before } = state.beforeMessage;
  state.messages.length = state.iterationStart;
  state.modelParts.length = modelParts;
  state.functionHistory.length = functionHistory;
  Object.assign(state, before);
}

const views = new WeakMap<readonly unknown[], readonly unknown[]>();

const sealed = new WeakSet<Message>();

export function seal<M extends Message>(message: M): M {
  sealed.add(message);
  return freezeDeep(message);
}

/** The number of nesting levels that a message adds around arguments and results. */
const envelope = 8;

/**
 * Returns a message that the caller cannot change: the same object if a run created it, otherwise a copy. Throws like `toJson`.
 */
export function sealedCopy(message: unknown): unknown {
  return sealed.has(message as Message) ? message : toJson(message, envelope);
}

/**
 * Returns a frozen copy of the transcript, which is cached until a message is added. Call `forgetView` after any other change.
 */
export function frozenView(messages: readonly Message[]): readonly Message[] {
  const known = views.get(messages) as readonly Message[] | undefined;
  if (known?.length === messages.length && known.at(-1) === messages.at(-1)) return known;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined || Object.isFrozen(message)) break;
    seal(message);
  }
  const view = Object.freeze([...messages]);
  views.set(messages, view);
  return view;
}

/** Removes the cached view. Must be called after every change to `messages`, except after a new message was added at the end. */
export function forgetView(messages: readonly Message[]): void {
  views.delete(messages);
}

export function lastUserText(messages: readonly Message[]): string {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role === "user") return userTextOf(message);
  }
  return "";
}

export function userTextOf({ content }: UserMessage): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

export function joinMessage(
  current: CurrentMessage,
  { text, reasoning, calls, finish }: StreamResult,
): Omit<CurrentMessage, "providerMetadata"> {
  return {
    text: current.text + text,
    reasoning: current.reasoning + reasoning,
    calls: [...withProblem(current.calls, problemOf(finish)), ...calls],
  };
}

/**
 * If a continuation is cut off, the earlier calls of the message must not run either, so the earlier calls get the same problem.
 */
function withProblem(calls: readonly ToolCall[], problem: ToolCall["problem"]): readonly ToolCall[] {
  return problem === undefined ? calls : calls.map((call) => ({ ...call, problem }));
}

export const restartedResult: Json = { status: "context_restarted" };

/** Puts the current message at the end of the transcript. A continued message replaces its earlier version. */
export function placeMessage(state: LoopState): void {
  const message = toAssistantMessage(state.current);
  if (message === undefined) return;
  if (state.isCurrentPlaced) state.messages.pop();
  state.messages.push(message);
  state.isCurrentPlaced = true;
}

/** A call without a name cannot be sent to the model, so the transcript omits it. */
export function isNamed(call: ToolCall): boolean {
  return call.name.trim() !== "";
}

function toAssistantMessage({ reasoning, text, calls, providerMetadata }: CurrentMessage): AssistantMessage | undefined {
  const named = calls.every(isNamed) ? calls : calls.filter(isNamed);
  // Uses `concat` to save memory, because the transcript keeps the messages. V8 reserves space for 17 elements in an array that
  // is created with several spreads.
  const content = toTextParts(reasoning, text).concat(named.map(toCallPart));
  if (providerMetadata.length > 0) return { role: "assistant", content, providerMetadata };
  return content.length === 0 ? undefined : { role: "assistant", content };
}

function toTextParts(reasoning: string, text: string): AssistantPart[] {
  if (reasoning === "") return text === "" ? [] : [{ type: "text", text }];
  const thought = { type: "reasoning", text: reasoning } as const;
  return text === "" ? [thought] : [thought, { type: "text", text }];
}

function toCallPart({ callId, providerCallId, name, args }: ToolCall): AssistantPart {
  return providerCallId === undefined
    ? { type: "tool-call", callId, name, args }
    : { type: "tool-call", callId, providerCallId, name, args };
}

/**
 * Adds the results of the current calls to the transcript, and returns them. Stores edited arguments beside the original ones.
 */
export function placeResults(state: LoopState, settled: readonly SettledCall[]): readonly ToolResultPart[] {
  if (settled.length === 0) return [];
  if (settled.some(({ outcome }) => outcome.approvedArgs !== undefined)) noteEdits(state, settled);
  const results = settled.map(toResultPart);
  state.messages.push({ role: "tool", results });
  return results;
}

const noOutcomes: ReadonlyMap<string, ToolOutcome> = new Map();

export function earlyOutcomesOf({ eagerOutcomes }: Pick<CurrentMessage, "eagerOutcomes">): ReadonlyMap<string, ToolOutcome> {
  return outcomesById(eagerOutcomes);
}

export function outcomesById(outcomes: readonly ToolOutcome[] = []): ReadonlyMap<string, ToolOutcome> {
  return outcomes.length === 0 ? noOutcomes : new Map(outcomes.map((outcome) => [outcome.call.callId, outcome]));
}

function noteEdits(state: LoopState, settled: readonly SettledCall[]): void {
  const last = state.messages.at(-1);
  if (last?.role !== "assistant") return;
  const edits = new Map(settled.map(({ outcome }) => [outcome.call.callId, outcome.approvedArgs]));
  const content = last.content.map((part): AssistantPart => {
    const approvedArgs = part.type === "tool-call" ? edits.get(part.callId) : undefined;
    return part.type === "tool-call" && approvedArgs !== undefined ? { ...part, approvedArgs } : part;
  });
  state.messages[state.messages.length - 1] = { ...last, content };
}

function toResultPart({ outcome, restart, awaiting, textForModel }: SettledCall): ToolResultPart {
  const { callId, name } = outcome.call;
  if (awaiting !== undefined) {
    const { waitsFor } = neededBy(outcome);
    return { callId, name, outcome: `awaiting-${waitsFor}`, result: { status: `awaiting_${waitsFor}` } };
  }
  if (restart !== undefined) return { callId, name, outcome: "restarted", result: restartedResult };
  const content = contentOf(outcome);
  // `textForModel` already includes the text parts.
  const beside = textForModel === undefined ? content : content.filter(({ type }) => type !== "text");
  const part = { callId, name, outcome: outcome.kind, result: textForModel ?? renderOutcome(outcome) };
  return beside.length === 0 ? part : { ...part, content: beside };
}

export function refusedAsTooLong({ reason }: Pick<StreamResult, "reason">): boolean {
  return reason?.kind === "provider-error" && reason.error.code === "context-too-long";
}

/**
 * Returns the messages of a request after a compaction: the kept messages, the summary, and the messages after the summarized
 * ones.
 */
export function toCompacted(messages: readonly Message[], compaction: CompactedMessages): readonly Message[] {
  const kept = compaction.kept.flatMap((index) => messages[index] ?? []);
  return Object.freeze([...kept, summaryMessageOf(compaction), ...messages.slice(compaction.count)]);
}

/** True if requests with this summary are valid: all kept messages exist, and no result is separated from its call. */
export function fitsMessages({ count, kept }: CompactedMessages, messages: readonly Message[]): boolean {
  const isCut = count <= messages.length && messages[count]?.role !== "tool";
  return isCut && kept.every((index) => messages[index]?.role === "user");
}

/** Memoized, so that all requests with a summary contain the same message object. */
const summaryMessageOf = /* @__PURE__ */ memoize(({ summary }: CompactedMessages): UserMessage =>
  seal({ role: "user", content: `${summaryTitle}\n${summary}` }),
);

export const summaryTitle = "Summary of the earlier conversation, which is no longer shown:";

export function toMetadataParts({ providerMetadata, provider, model }: StreamResult): readonly ProviderMetadataPart[] {
  return providerMetadata.length === 0
    ? emptyMessage.providerMetadata
    : providerMetadata.map((item) => ({ provider, model, item }));
}
