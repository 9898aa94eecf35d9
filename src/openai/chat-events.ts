import { Answer, createEventReader, isCleanEnd } from "../shared/adapters/read-answer.ts";
import { countOf, type EventReader, isRecord, listOf, recordOf, textOf } from "../core/kit.ts";
import type { EventTail } from "../shared/adapters/event-filter.ts";
import { type FinishReason, type ModelChunk, providerError, type Usage } from "../core/index.ts";
import type { FinishWords } from "../shared/judge-finish.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { CallAssembly } from "./call-assembly.ts";
import { toUsage } from "./chat-usage.ts";
import { AnswerText, type ThinkTags } from "./think-tags.ts";
import { ReasoningDetails, toChatMetadata } from "./chat-metadata.ts";

interface FinishedMessage {
  readonly hasCalls: boolean;
  readonly refused: boolean;
}

/** A finish reason that only older models send. */
export const chatWords: FinishWords = new Map<string, FinishReason>([["function_call", "tool-calls"]]);

export function toFinishReason(reason: FinishReason, { hasCalls, refused }: FinishedMessage): FinishReason {
  if (!isCleanEnd(reason)) return reason;
  if (refused) return "refusal";
  return hasCalls ? "tool-calls" : reason;
}

export function isCut(reason: FinishReason): boolean {
  return reason === "length" || reason === "context-full";
}

interface Reading {
  readonly answer: Answer;
  readonly calls: CallAssembly;
  readonly text: AnswerText;
  readonly details: ReasoningDetails;
  readonly sources: { readonly annotations: unknown[]; search_results: readonly unknown[] };
  hasSpoken: boolean;
  /** True once token counts that look final have arrived. Becomes false again if more content arrives. */
  isCounted: boolean;
  refused: boolean;
}

/** How to read the answers from one model. */
export interface ChatAnswers {
  readonly words?: FinishWords;
  readonly thinkTags?: ThinkTags;
  /** Detects whether the stream ended with `data: [DONE]`, which the SDK does not pass on. */
  readonly tail?: EventTail;
}

/** Reads every field in which a known server sends content. Azure also sends chunks without choices or without a delta. */
export function createChatReader(
  out: ModelChunk[],
  { words = chatWords, thinkTags = false, tail }: ChatAnswers = {},
): EventReader {
  const answer = new Answer(out, words);
  const reading: Reading = {
    answer,
    calls: new CallAssembly(out),
    text: new AnswerText(out, thinkTags),
    details: new ReasoningDetails(),
    sources: { annotations: [], search_results: [] },
    hasSpoken: false,
    isCounted: false,
    refused: false,
  };
  return createEventReader(answer, {
    read: (chunk) => readChunk(chunk, reading),
    end() {
      for (const held of answer.ids.rest()) takeChunk(held, reading);
      // Some services send no finish reason, so `[DONE]` after valid calls counts as complete too
      // (github.com/earendil-works/pi/issues/6225, github.com/openclaw/openclaw/issues/98575).
      reading.isCounted ||= reading.hasSpoken && reading.calls.areWhole && tail?.isDone === true;
      endReading(reading);
    },
  });
}

function readChunk(chunk: UnknownRecord, reading: Reading): void {
  const { answer, hasSpoken: hasBegun } = reading;
  const error = isErrorBody(chunk) ? chunk : chunk.error;
  if (error !== undefined && error !== null) {
    // Ignores an error after the finish reason, because the answer is already complete.
    if (answer.finish === undefined) answer.fail(error);
    return;
  }
  const choices = listOf(chunk.choices);
  const deltas = choices.map((choice) => recordOf(recordOf(choice).delta));
  const saysRole = deltas.some(({ role }) => textOf(role) !== "");
  const isLast = choices.some((choice) => wordOf(recordOf(choice)) !== "");
  const facts = { id: chunk.id, saysRole, hasContent: deltas.some(hasContent), isLast, hasBegun };
  const chunks = answer.ids.sort(chunk, facts);
  if (chunks === undefined) return answer.leave();
  for (const next of chunks) takeChunk(next, reading);
}

function takeChunk(chunk: UnknownRecord, reading: Reading): void {
  const choices = listOf(chunk.choices);
  const isSpeech = choices.map((choice) => readChoice(choice, reading)).includes(true);
  // Perplexity sends all search results again in each chunk.
  const results = listOf(chunk.search_results);
  if (results.length > 0) reading.sources.search_results = results;
  if (isSpeech) {
    reading.hasSpoken = true;
    reading.isCounted = false;
  }
  // Groq sends token counts in `x_groq`, and some servers send them in a choice.
  for (const usage of [recordOf(chunk.x_groq).usage, ...choices.map((choice) => recordOf(choice).usage), chunk.usage]) {
    const counted = toUsage(usage);
    if (counted !== undefined) takeUsage(counted, { isAlone: choices.length === 0, isSpeech }, reading);
  }
}

/** True for an error body without an `error` field. Some servers send such bodies. `readReason` lists their shapes. */
function isErrorBody({ object, type, choices, message, detail, base_resp: base }: UnknownRecord): boolean {
  // MiniMax reports errors with HTTP status 200 and a `status_code` above 0 (platform.minimax.io, "Error codes").
  const isRefused = (countOf(recordOf(base).status_code) ?? 0) > 0;
  return object === "error" || type === "error" || isRefused || (choices === undefined && (message ?? detail) !== undefined);
}

function hasContent({ role: _, ...delta }: UnknownRecord): boolean {
  return Object.values(delta).some((value) => textOf(value) !== "" || listOf(value).length > 0 || isRecord(value));
}

