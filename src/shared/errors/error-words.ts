// The wording by which each kind of error is recognized. Services change their messages without notice, so add a row for each new wording.

import type { ProviderErrorCode } from "../../core/types/common.ts";
import type { ErrorFacts } from "./error-facts.ts";

/** A pattern for a service's error messages, and the code for these errors. */
export interface ErrorWord {
  /** Matches an error's message, as shown in `error.message`. */
  readonly pattern: RegExp;
  readonly code: ProviderErrorCode;
}

/** How an error is classified. */
export interface ErrorVerdict {
  readonly code: ProviderErrorCode;
  /** True if a retry may help. Default: depends on the code. */
  readonly retryable?: boolean | undefined;
}

interface WordGroup extends ErrorVerdict {
  /** Each pattern matches a whole error code in lower case, or a part of a message. */
  readonly patterns: readonly RegExp[];
}

/** Words that take precedence over the status. The first matching group is used. */
export const exactWords: readonly WordGroup[] = [
  {
    code: "content-filter",
    patterns: [
      // Matches Azure's refusals, both with status 400 and in a stream (github.com/openai/openai-dotnet/issues/55).
      /^content_filter$|^responsibleaipolicyviolation$|content management policy/i,
      // Matches OpenRouter's error types, and its moderation errors with status 403 (openrouter.ai/docs/api/errors).
      /^content_policy_violation$|^refusal$|^flagged_input$|requires moderation on openrouter/i,
      // Matches error codes of OpenAI's Responses API (platform.openai.com/docs/api-reference/responses).
      /^(?:bio_policy|cyber_policy|misalignment_policy_violation)$/,
      // Matches OpenAI's messages with the code "invalid_prompt" (github.com/openai/codex/issues/7250, github.com/microsoft/PyRIT/pull/1463).
      // OpenRouter and Bedrock use this code for each invalid request (github.com/openai/codex/issues/18307,
      // github.com/anomalyco/opencode/pull/49099), so the code alone says nothing.
      /invalid prompt: (?:your|we)/i,
      // Matches Anthropic's message (github.com/anthropics/claude-code/issues/58367).
      /blocked by content filtering policy/i,
      // Matches DeepSeek's message (github.com/deepseek-ai/DeepSeek-V2/issues/30).
      /content exists risk/i,
      // Matches DashScope's code (github.com/camel-ai/owl/issues/432, github.com/QwenLM/qwen-code/issues/3145).
      /\bdata_?inspection_?failed\b/i,
      // Matches errors from New API (github.com/QuantumNous/new-api/issues/6656) and MiniMax
      // (github.com/esengine/DeepSeek-Reasonix/issues/6818).
      /\bsensitive[_ ]words[_ ]detected\b|\b(?:input|output) new_sensitive\b/i,
    ],
  },
  {
    code: "malformed-call",
    patterns: [
      // Matches Groq's errors (github.com/groq/groq-typescript/issues/28, github.com/mastra-ai/mastra/issues/9688).
      /^tool_use_failed$|failed to call a function/i,
      /attempted to call tool .{1,200} which was not in request|parameters for tool .{1,200} did not match schema/i,
      // Matches Ollama's message, which has status 500 (github.com/ollama/ollama/issues/12884).
      /error parsing tool call: raw=/i,
    ],
  },
  {
    code: "request-changed",
    patterns: [
      // Matches Anthropic's messages (platform.claude.com/docs/en/build-with-claude/preserved-thinking,
      // github.com/anthropics/claude-code/issues/63712 and 20717).
      /bound to a different conversation|invalid `?signature`? in `?thinking`? block/i,
      /thinking`? blocks? in the latest assistant message cannot be modified|the first block must be `?thinking`? or/i,
      // Matches OpenAI's error for reasoning that another account encrypted (github.com/lidge-jun/opencodex/issues/2269).
      /^invalid_encrypted_content$|encrypted content .{0,200}could not be (?:verified|decrypted)/i,
      // Matches Meta's message (github.com/can1357/oh-my-pi/issues/11928).
      /encrypted_content`? was not issued to this caller/i,
      // Matches Gemini's errors for a signature made with a different key or route (github.com/google-gemini/gemini-cli/issues/13467,
      // github.com/decolua/9router/issues/301).
      /(?:invalid|corrupted) thought signature|thought signature is not valid/i,
    ],
  },
  {
    // Errors about a subscription plan's context limit, sent with status 429 or 401. Waiting or using a different key does not help, but a
    // shorter request does.
    code: "context-too-long",
    patterns: [
      // Matches messages from Anthropic (github.com/anthropics/claude-code/issues/48721 and 61808) and Kimi
      // (github.com/MoonshotAI/kimi-code/pull/2655).
      /usage (?:is|credits).{0,4} required for .{0,40}\bcontext|supports only \d{1,20}[km]? context/i,
    ],
  },
  {
    code: "overloaded",
    patterns: [
      // Matches oMLX's error when there is too little free memory for the prompt
      // (github.com/NousResearch/hermes-agent/issues/52261).
      /^prefill_memory_exceeded$|prefill memory guard/i,
    ],
  },
  {
    code: "rate-limit",
    patterns: [
      // On OpenRouter, requests in progress use up the budget, and the `retry-after` header says when they end.
      /^openrouter_in_flight_budget$/,
      // DashScope reports a per-minute limit in the wording of OpenAI's quota error (github.com/can1357/oh-my-pi/issues/8496).
      /exceeded your current quota.{1,200}error-code#token-limit/i,
    ],
  },
  {
    code: "rate-limit",
    retryable: false,
    patterns: [
      // OpenAI's quota error. Gemini reports a per-minute limit with the same text, so the URL is part of the pattern.
      /^insufficient_quota$|exceeded your current quota.{1,200}platform\.openai\.com/i,
      /^(?:credit_balance_exhausted|billing_(?:hard_limit_reached|not_active|error)|(?:contract|enforced)_spend_limit_reached)$/,
      // Matches Anthropic's messages (github.com/anthropics/claude-code/issues/88711).
      /credit balance is too low|reached your (?:specified )?api usage limits/i,
      // Matches DeepSeek's errors (github.com/continuedev/continue/issues/10806).
      /^insufficient_balance$|insufficient balance/i,
      // Matches error codes from OpenRouter (openrouter.ai/docs/api/errors) and LiteLLM (docs.litellm.ai/docs/proxy/error_reference).
      /^(?:payment_required|openrouter_credits|limit_usd|budget_exceeded)$/,
      // Matches Gemini's error for an exceeded daily quota (github.com/google-gemini/gemini-cli/issues/10925).
      /quota exceeded for quota metric .{1,200} per day|requestsperday/i,
      // Matches errors from z.ai (github.com/eddiearc/larkin/issues/236), DashScope (github.com/alibaba/spring-ai-alibaba/issues/1146) and
      // Volcengine (github.com/volcengine/OpenViking/issues/729).
      /^(?:1113|arrearage|accountoverdueerror)$|余额不足/i,
      // Matches errors from z.ai and gateways (npm @earendil-works/pi-ai 1.6.0, dist/utils/retry.js).
      /^1308$|monthly usage limit reached|^(?:go|free)usagelimiterror$|^subscription_sharing_usage_limit_exceeded$|out of budget/i,
      /\bbilling (?:is |has |must |account|issue|problem|to be enabled)/i,
      // A request above the per-minute token limit is never accepted. OpenAI sends this error with status 429, Groq with 413
      // (github.com/continuedev/continue/issues/10218, github.com/vanna-ai/vanna-flask/issues/11).
      /request too large for .{1,400} (?:tokens|requests) per (?:minute|min|day)\b/i,
    ],
  },
  {
    code: "overloaded",
    patterns: [
      // These patterns come from the npm package @earendil-works/pi-ai 1.6.0, dist/utils/retry.js.
      /^overloaded_error$|^(?:server_is|server|engine|provider)_overloaded|^engine_overloaded_error$|^server_busy$/,
      /\bis (?:currently |temporarily )?overloaded|currently experiencing high demand|model is at capacity/i,
      /^upstream_stream_read_error$|exceeded request buffer limit while retrying upstream|stream ended before message_stop/i,
      // Matches Mistral's message, sent with status 429 or 503 (github.com/BerriAI/litellm/issues/25078).
      /service tier capacity exceeded/i,
      // Matches z.ai's error (github.com/HKUDS/nanobot/issues/3864).
      /^1305$|访问量过大/,
    ],
  },
  {
    code: "rate-limit",
    patterns: [
      // Matches Bedrock's rate-limit error, whose wording does not refer to the context length
      // (github.com/anthropics/claude-code/issues/236).
      /too many tokens, please wait|too many requests|throttl(?:ed|ing)/i,
      // Matches z.ai's error (github.com/HKUDS/nanobot/issues/3356).
      /^1302$|速率限制/,
      /\brate[ _-]?limit(?:s|ed|ing)?\b|^rate_limit|(?:tokens|requests) per (?:min|minute|day)\b/i,
    ],
  },
];

