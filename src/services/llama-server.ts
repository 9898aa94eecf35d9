import { llamaServerMedia } from "./media-limits.ts";
import type { Quirks, Service } from "./service.ts";
import type { Refused, Rule } from "./rule.ts";
import { firstOf, patternsIn, recordAt, unknownPart, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";
import { withoutPatterns } from "./tool-schemas.ts";

/**
 * llama.cpp makes a grammar from the patterns of a tool schema. The grammar has no classes such as `\d`, and a pattern needs both anchors
 * (github.com/rowboatlabs/rowboat/pull/741, common/json-schema-to-grammar.cpp in github.com/ggml-org/llama.cpp).
 */
export const grammarPatterns: Quirks = { toTool: /* @__PURE__ */ withoutPatterns(/\\[a-z]|\(\?|^(?!\^)|(?<!\$)$/i) };

/**
 * llama-server treats a choice in object form as "auto". It refuses two assistant messages at the end, and one if the model
 * thinks. It also refuses a grammar together with tools (tools/server/server-common.cpp in github.com/ggml-org/llama.cpp).
 */
export const llamaServer: Service = {
  name: "llama-server",
  port: "8080",
  id: /^llama[.-]?(?:cpp|server)/,
  quirks: {
    alternates: true,
    endsWithUser: true,
    namedChoice: "single",
    separatesSchema: true,
    media: llamaServerMedia,
    ...grammarPatterns,
  },
};

/** llama-server and Ollama. */
export const localEndRules: readonly Rule[] = [
  {
    rule: "The last two messages are not both from the assistant.",
    source: "github.com/ggml-org/llama.cpp tools/server/server-common.cpp, github.com/NousResearch/hermes-agent#80265",
    breaks: ({ items }) => {
      const [last, before] = [items[items.length - 1], items[items.length - 2]];
      return last?.role === "assistant" && before?.role === "assistant";
    },
    says: "Cannot have 2 or more assistant messages at the end of the list.",
  },
];

/** llama-server and LM Studio. */
export const grammarRules: readonly Rule[] = [
  {
    rule: "A pattern in a tool schema has both anchors, no classes such as `\\d`, and no groups with `(?`.",
    source: "github.com/rowboatlabs/rowboat#741, github.com/ggml-org/llama.cpp#22314",
    refuses: ({ tools }) =>
      firstOf(tools, ({ schema }) =>
        firstOf(patternsIn(schema), (pattern) =>
          when(
            /\\[dDwWsSbB]|\(\?/.test(pattern) || !pattern.startsWith("^") || !pattern.endsWith("$"),
            "Failed to initialize samplers: failed to parse grammar",
          ),
        ),
      ),
  },
];

export const llamaServerRules: readonly Rule[] = [
  {
    rule: "While the model thinks, the last message is not from the assistant.",
    source: "github.com/ggml-org/llama.cpp tools/server/server-common.cpp",
    breaks: ({ items, body }) =>
      items[items.length - 1]?.role === "assistant" && recordAt(body, "chat_template_kwargs").enable_thinking !== false,
    says: "Assistant response prefill is incompatible with enable_thinking.",
  },
  {
    rule: "A content part is text, an image or audio.",
    source: "github.com/ggml-org/llama.cpp tools/server/server-common.cpp",
    refuses: (request) => unknownPart(request, ["text", "image_url", "input_audio"], () => "unsupported content[].type"),
  },
  {
    rule: "A grammar and tools exclude each other.",
    source: "github.com/ggml-org/llama.cpp tools/server/server-common.cpp",
    refuses: ({ body, tools }) =>
      when(body.grammar !== undefined && tools.length > 0, "Cannot use custom grammar constraints with tools."),
  },
];

export const toLlamaServerError = ({ status, message, type }: Refused): object => ({
  error: { code: status, message, type: type ?? "invalid_request_error" },
});

export const llamaServerStyle: ChatStyle = { reasoning: "reasoning_content", oddities: ["role-in-each-chunk", "repeated-name"] };
