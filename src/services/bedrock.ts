import { refuseLargeImages } from "./messages-media.ts";
import type { Refused, Rule } from "./rule.ts";
import { callsWithoutTools, firstOf, show, sizeOf, strayResults, unansweredCalls, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/** The rules of Bedrock's Converse API that still apply when a gateway offers Bedrock through OpenAI's API. */
export const bedrockRules: readonly Rule[] = [
  {
    rule: "A request whose messages have calls or results has tools.",
    source: "github.com/langgenius/dify#17545, pentagi#196, github.com/aws-samples/bedrock-access-gateway#239",
    refuses: (request) =>
      callsWithoutTools(request, "The toolConfig field must be defined when using toolUse and toolResult content blocks."),
  },
  {
    rule: "Every call has a result in the next messages, and every result has a call.",
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html",
    refuses: (request) => {
      const [open] = unansweredCalls(request);
      if (open !== undefined)
        return `Expected toolResult blocks at messages.${open.at + 1}.content for the following Ids: ${show(open.id)}`;
      const [stray] = strayResults(request);
      return stray === undefined
        ? undefined
        : `The number of toolResult blocks at messages.${stray.at}.content exceeds the number of toolUse blocks of previous turn.`;
    },
  },
  {
    rule: "Text is not blank.",
    source: "github.com/OpenHands/OpenHands#5339, #5722",
    refuses: ({ items }) =>
      firstOf(items, ({ role, parts, at, fields }) => {
        const isBeside = role === "assistant" && (fields.content ?? null) === null;
        const blank = parts.findIndex(({ type, text }) => type === "text" && show(text).trim() === "");
        return when(
          !isBeside && blank !== -1,
          `The text field in the ContentBlock object at messages.${at}.content.${blank} is blank. Add text to the text field, and try again.`,
        );
      }),
  },
  {
    rule: "The first message has the role user.",
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    breaks: ({ items }) => items.find(({ role }) => role !== "system" && role !== "developer")?.role === "assistant",
    says: "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
  },
  {
    rule: "User and assistant messages alternate.",
    source: "github.com/langchain-ai/langchain-aws#130, github.com/Portkey-AI/gateway#748",
    breaks: ({ items }) =>
      items.some(({ role }, at) => (role === "user" || role === "assistant") && items[at + 1]?.role === role),
    says: "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
  },
  {
    rule: "System messages come before all others.",
    source: "github.com/BerriAI/litellm#41043, #41082",
    breaks: ({ items }) => {
      const begun = items.findIndex(({ role }) => role !== "system" && role !== "developer");
      return begun !== -1 && items.slice(begun).some(({ role }) => role === "system" || role === "developer");
    },
    says: "The role system is not supported in the Message object.",
  },
  {
    rule: "A call id has 1 to 64 letters, digits, underscores and hyphens.",
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html",
    of: "history",
    breaks: ({ id }) => !/^[a-zA-Z0-9_-]{1,64}$/.test(show(id)),
    says: ({ id, at }) =>
      `1 validation error detected: Value '${show(id)}' at 'messages.${at + 1}.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`,
  },
  {
    rule: "The name of a tool has 1 to 64 letters, digits, underscores and hyphens.",
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html",
    refuses: ({ tools, calls }) =>
      firstOf([...tools, ...calls], ({ name }) =>
        when(
          !/^[a-zA-Z0-9_-]{1,64}$/.test(name),
          `1 validation error detected: Value '${name}' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`,
        ),
      ),
  },
  {
    rule: "A request has at most 20 images of at most 3.75 MB, and only in user messages.",
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html",
    refuses: ({ media }) => {
      const images = media.filter(({ kind }) => kind === "image");
      if (images.length > 20) return `too many images: ${images.length} > 20`;
      return when(
        images.some((image) => (sizeOf(image) * 3) / 4 > 3.75 * 1024 * 1024),
        "The model returned the following errors: image exceeds 3.75 MB maximum",
      );
    },
  },
  {
    rule: "A message with a document also has text.",
    source:
      "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html, github.com/archestra-ai/archestra#4220",
    of: "media",
    breaks: ({ kind, at }, { items }) => kind === "file" && items[at]?.parts.every(({ type }) => type !== "text") === true,
    says: "A text block must be included when using documents.",
  },
];

/** The limits that Bedrock's Messages endpoint applies to Anthropic's models, in addition to Anthropic's rules. */
export const bedrockMessagesRules: readonly Rule[] = [
  {
    rule: "A request whose messages have calls or results has tools.",
    source: "github.com/anthropics/anthropic-sdk-python#494",
    refuses: (request) =>
      callsWithoutTools(request, "Requests which include `tool_use` or `tool_result` blocks must define tools"),
  },
  {
    rule: "An image has at most 5 MB of base64.",
    source: "https://platform.claude.com/docs/en/build-with-claude/vision",
    refuses: (request) => refuseLargeImages(request, 5),
  },
  {
    rule: "Opus 4.6 and Sonnet 4.6 do not accept `thinking.block_binding`.",
    source: "@earendil-works/pi-ai@1.6.0 dist/api/bedrock-converse-stream.js",
    breaks: ({ model, text }) => /(?:opus|sonnet)-4-6/.test(model) && text.includes('"block_binding"'),
    says: "thinking.adaptive.block_binding: Extra inputs are not permitted",
  },
];

export const toBedrockError = ({ message }: Refused): object => ({
  error: { message: `bedrock error: ${message}`, type: "invalid_request_error", param: null, code: null },
});

export const bedrockStyle: ChatStyle = { reasoning: "reasoning_content", oddities: ["stop-with-calls", "role-in-each-chunk"] };
