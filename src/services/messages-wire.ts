// Rules for requests to the Messages API, offered by Anthropic and, for Anthropic's models, by Bedrock.

import { isRecord } from "../core/kit.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import type { Rule, WireItem, WireRequest } from "./rule.ts";
import {
  firstOf,
  hasHalfPair,
  isObjectSchema,
  recordAt,
  recordsIn,
  repeatedCall,
  repeatedTool,
  rootKeyword,
  show,
  unknownField,
  when,
} from "./rule-checks.ts";

/** The fields that a request may contain (@anthropic-ai/sdk@1.11.0 resources/beta/messages/messages.d.ts). */
const requestFields = [
  "max_tokens messages model billing_policy cache_control compaction container context_management diagnostics fallback_credit_token",
  "fallbacks inference_geo mcp_servers metadata output_config output_format service_tier speed stop_sequences stream system",
  "temperature thinking thread tool_choice tools top_k top_p transformations betas anthropic_version",
];

/** Returns the ids of the calls in message `at` that the next message does not answer. Calls in the last message need no answer yet. */
function openAt({ calls, results, items }: WireRequest, at: number): readonly string[] {
  if (at === items.length - 1) return [];
  const answered = new Set(results.filter((result) => result.at === at + 1).map(({ id }) => id));
  return calls.filter((call) => call.at === at && !answered.has(call.id)).map(({ id }) => show(id));
}

const isServerCall = ({ type }: UnknownRecord): boolean => type === "server_tool_use" || type === "mcp_tool_use";

/** Yields each message with the ids of the server tool calls made before it, and of those that still lack a result. */
function* walkServerCalls({ items }: WireRequest): Generator<readonly [item: WireItem, made: Set<unknown>, open: Set<unknown>]> {
  const made = new Set<unknown>();
  const open = new Set<unknown>();
  for (const item of items) {
    yield [item, made, open];
    for (const block of item.parts) {
      if (isServerCall(block)) {
        made.add(block.id);
        open.add(block.id);
      }
      open.delete(block.tool_use_id);
    }
  }
}

function isServerResult(type: unknown): boolean {
  return typeof type === "string" && type !== "tool_result" && type.endsWith("_tool_result");
}

