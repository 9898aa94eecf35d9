import type { Rule } from "./rule.ts";
import { hasHalfPair, recordAt, unknownPart, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/** True for models that think unless the request turns thinking off. */
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
    rule: "Models before V4.1 do not accept images.",
    source: "github.com/yilewang/llm-for-zotero#143, github.com/langgenius/dify-official-plugins#3867",
    refuses: ({ model, media }) => {
      const [image] = media;
      return image === undefined || !/deepseek-(?:v4-pro|chat|reasoner)/.test(model)
        ? undefined
        : `Failed to deserialize the JSON body into the target type: messages[${image.at}]: unknown variant \`image_url\`, expected \`text\``;
    },
  },
  {
    rule: "While the model is thinking, `tool_choice` is auto or none.",
    source: "github.com/deepseek-ai/DeepSeek-V3#1376, github.com/BerriAI/litellm#37470",
    breaks: ({ model, body }) =>
      thinksAtDeepseek(model, body) && ![undefined, "auto", "none"].some((choice) => choice === body.tool_choice),
    says: "Thinking mode does not support this tool_choice",
  },
  {
    rule: "While DeepSeek V4 is thinking, every assistant message with calls has `reasoning_content`.",
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
    rule: "The body has no lone surrogates.",
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
