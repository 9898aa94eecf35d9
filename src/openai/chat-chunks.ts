// Turns the chunks of Chat Completions, and of compatible servers, into neutral chunks.

import {
  AnswerIds,
  countOf,
  cutByAnother,
  type EventReader,
  type FinishReason,
  type FinishWords,
  growUsage,
  isRecord,
  listOf,
  type ModelChunk,
  usageOf,
  recordOf,
  textOf,
  type UnknownRecord,
  type Usage,
  pushError,
} from "../core/provider-kit.ts";
import { type CallAssembly, createCallAssembly } from "./call-assembly.ts";
import { collectReasoningDetails, type ReasoningDetails, toMetadataItems } from "./chat-metadata.ts";

/**
 * Reads a `usage` object; undefined where it says nothing. Cached tokens are part of `prompt_tokens`. Reasoning tokens are part
 * of `completion_tokens` as OpenAI counts; xAI counts them beside it (recorded: 291 prompt, 26 completion, 196 reasoning, 513
 * in total). The total shows it, and so does reasoning above the completion.
 */
export function toUsage(usage: unknown): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const prompt = countOf(usage.prompt_tokens);
  const completion = countOf(usage.completion_tokens);
  if (prompt === undefined && completion === undefined) return undefined;
  const total = countOf(usage.total_tokens);
  const inputDetails = recordOf(usage.prompt_tokens_details);
  const reasoning = countOf(recordOf(usage.completion_tokens_details).reasoning_tokens);
  return usageOf({
    input: prompt,
    output: outputOf({ prompt: prompt ?? 0, completion: completion ?? 0, reasoning: reasoning ?? 0, total }),
    total,
    cached: countOf(inputDetails.cached_tokens) ?? countOf(usage.prompt_cache_hit_tokens),
    cacheWrite: countOf(inputDetails.cache_write_tokens),
    reasoning,
  });
}

interface Counts {
  readonly prompt: number;
  readonly completion: number;
  readonly reasoning: number;
  readonly total: number | undefined;
}

/** Some servers count reasoning beside the completion: their total says so. */
function outputOf({ prompt, completion, reasoning, total }: Counts): number {
  return total === prompt + completion + reasoning ? completion + reasoning : completion;
}

/** The content of the message when it ended. */
interface FinishedMessage {
  readonly hasCalls: boolean;
  readonly refused: boolean;
}

/**
 * OpenAI's own: stop, length, tool_calls, function_call, content_filter. Others: `eos` (Together), `model_length` (Mistral: the
 * context is full), `insufficient_system_resource` (DeepSeek), `sensitive`, `network_error` and `model_context_window_exceeded`
 * (Zhipu), `error` (OpenRouter, Mistral).
 */
