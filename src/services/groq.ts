import type { Refused, Rule } from "./rule.ts";
import { type FieldsByRole, recordAt, show, unknownField, unknownItemField, unknownPart } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/** The fields that a request and its messages may contain (groq-sdk@1.6.0 resources/chat/completions). */
const requestFields = [
  "messages model citation_options compound_custom disable_tool_validation documents exclude_domains frequency_penalty function_call",
  "functions include_domains include_reasoning logit_bias logprobs max_completion_tokens max_tokens metadata n parallel_tool_calls",
  "presence_penalty reasoning_effort reasoning_format response_format search_settings seed service_tier stop store stream stream_options",
  "temperature tool_choice tools top_logprobs top_p user",
];
const fieldsByRole: FieldsByRole = {
  system: ["role", "content", "name"],
  developer: ["role", "content", "name"],
  user: ["role", "content", "name"],
  assistant: ["role", "content", "name", "reasoning", "tool_calls", "function_call"],
  tool: ["role", "content", "tool_call_id", "name"],
};

export const groqRules: readonly Rule[] = [
  {
    rule: "A content part is text or an image.",
    source: "npm @ai-sdk/groq 4.0.84",
    refuses: (request) =>
      unknownPart(
        request,
        ["text", "image_url"],
        (_type, at) => `'messages.${at}.content' : one of the parts has an unknown type`,
      ),
  },
  {
    rule: "A request has only fields that Groq supports.",
    source: "github.com/fanenr/chatbot#21, groq-sdk@1.6.0",
    refuses: ({ body }) => unknownField(body, requestFields, (name) => `property '${name}' is unsupported`),
  },
  {
    rule: "A message has only fields that Groq supports, without `reasoning_content`.",
    source: "github.com/janhq/jan#8136, github.com/NousResearch/hermes-agent#11089",
    refuses: (request) =>
      unknownItemField(
        request,
        fieldsByRole,
        ({ role, at }, name) =>
          `'messages.${at}' : for 'role:${role}' the following must be satisfied[('messages.${at}' : property '${name}' is unsupported)]`,
      ),
  },
  {
    rule: "JSON mode and tools exclude each other.",
    source: "@ai-sdk/groq@4.0.84",
    breaks: ({ body, tools }) =>
      tools.length > 0 && ["json_object", "json_schema"].includes(show(recordAt(body.response_format).type)),
    says: "json mode cannot be combined with tool/function calling",
  },
];

export const toGroqError = ({ message, type, code }: Refused): object => ({
  error: { message, type: type ?? "invalid_request_error", ...(code === undefined ? {} : { code }) },
});

export const groqStyle: ChatStyle = { reasoning: "reasoning", oddities: ["whole-arguments", "usage-in-x-groq"] };
