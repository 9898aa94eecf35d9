import { cutText, type Message, readAssistantMessage, type ToolResultPart, type UserMessage } from "../core/entry-kit.ts";

/** The maximum characters of one tool result, or of the arguments of one call, in a request for a summary. */
const longestValue = 4_000;

/** Writes a message as text for a summary. Long results and arguments are cut. Images and files are named, but not included. */
export function renderMessage(message: Message): string {
  switch (message.role) {
    case "user":
      return `User: ${renderContent(message.content)}`;
    case "assistant": {
      const { text, calls } = readAssistantMessage(message);
      const lines = calls.map(({ name, args, approvedArgs }) => `Call of ${name}: ${renderValue(approvedArgs ?? args)}`);
      return [...(text === "" ? [] : [`Assistant: ${text}`]), ...lines].join("\n");
    }
    case "tool":
      return message.results.map(renderResult).join("\n");
  }
}

function renderResult({ name, outcome, result, content = [] }: ToolResultPart): string {
  const title = outcome === "completed" ? `Result of ${name}` : `Result of ${name} (${outcome})`;
  return [`${title}: ${renderValue(result)}`, ...(content.length === 0 ? [] : [renderContent(content)])].join("\n");
}

function renderValue(value: unknown): string {
  return cutText(typeof value === "string" ? value : JSON.stringify(value), longestValue);
}

function renderContent(content: UserMessage["content"] | NonNullable<ToolResultPart["content"]>): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}, ${part.mediaType}]`)).join("\n");
}
