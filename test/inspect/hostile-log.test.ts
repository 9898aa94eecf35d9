// Logs that are made to exhaust the stack, the memory or the time of their readers.

import { describe, expect, it } from "vitest";
import { parseRunLog, toChromeTrace, toMarkdown } from "turnwright/inspect";
import { type Line, readEdited, startLine, streamLine } from "./edited-log.ts";

const began: readonly Line[] = [startLine(0), { ...streamLine, run: 0 }];
const call: Line = { run: 0, iteration: 0, callId: "c", name: "ask", index: 0 };
const ended = (result: unknown): Line => ({ ...call, type: "tool-end", outcome: "completed", result });
const user: Line = { role: "user", content: "Hello" };
const request = (more: Line): Line => ({ type: "request", run: 0, iteration: 0, keep: 0, add: [user, user], ...more });

function nest(levels: number, inner = "1"): unknown {
  return JSON.parse(`${"[".repeat(levels)}${inner}${"]".repeat(levels)}`);
}

/** Returns numbered values. Each value contains ten references to the previous value. */
function multiply(levels: number): readonly Line[] {
  return Array.from({ length: levels }, (_, level) => ({
    type: "tool-progress",
    ...call,
    data: { "=": [level, level === 0 ? ["a long text"] : Array.from({ length: 10 }, () => ({ "@": level - 1 }))] },
  }));
}

/** Returns runs. Each run is in a call of the previous run. */
function nestRuns(count: number): readonly Line[] {
  return Array.from({ length: count }, (_, run) => [
    startLine(run, run === 0 ? {} : { path: ["c"], parent: run - 1 }),
    { ...streamLine, run },
    { ...call, type: "tool-start", run },
  ]).flat();
}

describe("parseRunLog with a hostile log", () => {
  const refused: readonly (readonly [what: string, lines: readonly Line[], problem: RegExp])[] = [
    [
      "references that multiply the size of a value",
      [...began, ...multiply(40)],
      /line 11 refers to more than 16777216 values and characters/,
    ],
    ["a value with 3,000 levels of nesting", [...began, ended(nest(3_000))], /line 4 has a value of more than 1100 levels/],
    [
      "levels of nesting that add up through references",
      [...began, ended({ "=": [0, nest(1_000)] }), ended(nest(200, '{"@":0}'))],
      /line 5 has a value of more than 1100 levels/,
    ],
    ["a run that contains itself", [...began, startLine(1, { path: ["c"], parent: 1 })], /line 4 has no valid "parent"/],
    [
      "runs that contain each other",
      [...began, startLine(1, { path: ["c"], parent: 2 }), startLine(2, { path: ["c"], parent: 1 })],
      /line 4 has no valid "parent"/,
    ],
    [
      "a run that moves to another run",
      [...nestRuns(3), startLine(3, { path: ["c"], parent: 0 }), startLine(3, { path: ["c"], parent: 2 })],
      /line 12 has a different parent than before/,
    ],
    ["5,000 nested runs", nestRuns(5_000), /line 305 has a nested run inside more than 100 calls/],
    ...["length", "__proto__", 4_294_967_290, -1, 0.5, 2].map((index): readonly [string, readonly Line[], RegExp] => [
      `the index ${JSON.stringify(index)} in the field "replace"`,
      [...began, request({}), request({ keep: 2, add: [], replace: [[index, user]] })],
      /line 5 has an invalid index in "replace"/,
    ]),
  ];

  it.for(refused)("throws an error with the line number for %s", ([, lines, problem]) => {
    expect(() => readEdited(lines)).toThrow(problem);
  });

  it('throws an error with the line number for 10,000 nested arrays, "=" objects or "~" objects', () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"=":[1,', "]}"],
      ['{"~":{"a":', "}}"],
    ] as const) {
      const value = `${open.repeat(10_000)}1${close.repeat(10_000)}`;
      expect(() => parseRunLog(`{"type":"log","at":0,"version":1}\n{"type":"notice","at":0,"run":0,"text":${value}}\n`)).toThrow(
        /line 2 has a value of more than 1100 levels/,
      );
    }
  });
});

