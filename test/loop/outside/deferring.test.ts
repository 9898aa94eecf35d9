import { describe, expect, it } from "vitest";
import { defer, defineTool, type LoopOptions, runNested } from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, type Playing, tool } from "../play.ts";
import { createDurableStore } from "../durable-store.ts";
import { both, savedOf, setUp } from "./outside-stage.ts";

describe("a call whose result comes from outside", () => {
  it("suspends the run after the other calls have run", async () => {
    const { ran, start } = setUp();
    const playing = start();
    const result = await playing.result;
    const calls = [
      { id: "call_i0_0", callId: "call_i0_0", name: "job", args: { size: 1 }, waitsFor: "result" },
      {
        id: "call_i0_2",
        callId: "call_i0_2",
        name: "ask_user",
        args: { question: "Which?" },
        waitsFor: "result",
        fromPage: true,
      },
    ];
    expect([result.status, result.reason]).toEqual(["suspended", { kind: "result-required", calls }]);
    expect(result.pendingCalls.map(({ callId, waitsFor }) => [callId, waitsFor])).toEqual([
      ["call_i0_0", "result"],
      ["call_i0_2", "result"],
    ]);
    expect([ran, result.toolCallsExecuted]).toEqual([["call_i0_0", "call_i0_1"], 3]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: awaiting-result", "call_i0_1: completed", "call_i0_2: awaiting-result"]);
    expect(answersOf(result)[0]?.result).toEqual({ status: "awaiting_result" });
    expect(result.functionHistory.map(({ functionCall }) => functionCall.id)).toEqual(["call_i0_1"]);
    expect(playing.clock.pending).toBe(0);
  });

  it("receives its result in a resumed run, which runs no tool again", async () => {
    const { ran, start } = setUp();
    const second = start({ journal: await savedOf(start()), answers: both });
    const result = await second.result;
    expect([result.reason.kind, result.text, result.pendingCalls]).toEqual(["answered", "Done.", []]);
    expect(answersOf(result).map(({ outcome, result: given }) => [outcome, given])).toEqual([
      ["completed", { made: 3 }],
      ["completed", null],
      ["completed", { answer: "the blue one" }],
    ]);
    expect([ran, result.toolCallsExecuted]).toEqual([["call_i0_0", "call_i0_1"], 3]);
    expect(result.functionHistory.map(({ outcome }) => outcome)).toEqual(["completed", "completed", "completed"]);
  });

  it("fails with the error from the decision, which is shown to the model", async () => {
    const { start } = setUp();
    const answers: LoopOptions["answers"] = { ...both, call_i0_0: { kind: "failed", error: "The machine broke." } };
    const result = await start({ journal: await savedOf(start()), answers }).result;
    expect(answersOf(result)[0]).toMatchObject({
      outcome: "failed",
      result: { status: "tool_execution_failed", reason: "The machine broke." },
    });
    expect(result.reason.kind).toBe("answered");
  });

  it("keeps waiting through several resumed runs while other calls receive their results", async () => {
    const { ran, start } = setUp();
    const first = start();
    const without = start({ journal: await savedOf(first) });
    expect((await without.result).reason).toEqual((await first.result).reason);
    const partly = start({ journal: await savedOf(without), answers: { ...both, call_i0_0: { kind: "ask" } } });
    expect(outcomesOf(await partly.result)).toEqual([
      "call_i0_0: awaiting-result",
      "call_i0_1: completed",
      "call_i0_2: completed",
    ]);
    const last = start({ journal: await savedOf(partly), answers: both });
    expect(outcomesOf(await last.result)).toEqual(["call_i0_0: completed", "call_i0_1: completed", "call_i0_2: completed"]);
    expect(ran).toEqual(["call_i0_0", "call_i0_1"]);
  });

  it("accepts the same result again without effect", async () => {
    const { ran, start } = setUp();
    const second = start({ journal: await savedOf(start()), answers: both });
    const third = start({ journal: await savedOf(second), answers: both });
    expect((await third.result).messages).toEqual((await second.result).messages);
    expect([third.provider.calls, ran]).toEqual([0, ["call_i0_0", "call_i0_1"]]);
  });

  it('emits "tool-start" once, and "tool-end" when the wait begins and when the result arrives', async () => {
    const { start } = setUp();
    const first = start();
    const second = start({ journal: await savedOf(first), answers: both });
    await second.result;
    const told = ({ recording }: Playing): unknown =>
      recording.of("tool-end").map(({ callId, outcome, replayed }) => [callId, outcome, replayed]);
    expect([first, second].map(told)).toEqual([
      [
        ["call_i0_0", "deferred", undefined],
        ["call_i0_2", "deferred", undefined],
        ["call_i0_1", "completed", undefined],
      ],
      [
        ["call_i0_1", "completed", true],
        ["call_i0_0", "deferred", true],
        ["call_i0_2", "deferred", true],
        ["call_i0_0", "completed", undefined],
        ["call_i0_2", "completed", undefined],
      ],
    ]);
    const summaries = [first, second].map(({ recording }) =>
      recording.of("iteration-end")[0]?.calls.map(({ outcome }) => outcome),
    );
    expect(summaries).toEqual([
      ["waiting", "completed", "waiting"],
      ["completed", "completed", "completed"],
    ]);
    expect([first, second].map(({ recording }) => recording.of("tool-start").map(({ callId }) => callId))).toEqual([
      ["call_i0_0", "call_i0_1", "call_i0_2"],
      ["call_i0_1", "call_i0_0", "call_i0_2"],
    ]);
  });

  it("has one journal record for the wait and one for the result", async () => {
    const store = createDurableStore();
    const { start } = setUp();
    const first = await start({ journal: store.open() }).result;
    const waiting = start({ journal: replayJournal(store.open()) });
    expect((await waiting.result).reason).toEqual(first.reason);
    const second = await start({ journal: store.open(), answers: both }).result;
    const keys = [...store.records.keys()].filter((key) => key.startsWith("wait/"));
    expect(keys).toEqual([
      "wait/call_i0_0/1/asked",
      "wait/call_i0_2/1/asked",
      "wait/call_i0_0/1/answer",
      "wait/call_i0_2/1/answer",
    ]);
    const replayed = start({ journal: replayJournal(store.open()) });
    expect((await replayed.result).messages).toEqual(second.messages);
    expect(replayed.provider.calls).toBe(0);
  });
});

describe("a deferred result", () => {
  it("does not count the usage of a run inside the tool twice", async () => {
    const start = (more: Partial<LoopOptions>): Playing => {
      const inner = tool("inner", async (_, context) => {
        await runNested(context, {
          messages: [{ role: "user", content: "In." }],
          provider: createMockProvider([text("Inside.")]),
        });
        return defer();
      });
      const script = more.journal === undefined ? [toolCall("inner")] : [text("Done.")];
      return play(script, { runId: "r", tools: [inner], ...more });
    };
    const first = start({});
    const waiting = await first.result;
    const last = await start({
      journal: await savedOf(first),
      answers: { call_i0_0: { kind: "result", result: 1 } },
    }).result;
    expect(waiting.usage.totalTokens).toBeGreaterThan(0);
    expect(last.toolCallsExecuted).toBe(1);
    const alone = last.streamResults.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0);
    const inside = waiting.usage.totalTokens - (waiting.streamResults[0]?.usage?.totalTokens ?? 0);
    expect(last.usage.totalTokens).toBe(alone + inside);
  });

  it("of a sequential tool delays all later calls", async () => {
    const ran: string[] = [];
    const note = (name: string, traits = {}): ReturnType<typeof tool> => tool(name, () => void ran.push(name), traits);
    const tools = [tool("job", () => defer(), { sequential: true }), note("free"), note("alone", { sequential: true })];
    const script = [[toolCall("free"), toolCall("job"), toolCall("free"), toolCall("alone")], text("Done.")];
    const first = play(script, { runId: "r", tools });
    expect(outcomesOf(await first.result)).toEqual([
      "call_i0_0: completed",
      "call_i0_1: awaiting-result",
      "call_i0_2: not-run",
      "call_i0_3: not-run",
    ]);
    const answers: LoopOptions["answers"] = { call_i0_1: { kind: "result", result: "made" } };
    const second = play([text("Done.")], { runId: "r", tools, journal: await savedOf(first), answers });
    expect(outcomesOf(await second.result).map((line) => line.split(" ")[1])).toEqual(
      Array.from({ length: 4 }, () => "completed"),
    );
    expect(ran).toEqual(["free", "free", "alone"]);
  });

  it("does not count toward the number of concurrent calls", async () => {
    const ran: string[] = [];
    const tools = [tool("job", () => defer()), tool("look", (_, { callId }) => void ran.push(callId))];
    const calls = [...Array.from({ length: 4 }, () => toolCall("job")), toolCall("look"), toolCall("look")];
    const { result } = play([calls, text("Done.")], { tools, limits: { toolConcurrency: 2 } });
    expect((await result).reason).toMatchObject({ kind: "result-required", calls: { length: 4 } });
    expect(ran).toEqual(["call_i0_4", "call_i0_5"]);
  });

  it("keeps a key named __proto__ as data", async () => {
    const { start } = setUp();
    const result: unknown = JSON.parse('{"__proto__":{"polluted":1},"made":1}');
    const answers = { ...both, call_i0_0: { kind: "result" as const, result: result as never } };
    const second = await start({ journal: await savedOf(start()), answers }).result;
    const given = answersOf(second)[0]?.result;
    expect(JSON.stringify(given)).toBe('{"__proto__":{"polluted":1},"made":1}');
    expect(Object.getPrototypeOf(given)).toBe(Object.prototype);
  });
});

