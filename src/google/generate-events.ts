// Turns the chunks of generateContentStream into neutral chunks.

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
import { toMetadataItems } from "./provider-metadata.ts";
import { createPartAssembly, type PartAssembly } from "./part-assembly.ts";

/** The service also reports STOP for calls. Words that are not listed here, such as FINISH_REASON_UNSPECIFIED, are unknown. */
export const generateWords: FinishWords = new Map<string, FinishReason>([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["SAFETY", "content-filter"],
  ["RECITATION", "content-filter"],
  ["LANGUAGE", "content-filter"],
  ["BLOCKLIST", "content-filter"],
  ["PROHIBITED_CONTENT", "content-filter"],
  ["SPII", "content-filter"],
  ["MODEL_ARMOR", "content-filter"],
  ["IMAGE_SAFETY", "content-filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content-filter"],
  ["IMAGE_RECITATION", "content-filter"],
  ["MALFORMED_FUNCTION_CALL", "malformed-call"],
  ["UNEXPECTED_TOOL_CALL", "malformed-call"],
  ["MALFORMED_RESPONSE", "error"],
  ["TOO_MANY_TOOL_CALLS", "error"],
  ["OTHER", "error"],
  ["NO_IMAGE", "error"],
  ["IMAGE_OTHER", "error"],
  ["CONTINUATION", "continue"],
]);

/** The content of the message at its end. */
interface FinishedMessage {
  readonly hasCalls: boolean;
  /** True if there is a continuation token. */
  readonly hasToken: boolean;
}

