import { describe, expect, it } from "vitest";
import { type LoopResult, type NestedLoopOptions, type Pricing, type ToolContext, runNested } from "turnwright";
import { createMockProvider, createTestClock, endEarly, fail, stall, text, toolCall, wait } from "turnwright/testing";
import { answersOf, never, outcomesOf, play, tool } from "../play.ts";
import { callAndAnswer, kinds, nesting, question, scripted, spendingOf, tokens } from "./nesting.ts";

const pricing: Pricing = ({ totalTokens }) => totalTokens / 8;
const ok = tool("ok", () => "fine");

describe.for(kinds)("a run inside an %s", (kind) => {
  it("adds its usage to the outer run once", async () => {
    const child = scripted([kind, "child"], callAndAnswer("ok", [100, 1_000]), { tools: [ok] });
    const playing = play(callAndAnswer("child", [1, 10]), { tools: [child.tool], pricing });
    const result = await playing.result;
    expect([result.text, answersOf(result)[0]?.result]).toEqual(["child is done.", "ok is done."]);
    expect(spendingOf(result)).toEqual([1_111, 1_111 / 8, 2]);
    expect([result.iterations, result.streamResults.length]).toEqual([2, 2]);
  });

  it("adds its usage once across three levels", async () => {
    const grandchild = scripted([kind, "grandchild"], callAndAnswer("ok", [10_000, 100_000]), { tools: [ok] });
    const child = scripted([kind, "child"], callAndAnswer("grandchild", [100, 1_000]), { tools: [grandchild.tool] });
    const playing = play(callAndAnswer("child", [1, 10]), { tools: [child.tool], pricing });
    const result = await playing.result;
    expect(spendingOf(result)).toEqual([111_111, 111_111 / 8, 3]);
    expect(
      playing.recording
        .of("run-end")
        .map(({ usage, costUSD, toolCallsExecuted }) => [usage.totalTokens, costUSD, toolCallsExecuted]),
    ).toEqual([
      [110_000, 110_000 / 8, 1],
      [111_100, 111_100 / 8, 2],
      [111_111, 111_111 / 8, 3],
    ]);
  });

  it("adds its usage once for each of several parallel calls", async () => {
    const child = nesting(kind, "child", () => ({
      messages: question,
      provider: createMockProvider(callAndAnswer("ok", [10, 20])),
      tools: [ok],
    }));
    const playing = play(
      [
        [toolCall("child"), toolCall("ok"), toolCall("child"), toolCall("child"), tokens(1)],
        [text("Done."), tokens(2)],
      ],
      { tools: [child, ok], pricing },
    );
    expect(spendingOf(await playing.result)).toEqual([93, 93 / 8, 7]);
  });

  it.for<[ending: string, turn: Parameters<typeof createMockProvider>[0], outcome: string]>([
    [
      "fails",
      [
        [toolCall("ok"), tokens(10)],
        [text("Half"), tokens(20), fail({ status: 500 })],
      ],
      "failed",
    ],
    [
      "ends early",
      [
        [toolCall("ok"), tokens(10)],
        [text("Half"), tokens(20), endEarly()],
      ],
      "failed",
    ],
    [
      "falls silent",
      [
        [toolCall("ok"), tokens(10)],
        [text("Half"), tokens(20), stall()],
      ],
      "failed",
    ],
    ["returns an empty message", [[toolCall("ok"), tokens(10)], [tokens(20)]], "failed"],
  ])("adds its usage to the outer run if the nested run %s", async ([, script, outcome]) => {
    const child = nesting(kind, "child", () => ({ messages: question, provider: createMockProvider(script), tools: [ok] }));
    const playing = play(callAndAnswer("child"), { tools: [child], pricing, timeouts: { streamIdleMs: 1_000 } });
    await playing.clock.runAll();
    const result = await playing.result;
    expect(outcomesOf(result)).toEqual([`call_i0_0: ${outcome}`]);
    expect(spendingOf(result)).toEqual([32, 4, 2]);
  });

  it.for(["stop", "kill"] as const)(
    "adds its usage to the outer run if a %s of the outer run interrupts the nested run",
    async (verb) => {
      const child = scripted(
        [kind, "child"],
        [
          [toolCall("ok"), tokens(10)],
          [text("Half"), tokens(20), stall()],
        ],
        { tools: [ok] },
      );
      const playing = play(callAndAnswer("child"), { tools: [child.tool], pricing });
      await playing.clock.flush();
      playing.control[verb]();
      await playing.clock.runAll();
      const result = await playing.result;
      expect(outcomesOf(result)).toEqual(["call_i0_0: interrupted"]);
      expect(spendingOf(result)).toEqual([31, 31 / 8, 2]);
    },
  );

  it("has no known cost if the cost of any iteration is unknown", async () => {
    const child = scripted([kind, "child"], callAndAnswer("ok", [10, 20]), { tools: [ok], pricing: () => undefined });
    const result = await play(callAndAnswer("child"), { tools: [child.tool], pricing }).result;
    expect(spendingOf(result)).toEqual([32, undefined, 2]);
  });

  it("counts toward the durationMs of its call and of the outer run", async () => {
    const child = scripted(
      [kind, "child"],
      [
        [wait(70), toolCall("ok")],
        [wait(30), text("Done.")],
      ],
      { tools: [ok] },
    );
    const playing = play([[wait(5), toolCall("child")], text("Done.")], { tools: [child.tool] });
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.durationMs, result.functionHistory[0]?.durationMs]).toEqual([105, 100]);
    expect(playing.recording.of("run-end").map(({ durationMs }) => durationMs)).toEqual([100, 105]);
  });
});