describe("parseRunLog with a large log", () => {
  it("reads values with 1,000 levels of nesting, even in messages", () => {
    const results = [{ callId: "c", name: "ask", outcome: "completed", result: { "@": 0 } }];
    const run = readEdited([...began, ended({ "=": [0, nest(1_000)] }), request({ add: [{ role: "tool", results }] })]);
    expect(JSON.stringify(run.iterations[0]?.request?.messages())).toContain(`${"[".repeat(1_000)}1]`);
  });

  it("reads a reference to a single string of 17,000,000 characters", () => {
    const long = "x".repeat(17_000_000);
    const run = readEdited([...began, ended({ "=": [0, long] }), request({ add: [{ role: "user", content: { "@": 0 } }] })]);
    expect(run.iterations[0]?.request?.messages()).toEqual([{ role: "user", content: long }]);
  });

  it("reads 100 nested runs", () => {
    const run = readEdited(nestRuns(101));
    expect(toMarkdown(run).match(/# Nested run/g)).toHaveLength(100);
  });
});

describe("the inspect functions with an extreme log", () => {
  const count = 50_000;
  const many = (lineOf: (index: number) => Line): readonly Line[] => Array.from({ length: count }, (_, index) => lineOf(index));

  it("read 50,000 lines of one output", () => {
    const run = readEdited([
      ...began,
      ...many(() => ({ type: "output", run: 0, iteration: 0, text: "a", providerMetadata: [1] })),
    ]);
    expect(run.iterations[0]?.output?.providerMetadata).toHaveLength(count);
    expect(run.iterations[0]?.output?.text).toHaveLength(count);
  });

  it("read 50,000 repeated streams", () => {
    const run = readEdited([startLine(0), ...many(() => ({ ...streamLine, run: 0 }))]);
    expect(run.iterations).toHaveLength(count);
  });

  it("write 50,000 iterations to a transcript and a trace", () => {
    const streams = many((iteration) => ({ ...streamLine, run: 0, iteration }));
    const run = readEdited([startLine(0), ...streams.flatMap((line) => [line, { ...line, type: "iteration-end" }])]);
    expect(toMarkdown(run).match(/^## Iteration/gm)).toHaveLength(count);
    const trace = toChromeTrace({ version: 1, source: "log", runs: [run], isTorn: false });
    expect(trace.match(/"cat":"iteration"/g)).toHaveLength(count);
  });

  it("read 50,000 runs", () => {
    const lines = many((run) => startLine(run)).map((line) => `${JSON.stringify({ at: 5, ...line })}\n`);
    const log = parseRunLog(['{"type":"log","version":1,"at":1}\n', ...lines].join(""));
    expect(log.runs).toHaveLength(count);
    expect(JSON.parse(toChromeTrace(log))).toMatchObject({ otherData: { startedAt: "1970-01-01T00:00:00.005Z" } });
  });

  it("show 4,000 characters of each result that is long because of references", () => {
    const results = Array.from({ length: 300 }, (_, index) => ({ ...ended({ "@": 5 }), callId: `c${index}` }));
    const run = readEdited([...began, ...multiply(6), ...results]);
    expect(toMarkdown(run).match(/_The first 4,000 of more than 100,000 characters._/g)).toHaveLength(300);
  });
});

describe("toMarkdown", () => {
  it.for([[[]], [{}], [[[], {}, [1, { a: null, b: ["x\n", true] }]]], [{ "": { '"': 0.5 } }], ["text"], [null]])(
    "writes the result %j to the transcript",
    ([data]) => {
      const shown = typeof data === "string" ? data : JSON.stringify(data, undefined, 2);
      expect(toMarkdown(readEdited([...began, ended(data)]))).toContain(`\n${shown}\n`);
    },
  );
});
