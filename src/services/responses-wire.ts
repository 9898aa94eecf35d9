// Rules for requests to the Responses API, offered by OpenAI and Azure.

import {
  refuseLength,
  refuseLongString,
  refuseNames,
  refusePatterns,
  refuseRoot,
  refuseStrict,
  unknownParameter,
} from "./openai-refusals.ts";
import type { Rule, WireRequest } from "./rule.ts";
import { firstOf, show, unknownField, when } from "./rule-checks.ts";

/** The fields that a request may contain (openai@6.49 resources/responses/responses.d.ts). */
const responsesFields = [
  "background context_management conversation include input instructions max_output_tokens max_tool_calls metadata model moderation",
  "parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning",
  "safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user",
];

/** The prefix of item ids, by item type. */
const idBegins: { readonly [type: string]: string } = {
  reasoning: "rs",
  function_call: "fc",
  custom_tool_call: "ctc",
  message: "msg",
};

/** Returns the type of the item after the one at `at`, or "" at the end of the list. */
function nextOf({ items }: WireRequest, at: number): string {
  const next = items[at + 1];
  return next === undefined ? "" : show(next.fields.type ?? "message");
}

export const responsesWireRules: readonly Rule[] = [
  {
    rule: "A request has only fields that the API defines.",
    source: "openai@6.49.0 resources/responses/responses.d.ts",
    code: "unknown_parameter",
    refuses: ({ body }) => unknownField(body, responsesFields, unknownParameter),
  },
  {
    rule: "A request has at least one input item.",
    source: "https://developers.openai.com/api/reference/resources/responses",
    code: "missing_required_parameter",
    refuses: ({ items }) => when(items.length === 0, "Missing required parameter: 'input'."),
  },
  {
    rule: "Every call has an output.",
    source: "trae-agent#245, github.com/vercel/ai#8216",
    of: "calls",
    breaks: ({ id }, { results }) => !results.some((result) => result.id === id),
    says: ({ id }) => `No tool output found for function call ${show(id)}.`,
  },
  {
    rule: "Every output comes after the call with its id.",
    source: "trae-agent#245, github.com/vercel/ai#8216",
    of: "results",
    breaks: ({ id, at }, { calls }) => !calls.some((call) => call.id === id && call.at < at),
    says: ({ id }) => `No tool call found for function call output with call_id ${show(id)}.`,
  },
  {
    rule: "A call id has 1 to 64 characters.",
    source: "nodetool#4252, V1ki#29",
    code: "string_above_max_length",
    refuses: ({ calls, results }) =>
      firstOf([...calls, ...results], ({ id, path }) => {
        const { length } = show(id);
        if (length === 0)
          return `Invalid '${path}.call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.`;
        return refuseLength(`${path}.call_id`, length, 64);
      }),
  },
  {
    rule: "The id of an item begins with the letters of its type, and has at most 64 characters.",
    source: "9router#393, nodetool#4252",
    code: "invalid_value",
    refuses: ({ items }) =>
      firstOf(items, ({ fields: { id, type }, at }) => {
        const begin = idBegins[show(type ?? "message")];
        if (typeof id !== "string" || begin === undefined) return undefined;
        const said = `Invalid 'input[${at}].id': '${id}'. Expected an ID that begins with '${begin}'.`;
        return refuseLength(`input[${at}].id`, id.length, 64) ?? when(!id.startsWith(begin), said);
      }),
  },
  {
    rule: "No two items have the same id.",
    source: "github.com/vercel/ai#7883, github.com/earendil-works/pi#5147",
    refuses: ({ items }) => {
      const seen = new Set<unknown>();
      return firstOf(items, ({ fields: { id } }) => {
        if (id === undefined) return undefined;
        if (seen.has(id))
          return `Duplicate item found with id ${show(id)}. Remove duplicate items from your input and try again.`;
        seen.add(id);
        return undefined;
      });
    },
  },
  {
    rule: "A call or message that followed a reasoning item has its id only if it comes directly after that item.",
    source: "github.com/TanStack/ai#1212, pi#1035, code_puppy#853",
    refuses: ({ items }) =>
      firstOf(items, ({ fields: { id, type = "message" }, at }) => {
        const [, reasoning] = /^(?:fc|msg)_of_(rs_[a-zA-Z0-9]+)_/.exec(show(id)) ?? [];
        if (reasoning === undefined) return undefined;
        const stands = items.slice(0, at).some(({ fields }) => fields.id === reasoning);
        return when(
          !stands,
          `Item '${show(id)}' of type '${show(type)}' was provided without its required 'reasoning' item: '${reasoning}'.`,
        );
      }),
  },
  {
    rule: "A reasoning item is followed by an item that the model made after it.",
    source: "github.com/TanStack/ai#1212, pi#1035, omnigent#5066",
    refuses: (request) =>
      firstOf(request.items, ({ fields: { type, id }, at }) => {
        if (type !== "reasoning") return undefined;
        const next = nextOf(request, at);
        const isMade = ["reasoning", "function_call", "custom_tool_call"].includes(next) || next.endsWith("_call");
        const answers = next === "message" && request.items[at + 1]?.role === "assistant";
        return when(
          !isMade && !answers,
          `Item '${show(id)}' of type 'reasoning' was provided without its required following item.`,
        );
      }),
  },
  {
    rule: "Without `store`, a reasoning item has its encrypted content.",
    source: "github.com/vercel/ai#7543, github.com/anomalyco/opencode#7724",
    status: 404,
    of: "items",
    breaks: ({ fields: { type, encrypted_content: encrypted } }, { body }) =>
      type === "reasoning" && body.store === false && typeof encrypted !== "string",
    says: ({ fields: { id } }) =>
      `Item with id '${show(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
  },
  {
    rule: "The name of a tool has 1 to 64 letters, digits, underscores and hyphens.",
    source: "https://developers.openai.com/api/docs/guides/function-calling",
    code: "invalid_value",
    refuses: (request) => refuseNames(request, ".name"),
  },
  {
    rule: "The root of a tool schema has the type object and no oneOf, anyOf, allOf, enum or not.",
    source: "github.com/vercel/ai#21350, huly-mcp#66",
    code: "invalid_function_parameters",
    refuses: ({ tools }) => firstOf(tools, refuseRoot),
  },
  {
    rule: "A pattern in a tool schema is a Python regular expression without lookaround.",
    source: "github.com/BerriAI/litellm#40485, github.com/tombii/better-ccflare#357",
    code: "invalid_function_parameters",
    refuses: ({ tools }) => firstOf(tools, refusePatterns),
  },
  {
    rule: "A tool is strict unless it says otherwise. A strict schema forbids other properties and requires all properties.",
    source: "https://developers.openai.com/api/docs/guides/function-calling, github.com/kevinwatt/mysql-mcp#5",
    code: "invalid_function_parameters",
    refuses: ({ tools }) => firstOf(tools, refuseStrict),
  },
  {
    rule: "`tool_choice` and `parallel_tool_calls` are only sent with tools.",
    source: "writer-framework#1013, kelivo#317",
    refuses: ({ body }) => {
      const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
      if (hasTools) return undefined;
      if (body.tool_choice !== undefined) return "Tool choice 'tool_choice' is only allowed when 'tools' are specified.";
      return when(body.parallel_tool_calls !== undefined, "'parallel_tool_calls' is only allowed when 'tools' are specified.");
    },
  },
  {
    rule: "A string has at most 10,485,760 characters.",
    source: "reports roast#52, bluebox#31",
    code: "string_above_max_length",
    refuses: refuseLongString,
  },
  {
    rule: "A content part has a type that its role accepts.",
    source: "openai@6.49.0 resources/responses/responses.d.ts",
    code: "invalid_value",
    refuses: ({ items }) =>
      firstOf(items, ({ role, parts, at }) => {
        const accepted = role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file", "text"];
        const wrong = ["user", "system", "developer", "assistant"].includes(role)
          ? parts.find(({ type }) => type !== "text" && !accepted.includes(show(type)))
          : undefined;
        return wrong === undefined
          ? undefined
          : `Invalid value: '${show(wrong.type)}'. Supported values are: '${accepted.join("', '")}'. (input[${at}])`;
      }),
  },
];
