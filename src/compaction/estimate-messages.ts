import { type ContentPart, estimateTokens, memoize, type Message } from "../core/entry-kit.ts";

/** Services count images by their size in pixels. This is the count of a large image. */
const imageTokens = 1_600;

/** Returns the estimated tokens of a message in a request. */
export const estimateMessage: (message: Message) => number = /* @__PURE__ */ memoize((message: Message): number => {
  switch (message.role) {
    case "user":
      return typeof message.content === "string" ? estimateTokens(message.content) : estimateParts(message.content);
    case "assistant": {
      const { providerMetadata, content } = message;
      return estimateJson(providerMetadata === undefined ? content : providerMetadata.map(({ item }) => item));
    }
    case "tool":
      return message.results.reduce((sum, { result, content = [] }) => sum + estimateJson(result) + estimateParts(content), 0);
  }
});

export function estimateMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateMessage(message), 0);
}

export function estimateJson(value: unknown): number {
  return estimateTokens(typeof value === "string" ? value : JSON.stringify(value));
}

function estimateParts(parts: readonly ContentPart[]): number {
  return parts.reduce((sum, part) => sum + estimatePart(part), 0);
}

function estimatePart(part: ContentPart): number {
  if (part.type === "text") return estimateTokens(part.text);
  return part.type === "image" ? imageTokens : estimateTokens(String(part.data));
}