describe("a tool without execute", () => {
  it("can be called again after a crash, because the call has no effect", async () => {
    const store = createDurableStore();
    const tools = [defineTool({ name: "ask", description: "Asks", inputSchema: { type: "object" } })];
    const start = (fate: Parameters<typeof store.open>[0], more: Partial<LoopOptions> = {}): Playing =>
      play([toolCall("ask"), text("Done.")], { runId: "r", tools, journal: store.open(fate), ...more });
    await expect(start({ within: "i0/call/0/ask/outcome" }).result).rejects.toThrow("died");
    expect((await start({}).result).reason.kind).toBe("result-required");
  });

  it("accepts a result only after the wait for it was recorded", async () => {
    const store = createDurableStore();
    const { ran, start } = setUp();
    await expect(start({ journal: store.open({ after: "i0/call/2/ask_user/outcome" }) }).result).rejects.toThrow("died");
    await expect(start({ journal: store.open(), answers: both }).result).rejects.toMatchObject({ code: "unknown-decision" });
    expect((await start({ journal: store.open() }).result).reason.kind).toBe("result-required");
    const result = await start({ journal: store.open(), answers: both }).result;
    expect(outcomesOf(result)).toEqual(["call_i0_0: completed", "call_i0_1: completed", "call_i0_2: completed"]);
    expect(ran).toEqual(["call_i0_0", "call_i0_1"]);
  });
});
