// Runs that set every field of a result, for the comparison of durable results with the results of `runToolLoop`.

import {
  defineTool,
  finalAnswer,
  hasToolCall,
  type LoopOptions,
  type LoopResult,
  processResults,
  runToolLoop,
  stopWhen,
  structuredOutput,
} from "turnwright";
import {
  createMockProvider,
  details,
  fail,
  type MockMessage,
  providerMetadata,
  reasoning,
  text,
  thoughtLog,
  toolCall,
} from "turnwright/testing";
import { z } from "zod";

const look = defineTool({
  name: "look",
  description: "Looks for a room",
  inputSchema: z.object({ room: z.number() }),
  execute: ({ room }) => ({ room, free: true }),
});
const book = defineTool({ name: "book", description: "Books a room", inputSchema: { type: "object" }, execute: () => "Booked." });

const looks: MockMessage = [reasoning("Hm."), text("I look."), toolCall("look", { room: 7 }), toolCall("look", { room: "x" })];
const answer: MockMessage = [
  text('{"room":7}'),
  details("Floor 2"),
  thoughtLog({ mood: "calm" }),
  providerMetadata({ signature: "s1" }),
];

const endings: { readonly [kind: string]: { readonly turns: readonly MockMessage[] } & Partial<LoopOptions> } = {
  answered: { turns: [looks, answer], middleware: [structuredOutput(z.object({ room: z.number() }))] },
  "over-budget": { turns: [looks, answer], limits: { maxCostUSD: 0.75 } },
  "final-answer": { turns: [looks, text("So far.")], limits: { maxIterations: 1 }, middleware: [finalAnswer()] },
  "stop-condition": { turns: [looks, toolCall("book")], middleware: [stopWhen([hasToolCall("book")])] },
  processed: { turns: [looks, answer], middleware: [processResults({ processor: () => "Short." })] },
  failed: { turns: [looks, fail({ status: 400, message: "No." })] },
};

export const endingKinds: readonly string[] = Object.keys(endings);

/** The options of a run that ends in this way. */
export function optionsOfEnding(kind: string): Omit<LoopOptions, "runId"> {
  const { turns = [], ...own } = endings[kind] ?? {};
  return {
    provider: createMockProvider(turns),
    tools: [look, book],
    messages: [{ role: "user", content: "A room?" }],
    pricing: () => 0.5,
    session: { detailsLabel: "Details:", responseTarget: { kind: "persona", name: "Ada" } },
    ...own,
  };
}

/** The fields of a result without times, as plain data. */
export function timeless(result: Omit<LoopResult, "journal">): unknown {
  const { journal: _journal, ...fields } = result as LoopResult;
  return JSON.parse(JSON.stringify(fields, (key, value: unknown) => (key === "durationMs" ? typeof value : value)));
}

export async function resultOfEnding(kind: string, runId: string): Promise<unknown> {
  return timeless(await runToolLoop({ ...optionsOfEnding(kind), runId }));
}
