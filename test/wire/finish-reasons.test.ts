// Every way in which a stream can end, over every adapter: the finish reason of the provider, and the ending of the run.

import { defineTool, type LoopResult, runToolLoop } from "turnwright";
import { describe, expect, it } from "vitest";
import { type Adapter, adapters } from "./adapters.ts";
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

/** Returns the outcomes of the calls, if any, the ending of the run, and the number of requests. */
function summaryOf({ status, reason, messages }: LoopResult, requests: number): string {
  const code = reason.kind === "provider-error" ? reason.error.code : reason.kind;
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  return [...new Set(results.map(({ outcome }) => outcome)), `${status} ${code}`, requests].join(", ");
}

/** Returns the finish reason of the provider for a message, and the ending of a run with that message. */
async function play({ open }: Adapter, turn: ScriptedTurn): Promise<readonly [finish: string | undefined, ending: string]> {
  const { provider, bodies, close } = await open([turn, turn, answer]);
  const { finish, error } = await runIteration(provider, ask("Go.", { tools: [note] }));
  const result = await runToolLoop({ provider, tools: [note], messages: [{ role: "user", content: "Go." }] });
  await close();
  return [error?.code ?? finish, summaryOf(result, bodies.length - 1)];
}

function expectationOf({ finish, finishWithCalls, ...endings }: FinishRow, content: Content): unknown {
  return [content === "calls" ? (finishWithCalls ?? finish) : finish, endings[content]];
}

/** Each word of a service for each end. */
function cellsOf({ ends }: Adapter): readonly (readonly [end: End, word: string, reads: End, withCalls: End])[] {
  return listEnds(ends).flatMap(({ end, words }) =>
    words.map((said) => {
      const { word, reads, withCalls = reads } = typeof said === "string" ? { word: said, reads: end } : said;
      return [end, word, reads, withCalls] as const;
    }),
  );
}

for (const adapter of adapters) {
  describe(`${adapter.name}: finish reasons`, () => {
    it.for(cellsOf(adapter))('reads %s, sent as "%s", as %s, and with calls as %s', async ([end, word, reads, withCalls]) => {
      const read = (content: Content): ReturnType<typeof play> => play(adapter, { ...contents[content], end, word });
      expect({ text: await read("text"), nothing: await read("nothing"), calls: await read("calls") }).toEqual({
        text: expectationOf(finishRows[reads], "text"),
        nothing: expectationOf(finishRows[reads], "nothing"),
        calls: expectationOf(finishRows[withCalls], "calls"),
      });
    });
  });
}
