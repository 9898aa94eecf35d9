// Tools with a typed context, and calls that are typed by the tools of the run.

import assert from "node:assert/strict";
import { z } from "zod";
import { defineTool, isCallOf, type LoopResult, runToolLoop, streamToolLoop } from "turnwright";
import { createMockProvider, runTool, text, toolCall } from "turnwright/testing";

interface Library {
  readonly reader: string;
  readonly shelves: ReadonlyMap<string, string>;
}

const defineLibraryTool = defineTool<Library>();
const findBook = defineLibraryTool({
  name: "find_book",
  description: "The shelf of a book",
  inputSchema: z.object({ title: z.string() }),
  execute: ({ title }, { context }) => ({ title, shelf: context.shelves.get(title) ?? null }),
});
const lendBook = defineLibraryTool({
  name: "lend_book",
  description: "Lends a book to the reader",
  inputSchema: z.object({ title: z.string(), days: z.number().int().max(28).default(14) }),
  execute: ({ title, days }, { context }) => ({ title, days, reader: context.reader }),
});
const tools = [findBook, lendBook];
const context: Library = { reader: "Ada", shelves: new Map([["Emma", "B2"]]) };
const script = [
  toolCall("find_book", { title: "Emma" }),
  [toolCall("lend_book", { title: "Emma", days: 99 }), toolCall("lend_book", { title: "Emma" })],
  text("Emma is yours for two weeks."),
];
const messages = [{ role: "user" as const, content: "Lend me Emma.", metadata: { receivedAt: "2026-11-27T09:00:00Z" } }];

/** `LoopResult<unknown, T>` is the type of the result of a run with the tools `T`. */
function readLoans({ calls }: LoopResult<unknown, (typeof tools)[number]>): readonly string[] {
  return calls.flatMap((call) => {
    if (call.name === "lend_book" && call.outcome === "completed") return `${call.result.reader}: ${call.result.days} days`;
    return isCallOf(lendBook, call) ? `refused: ${call.outcome}` : [];
  });
}

const result = await runToolLoop({ provider: createMockProvider(script), tools, messages, context });
assert.deepEqual(readLoans(result), ["refused: invalid-input", "Ada: 14 days"]);

const shelves: (string | null)[] = [];
for await (const event of streamToolLoop({ provider: createMockProvider(script), tools, messages, context })) {
  if (event.type === "tool-end" && isCallOf(findBook, event) && event.outcome === "completed") shelves.push(event.result.shelf);
}
assert.deepEqual(shelves, ["B2"]);

// The metadata of a message stays in the transcript.
const [first] = result.messages;
assert.deepEqual(first?.role === "user" ? first.metadata : undefined, messages[0]?.metadata);

// `runTool` needs the context of the tool too.
const alone = await runTool(findBook, { title: "Persuasion" }, { context });
assert.deepEqual(alone.kind === "completed" ? alone.data : undefined, { title: "Persuasion", shelf: null });

console.log(readLoans(result).join("\n"));
