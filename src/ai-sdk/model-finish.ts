// Usage and finish reasons of the three specifications, and the services' own words behind them.

import {
  countOf,
  type FinishReason,
  type FinishWords,
  isRecord,
  listOf,
  usageOf,
  recordOf,
  textOf,
  type UnknownRecord,
  type Usage,
  withFinishReasons,
} from "../core/provider-kit.ts";
import type { AiSdkLanguageModel } from "./model-options.ts";

/** Reads the counts of a finished stream. Undefined where the service gave neither sum. */
export function readModelUsage(usage: unknown, { provider }: AiSdkLanguageModel): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const { inputTokens, outputTokens } = usage;
  if (isRecord(inputTokens) || isRecord(outputTokens)) return readNested(recordOf(inputTokens), recordOf(outputTokens));
  return readFlat(usage, provider);
}

/** v3 and v4. */
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
 * v2, where packages differ in what their sums hold. Anthropic's leaves out what was read from the cache
 * (github.com/PostHog/posthog-js/issues/2829). Google's and xAI's leave out reasoning, which their total tells
 * (github.com/vercel/ai/issues/7542).
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

/** Undefined where nothing is known. */
function sumOf(...counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/** The services' words for the ends that the specification has words for. */
const words: ReadonlyMap<string, string> = new Map([
  ["eos", "stop"],
  ["function_call", "tool-calls"],
  ["tool_calls", "tool-calls"],
  ["content_filter", "content-filter"],
  ["MAX_TOKENS", "length"],
  ["max_output_tokens", "length"],
  ["STOP", "stop"],
  ["completed", "stop"],
]);

/** Reads the events of Chat Completions, Responses and Gemini as packages hand them on. */
export class RawEnding {
  #usage: Usage | undefined;
  #word: string | undefined;
  /** Whether the answer may go on after its finish reason, as Gemini's does. */
  mayGoOn = false;
  /** Whether the last event was the one that said so. A package that cannot read it has lost what else it held. */
  isLast = false;

  /** Why the model stopped, as far as the service has said so. */
  get finish(): SaidFinish | undefined {
    const raw = this.#word;
    return raw === undefined ? undefined : readFinish({ unified: words.get(raw) ?? raw, raw });
  }

  /** The last counts, which do not tell cached tokens and reasoning apart. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  read(event: unknown): void {
    this.isLast = false;
    if (!isRecord(event)) return;
    const response = recordOf(event.response);
    const counts = event.usage ?? event.usageMetadata ?? response.usage;
    if (isRecord(counts)) this.#usage = toRawUsage(counts);
    if (event.type === "response.completed") this.#note("completed");
    if (event.type === "response.incomplete") this.#note(recordOf(response.incomplete_details).reason);
    for (const choice of listOf(event.choices)) this.#note(recordOf(choice).finish_reason);
    for (const candidate of listOf(event.candidates)) this.#readCandidate(recordOf(candidate));
  }

  /** A finish reason beside code that the service runs ends nothing, and code takes back one that came before. */
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

function toRawUsage(counts: UnknownRecord): Usage | undefined {
  const thoughts = countOf(counts.thoughtsTokenCount) ?? 0;
  const input = countOf(counts.prompt_tokens ?? counts.input_tokens ?? counts.promptTokenCount);
  const output = countOf(counts.completion_tokens ?? counts.output_tokens ?? counts.candidatesTokenCount);
  if (input === undefined && output === undefined) return undefined;
  const outputTokens = (output ?? 0) + thoughts;
  return { inputTokens: input ?? 0, outputTokens, totalTokens: (input ?? 0) + outputTokens };
}

/** Why a model stopped, as it was said. */
export interface SaidFinish {
  readonly reason: FinishReason;
  /** The service's own word where there is one. */
  readonly raw: string;
}

const unifiedWords: FinishWords = new Map<string, FinishReason>([
  ["stop", "stop"],
  ["tool-calls", "tool-calls"],
  ["length", "length"],
  ["content-filter", "content-filter"],
  ["error", "error"],
]);

/**
 * Words that say more than the reason they are given under: Anthropic's pauses stand under "stop" and "other", its full context under
 * "length", its refusals under "content-filter", and Gemini's unreadable calls and some of its filters under "error" and "other". Of a
 * response that was cut off for one of the rarer reasons, OpenAI's package says "tool-calls" where there are any.
 */
const exactWords: FinishWords = new Map<string, FinishReason>([
  ["pause_turn", "paused"],
  ["compaction", "paused"],
  ["model_context_window_exceeded", "context-full"],
  ["refusal", "refusal"],
  ["MALFORMED_FUNCTION_CALL", "malformed-call"],
  ["UNEXPECTED_TOOL_CALL", "malformed-call"],
  ["LANGUAGE", "content-filter"],
  ["MODEL_ARMOR", "content-filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content-filter"],
  ["IMAGE_RECITATION", "content-filter"],
  ["max_messages", "length"],
  ["steered", "unknown"],
]);

/** Reasons by the service's own words, and by those of the specification. */
export interface ModelWords {
  readonly exact: FinishWords;
  readonly unified: FinishWords;
}

const knownWords: ModelWords = { exact: exactWords, unified: unifiedWords };

/** The known words with those of the caller. */
export function toModelWords(option: { readonly [word: string]: FinishReason } | undefined): ModelWords {
  return { exact: withFinishReasons(exactWords, option), unified: withFinishReasons(unifiedWords, option) };
}

const cutWords: ReadonlySet<string> = new Set(["interrupted", "unknown"]);

/**
 * Reads a finish reason: a word in v2, `{ unified, raw }` in v3 and v4. Undefined where the stream was cut. Provider packages say that a
 * stream has finished as soon as it is over, and until the service says why, the reason is "unknown" in v2, "other" without a word of the
 * service in v3, and "interrupted" in v4. The words of "unknown" and "interrupted" count where the caller gives them a meaning.
 */
export function readFinish(said: unknown, words: ModelWords = knownWords): SaidFinish | undefined {
  const fields = isRecord(said) ? said : { unified: said };
  const [unified, raw] = [textOf(fields.unified), textOf(fields.raw)];
  const reason = words.exact.get(raw) ?? words.unified.get(unified);
  if (reason === undefined && cutWords.has(unified)) return undefined;
  if (unified === "" || (unified === "other" && raw === "" && isRecord(said))) return undefined;
  return { reason: reason ?? "unknown", raw: raw === "" ? unified : raw };
}

/** The content of the message when it ended. */
interface FinishedMessage {
  readonly hasCalls: boolean;
  /** The service has asked for leave to run tools of its own side, and waits for the answer. */
  readonly hasAnswers: boolean;
}

/** Says why the model stopped, in view of what it said. */
export function toFinishReason({ reason }: SaidFinish, { hasCalls, hasAnswers }: FinishedMessage): FinishReason {
  if (reason !== "stop" && reason !== "tool-calls") return reason;
  if (hasCalls) return "tool-calls";
  return hasAnswers ? "paused" : reason;
}
