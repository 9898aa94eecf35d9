import { describe, expect, it } from "vitest";
import { FatalToolError, isFatalToolError } from "../../core/tools/tool-result.ts";
import { isLoopError, LoopError } from "./loop-error.ts";

describe("LoopError", () => {
  it.for<[what: string, error: LoopError, message: string]>([
    [
      "an option with an invalid value",
      new LoopError("invalid-option", {
        option: "limits.maxIterations",
        expected: "a whole number of at least 1",
        received: "0",
      }),
      'Option "limits.maxIterations" is 0, but must be a whole number of at least 1.',
    ],
    ["an unknown option", new LoopError("unknown-option", { option: "maxTurns" }), 'There is no option "maxTurns".'],
    [
      "a misspelled option",
      new LoopError("unknown-option", { option: "limit", nearest: "limits" }),
      'There is no option "limit". Did you mean "limits"?',
    ],
    [
      "two tools with the same name",
      new LoopError("duplicate-tool", { toolName: "search" }),
      'There are two tools named "search": rename one, or prefix its registry with withPrefix.',
    ],
    [
      "an invalid tool",
      new LoopError("invalid-tool", { toolName: "search", problem: "has no description" }),
      'Tool "search" has no description.',
    ],
    [
      "an invalid input schema",
      new LoopError("invalid-schema", { toolName: "search", problem: "is not JSON" }),
      'The input schema of tool "search" is not JSON.',
    ],
    [
      "an invalid message",
      new LoopError("invalid-messages", { index: 2, problem: "answers a call that nobody made" }),
      "Message 2 answers a call that nobody made.",
    ],
    [
      "a control that is already in use",
      new LoopError("already-running", { what: "control" }),
      "This control already belongs to a running loop. Use another control.",
    ],
    [
      "a runId that is already in use",
      new LoopError("already-running", { what: "runId", runId: "r1" }),
      'Run "r1" is already running in this process. Use another runId.',
    ],
    [
      "a journal with a different runId",
      new LoopError("journal-mismatch", { field: "runId", expected: "r1", received: "r2" }),
      "The journal was written by a different run: its runId is r2, but this run has r1. Use the journal of this run.",
    ],
    [
      "a journal that began with different messages",
      new LoopError("journal-mismatch", { field: "messagesDigest", expected: "a1", received: "b2" }),
      "The journal began with different messages. Pass inspectJournal(...).initialMessages, not the result's messages. A new question needs a new journal and runId.",
    ],
    [
      "a decision about a call that is not among the waiting calls",
      new LoopError("unknown-decision", { call: "c1", waiting: ["c2", "c2/c3"] }),
      'Call "c1" is not waiting for a decision or a result. Use the id of a waiting call: "c2", "c2/c3".',
    ],
    [
      "a decision passed when no call is waiting",
      new LoopError("unknown-decision", { call: "c1" }),
      'Call "c1" is not waiting for a decision or a result. Pass the journal of the suspended run, and an "id" from its "reason.calls" or from inspectJournal.',
    ],
    [
      "a decision of the wrong kind",
      new LoopError("invalid-decision", { call: "c1", waitsFor: "result", problem: 'is "approve"' }),
      'The decision about call "c1" is "approve". Pass { kind: "result", result } or { kind: "failed", error }. The call is still waiting.',
    ],
    [
      "a journal that is locked by a process on the same machine",
      new LoopError("journal-locked", {
        path: "runs/a.jsonl",
        lockPath: "/runs/a.jsonl.lock",
        pid: 7,
        host: "ship",
        isVisible: true,
      }),
      'The journal runs/a.jsonl is locked by process 7 on "ship". Wait until it ends. If it has ended, or its id now belongs to another program, remove /runs/a.jsonl.lock.',
    ],
    [
      "a journal that is locked by a process on another machine",
      new LoopError("journal-locked", {
        path: "runs/a.jsonl",
        lockPath: "/runs/a.jsonl.lock",
        pid: 7,
        host: "ship",
        isVisible: false,
      }),
      'The journal runs/a.jsonl is locked by process 7 on "ship", in another container or machine. Wait until it ends. If it has ended, or its id now belongs to another program, remove /runs/a.jsonl.lock.',
    ],
    [
      "a file that cannot be a journal",
      new LoopError("journal-refused", { path: "runs/a.jsonl", problem: "it is not a plain file" }),
      "The file runs/a.jsonl cannot be used as a journal: it is not a plain file.",
    ],
    [
      "a damaged journal",
      new LoopError("journal-damaged", { path: "runs/a.jsonl", line: 3, problem: "is not what was written" }),
      "The journal runs/a.jsonl is damaged: line 3 is not what was written. Use an unchanged copy.",
    ],
    [
      "a damaged run log",
      new LoopError("log-damaged", { path: "run.jsonl", line: 3, problem: "line 3 is not JSON. Restore the file from a copy" }),
      "run.jsonl: line 3 is not JSON. Restore the file from a copy.",
    ],
    [
      "text that is not a run log",
      new LoopError("log-damaged", {
        path: "run log",
        line: 1,
        problem: "line 1 is not the header of a run log. Check the path",
      }),
      "run log: line 1 is not the header of a run log. Check the path.",
    ],
    [
      "a run that cannot be retried",
      new LoopError("rerun-refused", { iteration: 3, problem: "the run has iterations 0 to 2. Choose one of these" }),
      "The run cannot be repeated from iteration 3: the run has iterations 0 to 2. Choose one of these.",
    ],
    [
      "a journal that is not open",
      new LoopError("journal-closed", { path: "runs/a.jsonl" }),
      'The journal runs/a.jsonl is not open. Call its "open" method first.',
    ],
    [
      "a replay of an unfinished journal",
      new LoopError("journal-incomplete", { key: "i0/model" }),
      'Step "i0/model" is not recorded, and a replay runs no new steps: use the journal of a finished run.',
    ],
    [
      "tools that changed after their calls were recorded",
      new LoopError("tools-changed", {
        changed: ["search", "x".repeat(100)],
        changes: [
          { toolName: "search", kind: "type-changed", field: "limit", was: "number", now: "string" },
          { toolName: "search", kind: "required-field-added", field: "to" },
          { toolName: "x".repeat(100), kind: "removed" },
        ],
      }),
      `Recorded calls no longer fit their tools: "search" has a different type in "limit": now string, before number; "search" requires the field "to"; "${"x".repeat(64)}…" was removed. Restore the tools, or use "allowToolChange".`,
    ],
  ])("has a message about %s", ([, error, message]) => {
    expect(error.message).toBe(message);
    expect(error).toMatchObject({ name: "LoopError", stack: expect.stringContaining(message) });
  });

  it("has a code, details and a cause", () => {
    const cause = new Error("no dates");
    const error = new LoopError("invalid-schema", { toolName: "a", problem: "b" }, { cause });
    expect({ code: error.code, details: error.details, cause: error.cause }).toEqual({
      code: "invalid-schema",
      details: { toolName: "a", problem: "b" },
      cause,
    });
  });
});