/** Returns the finish reason. An answer that should be continued but has no token counts as cut off. */
export function toFinishReason(
  raw: string,
  { hasCalls, hasToken }: FinishedMessage,
  words: FinishWords = generateWords,
): FinishReason {
  const reason = words.get(raw) ?? "unknown";
  if (reason === "continue" && !hasToken) return "length";
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

/** True if a later finish reason may replace this one. A bad finish is never replaced by a later STOP. */
function isCleanEnd(raw: string, words: FinishWords = generateWords): boolean {
  const reason = words.get(raw);
  return reason === "stop" || reason === "tool-calls";
}

/** True if a message with this finish is sent back unchanged. Filtered or broken content is not. */
export function isKept(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls" || reason === "length" || reason === "continue";
}

/** The counts of one stream so far. */
interface UsageCounts {
  /** Merges a `usageMetadata` object, and returns the usage so far; undefined if it has no counts. */
  add(metadata: unknown): Usage | undefined;
}

const fields = [
  "promptTokenCount",
  "toolUsePromptTokenCount",
  "cachedContentTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
] as const;

type Counts = { [Field in (typeof fields)[number]]?: number };

/**
 * Makes empty counts. Each object counts the whole stream so far, or nothing, as in the middle of a stream of Vertex AI. A
 * missing count keeps its value. Prompt counts include cached tokens, but not the input of the service's own tools. Candidate
 * counts exclude thoughts.
 */
export function countUsage(): UsageCounts {
  const counts: Counts = {};
  let sum: Usage | undefined;
  return {
    add(metadata) {
      if (!isRecord(metadata)) return undefined;
      let isSaid = false;
      for (const field of fields) {
        const count = countOf(metadata[field]);
        if (count === undefined) continue;
        counts[field] = count;
        isSaid = true;
      }
      const usage = isSaid ? toUsage(counts, countOf(metadata.totalTokenCount) ?? 0) : undefined;
      if (usage === undefined) return undefined;
      sum = growUsage(sum, usage);
      return sum;
    },
  };
}

/** The total is at least the sum: a reported total may lack a count that was kept. */
function toUsage(counts: Counts, total: number): Usage | undefined {
  const { promptTokenCount: prompt, candidatesTokenCount: candidates, thoughtsTokenCount: thoughts } = counts;
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  return usageOf({
    input: (prompt ?? 0) + (counts.toolUsePromptTokenCount ?? 0),
    output: (candidates ?? 0) + (thoughts ?? 0),
    total,
    cached: counts.cachedContentTokenCount,
    reasoning: thoughts,
  });
}

/** The content so far. */
interface Reading {
  readonly out: ModelChunk[];
  readonly parts: PartAssembly;
  readonly usage: UsageCounts;
  readonly words: FinishWords;
  readonly ids: AnswerIds;
  /** True if a part has come. */
  hasBegun: boolean;
  /** True if the stream has gone on with another answer, which is not read. */
  isLeft: boolean;
  /** True if the chunk contains code without its result. The result and more text follow then, after any finish reason. */
  runsCode: boolean;
  /** The finish reason. */
  finishRaw: string | undefined;
  /** Why the service blocked the prompt. */
  blockRaw: string | undefined;
  /** The service's explanation of either. */
  explanation: string;
  /** The latest continuation token of an incomplete answer. */
  token: string;
  hasText: boolean;
  failed: boolean;
}

/**
 * Makes a reader that appends to `out`. It reads the first candidate; parts of unknown kinds are recorded to be sent back. A
 * token before the end of the stream is a checkpoint for a lost connection. It is not used for that: a lost stream is a failure.
 */
export function createGenerateReader(out: ModelChunk[], words: FinishWords = generateWords): EventReader {
  const reading: Reading = {
    out,
    parts: createPartAssembly(out),
    usage: countUsage(),
    words,
    ids: new AnswerIds(),
    hasBegun: false,
    isLeft: false,
    runsCode: false,
    finishRaw: undefined,
    blockRaw: undefined,
    explanation: "",
    token: "",
    hasText: false,
    failed: false,
  };
  return {
    get finished() {
      return reading.finishRaw !== undefined || reading.blockRaw !== undefined;
    },
    get isOver() {
      return reading.blockRaw !== undefined || reading.isLeft;
    },
    get mayGoOn() {
      return reading.blockRaw === undefined && !reading.isLeft;
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
  const { error, candidates, promptFeedback, usageMetadata } = chunk;
  // The SDK throws the error; this is for versions and clients that do not.
  if (error !== undefined && error !== null) return fail(error, reading);
  const answers = listOf(candidates).filter(isFirst).map(recordOf);
  const contents = answers.map(({ content }) => recordOf(content));
  const saysRole = contents.some(({ role }) => textOf(role) !== "");
  const hasContent = contents.some(({ parts }) => listOf(parts).length > 0);
  if (reading.ids.isOther(chunk.responseId, { saysRole, hasContent, hasBegun: reading.hasBegun })) return leave(reading);
  for (const candidate of answers) readCandidate(candidate, reading);
  if (isRecord(promptFeedback)) readFeedback(promptFeedback, reading);
  const usage = reading.usage.add(usageMetadata);
  if (usage !== undefined) reading.out.push({ type: "usage", usage, mode: "snapshot" });
}

/** True for the first candidate. More than one only comes if the caller requested it. Without an index, the position counts. */
function isFirst(candidate: unknown, place: number): boolean {
  const { index } = recordOf(candidate);
  return (typeof index === "number" ? index : place) === 0;
}

function readCandidate({ content, finishReason, finishMessage, continuationToken }: UnknownRecord, reading: Reading): void {
  reading.runsCode = false;
  for (const part of listOf(recordOf(content).parts)) readPart(part, reading);
  if (textOf(continuationToken) !== "") reading.token = textOf(continuationToken);
  if (typeof finishReason !== "string" || finishReason === "" || (reading.runsCode && isCleanEnd(finishReason))) return;
  reading.explanation = textOf(finishMessage).trim();
  if (reading.finishRaw === undefined || isCleanEnd(reading.finishRaw, reading.words)) reading.finishRaw = finishReason;
  reading.parts.settle();
}

function readPart(part: unknown, reading: Reading): void {
  if (!isRecord(part)) return;
  reading.hasBegun = true;
  if (!reading.hasText && part.thought !== true && textOf(part.text).trim() !== "") reading.hasText = true;
  noteCode(part, reading);
  reading.parts.add(part);
}

/** Code and its result cancel an earlier finish reason. */
function noteCode({ executableCode, codeExecutionResult }: UnknownRecord, reading: Reading): void {
  if (!isRecord(executableCode) && !isRecord(codeExecutionResult)) return;
  reading.runsCode = isRecord(executableCode);
  if (reading.finishRaw !== undefined && isCleanEnd(reading.finishRaw)) reading.finishRaw = undefined;
}

function readFeedback({ blockReason, blockReasonMessage }: UnknownRecord, reading: Reading): void {
  if (typeof blockReason !== "string" || blockReason === "" || /^BLOCK(?:ED)?_REASON_UNSPECIFIED$/.test(blockReason)) return;
  reading.blockRaw = blockReason;
  reading.explanation = textOf(blockReasonMessage).trim();
}

/** Stops reading. An answer with its finish reason is complete, even if another one follows. */
function leave(reading: Reading): void {
  reading.isLeft = true;
  if (reading.finishRaw !== undefined || reading.blockRaw !== undefined) return;
  reading.failed = true;
  reading.out.push(cutByAnother());
}

function fail(error: unknown, reading: Reading): void {
  reading.failed = true;
  pushError(error, reading.out);
}

function endReading({ out, words, parts, finishRaw, blockRaw, explanation, token, hasText, failed }: Reading): void {
  const raw = blockRaw ?? finishRaw;
  if (raw === undefined || failed) return;
  const turn = { hasCalls: parts.hasCalls, hasToken: token !== "" };
  const reason = blockRaw === undefined ? toFinishReason(raw, turn, words) : "content-filter";
  if (reason === "content-filter" && explanation !== "") {
    out.push({ type: "refusal-delta", text: hasText ? `\n\n${explanation}` : explanation });
  }
  if (isKept(reason)) for (const item of toMetadataItems(parts.parts())) out.push({ type: "provider-metadata", item });
  out.push({ type: "finish", reason, raw, ...(reason === "continue" ? { token } : {}) });
}
