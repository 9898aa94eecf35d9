import { describe, expect, it } from "vitest";
import { createLoopControl } from "turnwright";
import type { ToolBudget } from "../../../src/core/types/tool.ts";
import { createMockProvider, createTestClock, finish, type MockMessage, text, toolCall, wait } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "../play.ts";
import { callAndAnswer, kinds, nesting, question, scripted, tokens } from "./nesting.ts";

const ok = tool("ok", () => "fine");
const busyTurn = (total: number): MockMessage => [toolCall("ok"), tokens(total)];

describe.for(kinds)("limits.maxTokens with nested runs in an %s", (kind) => {
  it("ends the nested run at its next iteration, and then the outer run", async () => {
    const provider = createMockProvider(() => busyTurn(100));
    const child = nesting(kind, "child", () => ({ messages: question, provider, tools: [ok], limits: { maxIterations: 50 } }));
    const playing = play([[toolCall("child"), tokens(10)]], { tools: [child], limits: { maxTokens: 250 } });
    const result = await playing.result;
    expect([provider.calls, playing.provider.calls]).toEqual([3, 1]);
    const reason = { kind: "max-tokens", limit: 250, spent: 310 };
    expect(playing.recording.of("run-end").map(({ reason: ended }) => ended)).toEqual([reason, reason]);
    expect(answersOf(result)[0]).toMatchObject({ outcome: "failed", result: { reason: "error: max-tokens" } });
  });

  it("allows no requests to the inner model if no tokens are left", async () => {
    const child = scripted([kind, "child"], []);
    const playing = play([[toolCall("child"), tokens(10)]], { tools: [child.tool], limits: { maxTokens: 10 } });
    expect([(await playing.result).reason, child.provider.calls]).toEqual([{ kind: "max-tokens", limit: 10, spent: 10 }, 0]);
  });

  it("counts parallel nested runs and continuations", async () => {
    const providers = [0, 1].map(() =>
      createMockProvider((_, index) => [wait(10), tokens(100), index === 0 ? finish("paused") : toolCall("ok")]),
    );
    const child = nesting(kind, "child", (args) => {
      const { which } = args as { which: number };
      const provider = providers[which] ?? createMockProvider([]);
      return { messages: question, provider, tools: [ok], limits: { maxIterations: 50 } };
    });
    const script = [[toolCall("child", { which: 0 }), toolCall("child", { which: 1 }), tokens(1)]];
    const playing = play(script, { tools: [child], limits: { maxTokens: 300 } });
    await playing.clock.runAll();
    expect([(await playing.result).usage.totalTokens, providers.map(({ calls }) => calls)]).toEqual([401, [2, 2]]);
  });

  it("set on the middle of three nested levels, also ends the innermost run", async () => {
    const provider = createMockProvider(() => busyTurn(100));
    const grandchild = nesting(kind, "grandchild", () => ({
      messages: question,
      provider,
      tools: [ok],
      limits: { maxTokens: 10_000 },
    }));
    const child = scripted([kind, "child"], [[toolCall("grandchild"), tokens(10)]], {
      tools: [grandchild],
      limits: { maxTokens: 200 },
    });
    const playing = play([[toolCall("child"), tokens(5)], text("Done.")], { tools: [child.tool], limits: { maxTokens: 300 } });
    const result = await playing.result;
    expect([provider.calls, child.provider.calls, result.text]).toEqual([2, 1, "Done."]);
    expect(playing.recording.of("run-end").map(({ reason }) => reason)).toEqual([
      { kind: "max-tokens", limit: 200, spent: 210 },
      { kind: "max-tokens", limit: 200, spent: 210 },
      { kind: "answered" },
    ]);
  });

  it("does not apply to the outer run if only the inner run sets the limit", async () => {
    const provider = createMockProvider(() => busyTurn(100));
    const child = nesting(kind, "child", () => ({ messages: question, provider, tools: [ok], limits: { maxTokens: 100 } }));
    const result = await play([[toolCall("child"), tokens(5_000)], text("Done.")], { tools: [child] }).result;
    expect([provider.calls, result.text]).toEqual([1, "Done."]);
  });
});

