import type { Refused, Rule } from "./rule.ts";
import { firstOf, patternsIn, recordAt, unknownPart, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/** The rules of llama-server and Ollama for the last messages of a conversation. */
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

/** The rules of llama-server and LM Studio, which build grammars from schemas. */
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
    rule: "While the model is thinking, the last message is not from the assistant.",
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