/** Recognizes a context that is too long. A status such as 401 or 429 takes precedence. */
const contextWords: WordGroup = {
  code: "context-too-long",
  patterns: [
    // Matches errors from OpenAI, OpenRouter, Anthropic, llama-server and Copilot. Most patterns here come from npm @earendil-works/pi-ai
    // 1.6.0, dist/utils/overflow.js.
    /^(?:model_max_prompt_tokens_exceeded|request_too_large|payload_too_large)$|prompt token count of \d{1,20} exceeds/i,
    // Matches errors from OpenAI, vLLM, LiteLLM, Together, MiniMax, llama-server, Ollama and LM Studio.
    /context[ _](?:length|limit|window|size)|input tokens exceed the configured limit/i,
    // Matches errors from Anthropic, z.ai (code 1261), Ollama and Bedrock.
    /prompt (?:is )?too long|prompt exceeds max length|^1261$|input is too long/i,
    // Matches errors from Gemini, xAI, Groq, vLLM and Cohere.
    /input token count|maximum prompt length|reduce the length of the (?:messages|prompt|input)|too many (?:input )?tokens/i,
    // Matches Kimi's errors, including one for a character limit (github.com/MoonshotAI/kimi-code/issues/1862).
    /exceeded model token limit|total message size \d{1,20} exceeds limit/i,
    // Matches errors from LiteLLM, Poolside, SGLang, Mistral and DashScope.
    /tokens in request more than max tokens allowed|token[ _]limit[ _]exceeded|exceeds the maximum allowed (?:input )?length/i,
    /too large for model with \d{1,20}|range of input length should be|longer than the maximum model length/i,
    // Matches LM Studio's errors (github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546).
    /tokens to keep from the initial prompt|trying to keep the first \d{1,20} tokens/i,
    // Matches OpenAI's and Qwen's errors about one text, usually a tool result (github.com/earendil-works/pi/issues/2122,
    // github.com/QwenLM/qwen-code/issues/1082). Ids have other limits.
    /maximum length (?:1048576|10485760)\b|^string value length/i,
    // Matches errors from github.com/huggingface/text-generation-inference (issues 628 and 695).
    /inputs?`? (?:tokens \+ .{1,20} must be|must have less)/i,
  ],
};

/** Words that take precedence over an ambiguous status such as 400 or 500, but not over a definite one. */
export const looseWords: readonly WordGroup[] = [
  contextWords,
  {
    code: "auth",
    // Matches messages from Google and xAI, which send status 400 instead of 401.
    patterns: [/^api_key_invalid$/, /^(?:incorrect api key|invalid api key|api key (?:not valid|not found|expired))/i],
  },
  {
    code: "bad-request",
    patterns: [
      // Matches errors for a missing model from OpenRouter, DeepSeek, Ollama, Gemini, Bedrock and Mistral
      // (github.com/openai/codex/issues/43420, github.com/continuedev/continue/issues/9939).
      /^model_not_found$|is not a valid model id|model not exist|model identifier is invalid|^invalid_model$/i,
      /model .{1,200} (?:not found|does not exist)|models\/.{1,200} is not found/i,
      // Matches error codes of OpenAI's Responses API, including a dozen about images.
      /^data_residency_mismatch$|^\w*image\w*$/,
    ],
  },
];

export function findVerdict(groups: readonly WordGroup[], { words, messages }: ErrorFacts): ErrorVerdict | undefined {
  const texts = [...words, ...messages];
  return groups.find(({ patterns }) => patterns.some((pattern) => texts.some((text) => text.search(pattern) >= 0)));
}
