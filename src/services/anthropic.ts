import { parameterNames } from "./name-patterns.ts";
import { findClaudeFacts } from "./claude-models.ts";
import type { Refused, Rule, WireRequest } from "./rule.ts";
import { callsWithoutTools, firstOf, recordAt, recordsIn, show, when } from "./rule-checks.ts";

/** The first API version that refuses `temperature`, `top_p` and `top_k` on all models (.../docs/en/api/versioning). */
export const unsampledVersion: string = "2026-10-21";

/** The beta that enables the request field `thinking.block_binding` and the response field `input_transformations`. */
export const bindingBeta: string = "thinking-binding-controls-2026-08-01";

/** Matches error messages that refuse `thinking.block_binding` or its beta (github.com/earendil-works/pi, bedrock-converse-stream.js). */
export const refusesBinding: RegExp =
  /block_binding\b.*extra inputs are not permitted|anthropic-beta.*thinking-binding-controls/i;

/** Matches error messages that refuse `thinking.display`, as Bedrock GovCloud does (github.com/earendil-works/pi/issues/3313). */
export const refusesDisplay: RegExp = /thinking\.\w+\.display\b.*extra inputs are not permitted/i;

function thinkingOf({ body }: WireRequest): { readonly [field: string]: unknown } {
  return recordAt(body, "thinking");
}

const parameterRule: Rule = {
  rule: "The name of a parameter has 1 to 64 letters, digits, underscores, dots and hyphens.",
  source:
    "github.com/anthropics/claude-code#79418, aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#709",
  of: "tools",
  breaks: ({ schema }) => Object.keys(recordAt(schema, "properties")).some((name) => !parameterNames.test(name)),
  says: ({ at }) => `tools.${at}.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`,
};

