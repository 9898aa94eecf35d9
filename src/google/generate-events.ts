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

/** The service says STOP for calls too. What it does not say here, such as FINISH_REASON_UNSPECIFIED, is unknown. */
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

/** The content of the message when it ended. */
interface FinishedMessage {
  readonly hasCalls: boolean;
  /** Whether there is a token to go on with. */
  readonly hasToken: boolean;
}

/** Says why the model stopped. An answer that is to be continued and cannot be is one that was cut off. */
export function toFinishReason(
  raw: string,
  { hasCalls, hasToken }: FinishedMessage,
  words: FinishWords = generateWords,
): FinishReason {
  const reason = words.get(raw) ?? "unknown";
  if (reason === "continue" && !hasToken) return "length";
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

/** Whether a later finish reason may take the place of this one: a bad end is never made good by a second chunk that says STOP. */
function isCleanEnd(raw: string, words: FinishWords = generateWords): boolean {
  const reason = words.get(raw);
  return reason === "stop" || reason === "tool-calls";
}

/** Whether a turn that ended so goes back to the service as it came. What was filtered or broken does not. */
export function isKept(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls" || reason === "length" || reason === "continue";
}

/** The counts of one stream so far. */
interface UsageCounts {
  /** Takes a `usageMetadata` object, and returns what was used so far; undefined where it counts nothing. */
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
 * Makes empty counts. Each object counts the whole stream so far, or nothing, as in the middle of a stream of Vertex AI; a count that it
 * lacks stays as it was. Those of the prompt hold what was cached, but not what the service's own tools put in; those of the
 * candidates hold no thoughts.
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

/** A total without a count that stayed would be too low. */
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
  /** Whether a part has come. */
  hasBegun: boolean;
  /** Whether the stream has gone on with another answer, which is not read. */
  isLeft: boolean;
  /** Whether the chunk holds code without its result: that and more text follow, whatever the finish reason says. */
  runsCode: boolean;
  /** Why the model stopped. */
  finishRaw: string | undefined;
  /** Why the service did not ask it. */
  blockRaw: string | undefined;
  /** The service's words on either. */
  explanation: string;
  /** The point at which an answer that is not complete goes on: the latest token. */
  token: string;
  hasText: boolean;
  failed: boolean;
}

/**
 * Makes a reader that appends to `out`. It reads the first candidate; parts of unknown kinds are kept to be sent back. A token
 * before the end of the stream is a checkpoint for a connection that is lost: it is not used for that, and a lost stream is a failure.
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
  // The SDK throws it; versions and clients that do not are read here.
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

/** More than one candidate comes only if the caller asked for it; the first is the answer. Without an index, its place is its index. */
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

/** Code and its result also take back a finish reason that came before them. */
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

/** An answer that has its finish reason is whole, whatever comes after it. */
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