describe("the usage of several runs inside one ordinary tool", () => {
  const asks = (said: string, total: number) => ({
    messages: question,
    provider: createMockProvider([[text(said), tokens(total)]]),
  });

  it("counts once for each run, in sequence and in parallel", async () => {
    const work = tool("work", async (_, context: ToolContext) => {
      const run = (options: NestedLoopOptions): Promise<LoopResult> => runNested(context, options);
      const first = await run(asks("a", 10));
      const others = await Promise.all([run(asks("b", 100)), run(asks("c", 1_000))]);
      const ids = [first, ...others].map(({ runId }) => runId);
      return [first.text, ...others.map(({ text: said }) => said), new Set(ids).size];
    });
    const result = await play(callAndAnswer("work"), { tools: [work], pricing }).result;
    expect(answersOf(result)[0]?.result).toEqual(["a", "b", "c", 3]);
    expect(spendingOf(result)).toEqual([1_112, 139, 1]);
  });

  it("counts if the tool fails, times out or does not await the runs", async () => {
    const clock = createTestClock();
    const hanging = { messages: question, provider: createMockProvider(() => [text("x"), tokens(100), stall()]) };
    const tools = [
      tool("fails", async (_, ctx) => {
        await runNested(ctx, asks("a", 10));
        throw new Error("no");
      }),
      tool("hangs", async (_, ctx) => [await runNested(ctx, asks("a", 10)), await never], { timeoutMs: 50 }),
      tool("loses", (_, ctx) => {
        void runNested(ctx, hanging);
        return new Promise((resolve) => void clock.setTimeout(() => resolve("gone"), 20));
      }),
    ];
    const playing = play(
      [
        [toolCall("fails"), toolCall("hangs"), toolCall("loses"), tokens(1)],
        [text("Done."), tokens(2)],
      ],
      { tools, pricing, clock },
    );
    await clock.runAll();
    const result = await playing.result;
    expect(outcomesOf(result)).toEqual(["call_i0_0: failed", "call_i0_1: timed-out", "call_i0_2: completed"]);
    expect([spendingOf(result), hanging.provider.active, clock.pending]).toEqual([[123, 123 / 8, 3], 0, 0]);
  });
});
