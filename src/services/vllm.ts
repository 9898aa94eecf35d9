import type { Refused, Rule } from "./rule.ts";
import { recordAt, unknownPart, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/** True if a request body asks for structured decoding (vllm entrypoints/openai/chat_completion/protocol.py). */
function hasConstraints(body: object): boolean {
  return Object.keys(recordAt(body, "structured_outputs")).length > 0 || recordAt(body, "response_format").type === "json_schema";
}

const partTypes = [
  ...["text", "refusal", "input_audio", "image_url", "audio_url", "video_url"],
  ...["image_embeds", "audio_embeds", "video_embeds"],
];

export const vllmRules: readonly Rule[] = [
  {
    rule: "A content part has a type that vLLM knows, so not `file`.",
    source: "github.com/vllm-project/vllm entrypoints/chat_utils.py",
    refuses: (request) => unknownPart(request, partTypes, (type) => `Unknown part type: ${type}`),
  },
  {
    rule: "`tool_choice` is only sent with tools.",
    source: "github.com/vllm-project/vllm entrypoints/openai/chat_completion/protocol.py",
    refuses: ({ body }) =>
      when((body.tool_choice ?? "none") !== "none" && body.tools === undefined, "When using `tool_choice`, `tools` must be set."),
  },
  {
    rule: "The list of tools is not empty.",
    source: "github.com/vllm-project/vllm entrypoints/openai/chat_completion/protocol.py",
    refuses: ({ body }) => when(Array.isArray(body.tools) && body.tools.length === 0, "`tools` must not be an empty array."),
  },
  {
    rule: "A named choice has the form of Chat Completions, and its tool is in the list of tools.",
    source: "github.com/vllm-project/vllm entrypoints/openai/chat_completion/protocol.py",
    refuses: ({ body: { tool_choice: choice }, tools }) => {
      if (choice === undefined || choice === null) return undefined;
      if (typeof choice === "string") {
        return when(
          !["auto", "none", "required"].includes(choice),
          `Invalid value for \`tool_choice\`: ${choice}! Only named tools, "none", "auto" or "required" are supported.`,
        );
      }
      const { name } = recordAt(choice, "function");
      if (typeof name !== "string")
        return 'Expected field `function` in `tool_choice`. Correct usage: `{"type": "function", "function": {"name": "my_function"}}`';
      return when(
        tools.every((tool) => tool.name !== name),
        "The tool specified in `tool_choice` does not match any of the specified `tools`",
      );
    },
  },
  {
    rule: "Structured output and a named choice exclude each other.",
    source: "github.com/vllm-project/vllm entrypoints/openai/chat_completion/protocol.py",
    breaks: ({ body }) => typeof body.tool_choice === "object" && body.tool_choice !== null && hasConstraints(body),
    says: "You can only either use constraints for structured outputs or tools, not both.",
  },
];

export const toVllmError = ({ status, message }: Refused): object => ({
  error: { message, type: "BadRequestError", param: null, code: status },
});

export const vllmStyle: ChatStyle = {
  reasoning: "reasoning",
  oddities: ["null-arguments", "stop-with-calls", "empty-calls", "index-from-1"],
};
