import { describe, expect, it } from "vitest";
import { approve, type LoopOptions, memoryJournal, type Middleware, prepareIteration, runToolLoop, stopWhen } from "turnwright";
import { tracing } from "turnwright/observe";
import { createMockProvider, endEarly, fail, type MockScript, stall, text, toolCall, usage } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { setUpTracing } from "./stage.ts";
import { endings, question, trace, treeOf } from "./trace.ts";
import { addWatchers } from "../add-watchers.ts";

const facts = [
  "turnwright.run.reason",
  "turnwright.iteration.status",
  "turnwright.reason.limit",
  "turnwright.reason.limit_ms",
  "turnwright.reason.limit_usd",
  "turnwright.reason.spent_usd",
  "turnwright.reason.hook",
  "http.response.status_code",
];

const fails = (): never => {
  throw new Error("no");
};

describe("tracing: a run's spans", () => {
  it.for<[ending: string, script: MockScript, more: Partial<LoopOptions>, tree: string]>([
    [
      "an iteration limit",
      () => [text("Again. "), toolCall("look")],
      { limits: { maxIterations: 1 } },
      `
invoke_agent bot ! "max-iterations" turnwright.run.reason="max-iterations" turnwright.reason.limit=1
  chat mock-model turnwright.iteration.status="tool-calls"
  execute_tool look
`,
    ],
    [
      "a provider error",
      [fail({ status: 401, message: "key sk-abc12345678 is wrong" })],
      {},
      `
invoke_agent bot ! "auth" turnwright.run.reason="provider-error" http.response.status_code=401
  chat mock-model ! "auth" turnwright.iteration.status="error" http.response.status_code=401
`,
    ],
    [
      "a stream that ends early",
      [[text("Par"), endEarly()]],
      {},
      `
invoke_agent bot ! "stream-ended-early" turnwright.run.reason="provider-error"
  chat mock-model ! "stream-ended-early" turnwright.iteration.status="error"
`,
    ],
    [
      "a silent model",
      [[text("Hm"), stall()]],
      {},
      `
invoke_agent bot ! "stream-idle" turnwright.run.reason="stream-idle" turnwright.reason.limit_ms=120000
  chat mock-model ! "stream-idle" turnwright.iteration.status="timeout"
`,
    ],
    [
      "a wall-clock limit",
      [[text("Hm"), stall()]],
      { limits: { wallClockMs: 50 } },
      `
invoke_agent bot ! "wall-clock" turnwright.run.reason="wall-clock" turnwright.reason.limit_ms=50
  chat mock-model ! "wall-clock" turnwright.iteration.status="timeout"
`,
    ],
    [
      "a cost limit",
      () => [toolCall("look"), usage({ inputTokens: 1, outputTokens: 1 })],
      { limits: { maxCostUSD: 1 }, pricing: () => 0.75 },
      `
invoke_agent bot ! "max-cost" turnwright.run.reason="max-cost" turnwright.reason.limit_usd=1 turnwright.reason.spent_usd=0.75
  chat mock-model turnwright.iteration.status="tool-calls"
  execute_tool look
`,
    ],
    [
      "a stop condition that throws after a complete stream",
      [text("So.")],
      { middleware: [stopWhen(fails)] },
      `
invoke_agent bot ! "hook-failed" turnwright.run.reason="hook-failed" turnwright.reason.hook="stop-when.request"
  chat mock-model turnwright.iteration.status="completed"
`,
    ],
    [
      "a hook that throws before the stream",
      [],
      { middleware: [prepareIteration(fails)] },
      `
invoke_agent bot ! "hook-failed" turnwright.run.reason="hook-failed" turnwright.reason.hook="prepare-iteration.request"
`,
    ],
  ])("record that the run ended because of %s", async ([, script, more, tree]) => {
    const scene = trace(script, { tools: [tool("look", () => "seen")], ...more });
    expect(await treeOf(scene, facts)).toBe(tree);
  });

  it.for<[verb: "stop" | "kill" | "abort", reason: string]>([
    ["stop", "stopped"],
    ["kill", "killed"],
    ["abort", "aborted"],
  ])('record that "%s" during a tool call ended the run with the reason "%s"', async ([verb, reason]) => {
    const scene = trace([[toolCall("deaf")]], { tools: [tool("deaf", () => new Promise(() => {}))] });
    await scene.playing.clock.advance(10);
    if (verb === "abort") scene.playing.abort.abort("enough");
    else scene.playing.control[verb]();
    expect(await treeOf(scene)).toBe(`
invoke_agent bot turnwright.run.status="stopped-by-user" turnwright.run.reason="${reason}"
  chat mock-model turnwright.iteration.status="tool-calls"
  execute_tool deaf turnwright.tool.outcome="interrupted"
`);
  });

  it("record that the run was stopped during a stream", async () => {
    const scene = trace([[text("Let me "), stall({ ignoreSignal: true })]]);
    await scene.playing.clock.advance(10);
    scene.playing.control.stop();
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="stopped-by-user" turnwright.run.reason="stopped"
        chat mock-model turnwright.iteration.status="stopped-by-user"
      "
    `);
  });

  it("record a suspension and, after the run is resumed, only new work", async () => {
    const journal = memoryJournal();
    const tools = [tool("pay", () => "paid"), tool("look", () => "seen")];
    const middleware: readonly Middleware[] = [approve(({ name }) => ({ kind: name === "pay" ? "ask" : "approve" }))];
    const asked = trace([toolCall("look"), toolCall("pay")], { tools, middleware, journal });
    const before = await treeOf(asked);
    const answers = { call_i1_0: { kind: "approve" } } as const;
    const provider = createMockProvider([text("Paid.")]);
    const resumed = trace([], { tools, middleware, journal, answers, provider });
    const after = await treeOf(resumed, [...endings, "turnwright.run.resumed", "turnwright.run.replayed_iterations"]);
    expect(`${before}resumed${after}`).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="suspended" turnwright.run.reason="approval-required"
        - turnwright.approval_asked
        - turnwright.approval_decided
        - turnwright.approval_asked
        chat mock-model turnwright.iteration.status="tool-calls"
        execute_tool look turnwright.tool.outcome="completed"
        chat mock-model turnwright.iteration.status="tool-calls"
      resumed
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered" turnwright.run.resumed=true turnwright.run.replayed_iterations=2
        - turnwright.approval_decided
        execute_tool pay turnwright.tool.outcome="completed"
        chat mock-model turnwright.iteration.status="completed"
      "
    `);
  });
});

