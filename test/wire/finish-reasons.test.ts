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
  readonly cause: string;
  readonly outcome: string;
  readonly word: string;
  readonly row: FinishRow;
  readonly rowWithCalls: FinishRow;
}

const endings = {
  lost: "the stream ends without a stop reason",
  dropped: "the connection drops",
  broken: "the stream reports an error",
} as const;

/** Some services use one stop reason for several endings. These words say which ending is meant. */
const contexts: { readonly [Name in End]?: string } = { tools: " after tool calls", refusal: " after a refusal" };

const isCut = (end: End): end is keyof typeof endings => end === "lost" || end === "dropped" || end === "broken";
const causeOf = (end: End, word: string): string => {
  if (!isCut(end)) return `the service reports the stop reason "${word}"${contexts[end] ?? ""}`;
  return end === "broken" && word !== "an error" ? `${endings[end]} in the event "${word}"` : endings[end];
};
const outcomeOf = (reads: End): string => {
  const { finish } = finishRows[reads];
  if (finish === undefined) return "no finish reason";
  return isCut(reads) ? `the error "${finish}"` : `the finish reason "${finish}"`;
};

/** Lists the values that a service sends for each ending, the most common value first. */
function cellsOf({ ends }: Adapter): readonly (readonly Cell[])[] {
  return listEnds(ends).map(({ end, words }) =>
    words.map((said) => {
      const { word, reads, withCalls = reads } = typeof said === "string" ? { word: said, reads: end } : said;
      const titles = { cause: causeOf(end, word), outcome: outcomeOf(reads) };
      return { ...titles, end, word, row: finishRows[reads], rowWithCalls: finishRows[withCalls] };
    }),
  );
}

const statusOf = ({ row }: Cell): string => row.text.replace(/^(\S+) (\S+), .*/, 'the status "$1" and the reason "$2"');

for (const adapter of adapters) {
  describe(`${adapter.name}: the end of a stream`, () => {
    it.for(cellsOf(adapter).flatMap((cells) => cells.map((cell) => [cell.outcome, cell.cause, cell] as const)))(
      "gives %s if %s",
      async ([, , { end, word, row, rowWithCalls }]) => {
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

// The loop sees only the finish reason, so one value of the service for each finish reason is enough.
for (const adapter of [...vendorAdapters, ...specAdapters]) {
  describe(`runToolLoop with ${adapter.name}`, () => {
    it.for(cellsOf(adapter).flatMap((cells) => cells.slice(0, 1).map((cell) => [statusOf(cell), cell.cause, cell] as const)))(
      "after text, ends with %s if %s",
      async ([, , { end, word, row, rowWithCalls }]) => {
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
