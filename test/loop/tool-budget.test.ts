import { approve, prepareIteration, finalAnswer, onIteration, contextRestarts } from "turnwright";
import { describe, expect, it } from "vitest";
import type { ToolBudget } from "../../src/core/types/tool.ts";
import { createTestClock, text, toolCall, usage } from "turnwright/testing";
import { outcomesOf, play, tool } from "./play.ts";

const ok = tool("ok", () => "fine");
const kinds = (result: Parameters<typeof outcomesOf>[0]): string =>
  outcomesOf(result)
    .map((line) => line.split(" ")[1])
    .join(" ");
const three = [toolCall("ok"), toolCall("ok"), toolCall("ok")];

describe("limits.maxToolCalls", () => {
  it("runs the calls that fit, then requests an answer without tools", async () => {
    const playing = play([three, text("Enough.")], { tools: [ok], limits: { maxToolCalls: 2 } });
    const result = await playing.result;
    expect([kinds(result), result.text, result.toolCallsExecuted]).toEqual(["completed completed limit", "Enough.", 2]);
    expect(playing.provider.requests.map(({ toolChoice, tools }) => [toolChoice, tools.length])).toEqual([
      [undefined, 1],
      // Requests keep their tool definitions. Without them, the prompt cache of the provider would be lost.
      ["none", 1],
    ]);
  });

  it("counts calls across all iterations", async () => {
    const playing = play([three, three, text("Enough.")], { tools: [ok], limits: { maxToolCalls: 4 } });
    expect(kinds(await playing.result)).toBe("completed completed completed completed limit limit");
    expect(playing.provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, "none"]);
  });

  it("forbids tool calls only after a call has exceeded the limit", async () => {
    const playing = play([three, three, text("Enough.")], { tools: [ok], limits: { maxToolCalls: 3 } });
    expect(kinds(await playing.result)).toBe("completed completed completed limit limit limit");
    expect(playing.provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, "none"]);
  });

  it("ends the run if the model calls forbidden tools", async () => {
    const playing = play(() => three, { tools: [ok], limits: { maxToolCalls: 2 } });
    const result = await playing.result;
    expect([result.status, result.reason, playing.provider.calls]).toEqual(["error", { kind: "max-tool-calls", limit: 2 }, 2]);
    expect([kinds(result), result.toolCallsExecuted]).toEqual(["completed completed limit limit limit limit", 2]);
  });

  it("admits a message's first calls, counts only those that ran, and does not cause a tool error", async () => {
    const batch = [toolCall("nope"), toolCall("denied"), toolCall("ok"), toolCall("ok")];
    const playing = play([batch, text("Enough.")], {
      tools: [ok, tool("denied", () => 1)],
      limits: { maxToolCalls: 2, maxConsecutiveToolErrors: 2 },
      middleware: [approve(({ name }) => (name === "denied" ? { kind: "deny" } : { kind: "approve" }))],
    });
    const result = await playing.result;
    expect([kinds(result), result.toolCallsExecuted]).toEqual(["unknown-tool denied completed limit", 1]);
  });

  it("overrides the toolChoice that the caller or a hook set", async () => {
    const playing = play([three, text("Enough.")], {
      tools: [ok],
      toolChoice: "required",
      middleware: [prepareIteration(() => ({ toolChoice: { name: "ok" } }))],
      limits: { maxToolCalls: 1 },
    });
    await playing.result;
    expect(playing.provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([{ name: "ok" }, "none"]);
  });

  it("allows a final answer with finalAnswer, and remains the reason why the run ended", async () => {
    const playing = play((_, index) => (index < 2 ? three : text("In short.")), {
      tools: [ok],
      limits: { maxToolCalls: 2 },
      middleware: [finalAnswer()],
    });
    const result = await playing.result;
    expect([result.status, result.reason.kind, result.text, result.finalAnswer]).toEqual([
      "error",
      "max-tool-calls",
      "In short.",
      true,
    ]);
    expect([result.iterations, playing.provider.calls]).toEqual([2, 3]);
  });
});

describe("limits.maxIterations", () => {
  it.for<[limit: number, hooked: boolean]>([
    [1, false],
    [1, true],
    [7, false],
    [7, true],
  ])("limits a run to %d requests (with hooks: %s)", async ([limit, hooked]) => {
    const hooks = hooked ? [onIteration(() => undefined), prepareIteration(() => ({}))] : [];
    const playing = play(() => [text("Again. "), toolCall("ok")], {
      tools: [ok],
      limits: { maxIterations: limit },
      middleware: hooks,
    });
    const result = await playing.result;
    expect([result.status, result.reason, result.text]).toEqual(["timeout", { kind: "max-iterations", limit }, "Again."]);
    expect([playing.provider.calls, result.iterations]).toEqual([limit, limit]);
    expect(playing.recording.of("notice").map((event) => event.kind)).toEqual(["max-iterations"]);
  });

  it("does not end a run that answers in its last iteration", async () => {
    const playing = play([toolCall("ok"), text("Done.")], { tools: [ok], limits: { maxIterations: 2 } });
    expect((await playing.result).reason.kind).toBe("answered");
  });

  it("allows one final answer, whose calls do not run", async () => {
    let ran = 0;
    const count = tool("ok", () => (ran += 1));
    const playing = play(() => [text("Again. "), toolCall("ok")], {
      tools: [count],
      limits: { maxIterations: 2 },
      middleware: [finalAnswer()],
    });
    const result = await playing.result;
    expect([result.reason.kind, result.finalAnswer, ran, result.iterations, result.streamResults.length]).toEqual([
      "max-iterations",
      true,
      2,
      2,
      3,
    ]);
    expect(kinds(result)).toBe("completed completed not-run");
    expect(playing.provider.requests.map(({ toolChoice, tools }) => [toolChoice, tools.length])).toEqual([
      [undefined, 1],
      [undefined, 1],
      ["none", 1],
    ]);
  });
});

