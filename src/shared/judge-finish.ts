// Decides what the end of an answer means, because services use different finish reasons and some send a wrong one.

import { edges } from "./edges.ts";
import type { FinishReason, StreamResult } from "../core/types/provider.ts";
import { isRecord } from "./guards.ts";
import type { Check } from "./errors/check-fields.ts";
import type { EndReason, StreamStatus } from "../core/types/termination.ts";
import { providerError } from "./errors/provider-error.ts";

/**
 * Finish reasons of all services, in lower case, grouped by service. Servers and gateways add their own, or pass on those from a different
 * API.
 */
const knownWords: FinishWords = new Map<string, FinishReason>([
  // Finish reasons from Anthropic, which gateways also use in Chat Completions (github.com/maximhq/bifrost/issues/617,
  // github.com/aws-samples/bedrock-access-gateway/issues/11). After `compaction` (beta), the summary is sent back and the model continues.
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
  ["refusal", "refusal"],
  ["model_context_window_exceeded", "context-full"],
  ["pause_turn", "paused"],
  ["compaction", "paused"],
  // Finish reasons from OpenAI, which gateways also use in Messages (github.com/router-for-me/CLIProxyAPI/pull/3133). `steered` is not
  // listed, because it occurs only on WebSockets, where another response follows.
  ["stop", "stop"],
  ["completed", "stop"],
  ["tool_calls", "tool-calls"],
  ["length", "length"],
  ["max_output_tokens", "length"],
  ["max_messages", "length"],
  ["content_filter", "content-filter"],
  // Finish reasons from the AI SDK.
  ["tool-calls", "tool-calls"],
  ["content-filter", "content-filter"],
  // Finish reason from Text Generation Inference (github.com/huggingface/text-generation-inference/pull/2344).
  ["eos_token", "stop"],
  // Finish reasons from Gemini. Its OpenAI endpoint writes "function_call_filter: MALFORMED_FUNCTION_CALL" and "content_filter:
  // PROHIBITED_CONTENT" (generativelanguage.googleapis.com, September 2026).
  ["function_call_filter", "malformed-call"],
  ["malformed_function_call", "malformed-call"],
  ["unexpected_tool_call", "malformed-call"],
  ["safety", "content-filter"],
  ["recitation", "content-filter"],
  ["blocklist", "content-filter"],
  ["prohibited_content", "content-filter"],
  ["spii", "content-filter"],
  ["language", "content-filter"],
  ["model_armor", "content-filter"],
  ["image_safety", "content-filter"],
  ["image_prohibited_content", "content-filter"],
  ["image_recitation", "content-filter"],
  ["malformed_response", "error"],
  ["too_many_tool_calls", "error"],
  ["no_image", "error"],
  ["image_other", "error"],
  // Finish reason from Together.
  ["eos", "stop"],
  // Finish reason from Mistral when the context is full.
  ["model_length", "context-full"],
  // OpenRouter and Mistral send this finish reason instead of an error event.
  ["error", "error"],
  // Finish reasons from Zhipu (github.com/pydantic/pydantic-ai/issues/7678, github.com/earendil-works/pi/issues/1750). SGLang and vLLM also
  // send `abort`.
  ["sensitive", "content-filter"],
  ["network_error", "error"],
  ["abort", "error"],
  // Finish reason from DeepSeek.
  ["insufficient_system_resource", "error"],
  // Finish reason from Bedrock (github.com/pydantic/pydantic-ai/issues/7816).
  ["guardrail_intervened", "content-filter"],
]);

/** Returns the meaning of a finish reason, from `words` or the built-in list. Ignores case, and any details after a colon. */
export function meaningOf(raw: string, words?: FinishWords): FinishReason {
  return words?.get(raw) ?? knownMeaningOf(raw) ?? "unknown";
}

export function knownMeaningOf(raw: string): FinishReason | undefined {
  return knownWords.get(raw.split(":", 1).join("").trim().toLowerCase());
}

/** Maps a service's finish reasons to turnwright's. */
export type FinishWords = ReadonlyMap<string, FinishReason>;