export const messagesOrderRules: readonly Rule[] = [
  {
    rule: "The first message has the role user.",
    source: "https://platform.claude.com/docs/en/api/messages",
    refuses: ({ items }) => when(items[0]?.role === "assistant", 'messages: first message must use the "user" role'),
  },
  {
    rule: "A request has at least one message.",
    source: "https://platform.claude.com/docs/en/api/messages",
    refuses: ({ items }) => when(items.length === 0, "messages: at least one message is required"),
  },
  {
    rule: "A role is user or assistant, and on some models system.",
    source: "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages",
    of: "items",
    breaks: ({ role }) => !["user", "assistant", "system"].includes(role),
    says: ({ at }) => `messages.${at}.role: Input should be 'user' or 'assistant'`,
  },
  {
    rule: "The message after calls has a result for each of them.",
    source: "github.com/anthropics/claude-code#1831",
    of: "items",
    breaks: ({ at }, request) => openAt(request, at).length > 0,
    says: ({ at }, request) =>
      `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${openAt(request, at).join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  },
  {
    rule: "Results come first in their message, before text and other content.",
    source:
      "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls, github.com/anthropics/claude-code#37",
    of: "items",
    breaks: ({ parts }) => {
      const last = parts.findLastIndex(({ type }) => type === "tool_result");
      return parts.slice(0, Math.max(last, 0)).some(({ type }) => type !== "tool_result");
    },
    says: ({ parts, at }) =>
      `messages.${at}: Did not find ${parts.filter(({ type }) => type === "tool_result").length} \`tool_result\` block(s) at the beginning of this message. Messages following \`tool_use\` blocks must begin with a matching number of \`tool_result\` blocks.`,
  },
  {
    rule: "A result answers a call of the message before it.",
    source: "github.com/anthropics/claude-code#1831",
    of: "results",
    breaks: ({ id, at }, { calls }) => !calls.some((call) => call.id === id && call.at === at - 1),
    says: ({ id, path }) =>
      `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${show(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  },
  {
    rule: "A call has one result.",
    source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls",
    refuses: ({ results }) => {
      const seen = new Set<unknown>();
      const twice = results.find(({ id }) => seen.has(id) || (seen.add(id), false));
      return twice === undefined
        ? undefined
        : `${twice.path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${show(twice.id)}`;
    },
  },
  {
    rule: "Call ids are unique in a request.",
    source: "github.com/BerriAI/litellm#23510, github.com/anthropics/claude-code#20631",
    refuses: (request) => {
      const call = repeatedCall(request);
      return call === undefined ? undefined : `${call.path}: \`tool_use\` ids must be unique`;
    },
  },
  {
    rule: "Only tool results may follow an open call of a server tool.",
    source: "github.com/anthropics/anthropic-sdk-typescript#1090",
    refuses: (request) =>
      firstOf(walkServerCalls(request), ([{ role, parts, at }, , [open]]) =>
        when(
          role === "user" && open !== undefined && parts.some(({ type }) => type !== "tool_result"),
          `messages.${at - 1}: tool use with id \`${show(open)}\` was found without a corresponding result block`,
        ),
      ),
  },
  {
    rule: "The result of a server tool comes after its call.",
    source: "github.com/anthropics/anthropic-sdk-typescript#1090",
    refuses: (request) =>
      firstOf(walkServerCalls(request), ([{ parts, at }, made]) => {
        const own = new Set(parts.filter(isServerCall).map(({ id }) => id));
        const stray = parts.find(({ type, tool_use_id: id }) => isServerResult(type) && !made.has(id) && !own.has(id));
        return stray === undefined
          ? undefined
          : `messages.${at}.content: unexpected \`tool_use_id\` found in \`${show(stray.type)}\` blocks: ${show(stray.tool_use_id)}. Each \`${show(stray.type)}\` block must have a corresponding \`server_tool_use\` block before it.`;
      }),
  },
  {
    rule: "A request with an open call of a server tool declares this tool.",
    source: "github.com/anthropics/anthropic-sdk-typescript#1090",
    refuses: ({ items, body }) => {
      const declared = recordsIn(body.tools).map(({ name }) => name);
      const blocks = items.flatMap(({ parts }) => parts);
      const answered = new Set(blocks.map(({ tool_use_id: id }) => id));
      const used = blocks.find(
        ({ type, name, id }) => type === "server_tool_use" && !declared.includes(name) && !answered.has(id),
      );
      return used === undefined
        ? undefined
        : `messages: \`server_tool_use\` was found, but no \`${show(used.name)}\` tool was provided`;
    },
  },
];

