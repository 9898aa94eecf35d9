// Decides what the end of an answer means. Services differ in their finish reasons, and some give a wrong one.

import { edges } from "../utils/edges.ts";
import type { FinishReason, StreamResult } from "../types/provider.ts";
import { isRecord } from "../utils/guards.ts";
import type { Check } from "../errors/check-fields.ts";
import type { ProviderErrorCode } from "../types/common.ts";
import type { EndReason, StreamStatus } from "../types/termination.ts";
import { quote } from "../utils/texts.ts";
import { providerError } from "../errors/provider-error.ts";

/** Finish reasons that servers and gateways add, or pass on from another API, in lower case. */
const passedOn: FinishWords = new Map<string, FinishReason>([
  // Anthropic's, in Chat Completions (github.com/maximhq/bifrost/issues/617, github.com/aws-samples/bedrock-access-gateway/issues/11).
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
  ["refusal", "refusal"],
  ["model_context_window_exceeded", "context-full"],
  // OpenAI's, in Messages (github.com/router-for-me/CLIProxyAPI/pull/3133).
  ["stop", "stop"],
  ["tool_calls", "tool-calls"],
  ["length", "length"],
  ["max_output_tokens", "length"],
  ["content_filter", "content-filter"],
  // Text Generation Inference (github.com/huggingface/text-generation-inference/pull/2344).
  ["eos_token", "stop"],
  // Gemini's. Its OpenAI endpoint writes "function_call_filter: MALFORMED_FUNCTION_CALL" and "content_filter: PROHIBITED_CONTENT"
  // (generativelanguage.googleapis.com, September 2026).
  ["function_call_filter", "malformed-call"],
  ["malformed_function_call", "malformed-call"],
  ["unexpected_tool_call", "malformed-call"],
  ["safety", "content-filter"],
  ["recitation", "content-filter"],
  ["blocklist", "content-filter"],
  ["prohibited_content", "content-filter"],
  ["spii", "content-filter"],
  // Together.
  ["eos", "stop"],
  // Mistral, when the context is full.
  ["model_length", "context-full"],
  // OpenRouter and Mistral, instead of an error event.
  ["error", "error"],
  // Zhipu (github.com/pydantic/pydantic-ai/issues/7678, github.com/earendil-works/pi/issues/1750). `abort`: also SGLang and vLLM.
  ["sensitive", "content-filter"],
  ["network_error", "error"],
  ["abort", "error"],
  // DeepSeek.
  ["insufficient_system_resource", "error"],
  // Bedrock (github.com/pydantic/pydantic-ai/issues/7816).
  ["guardrail_intervened", "content-filter"],
]);

/**
 * Returns the meaning of a finish reason. If `words` does not list it, returns its meaning in other APIs, without regard to case
 * and to details after a colon.
 */
export function meaningOf(raw: string, words?: FinishWords): FinishReason {
  return words?.get(raw) ?? passedOn.get(raw.split(":", 1).join("").trim().toLowerCase()) ?? "unknown";
}

/** Maps the finish reasons of a service to those of turnwright. */
export type FinishWords = ReadonlyMap<string, FinishReason>;

const known: { readonly [Reason in FinishReason]: true } = {
  stop: true,
  "tool-calls": true,
  length: true,
  "context-full": true,
  refusal: true,
  "content-filter": true,
  paused: true,
  continue: true,
  "malformed-call": true,
  error: true,
  unknown: true,
};

/** The check for the option `finishReasons`, for example `{ "FUNCTION_CALL": "tool-calls" }`. */
export const finishReasonsCheck: Check = [
  /* @__PURE__ */ describeFinishReasons(),
  (value) => isRecord(value) && !Array.isArray(value) && Object.values(value).every(isReason),
];

function describeFinishReasons(): string {
  const names = Object.keys(known).map((name) => `"${name}"`);
  return `an object such as { "FUNCTION_CALL": "tool-calls" }, with values among ${names.join(", ")}`;
}

function isReason(value: unknown): boolean {
  return typeof value === "string" && Object.hasOwn(known, value);
}

/** Merges the finish reasons of a service with the caller's option. The caller's entries take precedence. */
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

type Judge = (turn: MessageContent, raw: string | undefined) => Judgement;

const limited: Judge = ({ text, calls }) => {
  if (calls) return { status: "tool-calls" };
  return text ? completed("length") : failed("no-output", "The model reached its length limit without any output.");
};

const doneWithCalls = 'The stream has tool calls, but the finish reason "stop". The provider must use "tool-calls" instead.';

const judges: { readonly [Reason in FinishReason]: Judge } = {
  stop: ({ text, calls }) => {
    if (calls) return failed("finish-unknown", doneWithCalls);
    return text ? completed("answered") : { status: "empty-response", reason: { kind: "empty" } };
  },
  "tool-calls": ({ text, calls }) => {
    if (calls) return { status: "tool-calls" };
    return text ? completed("answered") : failed("no-output", 'The finish reason "tool-calls" came without calls or text.');
  },
  length: limited,
  "context-full": limited,
  refusal: () => completed("refusal"),
  "content-filter": () => completed("content-filter"),
  // The loop answers the calls that were received, and requests another message.
  "malformed-call": () => ({ status: "tool-calls" }),
  paused: () => ({ status: "completed" }),
  continue: () => ({ status: "completed" }),
  error: (_, raw) => failed("finish-error", `The model ended with an error${inBrackets(raw)}.`),
  unknown: (_, raw) => failed("finish-unknown", describeUnknown(raw)),
};

export function judgeFinish(finish: FinishReason | undefined, turn: MessageContent, raw?: string): Judgement {
  if (finish === undefined) return failed("stream-ended-early", "The stream ended without a finish reason.");
  // A provider without types may send any finish reason.
  return Object.hasOwn(judges, finish) ? judges[finish](turn, raw) : judges.unknown(turn, raw ?? finish);
}

function describeUnknown(raw: string | undefined): string {
  if (raw === undefined) return "The model stopped for an unknown reason.";
  const word = quote(raw);
  return `The model stopped for the unknown reason ${word}.${edges.adviseFinish?.(word) ?? ""}`;
}

function inBrackets(raw: string | undefined): string {
  return raw === undefined ? "" : ` (${raw})`;
}

/**
 * Returns the problem that the finish reason causes for every call of the message, including the calls of earlier continuations.
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

function completed(kind: "answered" | "length" | "refusal" | "content-filter"): Judgement {
  return { status: "completed", reason: { kind } };
}

function failed(code: ProviderErrorCode, message: string): Judgement {
  return { status: "error", reason: { kind: "provider-error", error: providerError(code, message) } };
}