describe("tracing: a run that throws", () => {
  it("leaves no span open and records the error code", async () => {
    const journal = memoryJournal();
    const broken: LoopOptions["journal"] = {
      ...journal,
      step: (key, body) => {
        if (key !== "i0/next") return journal.step(key, body);
        throw Object.assign(new Error("the disk is full of sk-abc12345678"), { code: "ENOSPC" });
      },
    };
    const scene = trace([toolCall("look")], { tools: [tool("look", () => 1)], journal: broken });
    await expect(scene.playing.result).rejects.toThrow("the disk is full");
    expect(scene.stage.spans()).toHaveLength(scene.stage.started());
    expect(`\n${scene.stage.tree(["turnwright.run.broken"])}\n`).toMatchInlineSnapshot(`
      "
      invoke_agent bot ! "ENOSPC" turnwright.run.broken=true
        chat mock-model
        execute_tool look
      "
    `);
  });

  it("ends the spans of streams and calls without a reported end", async () => {
    const journal = memoryJournal();
    let calls = 0;
    const broken: LoopOptions["journal"] = {
      ...journal,
      step: (key, body) => {
        if (!key.endsWith("/outcome")) return journal.step(key, body);
        calls += 1;
        Promise.resolve(body()).catch(() => {});
        if (calls === 2) throw new Error("lost");
        return new Promise(() => {});
      },
    };
    const scene = trace([[toolCall("deaf"), toolCall("deaf")]], {
      tools: [tool("deaf", () => new Promise(() => {}))],
      journal: broken,
    });
    await expect(scene.playing.result).rejects.toThrow("lost");
    expect(calls).toBe(2);
    expect(scene.stage.spans()).toHaveLength(scene.stage.started());
    expect(`\n${scene.stage.tree()}\n`).toMatchInlineSnapshot(`
      "
      invoke_agent bot ! "Error"
        chat mock-model ! "Error"
        execute_tool deaf ! "Error"
        execute_tool deaf ! "Error"
      "
    `);
  });

  it("has no span if the options are rejected", async () => {
    const stage = setUpTracing();
    const options = { provider: createMockProvider([]), messages: question, limits: { maxIterations: 0 } };
    await expect(runToolLoop(addWatchers(options, tracing(stage.options)))).rejects.toThrow("maxIterations");
    expect(stage.started()).toBe(0);
  });
});
