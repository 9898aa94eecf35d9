// Wire chunks of Chat Completions, and of what compatible servers make of them, into neutral chunks.

import {
  type EventReader,
  isRecord,
  listOf,
  providerError,
  toProviderError,
  type ModelChunk,
  type UnknownRecord,
} from "../../spi.ts";
import { createCallAssembly, type CallAssembly } from "./call-assembly.ts";
import { isCleanEnd, isCut, toFinishReason } from "./chat-finish.ts";
import { collectReasoningDetails, toNativeItems, type ReasoningDetails } from "./chat-native.ts";
import { toUsage } from "./chat-usage.ts";

/** What has come so far. */
interface Reading {
  readonly out: ModelChunk[];
  readonly calls: CallAssembly;
  readonly details: ReasoningDetails;
  finishRaw: string | undefined;
  refused: boolean;
  /** Whether the token counts came with the finish reason or after it. Nothing more is expected then. */
  counted: boolean;
  failed: boolean;
}

/**
 * Makes a reader that appends to `out`. It reads text, refusals, reasoning under each of its names, calls, usage wherever it
 * stands, and errors inside the stream; it passes over chunks without choices or delta, which Azure sends.
 */
export function createChatReader(out: ModelChunk[]): EventReader {
  const calls = createCallAssembly(out);
  const reading: Reading = {
    out,
    calls,
    details: collectReasoningDetails(),
    finishRaw: undefined,
    refused: false,
    counted: false,
    failed: false,
  };
  return {
    get finished() {
      return reading.finishRaw !== undefined;
    },
    get isOver() {
      return reading.counted;
    },
    get failed() {
      return reading.failed;
    },
    read: (chunk) => {
      if (isRecord(chunk)) readChunk(chunk, reading);
    },
    end: () => endReading(reading),
  };
}

function readChunk(chunk: UnknownRecord, reading: Reading): void {
  const error = chunk.error ?? (chunk.object === "error" ? chunk : undefined);
  if (error !== undefined && error !== null) {
    // The model is done: an error of the server takes nothing away.
    if (reading.finishRaw === undefined) fail(error, reading);
    return;
  }
  for (const choice of listOf(chunk.choices)) readChoice(choice, reading);
  if (isRecord(chunk.usage)) readUsage(chunk.usage, reading);
}

function readChoice(choice: unknown, reading: Reading): void {
  // More than one choice comes only where the caller asked for it; the first is the answer.
  if (!isRecord(choice) || (typeof choice.index === "number" && choice.index > 0)) return;
  if (isRecord(choice.delta)) readDelta(choice.delta, reading);
  readFinish(choice, reading);
  if (isRecord(choice.usage)) readUsage(choice.usage, reading);
}

function readDelta(delta: UnknownRecord, reading: Reading): void {
  const { content, refusal, tool_calls: calls, function_call: onlyCall } = delta;
  const { out } = reading;
  readReasoning(delta, reading);
  if (typeof content === "string") pushText(out, "text-delta", content);
  else for (const part of listOf(content)) readContentPart(part, out);
  if (typeof refusal === "string" && refusal !== "") {
    reading.refused = true;
    out.push({ type: "refusal-delta", text: refusal });
  }
  readCalls(listOf(calls), reading);
  if (isRecord(onlyCall)) readCalls([{ function: onlyCall }], reading);
}

/** Servers that send details send their text under `reasoning` too, but not always. */
function readReasoning(delta: UnknownRecord, { out, details }: Reading): void {
  const plain = delta.reasoning_content ?? delta.reasoning;
  const detailed = details.add(listOf(delta.reasoning_details));
  pushText(out, "reasoning-delta", typeof plain === "string" && plain !== "" ? plain : detailed);
}

function readCalls(entries: readonly unknown[], reading: Reading): void {
  for (const entry of entries) if (!reading.failed && isRecord(entry)) reading.failed = !reading.calls.add(entry);
}

function readFinish(choice: UnknownRecord, reading: Reading): void {
  const raw = choice.finish_reason ?? choice.finishReason;
  if (typeof raw !== "string" || raw === "") return;
  if (isRecord(choice.error)) return fail(choice.error, reading);
  if (reading.finishRaw === undefined || isCleanEnd(reading.finishRaw)) reading.finishRaw = raw;
  reading.calls.settle(isCut(reading.finishRaw));
}

function readUsage(wire: UnknownRecord, reading: Reading): void {
  const usage = toUsage(wire);
  if (usage === undefined) return;
  reading.counted = reading.finishRaw !== undefined;
  reading.out.push({ type: "usage", usage, mode: "snapshot" });
}

function fail(error: unknown, reading: Reading): void {
  reading.failed = true;
  const said = typeof error === "string" ? error : "The server sent an error without words.";
  reading.out.push({ type: "error", error: isRecord(error) ? toProviderError(error) : providerError("server", said) });
}

function endReading({ finishRaw, failed, refused, calls, details, out }: Reading): void {
  if (finishRaw === undefined || failed) return;
  calls.settle(isCut(finishRaw));
  for (const item of toNativeItems(details.all(), calls.extras())) out.push({ type: "native", item });
  out.push({ type: "finish", reason: toFinishReason(finishRaw, { hasCalls: calls.size > 0, refused }), raw: finishRaw });
}

function pushText(out: ModelChunk[], type: "text-delta" | "reasoning-delta", text: string): void {
  if (text !== "") out.push({ type, text });
}

/** Mistral's reasoning models send content as parts: `{ type: "text", text }` and `{ type: "thinking", thinking: [{ text }] }`. */
function readContentPart(part: unknown, out: ModelChunk[]): void {
  if (!isRecord(part)) return;
  if (typeof part.text === "string") pushText(out, "text-delta", part.text);
  if (typeof part.thinking === "string") pushText(out, "reasoning-delta", part.thinking);
  for (const thought of listOf(part.thinking))
    if (isRecord(thought) && typeof thought.text === "string") pushText(out, "reasoning-delta", thought.text);
}
