import { countOf, isRecord, listOf, recordOf, textOf, usageOf } from "../core/kit.ts";
import {
  type FinishReason,
  providerError,
  type ProviderError,
  type ProviderErrorCode,
  toProviderError,
  type Usage,
} from "../core/index.ts";
import { isCleanEnd } from "../shared/adapters/read-answer.ts";
import { type FinishWords, knownMeaningOf } from "../shared/judge-finish.ts";
import { parseJson } from "../shared/json.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import type { AiSdkLanguageModel } from "./model-options.ts";

export function readModelUsage(usage: unknown, { provider }: AiSdkLanguageModel): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const { inputTokens, outputTokens } = usage;
  if (isRecord(inputTokens) || isRecord(outputTokens)) return readNested(recordOf(inputTokens), recordOf(outputTokens));
  return readFlat(usage, provider);
}

function readNested(input: UnknownRecord, output: UnknownRecord): Usage | undefined {
  const [cached, written] = [countOf(input.cacheRead), countOf(input.cacheWrite)];
  return usageOf({
    input: countOf(input.total) ?? sumOf(countOf(input.noCache), cached, written),
    output: countOf(output.total) ?? sumOf(countOf(output.text), countOf(output.reasoning)),
    cached,
    cacheWrite: written,
    reasoning: countOf(output.reasoning),
  });
}

/**
 * Reads token counts in the specification v2 format. Packages count tokens in different ways. Anthropic's input count excludes tokens read
 * from the cache (github.com/PostHog/posthog-js/issues/2829). The output counts of Google and xAI exclude reasoning tokens, but the totals
 * include these tokens (github.com/vercel/ai/issues/7542).
 */
function readFlat(usage: UnknownRecord, provider: string): Usage | undefined {
  const [input, output, total] = [countOf(usage.inputTokens), countOf(usage.outputTokens), countOf(usage.totalTokens)];
  const [cached, reasoning] = [countOf(usage.cachedInputTokens), countOf(usage.reasoningTokens)];
  const excludesCached = /\banthropic\b/.test(provider);
  const excludesReasoning = total !== undefined && total === sumOf(input, output, reasoning);
  return usageOf({
    input: excludesCached ? sumOf(input, cached) : input,
    output: excludesReasoning ? sumOf(output, reasoning) : output,
    cached,
    reasoning,
  });
}

function sumOf(...counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/** Reads raw Chat Completions, Responses and Gemini chunks to determine how an answer ended. */
export class RawEnding {
  #usage: Usage | undefined;
  #word: string | undefined;
  /** True for chunks from Gemini, which may send content even after the finish reason. */
  mayGoOn = false;
  /**
   * True if the latest event contained the finish reason. If the package cannot parse that event, its other content is lost.
   */
  isLast = false;
  /**
   * The error in the latest event, with all its fields. The packages keep only the fields that they know, so an upstream service's reason
   * is lost, and AI SDK 5 packages ignore some errors.
   */
  error: UnknownRecord | undefined;

  get finish(): SaidFinish | undefined {
    const raw = this.#word;
    return raw === undefined ? undefined : readFinish({ unified: raw, raw });
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  read(event: unknown): void {
    this.isLast = false;
    this.error = isRecord(event) ? findError(event) : undefined;
    if (!isRecord(event)) return;
    const response = recordOf(event.response);
    const counts = event.usage ?? event.usageMetadata ?? response.usage;
    if (isRecord(counts)) this.#usage = toRawUsage(counts);
    if (event.type === "response.completed") this.#note("completed");
    if (event.type === "response.incomplete") this.#note(recordOf(response.incomplete_details).reason);
    for (const choice of listOf(event.choices)) this.#note(recordOf(choice).finish_reason);
    for (const candidate of listOf(event.candidates)) this.#readCandidate(recordOf(candidate));
  }

  #readCandidate({ content, finishReason }: UnknownRecord): void {
    this.mayGoOn = true;
    const code = listOf(recordOf(content).parts)
      .map(recordOf)
      .filter((part) => isRecord(part.executableCode) || isRecord(part.codeExecutionResult));
    if (code.length > 0) this.#word = undefined;
    if (!isRecord(code.at(-1)?.executableCode)) this.#note(finishReason);
  }

  #note(word: unknown): void {
    if (textOf(word) === "") return;
    this.#word = textOf(word);
    this.isLast = true;
  }
}

/** Finds the error in an event. Bedrock names it in the key: `{ throttlingException: { message } }`. */
function findError(event: UnknownRecord): UnknownRecord | undefined {
  const { error, type, object, choices, detail } = event;
  const ofResponse = type === "response.failed" ? recordOf(event.response).error : undefined;
  if (isRecord(ofResponse)) return ofResponse;
  if (isRecord(error) || textOf(error) !== "" || type === "error" || object === "error") return event;
  const isError = (choices === undefined && detail !== undefined) || Object.keys(event).some((key) => key.endsWith("Exception"));
  return isError ? event : undefined;
}

function toRawUsage(counts: UnknownRecord): Usage | undefined {
  const thoughts = countOf(counts.thoughtsTokenCount) ?? 0;
  const input = countOf(counts.prompt_tokens ?? counts.input_tokens ?? counts.promptTokenCount);
  const output = countOf(counts.completion_tokens ?? counts.output_tokens ?? counts.candidatesTokenCount);
  if (input === undefined && output === undefined) return undefined;
  const outputTokens = (output ?? 0) + thoughts;
  return { inputTokens: input ?? 0, outputTokens, totalTokens: (input ?? 0) + outputTokens };
}

