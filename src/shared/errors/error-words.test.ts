// The known error messages of services, one per row. Each is classified with the status that the service sends, and as an error in a
// stream.

import { describe, expect, it } from "vitest";
import type { ProviderErrorCode } from "../../core/types/common.ts";
import { toProviderError } from "./read-sdk-error.ts";

const spent = "You exceeded your current quota, please check your plan and billing details.";

type Row = readonly [status: number, said: string | Readonly<Record<string, unknown>>];

function check(code: ProviderErrorCode, retryable: boolean, [status, said]: Row): void {
  const error = typeof said === "string" ? { message: said } : { message: "No.", ...said };
  expect(toProviderError({ status, error })).toMatchObject({ code, retryable });
  expect(toProviderError(error)).toMatchObject({ code, retryable });
}

describe("toProviderError", () => {
  it.for<Row>([
    [400, "prompt is too long: 213462 tokens > 200000 maximum"],
    [400, "Prompt exceeds max length"],
    [400, { code: "1261" }],
    [400, "prompt too long; exceeded max context length by 12 tokens"],
    [400, { type: "request_too_large" }],
    [400, "Input is too long for requested model."],
    [400, "Your input exceeds the context window of this model."],
    [400, "Input tokens exceed the configured limit of 272000 tokens."],
    [400, "The input exceeds the model's maximum context length of 131072 tokens"],
    [400, "ContextWindowExceededError: context window exceeded"],
    [400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
    [400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    [400, "Please reduce the length of the messages or completion."],
    [400, "The prompt exceeds the maximum allowed input length of 8192 tokens"],
    [400, "Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens)."],
    [400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."],
    [400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."],
    [500, "the request exceeds the available context size (8192 tokens), try increasing it"],
    [500, { type: "exceed_context_size_error" }],
    [400, "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9>= n_ctx: 8)"],
    [400, "Trying to keep the first 9000 tokens when context the overflows."],
    [400, "prompt token count of 134218 exceeds the limit of 128000"],
    [400, { code: "model_max_prompt_tokens_exceeded" }],
    [400, "invalid params, context window exceeds limit (2013)"],
    [400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)"],
    [400, "prompt has 9000 tokens, but the configured context size is 8192"],
    [400, "Prompt contains 9000 tokens and 0 draft tokens, too large for model with 8192 maximum context length"],
    [400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"],
    [400, "the input length exceeds the context length"],
    [400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"],
    [400, { code: "context_length_exceeded" }],
    [400, { code: "model_context_window_exceeded" }],
    [400, "token limit exceeded"],
    [400, "too many tokens: 9000"],
    [400, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"],
    [422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168"],
    [502, "prompt is too long: 213462 tokens > 200000 maximum"],
    [400, "total message size 2100954 exceeds limit 2097152"],
    [400, "tokens in request more than max tokens allowed"],
    [
      400,
      "Invalid 'input[24].output': string too long. Expected a string with maximum length 10485760, but got a string with length 11437877 instead.",
    ],
    [
      400,
      "String value length (20054016) exceeds the maximum allowed (20000000, from `StreamReadConstraints.getMaxStringLength()`)",
    ],
    [401, "This plan supports only 256K context. Shorten the conversation."],
    [429, { type: "rate_limit_error", message: "Extra usage is required for long context requests." }],
    [429, "Extra usage is required for 1M context."],
    [429, { type: "rate_limit_error", message: "Usage credits are required for long context requests." }],
    [429, "Usage credits required for 1M context"],
    [503, "Context size has been exceeded."],
    [529, { type: "server_error", message: "Context size has been exceeded." }],
    [503, { code: "context_length_exceeded" }],
  ])("recognizes context-too-long in status %j with %j", (row) => check("context-too-long", false, row));

  it.for<Row>([
    [400, "Too many tokens, please wait before trying again."],
    [429, "Too many requests, please wait before trying again"],
    [429, "Requests rate limit exceeded"],
    [429, "acme/large is temporarily rate-limited upstream."],
    [429, { type: "rate_limited", code: "1300" }],
    [413, "Rate limit reached on tokens per minute (TPM): Limit 6000"],
    [429, { code: "1302", message: "您的账户已达到速率限制，请您控制请求频率" }],
    [400, { __type: "x", name: "ThrottlingException" }],
    [429, "You exceeded your current quota, please check your plan and billing details. See https://ai.google.dev/rate-limits."],
    [429, { code: "insufficient_quota", message: `${spent} See https://help.aliyun.com/zh/model-studio/error-code#token-limit` }],
    [402, { metadata: { limit_source: "openrouter_in_flight_budget" } }],
  ])("recognizes a temporary rate limit in status %j with %j", (row) => {
    const [status, said] = row;
    const error = typeof said === "string" ? { message: said } : { message: "No.", ...said };
    expect(toProviderError({ status, error })).toMatchObject({ code: "rate-limit", retryable: true });
  });

  it.for<Row>([
    [413, "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 9000"],
    [429, "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 43000."],
    [429, { code: "insufficient_quota" }],
    [
      429,
      "You exceeded your current quota, please check your plan and billing details. For more information, read https://platform.openai.com/docs.",
    ],
    [429, { code: "credit_balance_exhausted" }],
    [400, "Your credit balance is too low to access the Anthropic API."],
    [429, "You have reached your API usage limits. You will regain access on 2026-12-01."],
    [400, "You have reached your specified API usage limits."],
    [400, { code: "contract_spend_limit_reached" }],
    [400, { code: "enforced_spend_limit_reached" }],
    [402, "Insufficient Balance"],
    [429, { code: "1308" }],
    [429, { code: "1113", type: "upstream_error" }],
    [429, "余额不足或无可用资源包,请充值。"],
    [400, { code: "Arrearage", message: "Access denied, please make sure your account is in good standing." }],
    [403, { code: "AccountOverdueError" }],
    [429, "Monthly usage limit reached"],
    [429, { name: "GoUsageLimitError" }],
    [429, { name: "FreeUsageLimitError" }],
    [429, { code: "subscription_sharing_usage_limit_exceeded" }],
    [429, "The team is out of budget"],
    [429, { type: "budget_exceeded" }],
    [429, "Quota exceeded for quota metric 'Generate requests' and limit 'Requests per day' of service 'x' per day."],
    [429, { details: [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }] }],
    [403, { metadata: { limit_usd: 5, spend_usd: 5 } }],
    [403, "This API method requires billing to be enabled."],
  ])("recognizes an exhausted quota in status %j with %j", (row) => check("rate-limit", false, row));

  it.for<Row>([
    [529, { type: "overloaded_error" }],
    [503, { code: "server_is_overloaded" }],
    [400, "We are currently experiencing high demand."],
    [500, "The model is overloaded. Please try again later."],
    [500, "The engine is currently overloaded, please try again later"],
    [500, "The model is at capacity"],
    [429, "Service tier capacity exceeded for this model."],
    [500, { code: "server_busy" }],
    [500, "exceeded request buffer limit while retrying upstream"],
    [500, { code: "upstream_stream_read_error" }],
    [502, { metadata: { error_type: "provider_overloaded" } }],
    [503, { name: "serviceUnavailableException" }],
    [400, { code: "prefill_memory_exceeded", message: "The prompt was rejected. Or reduce context length." }],
    [400, "oMLX prefill memory guard rejected this prompt: Raise custom_ceiling_bytes, or reduce context length."],
    [429, { code: "1305", message: "该模型当前访问量过大，请您稍后再试" }],
  ])("recognizes overloaded in status %j with %j", (row) => check("overloaded", true, row));

  it.for<Row>([
    [404, { code: "model_not_found" }],
    [404, "The model `x` does not exist or you do not have access to it"],
    [400, "x is not a valid model ID"],
    [400, "Model Not Exist"],
    [404, "model 'x' not found"],
    [404, "models/x is not found for API version v1beta, or is not supported for generateContent."],
    [400, "The provided model identifier is invalid."],
    [400, { type: "invalid_model", code: "1500" }],
    [400, { code: "data_residency_mismatch" }],
    [400, { code: "image_parse_error" }],
    [400, { code: "invalid_prompt", message: "Invalid Responses API request" }],
    [400, { code: "invalid_prompt", message: "Backend request failed with status 400" }],
  ])("recognizes bad-request in status %j with %j", (row) => check("bad-request", false, row));

  it.for<Row>([
    [400, { code: "content_filter" }],
    [400, { innererror: { code: "ResponsibleAIPolicyViolation" } }],
    [400, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."],
    [400, { code: "content_policy_violation" }],
    [403, "x requires moderation on OpenRouter. Your input was flagged for violence"],
    [400, { code: "bio_policy" }],
    [
      400,
      { code: "invalid_prompt", message: "Invalid prompt: your prompt was flagged as potentially violating our usage policy." },
    ],
    [400, "Invalid prompt: we've limited access to this content for safety reasons."],
    [500, { code: "sensitive_words_detected", message: "sensitive words detected" }],
    [422, "input new_sensitive (1026)"],
  ])("recognizes content-filter in status %j with %j", (row) => check("content-filter", false, row));

  it.for<Row>([
    [400, { code: "tool_use_failed" }],
    [400, "Failed to call a function. Please adjust your prompt."],
    [400, "tool call validation failed: attempted to call tool 'x' which was not in request.tools"],
    [400, "tool call validation failed: parameters for tool x did not match schema: errors: []"],
    [500, "error parsing tool call: raw='{', err=unexpected end of JSON input"],
  ])("recognizes malformed-call in status %j with %j", (row) => check("malformed-call", true, row));

  it.for<Row>([
    [400, "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."],
    [400, "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."],
    [
      400,
      "If an assistant message contains any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `text`.",
    ],
  ])("recognizes request-changed in status %j with %j", (row) => check("request-changed", false, row));

  it.for<[status: number, message: string, code: ProviderErrorCode]>([
    [401, "The context length of this key is limited.", "auth"],
    [429, "The context length is limited.", "rate-limit"],
    [503, "The context length is limited.", "overloaded"],
  ])("gives the status %i precedence over words about the context length", ([status, message, code]) => {
    expect(toProviderError({ status, error: { message } })).toMatchObject({ code });
  });

  it.for<[body: object, retryAfterMs: number]>([
    [{ resets_in_seconds: 529_498, resets_at: 1_772_180_859 }, 529_498_000],
    [{ resets_at: 0 }, 0],
  ])("reads the time to wait from %j", ([body, retryAfterMs]) => {
    const error = { type: "usage_limit_reached", message: "The usage limit has been reached", ...body };
    expect(toProviderError({ status: 429, error })).toMatchObject({ retryAfterMs });
  });

  it("ignores JSON quoted in a message if it is not an error body", () => {
    const message = 'Tool args {"message":"prompt is too long"} are odd';
    expect(toProviderError({ status: 418, error: { message } }).message).toBe(message);
  });

  it.for([
    ["{", "}"],
    ["[", "]"],
  ] as const)("reads a deeply nested body in time: %s", ([open, close]) => {
    const message = `${open === "{" ? '{"error":'.repeat(50_000) : open.repeat(100_000)}1${close.repeat(100_000)}`;
    expect(toProviderError({ status: 500, error: { message } })).toMatchObject({ code: "server" });
  });
});
