import { Answer, createEventReader } from "../shared/adapters/read-answer.ts";
import { type EventReader, isRecord, recordOf, textOf } from "../core/kit.ts";
import type { RequestChange } from "../core/types/provider.ts";
import {
  type FinishReason,
  type Json,
  type ModelChunk,
  providerError,
  type ProviderError,
  toProviderError,
} from "../core/index.ts";
import { type FinishWords, meaningOf } from "../shared/judge-finish.ts";
import { readServiceChanges } from "../shared/adapters/request-changes.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { toUsage } from "./chat-usage.ts";
import { ItemAssembly } from "./responses-items.ts";
import { toResponsesMetadata } from "./responses-metadata.ts";
import { kindOf, type TextKind, wordsOf } from "./responses-texts.ts";

type ResponseEnd =
  | { readonly kind: "completed" | "incomplete"; readonly reason: FinishReason; readonly raw: string }
  | { readonly kind: "failed"; readonly error: ProviderError };

const statusByEvent: ReadonlyMap<string, string> = new Map([
  ["response.failed", "failed"],
  ["response.cancelled", "cancelled"],
  ["response.incomplete", "incomplete"],
  ["response.completed", "completed"],
  // Sent by xAI (@ai-sdk/xai 5.0) and by gateways to Codex (github.com/jlcodes99/cockpit-tools/issues/2328) instead of the event above.
  ["response.done", "completed"],
]);

export function isTerminal(eventType: unknown): eventType is string {
  return typeof eventType === "string" && statusByEvent.has(eventType);
}

/**
 * Returns how the response ended. If the final event's type and `response.status` differ, the worse of the two is used. An incomplete
 * response counts as completed if the `finishReasons` option maps its reason to a normal finish reason.
 */
export function toResponseEnd(eventType: string, response: UnknownRecord, words: FinishWords = new Map()): ResponseEnd {
  const said = new Set([statusByEvent.get(eventType), response.status]);
  if (said.has("failed")) return { kind: "failed", error: toResponseError(response.error) };
  if (said.has("cancelled")) {
    return { kind: "failed", error: providerError("server", "The response was cancelled.", { retryable: false }) };
  }
  if (!said.has("incomplete")) return { kind: "completed", reason: "stop", raw: "completed" };
  const details = response.incomplete_details;
  const raw = isRecord(details) && textOf(details.reason) !== "" ? textOf(details.reason) : "incomplete";
  const reason = meaningOf(raw, words);
  return { kind: reason === "stop" || reason === "tool-calls" ? "completed" : "incomplete", reason, raw };
}

/** Reads an error. Some servers put its fields into the event itself, others into an `error` object. */
export function toResponseError(error: unknown): ProviderError {
  if (!isRecord(error)) return providerError("server", textOf(error) || "The response failed, and the service gave no reason.");
  return toProviderError(error);
}

interface EventReading {
  readonly answer: Answer;
  /** True if the request set `store`. The response may report a different value. */
  readonly store: boolean;
  readonly items: ItemAssembly;
  /** True once `response.created` has arrived. */
  isCreated: boolean;
  /** The provider metadata to send at the end. */
  metadata: readonly Json[];
}

/**
 * Reads the events of a response into chunks. Items may arrive in any order, in fragments or complete. Events of unknown types are
 * ignored. Items of unknown types produce no text, but are kept and sent back.
 */
export function createResponsesReader(out: ModelChunk[], store: boolean, words: FinishWords = new Map()): EventReader {
  const answer = new Answer(out, words);
  const reading: EventReading = { answer, store, items: new ItemAssembly(out), isCreated: false, metadata: [] };
  return createEventReader(answer, {
    read: (event) => readEvent(event, reading),
    end() {
      answer.keep(reading.metadata);
      if (answer.finish !== undefined) out.push({ type: "finish", ...answer.finish });
    },
  });
}

