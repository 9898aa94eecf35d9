import type { Refused, Rule } from "./rule.ts";
import { show, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/** True for models that reason unless the effort is "none". */
function reasonsUnlessTold(model: string, effort: unknown): boolean {
  if (/^(?:o\d|gpt-5(?:$|-(?!chat)))/.test(model)) return true;
  if (/^gpt-5\.[1-5](?!\d)/.test(model)) return effort !== undefined && effort !== "none";
  return /^gpt-(?:5\.[6-9]|[6-9])/.test(model) && effort !== "none";
}

/** The rules for OpenAI's models in Chat Completions. */
export const openaiChatModelRules: readonly Rule[] = [
  {
    rule: "A reasoning model accepts only the default `temperature`.",
    source: "bolna#1019, uni-api#105",
    code: "unsupported_value",
    breaks: ({ model, body }) => reasonsUnlessTold(model, body.reasoning_effort) && (body.temperature ?? 1) !== 1,
    says: ({ body }) =>
      `Unsupported value: 'temperature' does not support ${show(body.temperature)} with this model. Only the default (1) value is supported.`,
  },
  {
    rule: "A reasoning model does not accept `top_p`, and requires `max_completion_tokens` instead of `max_tokens`.",
    source: "bolna#1019, uni-api#105",
    code: "unsupported_parameter",
    refuses: ({ model, body }) => {
      if (!reasonsUnlessTold(model, body.reasoning_effort)) return undefined;
      if (body.max_tokens !== undefined)
        return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
      return when((body.top_p ?? 1) !== 1, "Unsupported parameter: 'top_p' is not supported with this model.");
    },
  },
  {
    rule: "GPT-6 and models that always reason do not accept `stop`.",
    source: "bolna#1019",
    code: "unsupported_parameter",
    breaks: ({ model, body }) => body.stop !== undefined && /^(?:o\d|gpt-5(?:$|-(?!chat))|gpt-6)/.test(model),
    says: "Unsupported parameter: 'stop' is not supported with this model.",
  },
  {
    rule: "From GPT-5.6 on, a reasoning model does not accept function tools here. GPT-5.4 and 5.5 accept them without an effort.",
    source: "openai-openapi#541, github.com/BerriAI/litellm#34569, genkit#6303",
    breaks: ({ model, body: { reasoning_effort: effort }, tools }) => {
      const neverNone = /^gpt-6(?:\.1-sol|\.[2-9]|-astra)/.test(model);
      const isRefused = /^gpt-(?:5\.[6-9]|[6-9])/.test(model)
        ? effort !== "none" || neverNone
        : /^gpt-5\.[45]/.test(model) && effort !== undefined && effort !== "none";
      return tools.length > 0 && isRefused;
    },
    says: ({ model }) =>
      `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
  },
];

/** The rules for OpenAI's models in the Responses API. */
export const openaiResponsesModelRules: readonly Rule[] = [
  {
    rule: "A reasoning model does not accept `temperature` and `top_p`.",
    source: "bolna#1019, uni-api#105",
    code: "unsupported_parameter",
    refuses: ({ model, body }) => {
      const effort: unknown =
        typeof body.reasoning === "object" && body.reasoning !== null ? Reflect.get(body.reasoning, "effort") : undefined;
      const field = ["temperature", "top_p"].find((name) => (body[name] ?? 1) !== 1);
      return when(
        reasonsUnlessTold(model, effort) && field !== undefined,
        `Unsupported parameter: '${show(field)}' is not supported with this model.`,
      );
    },
  },
];

export const toOpenAIError = ({ message, type, code }: Refused): object => ({
  error: { message, type: type ?? "invalid_request_error", param: null, code: code ?? null },
});

export const openaiStyle: ChatStyle = { oddities: [] };
