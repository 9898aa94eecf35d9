import type { Refused, Rule } from "./rule.ts";
import {
  type FieldsByRole,
  firstOf,
  show,
  strayResults,
  unansweredCalls,
  unknownField,
  unknownItemField,
  when,
} from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/**
 * The fields that a request and its messages may contain (@mistralai/mistralai models/components/chatcompletionrequest,
 * @ai-sdk/mistral@4.0.87).
 */
const requestFields = [
  "model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools tool_choice presence_penalty",
  "frequency_penalty n prediction parallel_tool_calls prompt_mode reasoning_effort guardrails safe_prompt prompt_cache_key stream_options",
];
const fieldsByRole: FieldsByRole = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "prefix"],
  tool: ["role", "content", "tool_call_id", "name"],
};

const extra = "Extra inputs are not permitted";
const refusesFields = (message: string): object => ({
  object: "error",
  message: { detail: [{ type: "extra_forbidden", loc: ["body", ...message.replace(/:.*/, "").split(".")], msg: extra }] },
  type: "invalid_request_error",
  param: null,
  code: null,
});

/** The rules for Mistral's models wherever they are hosted. They are part of the chat template. */
export const mistralModelRules: readonly Rule[] = [
  {
    rule: "A user message does not come directly after a tool message.",
    source: "avante.nvim#2695, crush#279, github.com/NousResearch/hermes-agent#20154",
    type: "invalid_request_message_order",
    code: "3230",
    of: "items",
    breaks: ({ role, at }, { items }) => role === "user" && items[at - 1]?.role === "tool",
    says: "Unexpected role 'user' after role 'tool'",
  },
  {
    rule: "A tool message comes after an assistant message or a tool message.",
    source: "avante.nvim#2695, crush#279",
    type: "invalid_request_message_order",
    code: "3230",
    refuses: ({ items }) =>
      firstOf(items, ({ role, at }) => {
        const before = items[at - 1]?.role ?? "system";
        return when(
          role === "tool" && before !== "assistant" && before !== "tool",
          `Unexpected role 'tool' after role '${before}'`,
        );
      }),
  },
  {
    rule: "Every call has one result, and every result has a call.",
    source: "github.com/mistralai/client-ts#106, github.com/camel-ai/camel#1467",
    type: "invalid_request_message_order",
    code: "3230",
    breaks: (request) => unansweredCalls(request).length + strayResults(request).length > 0,
    says: "Not the same number of function calls and responses",
  },
  {
    rule: "The last message has the role user or tool.",
    source: "new-api#2858",
    code: "3230",
    breaks: ({ items }) => {
      const last = items[items.length - 1];
      return last?.role === "assistant" && last.fields.prefix !== true;
    },
    says: "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
  },
  {
    rule: "A call id has exactly 9 letters and digits.",
    source: "github.com/karthink/gptel#1203",
    code: "3280",
    of: "history",
    breaks: ({ id }) => !/^[a-zA-Z0-9]{9}$/.test(show(id)),
    says: ({ id }) => `Tool call id was ${show(id)} but must be a-z, A-Z, 0-9, with a length of 9.`,
  },
  {
    rule: "A tool message has only text.",
    source: "github.com/LibreChat-AI/agents#344",
    breaks: ({ media }) => media.some(({ role }) => role === "tool"),
    says: "validation errors for ToolMessage: content.list[TextChunk].0.type: Input should be 'text'",
  },
];

/** The rules of Mistral's own API. */
export const mistralRules: readonly Rule[] = [
  {
    rule: "A request has only fields that Mistral has: `max_tokens`, not `max_completion_tokens`, and `random_seed`, not `seed`.",
    source: "github.com/editor-code-assistant/eca#231, github.com/mistralai/platform-docs-public#7",
    status: 422,
    toBody: refusesFields,
    refuses: ({ body }) => unknownField(body, requestFields, (name) => `${name}: ${extra}`),
  },
  {
    rule: "A message has only fields that Mistral has, without `reasoning_content`.",
    source: "github.com/charmbracelet/crush#1590, github.com/BerriAI/litellm#30882",
    status: 422,
    toBody: refusesFields,
    refuses: (request) =>
      unknownItemField(request, fieldsByRole, ({ role, at }, name) => `messages.${at}.${role}.${name}: ${extra}`),
  },
];

export const toMistralError = ({ message, type, code }: Refused): object => ({
  object: "error",
  message,
  type: type ?? "invalid_request_error",
  param: null,
  code: code ?? null,
});

export const mistralStyle: ChatStyle = {
  reasoning: "thinking-parts",
  oddities: ["whole-arguments", "null-ids", "other-ids", "role-in-each-chunk"],
};