export const messagesContentRules: readonly Rule[] = [
  {
    rule: "A message has content, except a final assistant message.",
    source: "github.com/anthropics/claude-code#6774",
    of: "items",
    breaks: ({ role, parts, at }, { items }) =>
      parts.length === 0 && role !== "system" && (role !== "assistant" || at !== items.length - 1),
    says: ({ at }) => `messages.${at}: all messages must have non-empty content except for the optional final assistant message`,
  },
  {
    rule: "A text block has text that is not only whitespace.",
    source: "github.com/anthropics/claude-code#59812, github.com/vercel/ai#14618",
    refuses: ({ items, results }) =>
      firstOf(
        [...items.map(({ parts }) => parts), ...results.map(({ fields }) => recordsIn(fields.content))].flat(),
        ({ type, text }) => {
          if (type !== "text") return undefined;
          if (text === "") return "messages: text content blocks must be non-empty";
          return when(
            typeof text !== "string" || text.trim() === "",
            "messages: text content blocks must contain non-whitespace text",
          );
        },
      ),
  },
  {
    rule: "The system prompt has text that is not only whitespace.",
    source: "github.com/anthropics/claude-code#59812",
    breaks: ({ body: { system } }) =>
      typeof system === "string" ? system.trim() === "" : recordsIn(system).some(({ text }) => show(text).trim() === ""),
    says: "system: text content blocks must be non-empty",
  },
  {
    rule: "A final assistant message does not end in whitespace.",
    source: "https://platform.claude.com/docs/en/build-with-claude/prefill-claudes-response",
    breaks: ({ items }) => {
      const { role, parts } = items[items.length - 1] ?? { role: "", parts: [] };
      const { type, text } = parts[parts.length - 1] ?? {};
      return role === "assistant" && type === "text" && /\s$/.test(show(text));
    },
    says: "messages: final assistant content cannot end with trailing whitespace",
  },
  {
    rule: "The input of a call is an object.",
    source: "@anthropic-ai/sdk@1.11.0 resources/messages/messages.d.ts",
    of: "calls",
    breaks: ({ args }) => !isRecord(args),
    says: ({ path }) => `${path}.input: Input should be a valid dictionary`,
  },
  {
    rule: "An assistant message does not end with thinking.",
    source: "github.com/tailcallhq/forgecode#2107",
    of: "items",
    breaks: ({ role, parts }) => role === "assistant" && show(parts[parts.length - 1]?.type).endsWith("thinking"),
    says: ({ at }) => `messages.${at}: The final block in an assistant message cannot be \`thinking\`.`,
  },
  {
    rule: "The body has no lone surrogates.",
    source: "github.com/anthropics/claude-code#60394",
    refuses: ({ text }) =>
      when(hasHalfPair(text), "The request body is not valid JSON: no low surrogate in string: line 1 column 1 (char 0)"),
  },
  {
    rule: "A body has at most 32 MB.",
    source: "https://platform.claude.com/docs/en/api/errors",
    status: 413,
    type: "request_too_large",
    refuses: ({ text }) => when(text.length > 32 * 1024 * 1024, "Request exceeds the maximum size"),
  },
  {
    rule: "A request has at most 100,000 messages.",
    source: "https://platform.claude.com/docs/en/api/messages",
    refuses: ({ items }) => when(items.length > 100_000, "messages: at most 100000 messages are allowed"),
  },
  {
    rule: "At most 4 blocks have `cache_control`.",
    source: "Anthropic.SDK#50, dario#1066",
    refuses: ({ body }) => {
      const marked = countMarks([body.system, body.tools, body.messages]);
      return when(marked > 4, `A maximum of 4 blocks with cache_control may be provided. Found ${marked}.`);
    },
  },
];

function countMarks(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = isRecord(value) && (value.cache_control ?? null) !== null ? 1 : 0;
  for (const entry of Object.values(value)) count += countMarks(entry);
  return count;
}