function readEvent(event: UnknownRecord, reading: EventReading): void {
  const { items, answer } = reading;
  switch (event.type) {
    case "response.created":
      return beginResponse(reading);
    case "response.output_item.added":
      return items.begin(event);
    case "response.output_item.done":
      return items.finish(event);
    case "response.content_part.done":
    case "response.reasoning_summary_part.done":
      return readPart(event, items);
    case "response.function_call_arguments.delta":
      return items.addArguments(event, "function_call", { text: textOf(event.delta), isWhole: false });
    case "response.function_call_arguments.done":
      return items.addArguments(event, "function_call", { text: textOf(event.arguments), isWhole: true });
    case "response.custom_tool_call_input.delta":
      return items.addArguments(event, "custom_tool_call", { text: textOf(event.delta), isWhole: false });
    case "response.custom_tool_call_input.done":
      return items.addArguments(event, "custom_tool_call", { text: textOf(event.input), isWhole: true });
    case "error":
      return failWith(toResponseError(event), answer);
    default:
      if (isTerminal(event.type)) endResponse(event.type, event.response, reading);
      else readText(event, items);
  }
}

/**
 * Begins the response. A second response in the stream is an error, unless the first was empty. The event that announces a response may
 * arrive after its first item.
 */
function beginResponse(reading: EventReading): void {
  const isSecond = reading.isCreated;
  reading.isCreated = true;
  if (!isSecond || reading.items.isEmpty) return;
  reading.answer.leave();
}

function failWith(error: ProviderError, answer: Answer): void {
  answer.failed = true;
  answer.out.push({ type: "error", error });
}

const textEvents: ReadonlyMap<unknown, { readonly kind: TextKind; readonly isSummary: boolean; readonly isWhole: boolean }> =
  new Map([
    ["response.output_text.delta", { kind: "text-delta", isSummary: false, isWhole: false }],
    ["response.output_text.done", { kind: "text-delta", isSummary: false, isWhole: true }],
    ["response.refusal.delta", { kind: "refusal-delta", isSummary: false, isWhole: false }],
    ["response.refusal.done", { kind: "refusal-delta", isSummary: false, isWhole: true }],
    ["response.reasoning_text.delta", { kind: "reasoning-delta", isSummary: false, isWhole: false }],
    ["response.reasoning_text.done", { kind: "reasoning-delta", isSummary: false, isWhole: true }],
    ["response.reasoning_summary_text.delta", { kind: "reasoning-delta", isSummary: true, isWhole: false }],
    ["response.reasoning_summary_text.done", { kind: "reasoning-delta", isSummary: true, isWhole: true }],
  ]);

function readText(event: UnknownRecord, items: ItemAssembly): void {
  const known = textEvents.get(event.type);
  if (known === undefined) return;
  const { kind, isSummary, isWhole } = known;
  const index = isSummary ? event.summary_index : event.content_index;
  items.addText(event, { kind, index, isSummary }, { text: isWhole ? wordsOf(event) : textOf(event.delta), isWhole });
}

function readPart(event: UnknownRecord, items: ItemAssembly): void {
  const { part } = event;
  const kind = isRecord(part) ? kindOf(part.type) : undefined;
  if (kind === undefined || !isRecord(part)) return;
  const isSummary = part.type === "summary_text";
  const index = isSummary ? event.summary_index : event.content_index;
  items.addText(event, { kind, index, isSummary }, { text: wordsOf(part), isWhole: true });
}

/** Ends the response. Does not keep the items of a cut-off response, because the service would reject an incomplete last item. */
function endResponse(eventType: string, value: unknown, reading: EventReading): void {
  const response = recordOf(value);
  const { items, answer, store } = reading;
  const end = toResponseEnd(eventType, response, answer.words);
  if (end.kind !== "failed") items.settle(response.output, end.kind === "incomplete");
  answer.count(toUsage(response.usage));
  if (end.kind === "failed") return failWith(end.error, answer);
  const changes = readServiceChanges(response.input_transformations, toChange);
  if (changes.length > 0) answer.out.push({ type: "request-adjusted", changes });
  const { raw } = end;
  answer.close();
  if (end.kind === "incomplete") {
    answer.finish = { reason: end.reason, raw };
    return;
  }
  answer.finish = { reason: items.refused ? "refusal" : items.hasCalls ? "tool-calls" : end.reason, raw };
  reading.metadata = toResponsesMetadata(items.items(), typeof response.store === "boolean" ? response.store : store);
}

/**
 * Reads a report that the service withheld reasoning from the model. For reasoning from earlier turns this is normal
 * (developers.openai.com/api/docs/guides/preserved-reasoning).
 */
function toChange({ id, action, reason }: UnknownRecord): Omit<RequestChange, "by"> | undefined {
  if (action !== "removed" || reason === "turn_boundary") return undefined;
  return { field: textOf(id), action, reason: textOf(reason) };
}
