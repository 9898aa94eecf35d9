import { parseRunLog } from "turnwright/inspect";
import { describe, expect, it } from "vitest";
import { buildTree, type Entry, titleOf } from "../../../src/inspect/ui/model/entries.ts";
import { findHits, type Hit, patternOf } from "../../../src/inspect/ui/use-search.ts";
import { piecesOf } from "../../../src/inspect/ui/model/pieces.ts";
import { buildRows } from "../../../src/inspect/ui/model/rows.ts";
import { summarizeTime } from "../../../src/inspect/ui/model/time-axis.ts";
import { longLog } from "./long-log.ts";
import { nestedLog, ordinaryLog, suspendedLog } from "./sample-logs.ts";

type Fields = { readonly [name: string]: unknown };

const start = { type: "run-start", runId: "r", path: [], provider: "p", model: "m" };
const stream = (iteration: number, continuation = 0): Fields => ({ type: "iteration-start", iteration, continuation });
const call = { iteration: 0, callId: "c", name: "pay", index: 0 };
const output = (text: string, calls: readonly Fields[] = []): Fields => ({ type: "output", iteration: 0, text, calls });

function treeOf(...lines: readonly Fields[]): ReturnType<typeof buildTree> {
  const all = [{ type: "log", version: 1 }, start, ...lines].map((line, index) => ({ at: index * 100, run: 0, ...line }));
  const [run] = parseRunLog(all.map((line) => `${JSON.stringify(line)}\n`).join("")).runs;
  if (run === undefined) throw new Error("The log has no run.");
  return buildTree(run);
}

const treeOfText = (text: string): ReturnType<typeof buildTree> => {
  const [run] = parseRunLog(text).runs;
  if (run === undefined) throw new Error("The log has no run.");
  return buildTree(run);
};

const namesOf = (entries: readonly Entry[]): readonly string[] => entries.map((entry) => `${entry.key}: ${titleOf(entry)}`);
const textsOf = (entries: readonly Entry[], key: string): readonly string[] => {
  const entry = entries.find((one) => one.key === key);
  return entry === undefined
    ? []
    : piecesOf(entry)
        .filter(({ form }) => form !== "mark")
        .map(({ label, value }) => `${label}=${JSON.stringify(value)}`);
};

