import { deepseekMedia, noMedia } from "./media-limits.ts";
import type { Service } from "./service.ts";
import type { Rule } from "./rule.ts";
import { hasHalfPair, recordAt, unknownPart, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

const thinks = /deepseek-(?:v4|flash)/i;

/**
 * DeepSeek V4 thinks unless it is told not to. While it thinks, it refuses a forced call
 * (github.com/deepseek-ai/DeepSeek-V3/issues/1376), and a message with calls must have `reasoning_content`
 * (github.com/iOfficeAI/AionUi/issues/2746). DeepSeek R1 must not get this field (@ai-sdk/deepseek 3.0.56), but
 * `deepseek-reasoner` has required it since V3.2 (github.com/continuedev/continue/issues/10193,
 * github.com/langgenius/dify-official-plugins/issues/2306). R1 always thinks, and its chat template writes the opening tag
 * (github.com/vllm-project/vllm/issues/13125). Only V4.1 Flash sees images: `deepseek-flash` and the old names of V4 Flash
 * (github.com/yilewang/llm-for-zotero/issues/143, github.com/langgenius/dify-official-plugins/issues/3867).
 */
export const deepseek: Service = {
  name: "deepseek",
  address: /(?:^|\.)deepseek\.com$/,
  id: /^deepseek/,
  quirks: { maxTokensField: "max_tokens", media: deepseekMedia },
  models: [
    { model: /deepseek-(?:v4|flash|chat|reasoner)/i, quirks: { forcedChoice: { thinking: { type: "disabled" } } } },
    { model: /deepseek-reasoner/i, quirks: { echoReasoning: "reasoning_content" } },
    { model: /deepseek-(?:v4-pro|chat|reasoner)/i, quirks: { media: noMedia } },
  ],
  everywhere: [
    { model: thinks, quirks: { echoReasoning: "reasoning_content" } },
    { model: /deepseek-r1/i, quirks: { thinkTags: "opened" } },
  ],
};

/** True for the models that think unless the request says otherwise. */
function thinksAtDeepseek(model: string, body: object): boolean {
  return /deepseek-(?:v4|flash|chat|reasoner)/i.test(model) && recordAt(body, "thinking").type !== "disabled";
}

export const deepseekRules: readonly Rule[] = [
  {
    rule: "A content part is text or an image.",
    source: "npm @ai-sdk/deepseek 3.0.56, github.com/AstrBotDevs/AstrBot/pull/9691",
    refuses: (request) =>
      unknownPart(
        request,
        ["text", "image_url"],
        (type, at) =>
          `Failed to deserialize the JSON body into the target type: messages[${at}]: unknown variant \`${type}\`, expected \`text\``,
      ),
  },
  {
    rule: "Models before V4.1 take no images.",
    source: "github.com/yilewang/llm-for-zotero#143, github.com/langgenius/dify-official-plugins#3867",
    refuses: ({ model, media }) => {
      const [image] = media;
      return image === undefined || !/deepseek-(?:v4-pro|chat|reasoner)/.test(model)
        ? undefined
        : `Failed to deserialize the JSON body into the target type: messages[${image.at}]: unknown variant \`image_url\`, expected \`text\``;
    },
  },
  {
    rule: "While the model thinks, `tool_choice` is auto or none.",
    source: "github.com/deepseek-ai/DeepSeek-V3#1376, github.com/BerriAI/litellm#37470",
    breaks: ({ model, body }) =>
      thinksAtDeepseek(model, body) && ![undefined, "auto", "none"].some((choice) => choice === body.tool_choice),
    says: "Thinking mode does not support this tool_choice",
  },
  {
    rule: "While DeepSeek V4 thinks, every assistant message with calls has `reasoning_content`.",
    source: "oai-compatible-copilot#215, AionUi#2746, @ai-sdk/deepseek@3.0.56",
    of: "items",
    breaks: ({ at, fields }, { model, body, calls }) =>
      /deepseek-(?:v4|flash)/i.test(model) &&
      thinksAtDeepseek(model, body) &&
      calls.some((call) => call.at === at) &&
      typeof fields.reasoning_content !== "string",
    says: "The reasoning_content in the thinking mode must be passed back to the API.",
  },
  {
    rule: "The body has no half of a surrogate pair.",
    source: "oai-compatible-copilot#206",
    refuses: ({ text }) =>
      when(hasHalfPair(text), "Failed to parse the request body as JSON: lone leading surrogate in hex escape"),
  },
  {
    rule: "A tool is only strict at the beta address.",
    source: "https://api-docs.deepseek.com/guides/function_calling",
    breaks: ({ tools }) => tools.some(({ strict }) => strict),
    says: "strict mode is only supported with the base URL https://api.deepseek.com/beta",
  },
];

export const deepseekStyle: ChatStyle = {
  reasoning: "reasoning_content",
  oddities: ["index-reused", "two-reasoning-fields", "no-finish-reason"],
};