/** Rules that depend on the model and the API version. */
export const anthropicModelRules: readonly Rule[] = [
  parameterRule,
  {
    rule: "From API version 2026-10-21 on, `temperature`, `top_p` and `top_k` are refused. Before, models from Opus 4.7 on refuse them.",
    source:
      "https://platform.claude.com/docs/en/api/migration-2026-10-21, https://platform.claude.com/docs/en/build-with-claude/thinking",
    refuses: ({ body, headers, model }) => {
      const field = ["temperature", "top_p", "top_k"].find((name) => body[name] !== undefined);
      const version = headers.get("anthropic-version") ?? show(body.anthropic_version ?? "");
      const isRefused = version >= unsampledVersion && !version.startsWith("bedrock");
      return when(
        field !== undefined && (isRefused || findClaudeFacts(model)?.sampling === "no"),
        `${show(field)}: Extra inputs are not permitted`,
      );
    },
  },
  {
    rule: "While an older model is thinking, `temperature` is 1 and `top_p` at least 0.95.",
    source: "https://platform.claude.com/docs/en/build-with-claude/thinking",
    refuses: (request) => {
      const { temperature, top_p: topP } = request.body;
      if (!["enabled", "adaptive"].includes(show(thinkingOf(request).type))) return undefined;
      if (temperature !== undefined && temperature !== 1) return "`temperature` may only be set to 1 when thinking is enabled.";
      return when(
        typeof topP === "number" && topP < 0.95,
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
      );
    },
  },
  {
    rule: "`thinking.type` is one that the model accepts.",
    source: "https://platform.claude.com/docs/en/build-with-claude/thinking",
    refuses: (request) => {
      const { type } = thinkingOf(request);
      const facts = findClaudeFacts(request.model);
      if (type === undefined || facts === undefined || facts.thinking.some((known) => known === type)) return undefined;
      if (type === "adaptive") return "adaptive thinking is not supported on this model";
      return `"thinking.type.${show(type)}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`;
    },
  },
  {
    rule: "While thinking is disabled or between tools, some models accept an effort up to high.",
    source:
      "github.com/elgorro/aiquila#410, github.com/pydantic/pydantic-ai#7991, https://platform.claude.com/docs/en/build-with-claude/thinking",
    refuses: (request) => {
      const { effort } = recordAt(request.body, "output_config");
      const { type } = thinkingOf(request);
      const isCapped = (type === "disabled" || type === "between_tools") && findClaudeFacts(request.model)?.capsEffort === true;
      return when(
        isCapped && (effort === "xhigh" || effort === "max"),
        `output_config.effort '${show(effort)}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.`,
      );
    },
  },
  {
    rule: "A thinking budget is at least 1,024 tokens and less than `max_tokens`.",
    source: "@anthropic-ai/sdk@1.14.0 resources/messages/messages.d.ts, github.com/BerriAI/litellm#9001",
    refuses: (request) => {
      const { type, budget_tokens: budget } = thinkingOf(request);
      if (type !== "enabled") return undefined;
      if (Number(budget) < 1_024) return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
      return when(
        Number(request.body.max_tokens) <= Number(budget),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
      );
    },
  },
  {
    rule: "A call cannot be forced with a thinking budget, and not at all on some models.",
    source: "oh-my-pi#341, github.com/langchain-ai/langchain#35539, @ai-sdk/anthropic@4.0.105",
    refuses: (request) => {
      const { type } = recordAt(request.body, "tool_choice");
      if (type !== "any" && type !== "tool") return undefined;
      if (findClaudeFacts(request.model)?.forcedChoice === "no")
        return 'tool_choice: type "tool" and "any" are not supported for this model.';
      return when(thinkingOf(request).type === "enabled", "Thinking may not be enabled when tool_choice forces tool use.");
    },
  },
  {
    rule: "From Claude 4.6 on, the last message is not from the assistant, unless it was paused after a server tool or a summary.",
    source: "https://platform.claude.com/docs/en/build-with-claude/prefill-claudes-response",
    breaks: ({ items, model }) => {
      const last = items[items.length - 1];
      if (last?.role !== "assistant" || findClaudeFacts(model)?.prefill !== false) return false;
      const end = show(last.parts[last.parts.length - 1]?.type);
      return end !== "server_tool_use" && !end.endsWith("_tool_result") && end !== "compaction";
    },
    says: "This model does not support assistant message prefill. The conversation must end with a user message.",
  },
  {
    rule: "With a thinking budget, the assistant turn before the final tool results begins with thinking.",
    source: "github.com/anomalyco/opencode#3077, github.com/n8n-io/n8n#22550",
    refuses: (request) => {
      const { items, results } = request;
      let asked = items.findLastIndex(({ role }) => role === "assistant");
      if (thinkingOf(request).type !== "enabled" || !results.some(({ at }) => at === asked + 1)) return undefined;
      while (items[asked - 2] !== undefined && items[asked - 1]?.parts.every(({ type }) => type === "tool_result") === true)
        asked -= 2;
      const first = items[asked]?.parts[0]?.type;
      return when(
        first !== "thinking" && first !== "redacted_thinking",
        `messages.${asked}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${show(first)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
      );
    },
  },
  {
    rule: "A system message in `messages` comes after a user message, and before an assistant message or at the end. Some models accept none.",
    source: "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages",
    refuses: ({ items, model }) =>
      firstOf(items, ({ role, at }) => {
        if (role !== "system") return undefined;
        if (findClaudeFacts(model)?.midSystem === false)
          return `messages.${at}.role: role 'system' is not supported on this model`;
        const before = items.slice(0, at).findLast((item) => item.role !== "system")?.role;
        const after = items.slice(at).find((item) => item.role !== "system")?.role;
        return when(
          before !== "user" || after === "user",
          `messages.${at}: a system message must follow a user message and come before an assistant message`,
        );
      }),
  },
  {
    rule: "From API version 2026-10-21 on, an assistant message has no document, and a user text has no citations.",
    source: "https://platform.claude.com/docs/en/api/migration-2026-10-21",
    of: "items",
    breaks: ({ role, parts }, { headers }) =>
      (headers.get("anthropic-version") ?? "") >= unsampledVersion &&
      parts.some(({ type, citations }) =>
        role === "assistant" ? type === "document" : type === "text" && recordsIn(citations).length > 0,
      ),
    says: ({ at }) => `messages.${at}.content: Extra inputs are not permitted`,
  },
  {
    rule: "A summary of the service needs the beta header compact-2026-01-12.",
    source: "@anthropic-ai/sdk@1.14.0 resources/beta/messages/messages.d.ts BetaCompactionBlockParam",
    refuses: ({ items, headers }) =>
      firstOf(items, ({ parts, at }) => {
        const index = parts.findIndex(({ type }) => type === "compaction");
        const isOn = headers.get("anthropic-beta")?.includes("compact-2026-01-12") === true;
        return when(
          index !== -1 && !isOn,
          `messages.${at}.content.${index}: Input tag 'compaction' found using 'type' does not match any of the expected tags`,
        );
      }),
  },
  {
    rule: "`thinking.block_binding` needs its beta header, and the type adaptive or enabled.",
    source: "@anthropic-ai/sdk@1.14.0 BetaThinkingBlockBinding",
    refuses: (request) => {
      const { type, block_binding: binding } = thinkingOf(request);
      const mayBind =
        (request.headers.get("anthropic-beta") ?? "").includes(bindingBeta) && (type === "adaptive" || type === "enabled");
      return when(binding !== undefined && !mayBind, `thinking.${show(type)}.block_binding: Extra inputs are not permitted`);
    },
  },
  {
    rule: "The signature of a thinking block comes from this service, and its text is unchanged.",
    source: "https://platform.claude.com/docs/en/build-with-claude/thinking",
    refuses: ({ items }) =>
      firstOf(items, ({ parts, at }) =>
        firstOf(parts.entries(), ([index, { type, signature }]) =>
          when(
            type === "thinking" && !show(signature).startsWith("claude."),
            `messages.${at}.content.${index}: Invalid \`signature\` in \`thinking\` block`,
          ),
        ),
      ),
  },
];

