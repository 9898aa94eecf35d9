import type { LoopOptions, Message, ModelRequest, Tool } from "turnwright";
import { type MockMessage, text, toolCall } from "turnwright/testing";
import { play, type Playing, tool } from "../play.ts";

/** Creates `count` messages and an answer. Each message has one call of the tool `name`, with the id c0, c1 and so on. */
export const turnsOf = (count: number, name = "search"): readonly MockMessage[] => [
  ...Array.from({ length: count }, (_, index) => toolCall(name, {}, { id: `c${index}` })),
  text("Done."),
];

export const search = (tokens = 1_000): Tool => tool("search", () => "x".repeat(tokens * 4));

export const playIterations = (count: number, more: Partial<LoopOptions>): Playing =>
  play(turnsOf(count), { tools: [search()], ...more });

export function maskedIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) =>
    message.role !== "tool"
      ? []
      : message.results
          .filter(({ result }) => typeof result === "string" && result.startsWith("[Result of"))
          .map(({ callId }) => callId),
  );
}

export const masksOf = (requests: readonly ModelRequest[]): readonly string[] =>
  requests.map(({ messages }) => maskedIn(messages).join(" "));
