import { defineTool, type LoopOptions } from "turnwright";
import { type LoggedRun, parseRunLog } from "turnwright/inspect";
import { createMockProvider, createTestClock, type MockScript, text, toolCall, usage, wait } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { compareRuns } from "../../../src/inspect/analysis/compare-runs.ts";
import { logRun, optionsFor } from "../log-run.ts";
import { editAt, logEdited } from "./logged-runs.ts";

let count = 0;
const roll = defineTool({ name: "roll", description: "Rolls", inputSchema: { type: "object" }, execute: () => (count += 1) });

async function logOne(options: LoopOptions): Promise<LoggedRun> {
  const [run] = (await logRun(options, { clock: createTestClock() })).log.runs;
  if (run === undefined) throw new Error("The log has no run.");
  return run;
}

async function logTimed(script: MockScript): Promise<LoggedRun> {
  const clock = createTestClock();
  const options = optionsFor(0, { provider: createMockProvider(script), clock });
  const logged = logRun(options, { clock });
  await clock.runAll();
  const [run] = (await logged).log.runs;
  if (run === undefined) throw new Error("The log has no run.");
  return run;
}

const runScript = (script: MockScript, more: Partial<LoopOptions> = {}): Promise<LoggedRun> =>
  logOne(optionsFor(0, { provider: createMockProvider(script), ...more }));

describe("compareRuns", () => {
  it("does not report a difference between a run and its repetition", async () => {
    const [left, right] = [await logOne(optionsFor(4)), await logOne(optionsFor(4))];
    const { iterations, firstDifference, from, ...totals } = compareRuns(left, right);
    expect([iterations.length, iterations.every(({ isSame }) => isSame), firstDifference]).toEqual([5, true, undefined]);
    expect(totals.left).toEqual(totals.right);
    expect([from, totals.left.iterations]).toEqual([0, 5]);
  });

  it("lists the parts of each request that differ", async () => {
    const left = await logOne(optionsFor(4));
    const right = await logEdited(
      optionsFor(4),
      editAt(2, ({ messages, tools }) => ({
        messages: [{ role: "user", content: "Stop." }, ...messages.slice(1)],
        tools: tools.map((tool) => ({ ...tool, description: "Other." })),
        system: "Be brief.",
        settings: { seed: 1 },
        toolChoice: "auto",
      })),
    );
    const { iterations, firstDifference } = compareRuns(left, right);
    expect(iterations.map(({ requestParts }) => requestParts)).toEqual([
      [],
      [],
      ["tools", "system", "toolChoice", "settings", "messages"],
      [],
      [],
    ]);
    expect([firstDifference, iterations[2]?.isOutputSame]).toEqual([2, true]);
  });

  it("lists the iterations that only one of the runs has", async () => {
    const { iterations, firstDifference, left, right } = compareRuns(await logOne(optionsFor(1)), await logOne(optionsFor(3)));
    expect(
      iterations.map(({ iteration, left: one, right: other }) => [iteration, one !== undefined, other !== undefined]),
    ).toEqual([
      [0, true, true],
      [1, true, true],
      [2, false, true],
      [3, false, true],
    ]);
    expect([firstDifference, left.iterations, right.iterations, right.calls]).toEqual([1, 2, 4, 3]);
  });

  it("compares the models and the outputs", async () => {
    const left = await runScript([text("Yes.")]);
    const right = await runScript([], { provider: createMockProvider([text("No.")], { model: "other" }) });
    expect(compareRuns(left, right).iterations).toMatchObject([
      { requestParts: ["model"], isOutputSame: false, isSame: false, calls: [] },
    ]);
  });

  it("pairs calls by name and arguments", async () => {
    const left = await runScript([
      [
        toolCall("look_up", { a: 1, b: 2 }),
        toolCall("look_up", { n: 1 }),
        toolCall("look_up", { n: 1 }),
        toolCall("look_up", { n: 3 }),
      ],
      text("Done."),
    ]);
    const right = await runScript([
      [toolCall("look_up", { n: 2 }), toolCall("look_up", { n: 1 }), toolCall("look_up", { b: 2, a: 1 })],
      text("Done."),
    ]);
    const [first] = compareRuns(left, right).iterations;
    expect(first?.calls.map(({ kind, left: one, right: other }) => [kind, one?.args, other?.args])).toEqual([
      ["same", { a: 1, b: 2 }, { b: 2, a: 1 }],
      ["same", { n: 1 }, { n: 1 }],
      ["removed", { n: 1 }, undefined],
      ["removed", { n: 3 }, undefined],
      ["added", undefined, { n: 2 }],
    ]);
  });

  it("marks a call with a different result as changed", async () => {
    const script = [toolCall("roll"), text("Done.")];
    const [left, right] = [await runScript(script, { tools: [roll] }), await runScript(script, { tools: [roll] })];
    const { iterations, firstDifference } = compareRuns(left, right);
    expect(iterations.map(({ calls, requestParts }) => [calls.map(({ kind }) => kind), requestParts])).toEqual([
      [["changed"], []],
      [[], ["messages"]],
    ]);
    expect(firstDifference).toBe(0);
  });

  it("excludes replayed iterations of a rerun from the totals of both runs", async () => {
    const timed: MockScript = ({ iteration }) => [
      wait(100),
      iteration < 3 ? toolCall("look_up", { iteration }) : text("Done."),
      usage({ inputTokens: 100, outputTokens: 10 }),
    ];
    const left = await logTimed(timed);
    const again = await logTimed(timed);
    const right: LoggedRun = {
      ...again,
      iterations: again.iterations.map((each) => ({ ...each, isReplayed: each.iteration < 2 })),
    };
    const { left: ours, right: theirs, from } = compareRuns(left, right);
    expect([from, ours.iterations, ours.inputTokens, ours.calls, ours.activeMs]).toEqual([2, 2, 200, 1, 200]);
    expect(theirs).toEqual(ours);
    const allRepeated = { ...again, iterations: again.iterations.map((each) => ({ ...each, isReplayed: true })) };
    expect(compareRuns(left, allRepeated)).toMatchObject({ from: 0, left: { iterations: 4, activeMs: 400 } });
  });

  it("compares the last stream of an iteration that was repeated after a crash", async () => {
    const { lines } = await logRun(optionsFor(2));
    const start = lines.findIndex((line) => line.includes('"iteration-start"') && line.includes('"iteration":1'));
    const isAdded = (line: string): boolean => line.includes('"iteration-start"') || line.includes('"request"');
    const again = lines.slice(start, start + 3).filter(isAdded);
    // Changes a log as if the process had crashed during the stream. The repeated request keeps all messages of the first request.
    const repeated = again.map((line) => line.replace(/"keep":\d+/, '"keep":3').replace(/"add":\[.*\]/, '"add":[]'));
    const log = parseRunLog(
      [...lines.slice(0, start + again.length), ...repeated, ...lines.slice(start + again.length)].join(""),
    );
    const [left] = log.runs;
    if (left === undefined) throw new Error("The log has no run.");
    const { iterations, firstDifference } = compareRuns(left, await logOne(optionsFor(2)));
    expect([left.iterations.length, iterations.length, firstDifference]).toEqual([4, 3, undefined]);
  });
});
