import type { EndReason, LoopStatus } from "turnwright";
import type { LoggedRun } from "turnwright/inspect";
import { describe, expect, it } from "vitest";
import { type Connection, describeEnding } from "../../../src/inspect/ui/model/describe-ending.ts";
import { formatLocalTime, formatMs, formatShare, formatTime, formatUSD } from "../../../src/inspect/format.ts";
import { formatValue } from "../../../src/inspect/ui/model/format-value.ts";
import { parseRoute, toLink } from "../../../src/inspect/ui/route.ts";

const say = (fields: Partial<LoggedRun>, connection?: Connection): string => {
  const { sentence, detail, tone } = describeEnding(fields as LoggedRun, connection);
  return [tone, sentence, ...(detail === undefined ? [] : [detail])].join(" | ");
};

const error = { name: "Error", message: "Broken", code: "server", retryable: true } as const;
const call = { id: "c", callId: "c", name: "pay", args: {}, waitsFor: "approval" } as const;

const endings: readonly (readonly [status: LoopStatus, reason: EndReason, said: string])[] = [
  ["completed", { kind: "answered" }, "ok | Completed: the model answered."],
  ["completed", { kind: "refusal" }, "warn | Completed: the model declined to answer."],
  ["error", { kind: "provider-error", error }, "bad | Failed: the provider reported an error (server). | Broken"],
  ["error", { kind: "tool-error-cap", count: 5 }, "bad | Failed: 5 tool errors in a row."],
  [
    "error",
    { kind: "invalid-output", issues: [{ message: "No number", path: ["a", 0] }], attempts: 2 },
    "bad | Failed: the answer did not fit the schema, 2 times in a row. | a.0: No number",
  ],
  [
    "error",
    { kind: "max-cost", limitUSD: 0.1, spentUSD: 0.099_998 },
    "bad | Failed: the next request would exceed $0.1000. $0.099998 were spent.",
  ],
  [
    "error",
    { kind: "max-cost", limitUSD: 2, spentUSD: 1.5 },
    "bad | Failed: the next request would exceed $2.00. $1.50 were spent.",
  ],
  ["timeout", { kind: "stream-idle", limitMs: 120_000 }, "bad | Timed out: a stream was silent for 2 min 0 s."],
  ["stopped-by-user", { kind: "aborted", reason: error }, "warn | Aborted by the caller's signal. | Broken"],
  ["suspended", { kind: "approval-required", calls: [call] }, "wait | Suspended: 1 call waits for a decision."],
  ["suspended", { kind: "result-required", calls: [call, call] }, "wait | Suspended: 2 calls wait for a result."],
];

describe("the inspect page: the sentence about how a run ended", () => {
  const rows = endings.map(([status, reason, said]) => [status, reason.kind, said, reason] as const);
  it.for(rows)('describes the status "%s" with the reason "%s" as "%s"', ([status, , said, reason]) => {
    expect(say({ status, reason })).toBe(said);
  });

  it("names a rejected run's error", () => {
    const rejected = { name: "LoopError", message: "Is locked", code: "journal-locked" };
    expect(say({ error: rejected })).toBe("bad | Rejected with an error (journal-locked). | LoopError: Is locked");
    expect(say({})).toBe("wait | No end in the log: still running, or its process died.");
    expect(say({}, "live")).toBe("wait | Running: the log has no end yet.");
    expect(say({}, "lost")).toBe("wait | Disconnected: the server has stopped. The run may still be running.");
  });

  it("shows an unknown status and an unknown reason unchanged", () => {
    const reason = { kind: "constructor" } as unknown as EndReason;
    expect(say({ status: "later" as LoopStatus, reason })).toBe('plain | Ended as "later". | constructor');
    const broken = { kind: "provider-error" } as EndReason;
    expect(say({ status: "error", reason: broken })).toBe('bad | Ended as "error". | provider-error');
  });
});

describe("the inspect page: links", () => {
  it("lead to events, runs and comparisons", () => {
    expect(parseRoute("", 1)).toEqual({ kind: "run", run: 1, key: "" });
    expect(parseRoute("", 2)).toEqual({ kind: "start" });
    expect(parseRoute("#i3/tool/1/i0", 1)).toEqual({ kind: "run", run: 1, key: "i3/tool/1/i0" });
    expect(parseRoute("#r2/i3.2", 2)).toEqual({ kind: "run", run: 2, key: "i3.2" });
    expect(parseRoute("#compare/r1/r2", 2)).toEqual({ kind: "compare", left: 1, right: 2 });
    expect(parseRoute(toLink({ run: 2, key: "i1" }, 3), 3)).toEqual({ kind: "run", run: 2, key: "i1" });
    expect(parseRoute(toLink({ run: 1, key: "i1" }, 1), 1)).toEqual({ kind: "run", run: 1, key: "i1" });
  });

  it.each([
    ["#r3", 2],
    ["#r0/i1", 2],
    ["#i1", 2],
    ["#compare/r1/r9", 2],
    ["#compare/r1", 2],
    ["#i1", 0],
  ])('to "%s" have the kind "unknown" if the page has %i runs', (hash, count) => {
    expect(parseRoute(hash, count)).toEqual({ kind: "unknown", link: hash.slice(1) });
  });
});

describe("the inspect page: number and value formats", () => {
  it.each([
    [0.4, "0 ms"],
    [999, "999 ms"],
    [4250, "4.25 s"],
    [42_123, "42.1 s"],
    [192_000, "3 min 12 s"],
    [7_500_000, "2 h 5 min"],
    [270_000_000, "3 d 3 h"],
  ])('show %d ms as "%s"', (ms, said) => {
    expect(formatMs(ms)).toBe(said);
  });

  it("show small amounts of money with four digits", () => {
    expect([0, 0.01234, 1.5].map(formatUSD)).toEqual(["$0.0000", "$0.0123", "$1.50"]);
  });

  it("show shares with three digits", () => {
    expect([0, 0.04249, 0.598, 1, 12.5].map(formatShare)).toEqual(["0%", "4.25%", "59.8%", "100%", "1250%"]);
  });

  it("show times as dates that can be sorted as text", () => {
    expect(formatTime(Date.UTC(2026, 10, 26, 9, 5, 3))).toBe("2026-11-26 09:05:03 UTC");
    expect(formatLocalTime(new Date(2026, 10, 26, 9, 5, 3).getTime())).toBe("2026-11-26 09:05:03");
    expect([formatTime(1e20), formatLocalTime(1e20)]).toEqual(["100000000000000000000", ""]);
  });

  it("show short values on one line, and long values on several lines", () => {
    expect(formatValue("as\nit is")).toBe("as\nit is");
    expect(formatValue({ a: [1, null, true], "b c": {} })).toBe('{ "a": [1, null, true], "b c": {} }');
    expect(formatValue({ list: ["x".repeat(80)], code: "a\n  b" })).toBe(
      ["{", '  "list": [', `    "${"x".repeat(80)}"`, "  ],", '  "code": """', "a", "  b", '"""', "}"].join("\n"),
    );
    expect(formatValue(JSON.parse('{"__proto__":{"x":1}}'))).toBe('{ "__proto__": { "x": 1 } }');
  });

  it("show a note instead of the deepest levels of a value", () => {
    const deep = `${"[".repeat(3000)}1${"]".repeat(3000)}`;
    expect(formatValue(JSON.parse(deep))).toContain("(nested too deeply to be shown)");
  });
});