describe("limits.maxTokens", () => {
  const spends = (inputTokens: number) => [text("So. "), toolCall("ok"), usage({ inputTokens, outputTokens: 10 })];

  it.for<[limit: number, requests: number]>([
    [110, 1],
    [111, 2],
    [220, 2],
    [221, 3],
  ])("set to %d ends the run after request %d", async ([limit, requests]) => {
    const playing = play(() => spends(100), { tools: [ok], limits: { maxTokens: limit }, middleware: [finalAnswer()] });
    const result = await playing.result;
    expect(result.reason).toEqual({ kind: "max-tokens", limit, spent: 110 * requests });
    expect([playing.provider.calls, result.finalAnswer]).toEqual([requests, false]);
  });

  it("keeps a complete answer that exceeds the limit", async () => {
    const playing = play([[text("Done."), usage({ inputTokens: 1_000, outputTokens: 1 })]], { limits: { maxTokens: 100 } });
    expect((await playing.result).reason.kind).toBe("answered");
  });
});

describe("a tool's context", () => {
  it("contains each limit's remaining amount in context.budget", async () => {
    const clock = createTestClock();
    const budgets: ToolBudget[] = [];
    const spend = tool("spend", (_, { budget }) => {
      budgets.push(budget);
      return new Promise((resolve) => clock.setTimeout(() => resolve(1), 100));
    });
    const turn = [toolCall("spend"), usage({ inputTokens: 10, outputTokens: 1 })];
    const limits = { maxIterations: 5, maxToolCalls: 7, maxTokens: 1_000, wallClockMs: 10_000 };
    play([turn, turn, text("Done.")], { clock, tools: [spend], limits });
    await clock.advance(1_000);
    expect(budgets).toEqual([
      { iterations: 4, toolCalls: 6, tokens: 989, wallClockMs: 10_000, costUSD: Infinity },
      { iterations: 3, toolCalls: 5, tokens: 978, wallClockMs: 9_900, costUSD: Infinity },
    ]);
  });

  it("contains Infinity in context.budget for limits that are not set", async () => {
    let budget: ToolBudget | undefined;
    await play([toolCall("look"), text("Done.")], { tools: [tool("look", (_, context) => void (budget = context.budget))] })
      .result;
    const none = Number.POSITIVE_INFINITY;
    expect(budget).toEqual({ iterations: 99, toolCalls: none, tokens: none, wallClockMs: none, costUSD: none });
  });

  it("contains the ids of the call, the messages and the caller's values", async () => {
    const seen: unknown[] = [];
    const given = {
      messageIdMap: new Map(),
      context: { db: 1 },
      session: { conversationId: "c" },
      middleware: [contextRestarts({ items: ["It is night."] })],
    };
    const look = tool(
      "look",
      (_, { callId, name, iteration, provider, showKillHint, suppressProgressNotices, idempotencyKey, ...rest }) => {
        seen.push(callId, name, iteration, provider, showKillHint, suppressProgressNotices, idempotencyKey);
        return rest;
      },
    );
    const deep = tool("deep", (_, context) => {
      seen.push(
        context.messages.length,
        context.contextItems,
        context.messageIdMap === given.messageIdMap,
        context.context,
        context.session,
      );
    });
    await play([toolCall("look"), toolCall("deep"), text("Done.")], { ...given, tools: [look, deep], runId: "budget" }).result;
    expect(seen).toEqual([
      ...["call_i0_0", "look", 0, { id: "mock", model: "mock-model" }, false, false, "budget/i0/call/0/look"],
      ...[4, ["It is night."], true, { db: 1 }, { conversationId: "c" }],
    ]);
  });

  it.for<[iteration: number, shown: boolean]>([
    [19, false],
    [20, true],
    [21, true],
  ])("in iteration %d has showKillHint: %s", async ([iteration, shown]) => {
    const hints: boolean[] = [];
    const look = tool("look", (_, context) => hints.push(context.showKillHint));
    await play((_, index) => (index <= iteration ? toolCall("look") : text("Done.")), { tools: [look] }).result;
    expect(hints[iteration]).toBe(shown);
  });

  it("contains suppressProgressNotices if session.surfaceUserErrors is false", async () => {
    let suppressed: unknown;
    const look = tool("look", (_, context) => void (suppressed = context.suppressProgressNotices));
    await play([toolCall("look"), text("Done.")], { tools: [look], session: { surfaceUserErrors: false } }).result;
    expect(suppressed).toBe(true);
  });
});
