// Wire chunks of Chat Completions, and of what compatible servers make of them, into neutral chunks.

import { isRecord, providerError, toProviderError, type ModelChunk, type UnknownRecord } from "../../spi.ts";
import { createCallAssembly } from "./call-assembly.ts";
import { isCleanEnd, isCut, toFinishReason } from "./chat-finish.ts";
import { collectReasoningDetails, toNativeItems } from "./chat-native.ts";
import { toUsage } from "./chat-usage.ts";

/** Reads one stream. Neutral chunks are appended to the array that it was made with. */
export interface ChatReader {
  /** Whether the server has said why the model stopped. */
  readonly finished: boolean;
  /** Whether the stream carried an error, which has been told: nothing more may follow. */
  readonly failed: boolean;
  read(chunk: unknown): void;
  /** To be called at the end of the stream. A stream without a finish reason gets no `finish` chunk. */
  end(): void;
}

/**
 * Makes a reader that appends to `out`. It reads text, refusals, reasoning under each of its names, calls, usage wherever it
 * stands, and errors inside the stream; it passes over chunks without choices or delta, which Azure sends.
 */
export function createChatReader(out: ModelChunk[]): ChatReader {
  const calls = createCallAssembly(out);
  const details = collectReasoningDetails();
  let finishRaw: string | undefined;
  let refused = false;
  let failed = false;

  function fail(error: unknown): void {
    failed = true;
    out.push({ type: "error", error: isRecord(error) ? toProviderError(error) : providerError("server", String(error)) });
  }

  function readDelta(delta: UnknownRecord): void {
    const { content, refusal } = delta;
    readReasoning(delta);
    if (typeof content === "string") pushText(out, "text-delta", content);
    else if (Array.isArray(content)) for (const part of content) readContentPart(part, out);
    if (typeof refusal === "string" && refusal !== "") {
      refused = true;
      out.push({ type: "refusal-delta", text: refusal });
    }
    if (Array.isArray(delta.tool_calls)) readCalls(delta.tool_calls);
    if (isRecord(delta.function_call)) readCalls([{ function: delta.function_call }]);
  }

  /** Servers that send details send their text under `reasoning` too, but not always. */
  function readReasoning(delta: UnknownRecord): void {
    const plain = delta.reasoning_content ?? delta.reasoning;
    const detailed = Array.isArray(delta.reasoning_details) ? details.add(delta.reasoning_details) : "";
    pushText(out, "reasoning-delta", typeof plain === "string" && plain !== "" ? plain : detailed);
  }

  function readCalls(entries: readonly unknown[]): void {
    for (const entry of entries) if (!failed && isRecord(entry)) failed = !calls.add(entry);
  }

  function readFinish(raw: unknown, choice: UnknownRecord): void {
    if (typeof raw !== "string" || raw === "") return;
    if (isRecord(choice.error)) return fail(choice.error);
    if (finishRaw === undefined || isCleanEnd(finishRaw)) finishRaw = raw;
    calls.settle(isCut(finishRaw));
  }

  function readChoice(choice: unknown): void {
    // More than one choice comes only where the caller asked for it; the first is the answer.
    if (!isRecord(choice) || (typeof choice.index === "number" && choice.index > 0)) return;
    if (isRecord(choice.delta)) readDelta(choice.delta);
    readFinish(choice.finish_reason ?? choice.finishReason, choice);
    if (isRecord(choice.usage)) readUsage(choice.usage);
  }

  function readUsage(wire: unknown): void {
    const usage = toUsage(wire);
    if (usage !== undefined) out.push({ type: "usage", usage, mode: "snapshot" });
  }

  return {
    get finished() {
      return finishRaw !== undefined;
    },
    get failed() {
      return failed;
    },
    read(chunk) {
      if (!isRecord(chunk)) return;
      const error = chunk.error ?? (chunk.object === "error" ? chunk : undefined);
      if (error !== undefined && error !== null) return fail(error);
      if (Array.isArray(chunk.choices)) for (const choice of chunk.choices) readChoice(choice);
      if (isRecord(chunk.usage)) readUsage(chunk.usage);
    },
    end() {
      if (finishRaw === undefined || failed) return;
      calls.settle(isCut(finishRaw));
      for (const item of toNativeItems(details.all(), calls.extras())) out.push({ type: "native", item });
      out.push({ type: "finish", reason: toFinishReason(finishRaw, { hasCalls: calls.size > 0, refused }), raw: finishRaw });
    },
  };
}

function pushText(out: ModelChunk[], type: "text-delta" | "reasoning-delta", text: string): void {
  if (text !== "") out.push({ type, text });
}

/** Mistral's reasoning models send content as parts: `{ type: "text", text }` and `{ type: "thinking", thinking: [{ text }] }`. */
function readContentPart(part: unknown, out: ModelChunk[]): void {
  if (!isRecord(part)) return;
  if (typeof part.text === "string") pushText(out, "text-delta", part.text);
  if (typeof part.thinking === "string") pushText(out, "reasoning-delta", part.thinking);
  if (!Array.isArray(part.thinking)) return;
  for (const thought of part.thinking) if (isRecord(thought) && typeof thought.text === "string") pushText(out, "reasoning-delta", thought.text);
}
