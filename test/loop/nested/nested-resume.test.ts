import { describe, expect, it } from "vitest";
import { type LoopOptions, type LoopResult, runToolLoop, type Tool, type ToolContext } from "turnwright";
import { createMockProvider, createTestClock, fail, type MockMessage, text, toolCall } from "turnwright/testing";
import { Crash, createDurableStore } from "../durable-store.ts";
import { answersOf, play, tool } from "../play.ts";
import { nesting, plain, question, scripted, tokens } from "./nesting.ts";
import { keyOf, type Log, over, scriptOf, stepsOf } from "./records.ts";

function threeLevels(log: Log, traits: Partial<Tool> = {}): Omit<LoopOptions, "journal"> {
  const work = tool(
    "work",
    (_, context) => {
      log.push(keyOf(context));
      return "did it";
    },
    traits,
  );
  const run = (turns: readonly MockMessage[], tools: readonly Tool[]) => (args: unknown, context: ToolContext) => ({
    messages: [{ role: "user" as const, content: JSON.stringify(args) }],
    provider: scriptOf(`${keyOf(context)}/tool/run/`, turns, log),
    tools,
  });
  const leaf: readonly MockMessage[] = [
    [toolCall("work"), tokens(3)],
    [text("grandchild."), tokens(4)],
  ];
  const inner: readonly MockMessage[] = [
    [toolCall("work"), toolCall("grandchild"), tokens(20)],
    [text("child."), tokens(30)],
  ];
  const outer: readonly MockMessage[] = [
    [toolCall("child", 1), toolCall("work"), toolCall("child", 2), tokens(100)],
    [text("Done."), tokens(200)],
  ];
  const grandchild = nesting("agent tool", "grandchild", run(leaf, [work]));
  const child = nesting("agent tool", "child", run(inner, [work, grandchild]));
  return {
    provider: scriptOf("", outer, log),
    tools: [child, work],
    messages: question,
    runId: "tree",
    clock: createTestClock(),
  };
}

/** True for the record of a request or of a call of the tool "work". */
const acts = (key: string): boolean => /(\/request\/model|\/work\/outcome)$/.test(key);
/** The log has the idempotency key of a call. */
const logged = (key: string): string => key.replace(/\/outcome$/, "");

it("a nested run records its steps under the journal key of its call", async () => {
  const child = scripted(["agent tool", "child"], [toolCall("ok"), text("c")], { tools: [tool("ok", () => 1)] });
  const inside = scripted(["ordinary tool", "inside"], [toolCall("ok"), text("c")], { tools: [tool("ok", () => 1)] });
  const script = [[toolCall("child"), toolCall("inside"), toolCall("child")], fail({ status: 500 })];
  const { result, options } = play(script, { tools: [{ ...child.tool, sequential: true }, inside.tool] });
  const provider = createMockProvider([toolCall("child"), text("Done.")]);
  const journal = over(Object.entries(stepsOf(await result)));
  const more = {
    tools: [scripted(["agent tool", "child"], [text("c")], { tools: [tool("ok", () => 1)] }).tool, inside.tool],
    control: undefined,
  };
  const again = await runToolLoop({ ...options, ...more, provider, journal, resume: "retry-last" });
  expect(again.text).toBe("Done.");
  expect(Object.keys(stepsOf(again)).join("\n")).toMatchInlineSnapshot(`
    "run
    begin
    i0/request/model
    i0/call/0/child/begun
    i0/call/0/child/tool/run/run
    i0/call/0/child/tool/run/begin
    i0/call/0/child/tool/run/i0/request/model
    i0/call/0/child/tool/run/i0/call/0/ok/outcome
    i0/call/0/child/tool/run/i0/next
    i0/call/0/child/tool/run/i1/request/model
    i0/call/0/child/tool/run/i1/answered
    i0/call/0/child/outcome
    i0/call/1/inside/outcome
    i0/call/2/child/begun
    i0/call/2/child/tool/run/run
    i0/call/2/child/tool/run/begin
    i0/call/2/child/tool/run/i0/request/model
    i0/call/2/child/tool/run/i0/answered
    i0/call/2/child/outcome
    i0/next
    i1/request/model
    i1/answered
    i1/answered#2
    i1~2/request/model
    i1~2/call/0/child/begun
    i1~2/call/0/child/tool/run/run
    i1~2/call/0/child/tool/run/begin
    i1~2/call/0/child/tool/run/i0/request/model
    i1~2/call/0/child/tool/run/i0/answered
    i1~2/call/0/child/outcome
    i1~2/next
    i2/request/model
    i2/answered"
  `);
});

