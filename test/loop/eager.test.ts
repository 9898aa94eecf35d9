import { describe, expect, it } from "vitest";
import {
  approve,
  defineTool,
  eagerTools,
  FatalToolError,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  type SavedJournal,
  type Tool,
  runNested,
} from "turnwright";
import type { MessageWatch } from "../../src/core/types/middleware.ts";
import { chunk, createMockProvider, fail, finish, type MockPart, stall, text, toolCall, wait } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";
import { nesting, question } from "./nested/nesting.ts";
import { finished, replayed, said, setUp } from "./eager-stage.ts";

describe("an eager call", () => {
  it("stays in the transcript if the provider pauses the message and maxPauses then ends the run", async () => {
    const ran: string[] = [];
    const quick = tool("quick", (_, { callId }) => (ran.push(callId), 1), { eager: true });
    const script = [[toolCall("quick"), finish("continue")]];
    const { result } = play(script, { tools: [quick], middleware: [eagerTools()], limits: { maxPauses: 0 } });
    expect([outcomesOf(await result), ran]).toEqual([["call_i0_0: completed"], ["call_i0_0"]]);
  });

  it("starts when its arguments are complete, before the other calls in the batch", async () => {
    const { ran, start } = setUp();
    const playing = start([[toolCall("act", { n: 1 }), toolCall("look", { n: 2 }), wait(50), text("Hm.")], text("Done.")]);
    await playing.clock.advance(5);
    expect(ran).toEqual(['i0/call/1/look {"n":2}']);
    const result = await finished(playing);
    expect(ran).toEqual(['i0/call/1/look {"n":2}', 'i0/call/0/act {"n":1}']);
    expect(answersOf(result).map(({ callId, outcome, result: read }) => [callId, outcome, read])).toEqual([
      ["call_i0_0", "completed", { n: 1 }],
      ["call_i0_1", "completed", { n: 2 }],
    ]);
    expect([result.toolCallsExecuted, result.functionHistory.length, result.text]).toEqual([2, 2, "Done."]);
    const lines = playing.recording.events.flatMap((event) =>
      "callId" in event ? [`${event.type} ${event.callId}`] : event.type === "text-delta" ? [event.text] : [],
    );
    expect(lines).toEqual([
      "tool-args-delta call_i0_0",
      "tool-args-end call_i0_0",
      "tool-args-delta call_i0_1",
      "tool-args-end call_i0_1",
      "tool-start call_i0_1",
      "tool-end call_i0_1",
      "Hm.",
      "tool-start call_i0_0",
      "tool-end call_i0_0",
      "Done.",
    ]);
    expect(playing.recording.of("tool-start").map(({ index }) => index)).toEqual([1, 0]);
    await replayed(playing, result);
    expect(ran).toHaveLength(2);
  });

  it("prevents other calls from starting after it throws a FatalToolError", async () => {
    const ran: string[] = [];
    const fatal = (): never => {
      throw new FatalToolError("broken");
    };
    const tools = [
      tool("fatal", fatal, { eager: true }),
      tool("look", () => ran.push("look"), { eager: true }),
      tool("act", () => ran.push("act")),
    ];
    const script = [[toolCall("fatal"), toolCall("act"), wait(10), toolCall("look")]];
    const playing = play(script, { tools, middleware: [eagerTools()] });
    const result = await finished(playing);
    expect([ran, outcomesOf(result), result.reason.kind]).toEqual([
      [],
      ["call_i0_0: failed", "call_i0_1: not-run", "call_i0_2: not-run"],
      "fatal-tool-error",
    ]);
    await replayed(playing, result);
    expect(ran).toEqual([]);
  });

  it("delays the next request until the call ends", async () => {
    const { ran, start } = setUp();
    const result = await finished(start([[toolCall("look"), toolCall("look")], text("Done.")]));
    expect([ran.length, outcomesOf(result)]).toEqual([2, ["call_i0_0: completed", "call_i0_1: completed"]]);
  });

  it("starts only after an earlier call whose arguments are still streaming", async () => {
    const { ran, start } = setUp();
    const args = { n: 1 };
    const stream = [
      ...said({ type: "call-start", key: "a", id: "x", name: "look" }),
      ...said({ type: "call-ready", key: "b", id: "x", name: "look", args: { n: 2 } }),
      wait(20),
      ...said({ type: "call-ready", key: "a", id: "x", name: "look", args }),
      finish("tool-calls"),
    ];
    const playing = start([stream, text("Done.")]);
    await playing.clock.advance(10);
    expect(ran).toEqual([]);
    const result = await finished(playing);
    expect(ran).toEqual(['i0/call/0/look {"n":1}', 'i0/call/1/look {"n":2}']);
    expect(answersOf(result).map(({ callId }) => callId)).toEqual(["x", "call_i0_1"]);
  });

  it.for<[how: string, end: readonly MockPart[], kind: string]>([
    ["an error", [fail({ status: 500 })], "provider-error"],
    ["a refusal", [text("No."), finish("refusal")], "refusal"],
    ["an idle timeout", [stall()], "stream-idle"],
  ])("keeps its outcome if the model stream ends with %s", async ([, end, kind]) => {
    const { ran, start } = setUp();
    const playing = start([[toolCall("look"), toolCall("act"), ...end]], { timeouts: { streamIdleMs: 100, toolCleanupMs: 0 } });
    const result = await finished(playing);
    expect([result.reason.kind, outcomesOf(result), ran.length]).toEqual([
      kind,
      ["call_i0_0: completed", "call_i0_1: not-run"],
      1,
    ]);
    expect(result.functionHistory.map(({ outcome }) => outcome)).toEqual(["completed"]);
    const again = await replayed(playing, result);
    expect([ran.length, again.provider.calls]).toEqual([1, 0]);
  });

  it("keeps its outcome if the message is cut off after the call", async () => {
    const { ran, start } = setUp();
    const result = await finished(start([[toolCall("look"), toolCall("act"), finish("length")], text("Done.")]));
    expect([outcomesOf(result), ran.length]).toEqual([["call_i0_0: completed", "call_i0_1: truncated"], 1]);
  });

  it("runs once in a message that pauses and continues", async () => {
    const { ran, start } = setUp();
    const script = [
      [toolCall("look"), wait(20), finish("paused")],
      [wait(20), toolCall("act"), wait(20), finish("tool-calls")],
      text("Done."),
    ];
    const playing = start(script);
    await playing.clock.advance(15);
    expect(ran).toEqual(["i0/call/0/look {}"]);
    const result = await finished(playing);
    expect([ran, outcomesOf(result)]).toEqual([
      ["i0/call/0/look {}", "i0/call/1/act {}"],
      ["call_i0_0: completed", "call_i0_1: completed"],
    ]);
    await replayed(playing, result);
    expect(ran).toHaveLength(2);
  });

  it.for<[what: string, call: MockPart, outcome: string]>([
    ["to an unknown tool", toolCall("none"), "unknown-tool"],
    ["malformed", chunk({ type: "call-ready", key: "k", name: "look", args: {}, problem: "malformed" }), "malformed"],
    ["invalid", toolCall("strict", { n: "x" }), "invalid-input"],
  ])("does not run if the call is %s", async ([, call, outcome]) => {
    const strict = defineTool({
      name: "strict",
      description: "",
      inputSchema: {
        "~standard": { version: 1, vendor: "test", validate: async () => ({ issues: [{ message: "no" }] }) },
      },
      jsonSchema: { type: "object" },
      eager: true,
      execute: () => 1,
    });
    const playing = play([[call, finish("tool-calls")], text("Done.")], {
      tools: [strict, tool("look", () => 1, { eager: true })],
      middleware: [eagerTools()],
    });
    const result = await playing.result;
    expect([outcomesOf(result), result.toolCallsExecuted]).toEqual([[`call_i0_0: ${outcome}`], 0]);
    expect([playing.recording.of("tool-start").length, playing.recording.of("tool-end").length]).toEqual([0, 1]);
  });

  it.for<[what: string, more: Partial<LoopOptions>]>([
    ["approve", { middleware: [approve(() => ({ kind: "approve" }))] }],
    ["limits.maxToolCalls", { limits: { maxToolCalls: 5 } }],
  ])("starts only with its batch if %s could forbid the call", async ([, more]) => {
    const { ran, start } = setUp();
    const playing = start([[toolCall("look"), wait(50)], text("Done.")], more);
    await playing.clock.advance(40);
    expect(ran).toEqual([]);
    await finished(playing);
    expect(ran).toHaveLength(1);
  });

  it("starts only with its batch if the outer run has limits.maxToolCalls", async () => {
    const ran: number[] = [];
    const look = tool("look", () => ran.push(1), { eager: true });
    const inner = createMockProvider([[toolCall("look"), wait(50)], text("Inside.")]);
    const agent = nesting("agent tool", "agent", () => ({
      messages: question,
      provider: inner,
      tools: [look],
      middleware: [eagerTools()],
    }));
    const playing = play([toolCall("agent"), text("Done.")], { tools: [agent], limits: { maxToolCalls: 5 } });
    await playing.clock.advance(40);
    expect(ran).toEqual([]);
    await finished(playing);
    expect(ran).toHaveLength(1);
  });

  it("respects limits.toolConcurrency", async () => {
    const { ran, start } = setUp();
    const turn = [toolCall("look", { n: 1 }), toolCall("look", { n: 2 }), toolCall("look", { n: 3 }), wait(5), text("Hm.")];
    const playing = start([turn, text("Done.")], { limits: { toolConcurrency: 2 } });
    await playing.clock.advance(4);
    expect(ran).toHaveLength(2);
    const result = await finished(playing);
    expect([ran.length, outcomesOf(result)]).toEqual([
      3,
      ["call_i0_0: completed", "call_i0_1: completed", "call_i0_2: completed"],
    ]);
  });

  it.for(["kill", "stop"] as const)("is interrupted by control.%s() and leaves no timer behind", async (verb) => {
    const { ran, start } = setUp();
    const playing = start([[toolCall("look"), wait(50)]]);
    await playing.clock.advance(2);
    playing.control[verb]();
    const result = await finished(playing);
    expect([result.status, ran.length]).toEqual(["stopped-by-user", 1]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: interrupted"]);
  });

  it("starts the tool phase, so a later interrupt is returned as undelivered", async () => {
    const { start } = setUp();
    const playing = start([[toolCall("look"), wait(50), text("Hm.")], text("Done.")]);
    await playing.clock.advance(2);
    playing.control.interrupt("No, wait.");
    const result = await finished(playing);
    expect([result.text, result.undelivered.length]).toEqual(["Done.", 1]);
  });

  it("counts a nested run's usage, even in a replay", async () => {
    const inner = createMockProvider([text("Inside.")]);
    const look = tool("look", async (_, context) => (await runNested(context, { messages: question, provider: inner })).text, {
      eager: true,
    });
    const playing = play([[toolCall("look"), text("Hm.")], text("Done.")], { tools: [look], middleware: [eagerTools()] });
    const result = await finished(playing);
    expect(result.streamResults[0]?.eagerOutcomes?.[0]?.nested?.usage.totalTokens).toBeGreaterThan(0);
    const again = await replayed(playing, result);
    expect((await again.result).usage).toEqual(result.usage);
  });
});

describe("the `stream` hook", () => {
  const watched = (watch: MessageWatch): Middleware => ({ name: "watch", pure: true, stream: () => watch });
  const turn = [toolCall("act", { n: 1 }), wait(5), toolCall("act", { n: 2 }), text("Hm.")];

  it("receives each complete call, and can add fields to the recorded answer", async () => {
    const seen: unknown[] = [];
    const watch: MessageWatch = {
      call: ({ args }) => void seen.push(args),
      ended: async (calls) => ({ notes: { calls: calls.length } }),
      recorded: async ({ notes }) => void seen.push(notes),
    };
    const { start } = setUp();
    const playing = start([turn, text("Done.")], { middleware: [watched(watch)] });
    const result = await finished(playing);
    expect([seen, result.streamResults.map(({ notes }) => notes)]).toEqual([
      [{ n: 1 }, { n: 2 }],
      [{ calls: 2 }, { calls: 0 }],
    ]);
    seen.length = 0;
    await replayed(playing, result);
    expect(seen).toEqual([{ calls: 2 }, { calls: 0 }]);
  });

  it.for(["call", "ended", "recorded"] as const)('ends the run as "hook-failed" if %s throws', async (name) => {
    const broken: MessageWatch = {
      [name]: () => {
        throw new Error("no");
      },
    };
    const { start } = setUp();
    const isLate = name === "recorded";
    const playing = start([turn, text("Done.")], { middleware: isLate ? [] : [watched(broken)] });
    const first = await finished(playing);
    const journal = memoryJournal(JSON.parse(JSON.stringify(first.journal)) as SavedJournal);
    const middleware = [...(playing.options.middleware ?? []), watched(broken)];
    const { reason } = isLate ? await play([], { ...playing.options, middleware, journal }).result : first;
    expect(reason).toMatchObject({ kind: "hook-failed", hook: "watch.stream", error: { message: "no" } });
  });

  it("lets a call hook wait for the end of the message without repeating the hook's step", async () => {
    const steps: string[] = [];
    const counting: Middleware = {
      name: "count",
      async call(call, next, at) {
        await at.step("count", () => steps.push(call.callId));
        await at.afterMessage();
        return next(call);
      },
    };
    const { ran, start } = setUp();
    const playing = start([[toolCall("look"), wait(20), text("Hm.")], text("Done.")], { middleware: [counting] });
    await playing.clock.advance(15);
    expect([steps, ran]).toEqual([["call_i0_0"], []]);
    const result = await finished(playing);
    expect([steps, ran, outcomesOf(result)]).toEqual([["call_i0_0"], ["i0/call/0/look {}"], ["call_i0_0: completed"]]);
    await replayed(playing, result);
    expect([steps.length, ran.length]).toEqual([1, 1]);
  });
});

it("a run with an eager tool needs eagerTools()", async () => {
  await expect(play([], { tools: [tool("look", () => 1, { eager: true })] }).result).rejects.toThrow(
    "an array without eagerTools(), but must be an array that includes it",
  );
});

it.for<[title: string, traits: Partial<Tool>, problem: string]>([
  ['eager: true with replay: "never"', { eager: true, replay: "never" }, "replay: never"],
  ["eager: true with sequential: true", { eager: true, sequential: true }, "sequential: true"],
  ["a string as eager", { eager: "yes" as never }, '"eager"'],
])("defineTool throws for %s", ([, traits, problem]) => {
  expect(() => tool("look", () => 1, traits)).toThrow(problem);
});
