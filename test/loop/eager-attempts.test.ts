import { describe, expect, it } from "vitest";
import { eagerTools, FatalToolError, providerError, runNested } from "turnwright";
import { createMockProvider, type MockPart, text, toolCall, usage, wait } from "turnwright/testing";
import { question } from "./nested/nesting.ts";
import { answersOf, outcomesOf, play, tool } from "./play.ts";
import { finished, replayed, said, setUp } from "./eager-stage.ts";

const began = (attempt: number): readonly MockPart[] =>
  said({ type: "attempt-start", attempt, provider: "p", model: `m${attempt}` });
const tookBack = said({ type: "attempt-discarded", attempt: 1, error: providerError("overloaded", "Busy.") });

describe("an eager call in a discarded attempt", () => {
  it.for<[what: string, again: readonly MockPart[], ran: number, answers: number]>([
    ["does not run again if the next attempt makes the same call", [toolCall("look", { b: 2, a: 1 })], 1, 1],
    ["is not in the transcript if the next attempt makes a different call", [toolCall("look", { a: 2 })], 2, 1],
    ["is not in the transcript if the next attempt makes no call", [text("Hi.")], 1, 0],
    [
      "runs again if the next attempt makes the same call twice",
      [toolCall("look", { a: 1, b: 2 }), toolCall("look", { a: 1, b: 2 })],
      2,
      2,
    ],
  ])("%s", async ([, next, ranTimes, answers]) => {
    const { ran, start } = setUp();
    const turn = [...began(1), toolCall("look", { a: 1, b: 2 }), wait(20), ...tookBack, ...began(2), ...next];
    const playing = start([turn, text("Done.")]);
    const result = await finished(playing);
    expect([ran.length, answersOf(result).length]).toEqual([ranTimes, answers]);
    expect(answersOf(result).every(({ outcome }) => outcome === "completed")).toBe(true);
    const ids = playing.recording.of("tool-start").map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(playing.recording.of("tool-end").map(({ callId }) => callId)).toEqual(ids);
    for (const { callId } of answersOf(result)) expect(ids).toContain(callId);
    await replayed(playing, result);
    expect(ran).toHaveLength(ranTimes);
  });

  it("does not prevent calls in the next attempt if it throws a FatalToolError", async () => {
    const fatal = (): never => {
      throw new FatalToolError("broken");
    };
    const tools = [tool("fatal", fatal, { eager: true }), tool("look", () => 1, { eager: true }), tool("act", () => 2)];
    const next = [toolCall("look"), wait(10), toolCall("act")];
    const turn = [...began(1), toolCall("fatal"), wait(20), ...tookBack, ...began(2), ...next];
    const playing = play([turn, text("Done.")], { tools, middleware: [eagerTools()] });
    const result = await finished(playing);
    expect([answersOf(result).map(({ outcome }) => outcome), result.text]).toEqual([["completed", "completed"], "Done."]);
    await replayed(playing, result);
  });

  it("is reported again at its index in the next attempt", async () => {
    const { start } = setUp();
    const turn = [...began(1), toolCall("look"), ...tookBack, ...began(2), toolCall("act"), toolCall("look")];
    const playing = start([turn, text("Done.")]);
    await finished(playing);
    expect(playing.recording.of("tool-start").map(({ callId, index }) => [callId, index])).toEqual([
      ["call_i0_0", 0],
      ["call_i0_1", 1],
      ["call_i0_0_1", 0],
    ]);
  });

  it("counts toward usage and cost even if the next attempt makes no call", async () => {
    const inner = createMockProvider([[text("In."), usage({ inputTokens: 100, outputTokens: 0 })]]);
    const run = tool("run", async (_, context) => (await runNested(context, { messages: question, provider: inner })).text, {
      eager: true,
    });
    const used = usage({ inputTokens: 1, outputTokens: 0 });
    const turn = [...began(1), toolCall("run"), used, ...tookBack, ...began(2), text("Hi."), used];
    const playing = play([turn], { tools: [run], middleware: [eagerTools()], pricing: ({ totalTokens }) => totalTokens / 100 });
    const result = await finished(playing);
    expect([result.text, result.usage.totalTokens, result.costUSD]).toEqual(["Hi.", 102, 1.02]);
    const again = await replayed(playing, result);
    expect((await again.result).usage).toEqual(result.usage);
  });
});

describe("an eager call's result", () => {
  it("is not used for a malformed call that comes before the eager call", async () => {
    const { ran, start } = setUp();
    const playing = start([[toolCall("look", {}, { rawArgs: "{" }), toolCall("look")], text("Done.")]);
    const result = await finished(playing);
    expect(outcomesOf(result)).toEqual(["call_i0_0: malformed", "call_i0_1: completed"]);
    expect(ran).toEqual(["i0/call/1/look {}"]);
    await replayed(playing, result);
  });

  it("is not used for a malformed call in the next attempt", async () => {
    const { ran, start } = setUp();
    const broken = toolCall("look", {}, { rawArgs: "{" });
    const turn = [...began(1), toolCall("look"), wait(20), ...tookBack, ...began(2), broken, toolCall("look")];
    const playing = start([turn, text("Done.")]);
    const result = await finished(playing);
    expect(answersOf(result).map(({ outcome }) => outcome)).toEqual(["malformed", "completed"]);
    expect(ran).toEqual(["i0/call/0/look {}"]);
    await replayed(playing, result);
  });
});