export const messagesToolRules: readonly Rule[] = [
  {
    rule: "The name of a tool has 1 to 64 letters, digits, underscores and hyphens.",
    source: "@anthropic-ai/sdk@1.14.0 resources/messages/messages.d.ts",
    refuses: ({ tools, calls }) =>
      firstOf(
        [
          ...tools.map(({ name, at }) => [name, `tools.${at}.custom.name`] as const),
          ...calls.map(({ name, path }) => [name, `${path}.tool_use.name`] as const),
        ],
        ([name, path]) =>
          when(!/^[a-zA-Z0-9_-]{1,64}$/.test(name), `${path}: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`),
      ),
  },
  {
    rule: "No two tools have the same name.",
    source: "github.com/eclipse-theia/theia#16122, github.com/microsoft/vscode#278073",
    refuses: (request) => when(repeatedTool(request) !== undefined, "tools: Tool names must be unique."),
  },
  {
    rule: "A call id has 1 to 64 letters, digits, underscores and hyphens.",
    source: "gptel#1203, 9router#393",
    of: "history",
    breaks: ({ id }) => typeof id !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(id),
    says: ({ path }) => `${path}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
  },
  {
    rule: "The root of a tool schema has the type object.",
    source: "github.com/MoonshotAI/kimi-code#2328",
    of: "tools",
    breaks: ({ schema }) => !isObjectSchema(schema),
    says: ({ at }) => `tools.${at}.custom.input_schema.type: Input should be 'object'`,
  },
  {
    rule: "The root of a tool schema has no oneOf, allOf or anyOf.",
    source: "github.com/anthropics/claude-code#27337",
    of: "tools",
    breaks: ({ schema }) => rootKeyword(schema, "oneOf", "allOf", "anyOf") !== undefined,
    says: ({ at }) => `tools.${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
  },
  {
    rule: "`tool_choice` is only sent with tools.",
    source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use",
    breaks: ({ body }) => body.tool_choice !== undefined && recordsIn(body.tools).length === 0,
    says: "tool_choice may only be specified while providing tools.",
  },
  {
    rule: "The tool of a named choice is in the list of tools.",
    source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use",
    breaks: ({ body, tools }) => {
      const { type, name } = recordAt(body.tool_choice);
      return type === "tool" && tools.every((tool) => tool.name !== name);
    },
    says: ({ body }) => `Tool '${show(recordAt(body.tool_choice).name)}' not found in provided tools`,
  },
  {
    rule: "At least one tool is not deferred.",
    source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool",
    breaks: ({ body }) => {
      const tools = recordsIn(body.tools);
      return tools.length > 0 && tools.every((tool) => tool.defer_loading === true);
    },
    says: "At least one tool must have defer_loading=false. All tools cannot be deferred.",
  },
];

export const messagesFieldRules: readonly Rule[] = [
  {
    rule: "A request has only fields that the API defines.",
    source: "@anthropic-ai/sdk@1.11.0 resources/beta/messages/messages.d.ts",
    refuses: ({ body }) => unknownField(body, requestFields, (name) => `${name}: Extra inputs are not permitted`),
  },
  {
    rule: "A message has a role and content, and only a system message has more.",
    source: "@anthropic-ai/sdk@1.14.0 resources/beta/messages/messages.d.ts",
    refuses: ({ items }) =>
      firstOf(items, ({ role, fields, at }) =>
        unknownField(
          fields,
          role === "system" ? ["role", "content", "clear_at", "output_config"] : ["role", "content"],
          (name) => `messages.${at}.${name}: Extra inputs are not permitted`,
        ),
      ),
  },
  {
    rule: "A call or result has only fields that the API defines.",
    source: "github.com/anthropics/claude-code#4378",
    refuses: ({ calls, results }) =>
      firstOf(calls, ({ fields, path }) =>
        unknownField(
          fields,
          ["type", "id", "name", "input", "cache_control", "caller"],
          (name) => `${path}.tool_use.${name}: Extra inputs are not permitted`,
        ),
      ) ??
      firstOf(results, ({ fields, path }) =>
        unknownField(
          fields,
          ["type", "tool_use_id", "content", "is_error", "cache_control"],
          (name) => `${path}.tool_result.${name}: Extra inputs are not permitted`,
        ),
      ),
  },
  {
    rule: "`max_tokens` is set.",
    source: "https://platform.claude.com/docs/en/api/messages",
    refuses: ({ body }) => when(typeof body.max_tokens !== "number", "max_tokens: Field required"),
  },
  {
    rule: "A stop sequence has text that is not only whitespace.",
    source: "https://platform.claude.com/docs/en/api/messages",
    breaks: ({ body: { stop_sequences: stops } }) =>
      Array.isArray(stops) && stops.some((stop) => typeof stop !== "string" || stop.trim() === ""),
    says: "stop_sequences: each stop sequence must contain non-whitespace",
  },
];
