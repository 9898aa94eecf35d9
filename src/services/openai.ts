import { openaiMedia } from "./media-limits.ts";
import type { ModelQuirks, Quirks, Service } from "./service.ts";
import type { Refused, Rule } from "./rule.ts";
import { show, when } from "./rule-checks.ts";
import { notPython, withItems } from "./tool-schemas.ts";
import type { ChatStyle } from "./oddities.ts";

/**
 * When OpenAI's models reason, and which of them refuse function tools in Chat Completions while they reason
 * (github.com/openai/openai-openapi/issues/541, github.com/BerriAI/litellm/issues/34569, github.com/firebase/genkit/issues/6303).
 * gpt-6-astra, gpt-6.1-sol and gpt-6.2 have no effort "none". A reasoning model refuses `temperature` and `top_p`, and GPT-6 also
 * `stop` (github.com/bolna-ai/bolna/issues/1019).
 */
const openaiModels: readonly ModelQuirks[] = [
  { model: /^(?:o\d|gpt-5(?:$|-(?!chat)))/, quirks: { reasons: "always" } },
  { model: /^gpt-5\.[1-5](?!\d)/, quirks: { reasons: "on-request" } },
  { model: /^gpt-5\.[45](?!\d)/, quirks: { toolsNeedResponses: true } },
  { model: /^gpt-5\.\d+-pro/, quirks: { reasons: "always" } },
  { model: /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/, quirks: { reasons: "by-default", toolsNeedResponses: true } },
  { model: /^gpt-6(?:\.1-sol|\.[2-9]|-astra)/, quirks: { reasons: "always" } },
];

/**
 * A pattern in a tool schema must be one of Python: "is not a 'regex'" (github.com/BerriAI/litellm/pull/40485,
 * github.com/pleaseai/shunt/pull/488). Lookaround is refused by the backend of Codex, and in some requests elsewhere
 * (github.com/tombii/better-ccflare/issues/357, github.com/Dokploy/mcp/issues/45).
 * An array has `items`: "array schema missing items" (github.com/garrytan/gbrain/pull/1028).
 */
const schemas: Quirks = { toTool: /* @__PURE__ */ withItems(notPython) };

/** 128 tools and 4 stop sequences at most (github.com/zed-industries/zed/issues/42393, types of the package `openai`). */
export const openai: Service = {
  name: "openai",
  address: /(?:^|\.)openai\.com$/,
  // The names in the package @ai-sdk/openai.
  id: /^openai\.(?:chat|responses)$/,
  quirks: { maxTools: 128, maxStops: 4, media: openaiMedia, thinkTags: false },
  models: openaiModels,
  everywhere: [
    { model: /(?:^|\/)(?:gpt-(?!oss)|chatgpt|o\d)/, quirks: { thinkTags: false } },
    { model: /(?:^|[/:])(?:gpt-(?!oss)|chatgpt|o\d|codex-)/, quirks: schemas },
  ],
};

/** The models that reason unless the effort is "none". */
function reasonsUnlessTold(model: string, effort: unknown): boolean {
  if (/^(?:o\d|gpt-5(?:$|-(?!chat)))/.test(model)) return true;
  if (/^gpt-5\.[1-5](?!\d)/.test(model)) return effort !== undefined && effort !== "none";
  return /^gpt-(?:5\.[6-9]|[6-9])/.test(model) && effort !== "none";
}

/** Rules of OpenAI's models on Chat Completions. */
export const openaiChatModelRules: readonly Rule[] = [
  {
    rule: "A model that reasons takes only the default `temperature`.",
    source: "bolna#1019, uni-api#105",
    code: "unsupported_value",
    breaks: ({ model, body }) => reasonsUnlessTold(model, body.reasoning_effort) && (body.temperature ?? 1) !== 1,
    says: ({ body }) =>
      `Unsupported value: 'temperature' does not support ${show(body.temperature)} with this model. Only the default (1) value is supported.`,
  },
  {
    rule: "A model that reasons does not take `top_p`, and takes `max_completion_tokens` instead of `max_tokens`.",
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
    rule: "GPT-6 and models that always reason do not take `stop`.",
    source: "bolna#1019",
    code: "unsupported_parameter",
    breaks: ({ model, body }) => body.stop !== undefined && /^(?:o\d|gpt-5(?:$|-(?!chat))|gpt-6)/.test(model),
    says: "Unsupported parameter: 'stop' is not supported with this model.",
  },
  {
    rule: "From GPT-5.6 on, a model that reasons does not take function tools here. GPT-5.4 and 5.5 take them without an effort.",
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

/** Rules of OpenAI's models on Responses. */
export const openaiResponsesModelRules: readonly Rule[] = [
  {
    rule: "A model that reasons does not take `temperature` and `top_p`.",
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