describe.for(kinds)("limits.maxToolCalls with nested runs in an %s", (kind) => {
  it('counts the call and all calls inside it, and gives later calls the outcome "limit"', async () => {
    const child = scripted([kind, "child"], [[toolCall("ok"), toolCall("ok"), toolCall("ok")], text("c")], { tools: [ok] });
    const playing = play([toolCall("child"), toolCall("ok"), text("Done.")], {
      tools: [child.tool, ok],
      limits: { maxToolCalls: 3 },
    });
    const result = await playing.result;
    expect(outcomesOf(result)).toEqual(["call_i0_0: completed", "call_i1_0: limit"]);
    expect(result.toolCallsExecuted).toBe(3);
    const [, , answers] = child.provider.requests[1]?.messages ?? [];
    expect(outcomesOf({ messages: answers === undefined ? [] : [answers] }).map((line) => line.split(" ")[1])).toEqual([
      "completed",
      "completed",
      "limit",
    ]);
    expect(child.provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, "none"]);
    expect(playing.provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, "none"]);
  });

  it("ends an inner run that calls tools beyond the limit, with the outer limit as the reason", async () => {
    const child = scripted([kind, "child"], [toolCall("ok"), toolCall("ok")], { tools: [ok], limits: { maxToolCalls: 40 } });
    const playing = play([toolCall("child"), text("Done.")], { tools: [child.tool], limits: { maxToolCalls: 1 } });
    expect((await playing.result).toolCallsExecuted).toBe(1);
    expect(playing.recording.of("run-end")[0]?.reason).toEqual({ kind: "max-tool-calls", limit: 1 });
  });

  it("is never exceeded by parallel calls on any level", async () => {
    const grandchild = nesting(kind, "grandchild", () => ({
      messages: question,
      provider: createMockProvider([[toolCall("ok"), toolCall("ok")], text("g")]),
      tools: [ok],
    }));
    const calls = [toolCall("grandchild"), toolCall("ok"), toolCall("grandchild"), toolCall("grandchild")];
    const child = nesting(kind, "child", () => ({
      messages: question,
      provider: createMockProvider([calls, text("c")]),
      tools: [grandchild, ok],
    }));
    for (let maxToolCalls = 1; maxToolCalls <= 20; maxToolCalls += 1) {
      const playing = play([[toolCall("child"), toolCall("child")], text("Done.")], { tools: [child], limits: { maxToolCalls } });
      const result = await playing.result;
      const begun = playing.recording.of("tool-end").filter(({ outcome }) => outcome !== "limit").length;
      expect([maxToolCalls, result.toolCallsExecuted, begun]).toEqual([maxToolCalls, maxToolCalls, maxToolCalls]);
    }
  });

  it("counts only the calls that an inner run started", async () => {
    const control = createLoopControl();
    const stop = tool("stop", () => void control.stop(), { sequential: true });
    const child = scripted([kind, "child"], [[toolCall("stop"), toolCall("stop"), toolCall("stop")]], { tools: [stop], control });
    const script = [toolCall("child"), [toolCall("ok"), toolCall("ok"), toolCall("ok")], text("Done.")];
    const result = await play(script, { tools: [child.tool, ok], limits: { maxToolCalls: 4 } }).result;
    expect(outcomesOf(result).map((line) => line.split(" ")[1])).toEqual(["failed", "completed", "completed", "limit"]);
    expect(result.toolCallsExecuted).toBe(4);
  });
});

describe.for(kinds)("context.budget in a nested run of an %s", (kind) => {
  it("contains the smallest remaining amount of all outer runs for each limit except iterations", async () => {
    const seen: (readonly [where: string, ToolBudget])[] = [];
    const look = tool("look", (_, { budget, depth }) => void seen.push([`tool at ${depth}`, budget]));
    const clock = createTestClock();
    const child = scripted(
      [kind, "child"],
      [[wait(100), toolCall("look"), tokens(30)], [wait(100), toolCall("look"), tokens(40)], text("c")],
      {
        tools: [look],
        limits: { maxIterations: 5, maxToolCalls: 3, wallClockMs: 5_000 },
      },
    );
    const playing = play([[wait(100), toolCall("child"), tokens(10)], text("Done.")], {
      clock,
      tools: [child.tool],
      limits: { maxTokens: 1_000, maxToolCalls: 50, wallClockMs: 1_000 },
    });
    await clock.runAll();
    await playing.result;
    expect(seen).toMatchObject([
      ["tool at 1", { iterations: 4, toolCalls: 2, tokens: 960 }],
      ["tool at 1", { iterations: 3, toolCalls: 1, tokens: 920 }],
    ]);
    // Less than the 1,000 ms of the outer run, because some time has passed.
    for (const [, { wallClockMs }] of seen) expect(wallClockMs).toBeLessThanOrEqual(1_000);
  });

  it("is Infinity if no run has a limit", async () => {
    let budget: ToolBudget | undefined;
    const look = tool("look", (_, context) => void (budget = context.budget));
    const child = scripted([kind, "child"], callAndAnswer("look"), { tools: [look] });
    await play(callAndAnswer("child"), { tools: [child.tool] }).result;
    const none = Number.POSITIVE_INFINITY;
    expect(budget).toEqual({ iterations: 99, toolCalls: none, tokens: none, wallClockMs: none, costUSD: none });
  });
});

it("limits.toolConcurrency counts agent calls, but not the calls inside them", async () => {
  const clock = createTestClock();
  let [running, most] = [0, 0];
  const slow = tool("slow", async () => {
    most = Math.max(most, (running += 1));
    await new Promise((resolve) => void clock.setTimeout(() => resolve(1), 100));
    running -= 1;
  });
  const child = nesting("agent tool", "child", () => ({
    messages: question,
    provider: createMockProvider([[toolCall("slow"), toolCall("slow"), toolCall("slow")], text("c")]),
    tools: [slow],
  }));
  const four = [toolCall("child"), toolCall("child"), toolCall("child"), toolCall("child")];
  const playing = play([four, text("Done.")], { clock, tools: [child], limits: { toolConcurrency: 2 } });
  await clock.runAll();
  expect([(await playing.result).toolCallsExecuted, most, playing.endedAt()]).toEqual([16, 6, 200]);
});