describe("isLoopError", () => {
  const error = new LoopError("duplicate-tool", { toolName: "a" });
  const brand = Symbol.for("turnwright.LoopError");

  it("recognizes an error from any copy of the package by its brand", () => {
    expect(isLoopError(error)).toBe(true);
    expect(
      isLoopError(Object.assign(new Error("from another copy"), { [brand]: true, code: "duplicate-tool" }), "duplicate-tool"),
    ).toBe(true);
  });

  it("compares the code of the error if a code is given", () => {
    expect(isLoopError(error, "duplicate-tool")).toBe(true);
    expect(isLoopError(error, "invalid-tool")).toBe(false);
  });

  it.for<[value: unknown]>([
    [new Error("x")],
    [{ name: "LoopError", code: "duplicate-tool" }],
    [null],
    [undefined],
    ["LoopError"],
  ])("returns false for the value $0", ([value]) => {
    expect(isLoopError(value)).toBe(false);
    expect(isLoopError(value, "duplicate-tool")).toBe(false);
  });
});

describe("FatalToolError", () => {
  it("is recognized by its brand and keeps its cause", () => {
    const error = new FatalToolError("gone", { cause: "later" });
    expect(error).toMatchObject({ name: "FatalToolError", message: "gone", cause: "later" });
    expect(isFatalToolError(error)).toBe(true);
    expect(isFatalToolError({ [Symbol.for("turnwright.FatalToolError")]: true })).toBe(true);
  });

  it.for<[value: unknown]>([[new Error("x")], [{ name: "FatalToolError" }], [null], ["FatalToolError"]])(
    "is distinguished from the value $0 by isFatalToolError",
    ([value]) => {
      expect(isFatalToolError(value)).toBe(false);
    },
  );
});