describe("the inspect page's transcript entries", () => {
  it("have different links for a continued stream and a repeated stream", () => {
    const { entries } = treeOf(
      stream(0),
      output("Half", [{ ...call, args: 1 }]),
      { type: "tool-start", ...call },
      stream(0),
      output("Again", [{ ...call, args: 1 }]),
      { type: "tool-start", ...call },
      { type: "tool-end", ...call, outcome: "completed", result: "ok" },
      stream(1),
      stream(1, 1),
    );
    expect(namesOf(entries)).toEqual([
      "i0: Iteration 0",
      "i0/tool/0: pay",
      "i0.2: Iteration 0, repeated",
      "i0.2/tool/0: pay",
      "i1: Iteration 1",
      "i1.2: Iteration 1, continued",
      "end: No end in the log: still running, or its process died.",
    ]);
    expect(buildRows(treeOf(stream(0), output("Half", [call]), { type: "tool-start", ...call }, stream(0)))).toMatchObject([
      { key: "i0" },
      { key: "i0/tool/0", note: "no end in the log", wholeNote: "no end in the log, may have run" },
      { key: "i0.2" },
    ]);
  });

  it("contain notices and unknown lines in the order of the log", () => {
    const { entries } = treeOf(
      { type: "notice", kind: "later-kind", iteration: 0 },
      stream(0),
      { type: "masked", iteration: 0, calls: ["a", "b"], tokensBefore: 9000, tokensAfter: 20 },
      { type: "steered", iteration: 0, message: { role: "user", content: "Hurry" } },
      output("Done."),
      { type: "request-adjusted", iteration: 0, provider: "p", model: "m", changes: [{ field: "temperature" }] },
      { type: "loop-detected", iteration: 0, toolName: "pay", count: 3, cycle: 1, action: "warn" },
      { type: "new-event", iteration: 0, value: 7 },
    );
    expect(namesOf(entries).slice(0, -1)).toEqual([
      "start/note/0: Notice for the user: later-kind",
      "i0/note/0: Cleared 2 old results from this and later requests, 9,000 to 20 tokens",
      "i0/note/1: Message sent while the run worked",
      "i0: Iteration 0",
      "i0/note/2: The request that m read differs in 1 place",
      "i0/note/3: Loop detected: the same iteration occurred 3 times in a row, with a call of pay. The run continued.",
      "i0/note/4: new-event",
    ]);
    expect(textsOf(entries, "i0/note/1")).toEqual(['="Hurry"']);
    expect(textsOf(entries, "i0/note/4")[0]).toContain('"value":7');
  });

  it("show a tool's result next to the result that the model received", () => {
    const results = [{ callId: "c", name: "pay", outcome: "completed", result: "short" }];
    const request = { type: "request", provider: "p", model: "m", keep: 0 };
    const { entries, facts } = treeOf(
      stream(0),
      { ...request, iteration: 0, add: [{ role: "user", content: "Go." }] },
      output("", [{ ...call, args: {} }]),
      { type: "tool-start", ...call },
      { type: "tool-end", ...call, outcome: "completed", result: "long ".repeat(9) },
      { type: "result-extracted", ...call, tokensBefore: 12, tokensAfter: 2 },
      stream(1),
      {
        ...request,
        iteration: 1,
        keep: 1,
        add: [
          { role: "tool", results },
          { role: "user", content: "You repeat yourself." },
        ],
      },
      { type: "masked", iteration: 1, calls: ["c"], tokensBefore: 12, tokensAfter: 2 },
    );
    expect(textsOf(entries, "i0/tool/0")).toEqual([
      "Arguments={}",
      `Result=${JSON.stringify("long ".repeat(9))}`,
      'Result as sent to the model="short"',
    ]);
    expect([...facts.calls.values()][0]).toMatchObject({ sent: "short", clearedBy: 1, changes: [{ type: "result-extracted" }] });
    expect(namesOf(entries)).toContain("i1/message/1: User message, added to the request");
  });

  it("say that arguments were malformed or truncated", () => {
    const argsOf = (problem: string): readonly string[] =>
      textsOf(treeOf(stream(0), output("", [{ ...call, args: {}, problem }])).entries, "i0/tool/0");
    expect(argsOf("malformed")[0]).toContain('Arguments="The arguments were not JSON.');
    expect(argsOf("truncated")[0]).toContain('Arguments="The arguments were cut off,');
    expect(argsOf("later")).toEqual(['Arguments="The arguments had a problem: later."']);
  });

  it("follow the outer call if they belong to its nested runs", async () => {
    const { entries } = treeOfText(await nestedLog());
    const inner = namesOf(entries).filter((name) => name.startsWith("i0/tool/0/"));
    expect(inner.slice(0, 5)).toEqual([
      "i0/tool/0/run: Nested run: mock mock-small",
      "i0/tool/0/message/0: User",
      "i0/tool/0/i0: Iteration 0",
      "i0/tool/0/i0/tool/0: search_web",
      "i0/tool/0/i0/tool/1: read_source",
    ]);
    expect(entries.filter(({ depth }) => depth === 2)[0]?.parents).toEqual(["i0/tool/0", "i0/tool/0/i0/tool/1"]);
  });
});