function readChoice(choice: unknown, reading: Reading): boolean {
  // Reads only the first choice, because servers send several only if the caller requested them.
  if (!isRecord(choice) || (typeof choice.index === "number" && choice.index > 0)) return false;
  const { out } = reading.answer;
  const before = out.length;
  // Some gateways put a whole message into the stream. It is read only if nothing else has arrived.
  const delta = choice.delta ?? (reading.hasSpoken ? undefined : choice.message);
  const hasCalls = isRecord(delta) && readDelta(delta, reading);
  // Also counts text that is held back because its tag, for example `<think>`, is not complete yet.
  const isSpeech = hasCalls || out.length > before || textOf(recordOf(delta).content) !== "";
  readFinish(choice, reading);
  return isSpeech;
}

function readDelta(delta: UnknownRecord, reading: Reading): boolean {
  const { content, refusal, tool_calls: calls, function_call: onlyCall } = delta;
  const { out } = reading.answer;
  readReasoning(delta, reading);
  if (delta.annotations !== undefined) reading.sources.annotations.push(...listOf(delta.annotations));
  if (typeof content === "string") reading.text.push(content);
  else for (const part of listOf(content)) readContentPart(part, reading);
  if (typeof refusal === "string" && refusal !== "") {
    reading.refused = true;
    out.push({ type: "refusal-delta", text: refusal });
  }
  const entries = isRecord(onlyCall) ? [...listOf(calls), { function: onlyCall }] : listOf(calls);
  if (entries.length > 0) reading.text.flush();
  readCalls(entries, reading);
  return entries.length > 0;
}

/**
 * Reads reasoning, which servers send in one of three fields. Some servers send two of them, which are identical unless one is empty
 * (LiteLLM, chutes), so the first non-empty field is used. Most servers that send `reasoning_details` repeat the text in `reasoning`, so
 * the text of the details is used only if the server sends no plain text.
 */
function readReasoning(delta: UnknownRecord, { answer: { out }, details, text: spoken }: Reading): void {
  const { reasoning_content: content, reasoning, reasoning_text: text, reasoning_details: list } = delta;
  const detailed = details.add(listOf(list));
  const thought = textOf(content) || textOf(reasoning) || textOf(text) || detailed;
  if (thought !== "") spoken.noteReasoning();
  pushThought(out, thought);
}

function readCalls(entries: readonly unknown[], { answer, calls }: Reading): void {
  for (const entry of entries) if (!answer.failed && isRecord(entry)) answer.failed = !calls.add(entry);
}

function wordOf({ finish_reason: word, finishReason: other }: UnknownRecord): string {
  return textOf(word ?? other).trim();
}

function readFinish(choice: UnknownRecord, { answer, calls }: Reading): void {
  const raw = wordOf(choice);
  if (raw === "") return;
  if (isRecord(choice.error)) return answer.fail(choice.error);
  const reason = answer.stop(raw);
  // Leaves the calls open after "stop", because Open WebUI sends it after each chunk (github.com/1jehuang/jcode/issues/1326).
  if (reason !== "stop") calls.settle(isCut(reason));
}

/**
 * Sets `isCounted` if the counts are final. The answer is then complete, even without a finish reason. OpenAI sends the final
 * counts in a chunk without choices. Some servers send the final counts with an empty delta. Counts with an empty delta are final
 * only if they are the first counts of the answer, because other servers send counts in every chunk.
 */
function takeUsage(
  usage: Usage,
  { isAlone, isSpeech }: { readonly isAlone: boolean; readonly isSpeech: boolean },
  reading: Reading,
): void {
  const { answer, hasSpoken } = reading;
  const hasAnswer = hasSpoken || usage.outputTokens > 0;
  if (hasAnswer && (isAlone || (!isSpeech && answer.usage === undefined && hasSpoken))) reading.isCounted = true;
  answer.count(usage);
  // If the token counts arrive with the finish reason or later, no further chunk is needed.
  answer.isOver = answer.finish !== undefined;
}

function endReading(reading: Reading): void {
  const { answer, isCounted, refused, calls, text, details, sources } = reading;
  const { finish, failed, out } = answer;
  if (!failed) text.end();
  if (failed || (finish === undefined && !isCounted)) return;
  if (finish === undefined) calls.settleWhole();
  else calls.settle(isCut(finish.reason));
  if (isFull(finish, reading)) {
    const message = "The model had no room for an answer because the request fills its context.";
    out.push({ type: "error", error: providerError("context-too-long", message) });
    return;
  }
  answer.keep(toChatMetadata(details.all, calls.extras(), sources));
  const reason = toFinishReason(finish?.reason ?? "stop", { hasCalls: calls.size > 0, refused });
  out.push({ type: "finish", reason, raw: finish?.raw });
}

/**
 * True for an answer without any output. This is how some services report that a request is too long: z.ai, and MiMo with the reason
 * "length" and no output tokens (npm @earendil-works/pi-ai 1.6.0, dist/utils/overflow.js).
 */
function isFull(finish: Answer["finish"], { answer: { usage }, hasSpoken, refused }: Reading): boolean {
  if (finish === undefined || !isCut(finish.reason) || hasSpoken || refused) return false;
  return usage !== undefined && usage.inputTokens > 0 && usage.outputTokens === 0;
}

function pushThought(out: ModelChunk[], text: string): void {
  if (text !== "") out.push({ type: "reasoning-delta", text });
}

/** Reads a content part from Mistral's reasoning models: `{ type: "text", text }` or `{ type: "thinking", thinking: [{ text }] }`. */
function readContentPart(part: unknown, { answer: { out }, text }: Reading): void {
  if (!isRecord(part)) return;
  if (typeof part.text === "string") text.push(part.text);
  pushThought(out, textOf(part.thinking));
  for (const thought of listOf(part.thinking)) pushThought(out, textOf(recordOf(thought).text));
}