export const toAnthropicError = ({ status, message, type }: Refused): object => ({
  type: "error",
  error: { type: type ?? anthropicType(status), message },
  request_id: "req_1",
});

function anthropicType(status: number): string {
  const known: { readonly [status: number]: string } = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
  };
  return known[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}

/** The rules that still apply to Claude models when a gateway offers them through OpenAI's API. */
export const claudeGatewayRules: readonly Rule[] = [
  parameterRule,
  {
    rule: "A request whose messages have calls or results has tools.",
    source: "github.com/anthropics/anthropic-sdk-python#494, dify#17545",
    refuses: (request) =>
      callsWithoutTools(request, "Requests which include `tool_use` or `tool_result` blocks must define tools"),
  },
  {
    rule: "Text is not blank.",
    source: "github.com/anthropics/claude-code#59812, github.com/vercel/ai#14618",
    of: "items",
    breaks: ({ parts }) => parts.some(({ type, text }) => type === "text" && show(text).trim() === ""),
    says: "messages: text content blocks must be non-empty",
  },
  {
    rule: "From Claude 4.6 on, the last message is not from the assistant.",
    source: "https://platform.claude.com/docs/en/build-with-claude/prefill-claudes-response",
    breaks: ({ items, model }) => items[items.length - 1]?.role === "assistant" && findClaudeFacts(model)?.prefill === false,
    says: "This model does not support assistant message prefill. The conversation must end with a user message.",
  },
  {
    rule: "A call cannot be forced on some models.",
    source: "@ai-sdk/anthropic@4.0.105",
    breaks: ({ body: { tool_choice: choice }, model }) =>
      choice !== undefined && choice !== "auto" && choice !== "none" && findClaudeFacts(model)?.forcedChoice === "no",
    says: 'tool_choice: type "tool" and "any" are not supported for this model.',
  },
];
