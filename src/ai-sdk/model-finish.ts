// Finish reasons of the three specifications, and the services' own words behind them.

import { type FinishReason, type FinishWords, isRecord, textOf, withFinishReasons } from "../core/provider-kit.ts";

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

/** What the turn held when it ended. */
interface FinishedTurn {
  readonly hasCalls: boolean;
  /** The service has asked for leave to run tools of its own side, and waits for the answer. */
  readonly hasAnswers: boolean;
}

/** Says why the model stopped, in view of what it said. */
export function toFinishReason({ reason }: SaidFinish, { hasCalls, hasAnswers }: FinishedTurn): FinishReason {
  if (reason !== "stop" && reason !== "tool-calls") return reason;
  if (hasCalls) return "tool-calls";
  return hasAnswers ? "paused" : reason;
}
