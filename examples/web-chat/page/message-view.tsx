// Shows a message: its text, its tool calls, its cost, and how the run ended.

import { isToolUIPart } from "ai";
import type { JSX } from "react";
import { ToolCard } from "./tool-card.tsx";
import { type PageMessage, readNumber, type RunChat } from "./use-run-chat.ts";

interface MessageProps {
  readonly message: PageMessage;
  readonly chat: RunChat;
}

/** React escapes the text of models, tools and users, so this text cannot run as HTML. */
export function MessageView({ message, chat }: MessageProps): JSX.Element {
  const { role, parts, metadata } = message;
  return (
    <li className={`message ${role}`}>
      <h2>{role === "user" ? "You" : "Assistant"}</h2>
      {parts.map((part, index) => {
        if (part.type === "text") return <p key={index}>{part.text}</p>;
        if (part.type === "reasoning") return <Reasoning key={index} text={part.text} />;
        return isToolUIPart(part) ? <ToolCard key={part.toolCallId} part={part} chat={chat} /> : null;
      })}
      <Ending metadata={metadata} />
    </li>
  );
}

function Reasoning({ text }: { readonly text: string }): JSX.Element {
  return (
    <details>
      <summary>Reasoning</summary>
      <p>{text}</p>
    </details>
  );
}

const endings = new Map([
  ["stopped-by-user", "Stopped."],
  ["suspended", "Waits for your decision."],
  ["error", "Ended with an error."],
  ["timeout", "Took too long."],
]);

/** Shows the cost of the run, and why it ended if it did not complete. */
function Ending({ metadata }: { readonly metadata: unknown }): JSX.Element | null {
  const status: unknown = typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "status") : undefined;
  if (typeof status !== "string") return null;
  const cost = readNumber(metadata, "costUSD");
  const ending = status === "completed" ? "" : (endings.get(status) ?? "Not finished.");
  const texts = [ending, cost === undefined ? "" : `${cost.toFixed(5)} USD`];
  return <p className="ending">{texts.filter((text) => text !== "").join(" ")}</p>;
}
