import { describe, expect, it } from "vitest";
import { approve, defineTool, type LoopOptions, maskResults, withRetry } from "turnwright";
import { parseRunLog } from "turnwright/inspect";
import { chunk, createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { problemsOf } from "./line-problems.ts";
import { logRun } from "./log-run.ts";

const lookUp = defineTool({
  name: "look_up",
  description: "Looks up",
  inputSchema: { type: "object" },
  execute: (_args, context) => (context.progress(1), context.emit({ type: "text", text: "t" }), "x".repeat(300)),
});

const runs: readonly (readonly [what: string, options: Omit<LoopOptions, "messages">])[] = [
  [
    "masking, approvals and progress",
    {
      provider: createMockProvider(({ iteration }) => (iteration < 4 ? toolCall("look_up", { "@": iteration }) : text("Done."))),
      tools: [lookUp],
      middleware: [maskResults({ keepIterations: 1, minTokens: 0 }), approve(() => ({ kind: "approve" }))],
    },
  ],
  [
    "an adjusted request",
    {
      provider: createMockProvider([
        [
          chunk({
            type: "request-adjusted",
            changes: [{ by: "adapter", field: "temperature", action: "removed", reason: "unsupported" }],
          }),
          text("Done."),
        ],
      ]),
    },
  ],
  ["attempts", { provider: withRetry(createMockProvider([fail({ status: 503 }), text("Done.")]), { baseDelayMs: 0 }) }],
];

describe("docs/run-log.schema.json", () => {
  it.for(runs)("accepts each line of a run with %s", async ([, options]) => {
    const { lines } = await logRun({ messages: [{ role: "user", content: "Go." }], ...options });
    for (const line of lines) expect([line, await problemsOf(line)]).toEqual([line, []]);
  });

  it.for([
    '{"type":"log","at":1,"version":2}',
    '{"type":"request","at":1,"run":0,"iteration":0,"continuation":0,"provider":"p","model":"m","add":[]}',
    '{"type":"first-token","at":1,"run":0,"iteration":0,"continuation":0,"kind":"image"}',
    '{"type":"run-end","run":0}',
    '{"type":"unknown","at":1,"run":0}',
    '{"type":"run-error","at":1,"run":0,"error":{"@":"seven"}}',
  ])("rejects the line %s", async (line) => {
    expect(await problemsOf(line)).not.toEqual([]);
  });
});

const header = '{"type":"log","at":1,"version":1}\n';
const first = '{"type":"run-start","at":1,"run":0,"runId":"r","provider":"p","model":"m"}\n';
const begun = '{"type":"iteration-start","at":1,"run":0,"iteration":0,"continuation":0}\n';

describe("parseRunLog", () => {
  it.for<readonly [what: string, log: string, line: number, problem: string]>([
    ["a file that is not a log", "hello\n", 1, "is not JSON"],
    ["a log without its header", first, 1, "is not the header"],
    [
      "a log from a newer version",
      '{"type":"log","at":1,"version":2}\n',
      1,
      "has version 2, but this release reads version 1. Update turnwright",
    ],
    ["a damaged line", `${header}${first}{"type":\n${begun}`, 3, "is not JSON"],
    ["a line without a time", `${header}{"type":"run-start"}\n`, 2, 'has no "type" or no "at"'],
    ["a line about a run that has not started", `${header}${begun}`, 2, "is about a run without a run-start line"],
    [
      "a line about an iteration that has not started",
      `${header}${first}{"type":"output","at":1,"run":0,"iteration":4,"continuation":0}\n`,
      3,
      "has not started",
    ],
    [
      "a reference to a missing value",
      `${header}${first}{"type":"run-error","at":1,"run":0,"error":{"@":7}}\n`,
      3,
      "has a reference to a value that is not in the log",
    ],
    [
      "a reference to an invalid value",
      `${header}${first}{"type":"run-error","at":1,"run":0,"error":{"=":7}}\n`,
      3,
      "has a reference to a value",
    ],
    [
      "a request with too many messages",
      `${header}${first}${begun}{"type":"request","at":1,"run":0,"iteration":0,"continuation":0,"keep":9,"add":[]}\n`,
      4,
      "keeps more messages",
    ],
    [
      "an invalid run number",
      `${header}{"type":"run-start","at":1,"run":5,"runId":"r","provider":"p","model":"m"}\n`,
      2,
      "has the wrong run number",
    ],
    [
      "an invalid call id",
      `${header}${first}${begun}{"type":"tool-end","at":1,"run":0,"iteration":0,"callId":7}\n`,
      4,
      'has no valid "callId"',
    ],
  ])('throws "log-damaged" with the line number for %s', ([, log, line, problem]) => {
    expect(() => parseRunLog(log)).toThrow(
      expect.objectContaining({
        code: "log-damaged",
        details: expect.objectContaining({ line }),
        message: expect.stringContaining(problem),
      }),
    );
  });

  it("ignores unknown lines and fields", () => {
    const { runs: found } = parseRunLog(`${header}${first}{"type":"new-line","at":2,"run":0,"field":1}\n`);
    expect(found[0]?.lines).toHaveLength(2);
  });

  it("reads an empty log and a log with a truncated header", () => {
    expect(parseRunLog("")).toEqual({ version: 1, source: "log", runs: [], isTorn: false });
    expect(parseRunLog(header.slice(0, 5))).toEqual({ version: 1, source: "log", runs: [], isTorn: true });
  });
});