export const chatWords: FinishWords = new Map<string, FinishReason>([
  ["stop", "stop"],
  ["eos", "stop"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["length", "length"],
  ["model_length", "context-full"],
  ["model_context_window_exceeded", "context-full"],
  ["content_filter", "content-filter"],
  ["sensitive", "content-filter"],
  ["error", "error"],
  ["network_error", "error"],
  ["insufficient_system_resource", "error"],
]);

/** Says why the model stopped. A refusal ends with "stop" on this wire, and some servers end with "stop" although they ask for tools. */
export function toFinishReason(reason: FinishReason, { hasCalls, refused }: FinishedMessage): FinishReason {
  if (!isCleanEnd(reason)) return reason;
  if (refused) return "refusal";
  return hasCalls ? "tool-calls" : reason;
}

/** Whether the model was stopped in mid-word, so that its last call may be incomplete. */
export function isCut(reason: FinishReason): boolean {
  return reason === "length" || reason === "context-full";
}

/** Whether a later finish reason may take the place of this one: a bad end is never made good by a second chunk that says "stop". */
export function isCleanEnd(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls";
}

/** The content so far. */
interface Reading {
  readonly out: ModelChunk[];
  readonly calls: CallAssembly;
  readonly details: ReasoningDetails;
  readonly words: FinishWords;
  readonly ids: AnswerIds;
  finish: { readonly raw: string; readonly reason: FinishReason } | undefined;
  /** Whether the model has said anything. */
  hasSpoken: boolean;
  usage: Usage | undefined;
  /** Whether the final token counts came, and nothing of the model's after them. */
  isCounted: boolean;
  refused: boolean;
  /** Whether the token counts came with the finish reason or after it. Nothing more is expected then. */
  isOver: boolean;
  /** Whether the stream has gone on with another answer, which is not read. */
  isLeft: boolean;
  failed: boolean;
}

/**
 * Makes a reader that appends to `out`. It reads text, refusals, reasoning under each of its names, calls, usage wherever it
 * stands, and errors inside the stream; it passes over chunks without choices or delta, which Azure sends.
 */
export function createChatReader(out: ModelChunk[], words: FinishWords = chatWords): EventReader {
  const calls = createCallAssembly(out);
  const reading: Reading = {
    out,
    calls,
    details: collectReasoningDetails(),
    words,
    ids: new AnswerIds(),
    finish: undefined,
    hasSpoken: false,
    usage: undefined,
    isCounted: false,
    refused: false,
    isOver: false,
    isLeft: false,
    failed: false,
  };
  return {
    get finished() {
      return reading.finish !== undefined;
    },
    get isOver() {
      return reading.isOver;
    },
    get failed() {
      return reading.failed;
    },
    read: (chunk) => {
      if (isRecord(chunk) && !reading.isLeft) readChunk(chunk, reading);
    },
    end: () => endReading(reading),
  };
}

function readChunk(chunk: UnknownRecord, reading: Reading): void {
  const error = chunk.error ?? (chunk.object === "error" ? chunk : undefined);
  if (error !== undefined && error !== null) {
    // The model is done: an error of the server takes nothing away.
    if (reading.finish === undefined) fail(error, reading);
    return;
  }
  const choices = listOf(chunk.choices);
  const deltas = choices.map((choice) => recordOf(recordOf(choice).delta));
  const saysRole = deltas.some(({ role }) => textOf(role) !== "");
  const facts = { saysRole, hasContent: deltas.some(hasContent), hasBegun: reading.hasSpoken };
  if (reading.ids.isOther(chunk.id, facts)) return leave(reading);
  const isSpeech = choices.map((choice) => readChoice(choice, reading)).includes(true);
  if (isSpeech) reading.hasSpoken = true;
  if (isSpeech) reading.isCounted = false;
  // Groq has them in a place of its own.
  for (const usage of [recordOf(chunk.x_groq).usage, ...choices.map((choice) => recordOf(choice).usage), chunk.usage]) {
    const counted = toUsage(usage);
    if (counted !== undefined) takeUsage(counted, { isAlone: choices.length === 0, isSpeech }, reading);
  }
}

function hasContent(delta: UnknownRecord): boolean {
  return Object.values(delta).some((value) => textOf(value) !== "" || listOf(value).length > 0 || isRecord(value));
}

/** Whether the model says something in it. */
function readChoice(choice: unknown, reading: Reading): boolean {
  // More than one choice comes only where the caller asked for it; the first is the answer.
  if (!isRecord(choice) || (typeof choice.index === "number" && choice.index > 0)) return false;
  const { out } = reading;
  const before = out.length;
  const hasCalls = isRecord(choice.delta) && readDelta(choice.delta, reading);
  const isSpeech = hasCalls || out.length > before;
  readFinish(choice, reading);
  return isSpeech;
}

/** Whether there are calls in it. */
function readDelta(delta: UnknownRecord, reading: Reading): boolean {
  const { content, refusal, tool_calls: calls, function_call: onlyCall } = delta;
  const { out } = reading;
  readReasoning(delta, reading);
  if (typeof content === "string") pushText(out, "text-delta", content);
  else for (const part of listOf(content)) readContentPart(part, out);
  if (typeof refusal === "string" && refusal !== "") {
    reading.refused = true;
    out.push({ type: "refusal-delta", text: refusal });
  }
  const entries = isRecord(onlyCall) ? [...listOf(calls), { function: onlyCall }] : listOf(calls);
  readCalls(entries, reading);
  return entries.length > 0;
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
  const said = { raw, reason: reading.words.get(raw) ?? "unknown" } as const;
  if (reading.finish === undefined || isCleanEnd(reading.finish.reason)) reading.finish = said;
  reading.calls.settle(isCut(reading.finish.reason));
}

/**
 * The final counts stand in a chunk of their own, which OpenAI sends unless the stream was interrupted. Some servers put them beside an
 * empty delta. There they prove something only when they are the first: others count in every chunk.
 */
function takeUsage(
  usage: Usage,
  { isAlone, isSpeech }: { readonly isAlone: boolean; readonly isSpeech: boolean },
  reading: Reading,
): void {
  const hasAnswer = reading.hasSpoken || usage.outputTokens > 0;
  if (hasAnswer && (isAlone || (!isSpeech && reading.usage === undefined && reading.hasSpoken))) reading.isCounted = true;
  reading.usage = growUsage(reading.usage, usage);
  reading.isOver = reading.finish !== undefined;
  reading.out.push({ type: "usage", usage: reading.usage, mode: "snapshot" });
}

/** An answer that has its finish reason is whole, whatever comes after it. */
function leave(reading: Reading): void {
  reading.isLeft = true;
  reading.isOver = true;
  if (reading.finish !== undefined) return;
  reading.failed = true;
  reading.out.push(cutByAnother());
}

function fail(error: unknown, reading: Reading): void {
  reading.failed = true;
  pushError(error, reading.out);
}

function endReading({ finish, isCounted, failed, refused, calls, details, out }: Reading): void {
  if (failed || (finish === undefined && !isCounted)) return;
  if (finish === undefined) calls.settleWhole();
  else calls.settle(isCut(finish.reason));
  for (const item of toMetadataItems(details.all(), calls.extras())) out.push({ type: "provider-metadata", item });
  const reason = toFinishReason(finish?.reason ?? "stop", { hasCalls: calls.size > 0, refused });
  out.push({ type: "finish", reason, raw: finish?.raw });
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
