// Runs of many iterations with large results, and what was sent of them.

import type { LoopOptions, Message, ModelRequest, Tool } from "turnwright";
import { type MockMessage, text, toolCall } from "turnwright/testing";
import { play, type Playing, tool } from "../play.ts";

/** Turns that each call `name` once, with ids c0, c1 and so on, and an answer. */
export const turnsOf = (count: number, name = "search"): readonly MockMessage[] => [
  ...Array.from({ length: count }, (_, index) => toolCall(name, {}, { id: `c${index}` })),
  text("Done."),
];

/** A tool whose results are so many tokens. */
export const search = (tokens = 1_000): Tool => tool("search", () => "x".repeat(tokens * 4));

/** Starts a run of so many iterations that search, and one that answers. */
export const playIterations = (count: number, more: Partial<LoopOptions>): Playing =>
  play(turnsOf(count), { tools: [search()], ...more });

/** Ids of the calls whose results were left out. */
export function maskedIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) =>
    message.role !== "tool"
      ? []
      : message.results
          .filter(({ result }) => typeof result === "string" && result.startsWith("[Result of"))
          .map(({ callId }) => callId),
  );
}

/** The ids that each request did without. */
export const masksOf = (requests: readonly ModelRequest[]): readonly string[] =>
  requests.map(({ messages }) => maskedIn(messages).join(" "));