export interface SaidFinish {
  readonly reason: FinishReason;
  /** The finish reason that the service sent, or the AI SDK's if the service sent none. */
  readonly raw: string;
}

const cutWords: ReadonlySet<string> = new Set(["interrupted", "unknown"]);

const rareWords: FinishWords = new Map<string, FinishReason>([
  ["steered", "unknown"],
  ["function_call", "tool-calls"],
]);

/**
 * Reads the finish reason, or returns undefined if the stream was cut off. Provider packages report a finish reason even then: "unknown" in
 * v2, "other" without `raw` in v3, and "interrupted" in v4. "unknown" and "interrupted" are finish reasons only if the `finishReasons`
 * option maps them.
 *
 * The service's finish reason is exact. The packages replace it with less exact ones: Anthropic's pauses become "stop" or
 * "other", Gemini's malformed calls become "error" or "other", and a cut-off OpenAI response with tool calls may become "tool-calls".
 */
export function readFinish(said: unknown, words: FinishWords = new Map()): SaidFinish | undefined {
  const fields = isRecord(said) ? said : { unified: said };
  const [unified, raw] = [textOf(fields.unified), textOf(fields.raw)];
  const mapped = words.get(raw) ?? words.get(unified);
  if (mapped === undefined && cutWords.has(unified)) return undefined;
  if (unified === "" || (unified === "other" && raw === "" && isRecord(said))) return undefined;
  return { reason: toReason(raw, unified, words), raw: raw || unified };
}

function toReason(raw: string, unified: string, words: FinishWords): FinishReason {
  const known = rareWords.get(raw) ?? knownMeaningOf(raw);
  // Prefers the service's exact reason, unless it is a normal end, because only the AI SDK package knows whether that end was really a
  // refusal.
  const isExact = known !== undefined && !isCleanEnd(known);
  return words.get(raw) ?? (isExact ? known : undefined) ?? words.get(unified) ?? knownMeaningOf(unified) ?? known ?? "unknown";
}

interface FinishedMessage {
  readonly hasCalls: boolean;
  readonly hasAnswers: boolean;
}

export function toFinishReason({ reason }: SaidFinish, { hasCalls, hasAnswers }: FinishedMessage): FinishReason {
  if (reason !== "stop" && reason !== "tool-calls") return reason;
  if (hasCalls) return "tool-calls";
  return hasAnswers ? "paused" : reason;
}

const codeByName: ReadonlyMap<string, ProviderErrorCode> = new Map([
  ["AI_LoadAPIKeyError", "auth"],
  ["AI_LoadSettingError", "bad-request"],
  ["AI_InvalidArgumentError", "bad-request"],
  ["AI_InvalidPromptError", "bad-request"],
  ["AI_NoSuchModelError", "bad-request"],
  ["AI_NoSuchProviderReferenceError", "bad-request"],
  ["AI_UnsupportedFunctionalityError", "bad-request"],
  ["AI_EmptyResponseBodyError", "server"],
]);

/**
 * Converts an error that a provider package threw, or sent as a stream part. The response body of an `APICallError` is in
 * `responseBody` (text); `data` has only the fields that the package knows. With `isRetryable: true`, an unknown error becomes
 * retryable. With `isRetryable: false`, an error with a status that is retryable by default is not retryable.
 */
export function toModelError(thrown: unknown): ProviderError {
  if (!isRecord(thrown)) return toProviderError(thrown);
  const { name, message } = thrown;
  const code = typeof name === "string" ? codeByName.get(name) : undefined;
  if (code !== undefined) return providerError(code, typeof message === "string" ? message : "", { cause: thrown.cause });
  // @ai-sdk/openai-compatible reports an interrupted stream as invalid data (github.com/vercel/ai/issues/19165).
  if (name === "AI_InvalidResponseDataError" && /ended without a finish reason/.test(textOf(message)))
    return providerError("stream-ended-early", textOf(message));
  const body = parseBody(thrown.responseBody) ?? thrown.data;
  const error = toProviderError(body === undefined ? thrown : withBody(thrown, body));
  return judgeRetry(error, thrown);
}

function withBody(thrown: UnknownRecord, body: unknown): UnknownRecord {
  const { name, message, code, type, statusCode, responseHeaders, cause } = thrown;
  return { name, message, code, type, statusCode, responseHeaders, cause, error: body };
}

function judgeRetry(error: ProviderError, { name, isRetryable, statusCode }: UnknownRecord): ProviderError {
  // @ai-sdk/anthropic wrongly marks a server error in the first event as not retryable (github.com/anomalyco/opencode/issues/19394).
  const isRefused = isRetryable === false && error.code !== "server" && isRetriedByRule(statusCode);
  if (isRefused && error.retryable) return { ...error, retryable: false };
  const isUnread = error.code === "server" && !error.retryable && error.status === undefined;
  if (isRetryable !== true || !isUnread) return error;
  return { ...error, code: name === "AI_APICallError" ? "network" : "server", retryable: true };
}

/** True for a status that `APICallError` treats as retryable by default. */
function isRetriedByRule(status: unknown): boolean {
  return typeof status === "number" && (status === 408 || status === 409 || status === 429 || status >= 500);
}

const maxBodyLength = 100_000;

function parseBody(text: unknown): unknown {
  if (typeof text !== "string" || text.length > maxBodyLength || text.trim() === "") return undefined;
  const parsed = parseJson(text);
  return isRecord(parsed) || Array.isArray(parsed) ? parsed : text;
}
