import { cutText, type Message, readAssistantMessage, type ToolResultPart, type UserMessage } from "../core/entry-kit.ts";

/** The maximum characters of one tool result, or of the arguments of one call, in a request for a summary. */
const longestValue = 4_000;

/** The longest name of a tool in a summary. A model can call a tool by any name. */
const longestName = 100;

/**
 * Writes a message as text for a summary. Long results and arguments are cut, and images and files are only named. Only a title,
 * such as "User:", is at the beginning of a line. All other lines are indented, so that the text of a result or of a call cannot
 * look like another message.
 */
export function renderMessage(message: Message): string {
  switch (message.role) {
    case "user":
      return `User: ${indent(renderContent(message.content))}`;
    case "assistant": {
      const { text, calls } = readAssistantMessage(message);
      const lines = calls.map(
        ({ name, args, approvedArgs }) => `Call of ${renderName(name)}: ${indent(renderValue(approvedArgs ?? args))}`,
      );
      return [...(text === "" ? [] : [`Assistant: ${indent(text)}`]), ...lines].join("\n");
    }
    case "tool":
      return message.results.map(renderResult).join("\n");
  }
}

function renderResult({ name, outcome, result, content = [] }: ToolResultPart): string {
  const title = outcome === "completed" ? `Result of ${renderName(name)}` : `Result of ${renderName(name)} (${outcome})`;
  const text = [renderValue(result), ...(content.length === 0 ? [] : [renderContent(content)])].join("\n");
  return `${title}: ${indent(text)}`;
}

function renderName(name: string): string {
  return cutText(name.replace(/[\s\p{Cc}]+/gu, " "), longestName);
}

/** Indents all lines after the first one. Some of these characters are line breaks only for some models. */
export function indent(text: string): string {
  return text.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, "\n  ");
}

function renderValue(value: unknown): string {
  return cutText(typeof value === "string" ? value : JSON.stringify(value), longestValue);
}

function renderContent(content: UserMessage["content"] | NonNullable<ToolResultPart["content"]>): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}, ${part.mediaType}]`)).join("\n");
}
