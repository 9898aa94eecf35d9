import type { ModelQuirks, Service } from "./service.ts";

/**
 * When OpenAI's models reason, and which of them refuse function tools in Chat Completions while they reason
 * (github.com/openai/openai-openapi/issues/541, github.com/BerriAI/litellm/issues/34569, github.com/firebase/genkit/issues/6303).
 * gpt-6-astra, gpt-6.1-sol and gpt-6.2 have no effort "none". A reasoning model refuses `temperature` and `top_p`, and GPT-6 also
 * `stop` (github.com/bolna-ai/bolna/issues/1019).
 */
export const openaiModels: readonly ModelQuirks[] = [
  { model: /^(?:o\d|gpt-5(?:$|-(?!chat)))/, chat: { reasons: "always" } },
  { model: /^gpt-5\.[1-5](?!\d)/, chat: { reasons: "on-request" } },
  { model: /^gpt-5\.[45](?!\d)/, chat: { toolsNeedResponses: true } },
  { model: /^gpt-5\.\d+-pro/, chat: { reasons: "always" } },
  { model: /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/, chat: { reasons: "by-default", toolsNeedResponses: true } },
  { model: /^gpt-6(?:\.1-sol|\.[2-9]|-astra)/, chat: { reasons: "always" } },
];

/** 128 tools and 4 stop sequences at most (github.com/zed-industries/zed/issues/42393, types of the package `openai`). */
export const openai: Service = {
  name: "openai",
  address: /(?:^|\.)openai\.com$/,
  chat: { maxTools: 128, maxStops: 4, thinkTags: false },
  models: openaiModels,
  everywhere: [{ model: /(?:^|\/)(?:gpt-(?!oss)|chatgpt|o\d)/, chat: { thinkTags: false } }],
};
