// Rules for Chat Completions requests. Several services share each list, and `strictService` chooses the lists for a service.

import {
  emptyList,
  refuseCount,
  refuseLength,
  refuseLongString,
  refuseNames,
  refusePatterns,
  refuseRoot,
  refuseStrict,
  unknownParameter,
} from "./openai-refusals.ts";
import { eachSchema } from "../shared/adapters/object-schema.ts";
import type { Rule } from "./rule.ts";
import {
  type FieldsByRole,
  firstOf,
  isObjectText,
  recordAt,
  recordsIn,
  show,
  sniffType,
  strayResults,
  unansweredCalls,
  unknownField,
  unknownItemField,
  when,
} from "./rule-checks.ts";

/** The rules for every service that accepts Chat Completions requests. */
export const chatFormRules: readonly Rule[] = [
  {
    rule: "A request has at least one message.",
    source: "https://developers.openai.com/api/reference/resources/chat",
    code: "empty_array",
    refuses: ({ items }) => when(items.length === 0, emptyList("messages")),
  },
  {
    rule: "A role is system, developer, user, assistant, tool or function.",
    source: "https://developers.openai.com/api/reference/resources/chat",
    code: "invalid_value",
    of: "items",
    breaks: ({ role }) => !["system", "developer", "user", "assistant", "tool", "function"].includes(role),
    says: ({ role, at }) =>
      `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. (messages[${at}].role)`,
  },
  {
    rule: "A message has content. An assistant message has content or calls.",
    source: "github.com/langchain-ai/langchain#34140",
    refuses: ({ items }) =>
      firstOf(items, ({ role, fields, at }) => {
        const hasCalls = role === "assistant" && recordsIn(fields.tool_calls).length > 0;
        if (Array.isArray(fields.content) && fields.content.length === 0) return emptyList(`messages[${at}].content`);
        return when(
          (fields.content ?? null) === null && !hasCalls,
          `Invalid value for 'content': expected a string, got null. (messages[${at}])`,
        );
      }),
  },
  {
    rule: "The list of calls in an assistant message is not empty.",
    source: "new-api#3326",
    code: "empty_array",
    of: "items",
    breaks: ({ fields }) => Array.isArray(fields.tool_calls) && fields.tool_calls.length === 0,
    says: ({ at }) => emptyList(`messages[${at}].tool_calls`),
  },
  {
    rule: "The arguments of a call are a string.",
    source: "https://developers.openai.com/api/reference/resources/chat",
    code: "invalid_type",
    of: "calls",
    breaks: ({ args }) => typeof args !== "string",
    says: ({ path }) => `Invalid type for '${path}.function.arguments': expected a string, but got an object instead.`,
  },
];

/** The rules for services that check whether every call has a result, and every result a call. */
export const chatPairRules: readonly Rule[] = [
  {
    rule: "Tool messages for every call come directly after the assistant message with the calls.",
    source: "github.com/MoonshotAI/kimi-cli#2405, github.com/QwenLM/qwen-code#869, deepchat#1078",
    refuses: (request) => {
      const ids = unansweredCalls(request).map(({ id }) => show(id));
      const said = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
      return when(ids.length > 0, `${said} The following tool_call_ids did not have response messages: ${ids.join(", ")}`);
    },
  },
  {
    rule: "A tool message answers a call of the assistant message before it.",
    source: "crewAI#1620",
    breaks: (request) => strayResults(request).length > 0,
    says: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
  },
];

/** The rules for services that check tools as OpenAI does. */
export const chatToolRules: readonly Rule[] = [
  {
    rule: "`tool_choice` is only sent with tools.",
    source: "writer-framework#1013",
    breaks: ({ body, tools }) => (body.tool_choice ?? null) !== null && tools.length === 0,
    says: "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
  },
  {
    rule: "`parallel_tool_calls` is only sent with tools.",
    source: "kelivo#317",
    breaks: ({ body, tools }) => body.parallel_tool_calls !== undefined && tools.length === 0,
    says: "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
  },
  {
    rule: "The list of tools is not empty.",
    source: "https://developers.openai.com/api/reference/resources/chat",
    code: "empty_array",
    refuses: ({ body }) => when(Array.isArray(body.tools) && body.tools.length === 0, emptyList("tools")),
  },
  {
    rule: "The tool of a named choice is in the list of tools.",
    source: "https://developers.openai.com/api/docs/guides/function-calling",
    breaks: ({ body, tools }) => {
      const { name } = recordAt(body.tool_choice, "function");
      return typeof name === "string" && tools.every((tool) => tool.name !== name);
    },
    says: ({ body }) =>
      `Invalid value for 'tool_choice': the tool choice function '${show(recordAt(body.tool_choice, "function").name)}' was not found in 'tools'.`,
  },
  {
    rule: "A request has at most 128 tools.",
    source: "github.com/zed-industries/zed#42393",
    code: "array_above_max_length",
    refuses: ({ tools }) => refuseCount("tools", tools, 128),
  },
];

/** The rules for tool names: at most 64 letters, digits, underscores and hyphens. */
export const chatNameRules: readonly Rule[] = [
  {
    rule: "The name of a tool has 1 to 64 letters, digits, underscores and hyphens.",
    source: "https://developers.openai.com/api/docs/guides/function-calling",
    code: "invalid_value",
    refuses: (request) => refuseNames(request, ".function.name"),
  },
];

