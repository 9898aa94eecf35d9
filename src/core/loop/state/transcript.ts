// The transcript: how turns and results enter it, and what makes it sendable. Each call has exactly one result, directly after its
// turn, in call order.

import type { Json } from "../../types/json.ts";
import type { AssistantMessage, AssistantPart, TextPart, ToolResultPart } from "../../types/message.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { renderOutcome } from "../../tools/render-outcome.ts";
import type { LoopState, SettledCall, Turn } from "./loop-state.ts";

/** What the model reads of a call that restarted the context. */
export const restartedResult: Json = { status: "context_restarted" };

/** What the model would read of a call that somebody has yet to decide about. */
const awaitingResult: Json = { status: "awaiting_approval" };

/** Puts the current turn at the end of the transcript, in place of its earlier continuations. */
export function placeTurn(state: LoopState): void {
  const message = toAssistantMessage(state.turn);
  if (message === undefined) return;
  if (state.turnPlaced) state.messages.pop();
  state.messages.push(message);
  state.turnPlaced = true;
}

/** A call without a name cannot be sent back, so that it is left out. */
export function isNamed(call: ToolCall): boolean {
  return call.name.trim() !== "";
}

function toAssistantMessage({ reasoning, text, calls, providerMetadata }: Turn): AssistantMessage | undefined {
  const parts = calls.length === 0 ? [] : calls.filter(isNamed).map(toCallPart);
  const content = [...toTextPart("reasoning", reasoning), ...toTextPart("text", text), ...parts];
  if (providerMetadata.length > 0) return { role: "assistant", content, providerMetadata };
  return content.length === 0 ? undefined : { role: "assistant", content };
}

function toTextPart(type: TextPart["type"], text: string): readonly TextPart[] {
  return text === "" ? [] : [{ type, text }];
}

function toCallPart({ callId, providerCallId, name, args }: ToolCall): AssistantPart {
  return providerCallId === undefined
    ? { type: "tool-call", callId, name, args }
    : { type: "tool-call", callId, providerCallId, name, args };
}

/** Answers the calls of the current turn, and returns the answers. Edited arguments are noted beside the model's own. */
export function placeResults(state: LoopState, settled: readonly SettledCall[]): readonly ToolResultPart[] {
  if (settled.length === 0) return [];
  if (settled.some(({ outcome }) => outcome.approvedArgs !== undefined)) noteEdits(state, settled);
  const results = settled.map(toResultPart);
  state.messages.push({ role: "tool", results });
  return results;
}

const noOutcomes: ReadonlyMap<string, ToolOutcome> = new Map();

/** What became of the calls that were started while the model spoke, by call. */
export function earlyOutcomesOf({ eagerOutcomes = [] }: Pick<Turn, "eagerOutcomes">): ReadonlyMap<string, ToolOutcome> {
  return eagerOutcomes.length === 0 ? noOutcomes : new Map(eagerOutcomes.map((outcome) => [outcome.call.callId, outcome]));
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
  if (awaiting !== undefined) return { callId, name, outcome: "awaiting-approval", result: awaitingResult };
  if (restart !== undefined) return { callId, name, outcome: "restarted", result: restartedResult };
  const content = outcome.kind === "completed" ? (outcome.content ?? []) : [];
  // The text that stages have made is also made of the text parts.
  const beside = textForModel === undefined ? content : content.filter(({ type }) => type !== "text");
  const part = { callId, name, outcome: outcome.kind, result: textForModel ?? renderOutcome(outcome) };
  return beside.length === 0 ? part : { ...part, content: beside };
}
