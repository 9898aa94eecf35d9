// Every way in which a stream can end, with every adapter. Checks the provider's finish reason and the ending of the run.

import { defineTool, type LoopResult, runToolLoop } from "turnwright";
import { describe, expect, it } from "vitest";
import { type Adapter, adapters, specAdapters, vendorAdapters } from "./adapters.ts";
import { type Content, type FinishRow, finishRows } from "./finish-rows.ts";
import { ask, runIteration } from "./provider-iteration.ts";
import { type End, listEnds, type ScriptedTurn } from "./scripted.ts";

const note = defineTool({ name: "note", description: "Notes", inputSchema: { type: "object" }, execute: (args) => args });
const answer: ScriptedTurn = { text: "Good.", end: "stop" };
const contents: { readonly [Name in Content]: Omit<ScriptedTurn, "end"> } = {
  text: { text: "So." },
  nothing: {},
  calls: {
    text: "So.",
    calls: [
      ["call_1", "note", '{"n":1}'],
      ["call_2", "note", '{"n":2}'],
    ],
  },
};

function summaryOf({ status, reason, messages }: LoopResult, requests: number): string {
  const code = reason.kind === "provider-error" ? reason.error.code : reason.kind;
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  return [...new Set(results.map(({ outcome }) => outcome)), `${status} ${code}`, requests].join(", ");
}

async function readFinish({ open }: Adapter, turn: ScriptedTurn): Promise<string | undefined> {
  const { provider, close } = await open([turn]);
  const { finish, error } = await runIteration(provider, ask("Go.", { tools: [note] }));
  await close();
  return error?.code ?? finish;
}

async function play({ open }: Adapter, turn: ScriptedTurn): Promise<string> {
  const { provider, bodies, close } = await open([turn, answer]);
  const result = await runToolLoop({ provider, tools: [note], messages: [{ role: "user", content: "Go." }] });
  await close();
  return summaryOf(result, bodies.length);
}

interface Cell {
  readonly end: End;
  /** The service's own value for this ending. */
  readonly word: string;
  readonly row: FinishRow;
  readonly rowWithCalls: FinishRow;
}

/** Lists the service's values for each ending, the usual value first. */
function cellsOf({ ends }: Adapter): readonly (readonly Cell[])[] {
  return listEnds(ends).map(({ end, words }) =>
    words.map((said) => {
      const { word, reads, withCalls = reads } = typeof said === "string" ? { word: said, reads: end } : said;
      return { end, word, row: finishRows[reads], rowWithCalls: finishRows[withCalls] };
    }),
  );
}

for (const adapter of adapters) {
  describe(`${adapter.name}: finish reasons`, () => {
    it.for(cellsOf(adapter).flat())(
      "the service value $word (the end of a response with $end) becomes $row.finish",
      async ({ end, word, row, rowWithCalls }) => {
        const read = (content: Content): Promise<string | undefined> => readFinish(adapter, { ...contents[content], end, word });
        expect({ text: await read("text"), nothing: await read("nothing"), calls: await read("calls") }).toEqual({
          text: row.finish,
          nothing: row.finish,
          calls: rowWithCalls.finishWithCalls ?? rowWithCalls.finish,
        });
      },
    );
  });
}

// The loop gets only the finish reason, so one service value for each ending is enough. The AI SDK's mocks represent its
// packages.
for (const adapter of [...vendorAdapters, ...specAdapters]) {
  describe(`${adapter.name}: runs by finish reason`, () => {
    it.for(cellsOf(adapter).flatMap((words) => words.slice(0, 1)))(
      "the service value $word ends the run with the listed result",
      async ({ end, word, row, rowWithCalls }) => {
        const run = (content: Content): Promise<string> => play(adapter, { ...contents[content], end, word });
        expect({ text: await run("text"), nothing: await run("nothing"), calls: await run("calls") }).toEqual({
          text: row.text,
          nothing: row.nothing,
          calls: rowWithCalls.calls,
        });
      },
    );
  });
}