/** Merges a service's finish reasons with the caller's option. The caller's entries take precedence. */
export function withFinishReasons(words: FinishWords, option: { readonly [word: string]: FinishReason } = {}): FinishWords {
  return new Map([...words, ...Object.entries(option)]);
}

/** The content of an assistant message, including its earlier continuations. */
export interface MessageContent {
  /** True if the message has text that is not blank. */
  readonly text: boolean;
  readonly calls: boolean;
}

export interface Judgement {
  readonly status: StreamStatus;
  readonly reason?: EndReason | undefined;
}

/** How an answer is judged. Strings are error codes. */
type Verdict = Judgement | "finish-error" | "finish-unknown" | "no-output" | "stream-ended-early";

const toolCalls: Verdict = { status: "tool-calls" };
const unfinished: Verdict = { status: "completed" };

function completed(kind: "answered" | "length" | "refusal" | "content-filter"): Verdict {
  return { status: "completed", reason: { kind } };
}

/** The verdicts for a message with calls, with text only, and with neither. A shorter list repeats its last verdict. */
const verdicts: { readonly [Reason in FinishReason]: readonly [Verdict, Verdict?, Verdict?] } = {
  stop: ["finish-unknown", completed("answered"), { status: "empty-response", reason: { kind: "empty" } }],
  "tool-calls": [toolCalls, completed("answered"), "no-output"],
  length: [toolCalls, completed("length"), "no-output"],
  "context-full": [toolCalls, completed("length"), "no-output"],
  refusal: [completed("refusal")],
  "content-filter": [completed("content-filter")],
  // A malformed call does not end the run: the loop answers the calls that arrived, and requests another message.
  "malformed-call": [toolCalls],
  paused: [unfinished],
  continue: [unfinished],
  error: ["finish-error"],
  unknown: ["finish-unknown"],
};

export function judgeFinish(finish: FinishReason | undefined, { text, calls }: MessageContent, raw?: string): Judgement {
  if (finish === undefined) return toError("stream-ended-early", finish, raw);
  // Treats other values as "unknown", because an untyped provider may send any finish reason.
  const isKnown = Object.hasOwn(verdicts, finish);
  const [first, second = first, third = second] = verdicts[isKnown ? finish : "unknown"];
  const withoutCalls = text ? second : third;
  const verdict = calls ? first : withoutCalls;
  return typeof verdict === "string" ? toError(verdict, finish, isKnown ? raw : (raw ?? finish)) : verdict;
}

function toError(verdict: Exclude<Verdict, Judgement>, finish: string | undefined, raw: string | undefined): Judgement {
  const message = edges.describeFinish?.(verdict, finish, raw) ?? `The answer ended as ${verdict}.`;
  return { status: "error", reason: { kind: "provider-error", error: providerError(verdict, message) } };
}

/** The check for the `finishReasons` option, for example `{ "FUNCTION_CALL": "tool-calls" }`. */
export const finishReasonsCheck: Check = [
  /* @__PURE__ */ describeFinishReasons(),
  (value) => isRecord(value) && !Array.isArray(value) && Object.values(value).every(isReason),
];

function describeFinishReasons(): string {
  const names = Object.keys(verdicts).map((name) => `"${name}"`);
  return `an object such as { "FUNCTION_CALL": "tool-calls" }, with values among ${names.join(", ")}`;
}

function isReason(value: unknown): boolean {
  return typeof value === "string" && Object.hasOwn(verdicts, value);
}

/**
 * Returns the problem that the finish reason causes for every call in the message, including calls from earlier continuations.
 * A call with a problem does not run.
 */
export function problemOf(finish: FinishReason | undefined): "malformed" | "truncated" | undefined {
  if (finish === "length" || finish === "context-full") return "truncated";
  return finish === "malformed-call" ? "malformed" : undefined;
}

export function isResent(finish: FinishReason | undefined): boolean {
  return finish === "paused" || finish === "continue";
}

export function isUnfinished({ status, finish }: StreamResult): boolean {
  return status === "completed" && isResent(finish);
}