/** The rules for services that check tool schemas as OpenAI does. */
export const chatSchemaRules: readonly Rule[] = [
  {
    rule: "The root of a tool schema has the type object and no oneOf, anyOf, allOf, enum or not.",
    source: "github.com/vercel/ai#21350",
    code: "invalid_function_parameters",
    refuses: ({ tools }) => firstOf(tools, (tool) => (tool.schema === undefined ? undefined : refuseRoot(tool))),
  },
  {
    rule: "Each array in a tool schema has `items`.",
    source: "github.com/sigoden/aichat#1049, github.com/mark3labs/mcphost#35",
    code: "invalid_function_parameters",
    refuses: ({ tools }) =>
      firstOf(tools, ({ name, schema }) =>
        firstOf(eachSchema(schema), ([node, path]) =>
          when(
            recordAt(node).type === "array" && recordAt(node).items === undefined && recordAt(node).prefixItems === undefined,
            `Invalid schema for function '${name}': In context=('${path.split(".").join("', '")}'), array schema missing items.`,
          ),
        ),
      ),
  },
  {
    rule: "A pattern in a tool schema is a Python regular expression without lookaround.",
    source: "github.com/BerriAI/litellm#40485, github.com/tombii/better-ccflare#357",
    code: "invalid_function_parameters",
    refuses: ({ tools }) => firstOf(tools, refusePatterns),
  },
  {
    rule: "In a strict tool schema, every object forbids other properties and requires all of its properties.",
    source: "https://developers.openai.com/api/docs/guides/structured-outputs, github.com/tidyverse/ellmer#671",
    code: "invalid_function_parameters",
    refuses: ({ tools }) => firstOf(tools, refuseStrict),
  },
];

/** The rules for services that check ids and strings as OpenAI does. */
export const chatLimitRules: readonly Rule[] = [
  {
    rule: "A call id has at most 40 characters.",
    source: "github.com/Portkey-AI/gateway#1062, 9router#393",
    code: "string_above_max_length",
    refuses: ({ calls, results }) =>
      firstOf(
        [
          ...calls.map(({ id, path }) => [show(id), `${path}.id`] as const),
          ...results.map(({ id, path }) => [show(id), `${path}.tool_call_id`] as const),
        ],
        ([id, path]) => refuseLength(path, id.length, 40),
      ),
  },
  {
    rule: "A string has at most 10,485,760 characters.",
    source: "reports roast#52, bluebox#31",
    code: "string_above_max_length",
    refuses: refuseLongString,
  },
];

export const chatStopRules: readonly Rule[] = [
  {
    rule: "A request has at most 4 stop sequences.",
    source: "https://developers.openai.com/api/reference/resources/chat",
    code: "array_above_max_length",
    refuses: ({ body: { stop } }) => refuseCount("stop", stop, 4),
  },
];

/** The rules for services that accept images only in user messages. */
export const chatMediaRules: readonly Rule[] = [
  {
    rule: "Images and files are only in user messages.",
    source: "github.com/OpenHands/OpenHands#7700, github.com/openai/openai-node#1030",
    code: "invalid_value",
    of: "media",
    breaks: ({ role }) => role !== "user",
    says: ({ role, at }) =>
      `Invalid 'messages[${at}]'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
  },
  {
    rule: "An image is a PNG, JPEG, GIF or WebP file.",
    source: "STranslate#277",
    code: "invalid_image_format",
    of: "media",
    breaks: ({ kind, data }) => kind === "image" && data !== undefined && !(sniffType(data)?.startsWith("image/") ?? false),
    says: "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
  },
];

/** The rules for services that parse the arguments of earlier calls. */
export const chatArgumentRules: readonly Rule[] = [
  {
    rule: "The arguments of a call in the history are the text of a JSON object.",
    source: "github.com/ollama/ollama openai/openai.go, github.com/vllm-project/vllm entrypoints/chat_utils.py",
    of: "calls",
    breaks: ({ args }) => !isObjectText(args),
    says: "invalid tool call arguments",
  },
];

/** The fields that a request may contain (openai@6.49 resources/chat/completions/completions.d.ts). */
const chatFields = [
  "model messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata",
  "modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options",
  "prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options",
  "temperature tool_choice tools top_logprobs top_p user verbosity web_search_options",
];

/** The fields that a message may contain, by role. */
const messageFields: FieldsByRole = {
  system: ["role content name"],
  developer: ["role content name"],
  user: ["role content name"],
  assistant: ["role content name audio function_call refusal tool_calls"],
  tool: ["role content tool_call_id"],
  function: ["role content name"],
};

/** The rules for services that, like OpenAI, refuse unknown fields. */
export const chatFieldRules: readonly Rule[] = [
  {
    rule: "A request has only fields that the API defines.",
    source: "openai@6.49.0 resources/chat/completions/completions.d.ts",
    code: "unknown_parameter",
    refuses: ({ body }) => unknownField(body, chatFields, unknownParameter),
  },
  {
    rule: "A message has only the fields that its role has.",
    source: "openai@6.49.0 resources/chat/completions/completions.d.ts",
    code: "unknown_parameter",
    refuses: (request) => unknownItemField(request, messageFields, ({ at }, name) => unknownParameter(`messages[${at}].${name}`)),
  },
];