describe("the inspect page's timeline rows", () => {
  it("distinguish streaming, discarded attempts, waits and tools", async () => {
    const { run, ...tree } = treeOfText(await ordinaryLog());
    const rows = buildRows({ run, ...tree }).map(({ key, segments }) => [
      key,
      ...segments.map(({ kind, from, to }) => `${kind} ${from - run.startedAt}-${to - run.startedAt}`),
    ]);
    expect(rows.slice(0, 7)).toEqual([
      ["i0", "first 0-640", "stream 640-1360"],
      ["i0/tool/0", "tool 1360-2190"],
      ["i0/tool/1", "tool 1360-1620"],
      ["i1", "lost 2190-2280", "retry 2280-2980", "first 2980-3390", "stream 3390-3600"],
      ["i1/attempt/1", "lost 2190-2280"],
      ["i1/attempt/2", "first 2980-3390", "stream 3390-3600"],
      ["i1/tool/0", "tool 3600-3645"],
    ]);
  });

  it("mark only the last stream of a live run as running", () => {
    const notesOf = (isLive: boolean): readonly string[] =>
      buildRows(treeOf(stream(0), stream(0)), isLive).map(({ note }) => note);
    expect([notesOf(true), notesOf(false)]).toEqual([
      ["not ended", "running"],
      ["not ended", "not ended"],
    ]);
  });

  it("omit finished waits of less than 10 ms", () => {
    const waiting = (ms: number): readonly unknown[] => {
      const asked = { type: "approval-asked", at: 200, ...call };
      const tree = treeOf(stream(0), output("", [call]), asked, {
        type: "approval-decided",
        at: 200 + ms,
        decision: "approve",
        ...call,
      });
      return buildRows(tree)[1]?.segments.map(({ kind, from, to }) => [kind, to - from]) ?? [];
    };
    expect([waiting(9), waiting(10)]).toEqual([[], [["approval", 10]]]);
  });

  it("show the same durations for streams and calls as the transcript", () => {
    const { entries, ...tree } = treeOf(
      stream(0),
      output("", [call]),
      { type: "tool-start", ...call },
      { type: "tool-end", ...call, outcome: "completed", result: "ok", durationMs: 95 },
      { type: "iteration-end", iteration: 0, continuation: 0, status: "completed", durationMs: 118 },
    );
    expect(buildRows({ entries, ...tree }).map(({ key, ms }) => [key, ms])).toEqual([
      ["i0", 118],
      ["i0/tool/0", 95],
    ]);
    const open = treeOf(stream(0), output("", [call]), { type: "tool-start", ...call });
    expect(buildRows(open).map(({ ms }) => ms)).toEqual([100, 0]);
  });

  it("show the wait for an approval up to the decision or the end of the log", async () => {
    const kindsOf = async (days?: number): Promise<unknown> =>
      buildRows(treeOfText(await suspendedLog(days)))
        .find(({ key }) => key === "i0/tool/1")
        ?.segments.map(({ kind, from, to }) => [kind, to - from]);
    expect(await kindsOf()).toEqual([["approval", 300]]);
    expect(await kindsOf(3)).toEqual([
      ["approval", 3 * 24 * 3_600_000 + 300],
      ["tool", 800],
    ]);
  });
});

describe("the inspect page's time summary", () => {
  it("counts overlapping times of one kind only once", async () => {
    expect(summarizeTime(buildRows(treeOfText(await ordinaryLog())))).toEqual([
      "model: 3.26 s",
      "discarded attempts: 90 ms",
      "tools: 875 ms",
      "wait before the next attempt: 700 ms",
    ]);
    expect(summarizeTime(buildRows(treeOfText(await suspendedLog(3))))).toContain("wait for approval: 3 d 0 h");
  });
});

describe("the inspect page's search", () => {
  const search = (entries: readonly Entry[], query: string): readonly Hit[] => {
    const hits: Hit[] = [];
    expect([...findHits(entries, patternOf(query), hits)].length).toBeLessThanOrEqual(entries.length);
    return hits;
  };

  it("finds arguments, results, output, messages, the system text and errors", async () => {
    const { entries } = treeOfText(await ordinaryLog());
    const keysOf = (query: string): readonly string[] => search(entries, query).map(({ key, piece }) => `${key} ${piece}`);
    expect(keysOf("TEA SHOP")).toEqual(["system text"]);
    expect(keysOf("organic one")).toEqual(["message/1 part/0"]);
    expect(keysOf('"warehouse": "north"')).toEqual(["i0/tool/1 args"]);
    expect(keysOf("Saemidori")).toEqual(["i0/tool/0 result"]);
    expect(keysOf("customer asks")).toEqual(["i0 reasoning"]);
    expect(keysOf("try again later")).toEqual(["i1 attempt/1/error"]);
    expect(keysOf("The tool read_stock of")).toEqual(["i0 request/tools"]);
    expect(keysOf("read_file")).toEqual(["i0 request/tools", "i0 request/tools", "i1/tool/0 title"]);
    expect(keysOf("mock-model")).toEqual(["i0 model", "i1 model", "i2 model"]);
    expect(keysOf("call_i1_0")).toEqual(["i1/tool/0 call-id"]);
    expect(keysOf(".*")).toEqual([]);
  });

  it("stops at 10,000 hits", async () => {
    const { entries } = treeOfText(await longLog(40, { resultLength: 20_000 }));
    expect(search(entries, "the")).toHaveLength(10_000);
  });
});
