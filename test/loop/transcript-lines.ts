import type { Message } from "turnwright";

/** Returns lines such as `user: text`, `assistant: text [call id]` and `tool: call id outcome`. */
export function linesOf(messages: readonly Message[]): readonly string[] {
  return messages.map((message) => {
    switch (message.role) {
      case "user":
        return `user: ${textOf(message.content)}`;
      case "assistant":
        return `assistant: ${message.content.map((part) => (part.type === "tool-call" ? `[${part.callId}]` : part.text)).join("")}`;
      case "tool":
        return `tool: ${message.results.map(({ callId, outcome }) => `${callId} ${outcome}`).join(", ")}`;
    }
  });
}

export function textsOf(messages: readonly Extract<Message, { role: "user" }>[]): readonly string[] {
  return messages.map(({ content }) => textOf(content));
}

function textOf(content: Extract<Message, { role: "user" }>["content"]): string {
  return typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : part.type)).join("");
}