describe("a resumed run with nested runs", () => {
  it("continues from any step of a memory journal and does not repeat any recorded steps", async () => {
    const all: Log = [];
    const first = await runToolLoop(threeLevels(all));
    const entries = Object.entries(stepsOf(first));
    expect([entries.length, all.length]).toEqual([43, 15]);
    for (let kept = 0; kept <= entries.length; kept += 1) {
      const log: Log = [];
      const result = await runToolLoop({ ...threeLevels(log), journal: over(entries.slice(0, kept)) });
      expect([kept, plain(result)]).toEqual([kept, plain(first)]);
      const rest = entries.slice(kept).flatMap(([key]) => (acts(key) ? [logged(key)] : []));
      expect([kept, [...log].sort()]).toEqual([kept, [...rest].sort()]);
    }
  });

  it("continues after a crash at any step of a durable journal and does not repeat any recorded steps", async () => {
    const calm = createDurableStore();
    const first = await runToolLoop({ ...threeLevels([]), journal: calm.open() });
    expect(calm.records.size).toBe(48);
    for (let afterRecords = 1; afterRecords <= calm.records.size; afterRecords += 1) {
      const store = createDurableStore();
      const log: Log = [];
      const safe = (): Omit<LoopOptions, "journal"> => threeLevels(log, { replay: "safe" });
      await expect(runToolLoop({ ...safe(), journal: store.open({ afterRecords }) })).rejects.toThrow(Crash);
      const recorded = [...store.records.keys()].filter(acts).map(logged);
      const before = log.splice(0);
      expect(before).toEqual(expect.arrayContaining(recorded));
      const result = await runToolLoop({ ...safe(), journal: store.open() });
      expect([afterRecords, plain(result)]).toEqual([afterRecords, plain(first)]);
      expect(log.filter((key) => recorded.includes(key))).toEqual([]);
      const untouched: Log = [];
      const again = await runToolLoop({ ...threeLevels(untouched), journal: store.open() });
      expect([plain(again), untouched]).toEqual([plain(result), []]);
    }
  });

  it("ends after a crash at every step in turn, and does not run any tool twice", async () => {
    const store = createDurableStore();
    const log: Log = [];
    let lives = 0;
    let result: LoopResult | undefined;
    for (; result === undefined && lives < 100; lives += 1) {
      result = await runToolLoop({ ...threeLevels(log), journal: store.open({ afterRecords: 1 }) }).catch((error: unknown) => {
        if (error instanceof Crash) return undefined;
        throw error;
      });
    }
    expect(result?.text).toBe("Done.");
    const tools = log.filter((key) => key.endsWith("work"));
    expect(tools).toEqual([...new Set(tools)]);
  });

  it.for([
    "i0/call/0/child/tool/run/i0/call/0/work/outcome",
    "i0/call/0/child/tool/run/i0/call/1/grandchild/tool/run/i0/call/0/work/outcome",
  ])("reports a nested tool call as interrupted after a crash within the step %s", async (within) => {
    const store = createDurableStore();
    const log: Log = [];
    await expect(runToolLoop({ ...threeLevels(log), journal: store.open({ within }) })).rejects.toThrow(Crash);
    const result = await runToolLoop({ ...threeLevels(log), journal: store.open() });
    expect(result.text).toBe("Done.");
    expect(log.filter((line) => line === logged(within))).toHaveLength(1);
    expect(JSON.parse(store.records.get(within) ?? "{}")).toMatchObject({ kind: "interrupted" });
    expect(answersOf(result)[0]).toMatchObject({ outcome: "completed", result: "child." });
  });

  it("calls a model again if its answer was not recorded, and counts the answer once", async () => {
    const within = "i0/call/0/child/tool/run/i1/request/model";
    const store = createDurableStore();
    const log: Log = [];
    await expect(runToolLoop({ ...threeLevels(log, { replay: "safe" }), journal: store.open({ within }) })).rejects.toThrow(
      Crash,
    );
    const result = await runToolLoop({ ...threeLevels(log, { replay: "safe" }), journal: store.open() });
    expect([result.text, result.usage.totalTokens, log.filter((line) => line === within)]).toEqual([
      "Done.",
      414,
      [within, within],
    ]);
  });
});
