import type { Refused, Rule } from "./rule.ts";
import { firstOf, sniffType, unknownPart, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

export const ollamaRules: readonly Rule[] = [
  {
    rule: "A content part is text or an image.",
    source: "github.com/ollama/ollama openai/openai.go",
    refuses: (request) => unknownPart(request, ["text", "image_url"], () => "invalid message format"),
  },
  {
    rule: "An image is base64 data of a JPEG, PNG or WebP file.",
    source: "github.com/ollama/ollama openai/openai.go",
    refuses: ({ media }) =>
      firstOf(media, ({ data }) => {
        if (data === undefined) return "image URLs are not currently supported, please use base64 encoded data instead";
        return when(!["image/jpeg", "image/png", "image/webp"].includes(sniffType(data) ?? ""), "invalid image input");
      }),
  },
];

export const toOllamaError = ({ status, message }: Refused): object => ({
  error: {
    message,
    type: status === 404 ? "not_found_error" : status < 500 ? "invalid_request_error" : "api_error",
    param: null,
    code: null,
  },
});

export const ollamaStyle: ChatStyle = { reasoning: "reasoning", oddities: ["whole-arguments", "no-first-id"] };
