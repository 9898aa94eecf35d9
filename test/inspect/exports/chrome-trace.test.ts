import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defineAgentTool, defineTool } from "turnwright";
import { toChromeTrace } from "turnwright/inspect";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { clock, logRun, optionsFor } from "../log-run.ts";
import { call, calls, ended, parallelLog, place, request, start, usage } from "./parallel-log.ts";
import { completeEvents, drawTrace, expectNested, logOf, readTrace, traceOf } from "./trace-events.ts";

describe("toChromeTrace", () => {
  it("puts parallel calls, waits and nested runs on separate lanes", () => {
    expect(drawTrace(traceOf(parallelLog()))).toMatchInlineSnapshot(`
      "
      1/1 main
        run 0-100
          iteration 0 2-95
            stream m 5-30
            wait for other calls 30-32
            tool_a 32-50
            wait for other calls 70-71
            tool_c 71-90
      1/2 parallel 1
        wait for other calls 30-33
        tool_b 33-80
          nested run 34-61
            iteration 0 35-60
      1/3 parallel 2
        wait for approval 31-70
      "
    `);
  });

  it("counts the tokens and cost of all streams", () => {
    const events = traceOf(parallelLog());
    expect(events.filter(({ ph }) => ph === "C").map(({ name, ts, args }) => [name, ts, args])).toEqual([
      ["tokens", 60_000, { input: 10, output: 5 }],
      ["cost", 60_000, { USD: 0.5 }],
      ["tokens", 95_000, { input: 20, output: 10 }],
      ["cost", 95_000, { USD: 1 }],
    ]);
    expect(events.filter(({ ph }) => ph === "i").map(({ name, ts, tid }) => [name, ts, tid])).toEqual([
      ["first token", 10_000, 1],
    ]);
  });

  it("adds ids, models, usage and statuses to events", () => {
    const trace = toChromeTrace(parallelLog());
    const events = readTrace(trace);
    expect(events.filter(({ ph }) => ph === "M").map(({ name, tid, args }) => [name, tid, Object.values(args)[0]])).toEqual([
      ["process_name", undefined, "run r"],
      ["process_sort_index", undefined, 1],
      ["thread_name", 1, "main"],
      ["thread_sort_index", 1, 0],
      ["thread_name", 2, "parallel 1"],
      ["thread_sort_index", 2, 1],
      ["thread_name", 3, "parallel 2"],
      ["thread_sort_index", 3, 2],
    ]);
    expect(completeEvents(events).find(({ name }) => name === "tool_a")).toMatchObject({
      cat: "tool",
      args: { callId: "a", iteration: 0, index: 0, outcome: "completed" },
    });
    expect(completeEvents(events).find(({ cat }) => cat === "iteration")?.args).toMatchObject({ status: "tool-calls", usage });
    expect(JSON.parse(trace)).toMatchObject({ displayTimeUnit: "ms", otherData: { startedAt: "1970-01-01T00:16:40.000Z" } });
  });

  it("includes text from the run only if captureContent is true", () => {
    expect(toChromeTrace(parallelLog())).not.toContain("secret");
    expect(toChromeTrace(parallelLog(), { captureContent: true })).toContain("secret");
  });

  it("includes attempts, and the waits between attempts", () => {
    const error = { code: "overloaded", message: "busy" };
    const attempt = (at: number, number: number): { type: string; at: number; [field: string]: unknown } => ({
      at,
      type: "attempt-start",
      ...place,
      attempt: number,
      provider: "p",
      model: "m",
    });
    const log = logOf([
      { at: 0, ...start },
      { at: 1, type: "iteration-start", ...place },
      { at: 2, ...request },
      attempt(3, 0),
      { at: 10, type: "attempt-discarded", ...place, attempt: 0, error },
      attempt(20, 1),
      { at: 30, type: "output", ...place, text: "So.", finish: "stop" },
      { at: 31, type: "iteration-end", ...place, ...ended },
      { at: 32, type: "run-end", status: "completed", reason: { kind: "answered" }, usage },
    ]);
    expect(drawTrace(traceOf(log))).toMatchInlineSnapshot(`
      "
      1/1 main
        run 0-32
          iteration 0 1-31
            stream m 2-30
              attempt 0 3-10
              wait before the next attempt 10-20
              attempt 1 20-30
      "
    `);
    expect(traceOf(log).find(({ name }) => name === "attempt 0")?.args["error"]).toBe("overloaded");
  });

  it("includes each execution of a suspended run", () => {
    const log = logOf([
      { at: 0, ...start },
      { at: 1, type: "iteration-start", ...place },
      { at: 2, ...request },
      { at: 10, type: "output", ...place, finish: "tool-calls", ...calls("a") },
      { at: 11, type: "approval-asked", ...call("a", 0), args: {} },
      { at: 12, type: "iteration-end", ...place, ...ended },
      { at: 13, type: "run-end", status: "suspended", reason: { kind: "approval-required", calls: [] }, usage },
      { at: 1000, ...start },
      { at: 1001, type: "approval-decided", ...call("a", 0), decision: "approve" },
      { at: 1002, type: "tool-start", ...call("a", 0), args: {} },
      { at: 1050, type: "tool-progress", ...call("a", 0), data: 1 },
    ]);
    expect(drawTrace(traceOf(log))).toMatchInlineSnapshot(`
      "
      1/1 main
        run 0-13
          iteration 0 1-12
            stream m 2-10
        run 1000-1050
      1/2 parallel 1
        wait for approval 11-1001
        wait for other calls 1001-1002
        tool_a 1002-1050
      "
    `);
    expect(traceOf(log).find(({ name }) => name === "tool_a")?.args["open"]).toBe(true);
  });

  it("returns an empty list of events for an empty log", () => {
    expect(JSON.parse(toChromeTrace(logOf([])))).toEqual({ traceEvents: [], displayTimeUnit: "ms", otherData: {} });
  });

  it("nests the events of a real run correctly, even events without a duration", async () => {
    const inner = defineAgentTool({
      name: "ask",
      description: "",
      inputSchema: { type: "object" },
      prepare: () => ({
        provider: createMockProvider([[toolCall("look", {}), toolCall("look", {})], text("Inside.")]),
        tools: [defineTool({ name: "look", description: "", inputSchema: { type: "object" }, execute: () => 1 })],
        messages: [{ role: "user", content: "Go." }],
      }),
    });
    const provider = createMockProvider([[toolCall("ask", {}), toolCall("ask", {})], text("Done.")]);
    const { log } = await logRun(optionsFor(0, { provider, tools: [inner] }), { clock });
    const events = traceOf(log);
    expectNested(events);
    expect(completeEvents(events).filter(({ name }) => name === "look")).toHaveLength(4);
    expect(completeEvents(events).filter(({ name }) => name === "nested run")).toHaveLength(2);
  });

  it("never overlaps events in one lane, whatever the times of the calls", () => {
    const times = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 12 });
    fc.assert(
      fc.property(times, (list) => {
        const lines = list.flatMap(([from, length], index) => [
          { at: 30 + from, type: "tool-start", ...call(`c${index}`, index), args: {} },
          { at: 30 + from + length, type: "tool-end", ...call(`c${index}`, index), outcome: "completed", result: 1 },
        ]);
        const events = traceOf(
          logOf([
            { at: 0, ...start },
            { at: 0, type: "iteration-start", ...place },
            { at: 0, ...request },
            { at: 30, type: "output", ...place, finish: "tool-calls", ...calls(...list.map((_, index) => `c${index}`)) },
            ...lines.toSorted((one, other) => one.at - other.at),
            { at: 60, type: "iteration-end", ...place, ...ended },
          ]),
        );
        expectNested(events);
        expect(completeEvents(events).filter(({ cat }) => cat === "tool")).toHaveLength(list.length);
      }),
    );
  });

  it("rejects unknown options", () => {
    expect(() => toChromeTrace(logOf([]), { content: true } as never)).toThrow(
      expect.objectContaining({ code: "unknown-option" }),
    );
  });
});
