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

/**
 * The service also sends STOP for an answer with calls. Finish reasons that are not listed, such as FINISH_REASON_UNSPECIFIED,
 * become "unknown".
 */
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

interface FinishedMessage {
  readonly hasCalls: boolean;
  readonly hasToken: boolean;
}

/** "continue" without a continuation token becomes "length", because the answer is cut off. */
export function toFinishReason(
  raw: string,
  { hasCalls, hasToken }: FinishedMessage,
  words: FinishWords = generateWords,
): FinishReason {
  const reason = words.get(raw) ?? "unknown";
  if (reason === "continue" && !hasToken) return "length";
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

function isCleanEnd(raw: string, words: FinishWords): boolean {
  const reason = words.get(raw);
  return reason === "stop" || reason === "tool-calls";
}

export function isKept(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls" || reason === "length" || reason === "continue";
}

interface UsageCounts {
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
 * Each `usageMetadata` object contains totals for the stream so far. If a count is missing, its earlier value is kept, because
 * Vertex AI sends objects without counts in the middle of a stream. Prompt counts include cached tokens, but not the input of tools
 * that the service runs. Candidate counts exclude thoughts.
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

/**
 * The reported `total` may leave out a count from an earlier chunk. `usageOf` therefore raises a `total` that is less than the sum
 * of the counts.
 */
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

interface Reading {
  readonly out: ModelChunk[];
  readonly parts: PartAssembly;
  readonly usage: UsageCounts;
  readonly words: FinishWords;
  readonly ids: AnswerIds;
  hasBegun: boolean;
  /** True after another answer has begun in the same stream. The reader ignores that other answer. */
  isLeft: boolean;
  /** True while the service runs code. The result of the code and more text then follow, even after a finish reason. */
  runsCode: boolean;
  finishRaw: string | undefined;
  blockRaw: string | undefined;
  explanation: string;
  token: string;
  hasText: boolean;
  failed: boolean;
}

/**
 * Only the first candidate is read. Parts of unknown kinds are kept and sent back. A continuation token is used only if the
 * finish reason requests a continuation. The service also sends such tokens during the stream, so that clients can resume after a
 * lost connection.
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
    end: () => {
      for (const held of reading.ids.rest()) takeChunk(held, reading);
      endReading(reading);
    },
  };
}

function readChunk(chunk: UnknownRecord, reading: Reading): void {
  const { error, candidates, responseId: id } = chunk;
  // The SDK usually throws the errors of the service. Some SDK versions and clients yield these errors as chunks instead.
  if (error !== undefined && error !== null) return fail(error, reading);
  const answers = listOf(candidates).filter(isFirst).map(recordOf);
  const contents = answers.map(({ content }) => recordOf(content));
  const saysRole = contents.some(({ role }) => textOf(role) !== "");
  const hasContent = contents.some(({ parts }) => listOf(parts).length > 0);
  const isLast = answers.some(({ finishReason }) => textOf(finishReason) !== "");
  const chunks = reading.ids.sort(chunk, { id, saysRole, hasContent, isLast, hasBegun: reading.hasBegun });
  if (chunks === undefined) return leave(reading);
  for (const next of chunks) takeChunk(next, reading);
}

function takeChunk({ candidates, promptFeedback, usageMetadata }: UnknownRecord, reading: Reading): void {
  for (const candidate of listOf(candidates).filter(isFirst)) readCandidate(recordOf(candidate), reading);
  if (isRecord(promptFeedback)) readFeedback(promptFeedback, reading);
  const usage = reading.usage.add(usageMetadata);
  if (usage !== undefined) reading.out.push({ type: "usage", usage, mode: "snapshot" });
}

/**
 * Further candidates arrive only if the caller requests them. The index of a candidate without the field `index` is its position in
 * the list.
 */
function isFirst(candidate: unknown, place: number): boolean {
  const { index } = recordOf(candidate);
  return (typeof index === "number" ? index : place) === 0;
}

function readCandidate({ content, finishReason, finishMessage, continuationToken }: UnknownRecord, reading: Reading): void {
  reading.runsCode = false;
  for (const part of listOf(recordOf(content).parts)) readPart(part, reading);
  if (textOf(continuationToken) !== "") reading.token = textOf(continuationToken);
  if (typeof finishReason !== "string" || finishReason === "" || (reading.runsCode && isCleanEnd(finishReason, reading.words)))
    return;
  reading.explanation = textOf(finishMessage).trim();
  // A second finish reason replaces the first only if the first was normal, so that an abnormal finish reason is never lost.
  if (reading.finishRaw === undefined || isCleanEnd(reading.finishRaw, reading.words)) reading.finishRaw = finishReason;
  reading.parts.settle();
}

function readPart(part: unknown, reading: Reading): void {
  if (!isRecord(part)) return;
  reading.hasBegun = true;
  if (!reading.hasText && part.thought !== true && textOf(part.text).trim() !== "") reading.hasText = true;
  readCode(part, reading);
  reading.parts.add(part);
}

/** Drops a normal finish reason when the service runs code, because more content follows. */
function readCode({ executableCode, codeExecutionResult }: UnknownRecord, reading: Reading): void {
  if (!isRecord(executableCode) && !isRecord(codeExecutionResult)) return;
  reading.runsCode = isRecord(executableCode);
  if (reading.finishRaw !== undefined && isCleanEnd(reading.finishRaw, reading.words)) reading.finishRaw = undefined;
}

function readFeedback({ blockReason, blockReasonMessage }: UnknownRecord, reading: Reading): void {
  if (typeof blockReason !== "string" || blockReason === "" || /^BLOCK(?:ED)?_REASON_UNSPECIFIED$/.test(blockReason)) return;
  reading.blockRaw = blockReason;
  reading.explanation = textOf(blockReasonMessage).trim();
}

/** Stops reading, because another answer begins in the same stream. Without a finish reason, the first answer was cut off. */
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
  const message = { hasCalls: parts.hasCalls, hasToken: token !== "" };
  const reason = blockRaw === undefined ? toFinishReason(raw, message, words) : "content-filter";
  if (reason === "content-filter" && explanation !== "") {
    out.push({ type: "refusal-delta", text: hasText ? `\n\n${explanation}` : explanation });
  }
  if (isKept(reason)) for (const item of toMetadataItems(parts.parts())) out.push({ type: "provider-metadata", item });
  out.push({ type: "finish", reason, raw, ...(reason === "continue" ? { token } : {}) });
}
