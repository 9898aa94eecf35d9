import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, type IterationState, type LoopHooks, type PassPlan, type PassView, toolResult } from "turnwright";
import { createMockProvider, createTestClock, finish, text, toolCall } from "turnwright/testing";
import { answersOf, never, outcomesOf, play, tool } from "./play.ts";

const tools = ["a", "b", "c"].map((name) => tool(name, () => name));
const failedBy = (hook: string, message: string): object => ({
  status: "error",
  reason: { kind: "hook-failed", hook, error: { message } },
});

describe("preparePass", () => {
  it("changes what is sent, for this pass only", async () => {
    const other = createMockProvider([text("Hello from elsewhere.")], { id: "else", model: "where", family: "far" });
    const plans: readonly PassPlan[] = [
      { tools: ["c", "nope", "a"], toolChoice: "required", system: "Be loud.", modelSettings: { temperature: 1 } },
      {},
      { provider: other },
    ];
    const playing = play([toolCall("a"), toolCall("b"), text("unused")], {
      tools,
      system: "Be brief.",
      toolChoice: "auto",
      modelSettings: { seed: 7 },
      hooks: { preparePass: ({ iteration }) => plans[iteration] },
    });
    const result = await playing.result;
    const sent = [...playing.provider.requests, ...other.requests].map(({ tools: shown, toolChoice, system, settings }) => [
      shown.map(({ name }) => name).join(""),
      toolChoice,
      system,
      settings,
    ]);
    expect(sent).toEqual([
      ["ac", "required", "Be loud.", { temperature: 1 }],
      ["abc", "auto", "Be brief.", { seed: 7 }],
      ["abc", "auto", "Be brief.", { seed: 7 }],
    ]);
    expect(
      result.streamResults.map(({ provider, model, family, exposedTools }) => [provider, model, family, exposedTools.join("")]),
    ).toEqual([
      ["mock", "mock-model", undefined, "ac"],
      ["mock", "mock-model", undefined, "abc"],
      ["else", "where", "far", "abc"],
    ]);
    expect(result.text).toBe("Hello from elsewhere.");
  });

  it("narrows what the model may call in that pass", async () => {
    const playing = play([toolCall("b"), toolCall("b"), text("Done.")], {
      tools,
      hooks: { preparePass: ({ iteration }) => (iteration === 0 ? { tools: ["a"] } : undefined) },
    });
    expect(answersOf(await playing.result).map((part) => part.outcome)).toEqual(["unknown-tool", "completed"]);
  });

  it("is shown what is about to be sent, before each stream", async () => {
    const views: unknown[] = [];
    const see = ({ messages, tools: shown, usage, ...rest }: PassView): void =>
      void views.push([rest, messages.at(-1)?.role, shown.length, usage.totalTokens > 0]);
    await play([[text("One "), finish("paused")], toolCall("a"), text("Done.")], {
      tools,
      system: "s",
      contextItems: ["night"],
      hooks: { preparePass: see },
    }).result;
    const view = (iteration: number): object => ({ iteration, system: "s", modelSettings: undefined, toolChoice: undefined });
    expect(views).toEqual([
      [view(0), "user", 3, false],
      // The turn that is resent comes last; the context goes before it.
      [view(0), "assistant", 3, true],
      [view(1), "user", 3, true],
    ]);
  });

  it.for<[how: string, hook: NonNullable<LoopHooks["preparePass"]>, message: string]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
      "no",
    ],
    ["rejects", () => Promise.reject(new Error("no")), "no"],
    [
      "names tools that are no list",
      () => ({ tools: "abc" as never }),
      'Option "preparePass.tools" must be an array of tool names, but is "abc".',
    ],
    [
      "names a provider that is none",
      () => ({ provider: {} as never }),
      'Option "preparePass.provider" must be a provider: an object with "id", "model" and "stream", but is an object.',
    ],
    [
      "chooses what is no choice",
      () => ({ toolChoice: "never" as never }),
      'Option "preparePass.toolChoice" must be "auto", "required", "none" or { name }, but is "never".',
    ],
    ["answers no plan", () => 7 as never, 'Option "preparePass" must be an object, but is 7.'],
    [
      "mistypes a field",
      async () => ({ toolChoise: "none" }) as never,
      'There is no option "preparePass.toolChoise". Did you mean "toolChoice"?',
    ],
  ])("that %s ends the run before any request", async ([, preparePass, message]) => {
    const playing = play([], { tools, hooks: { preparePass } });
    const result = await playing.result;
    expect(result).toMatchObject(failedBy("preparePass", message));
    expect([playing.provider.calls, result.messages.length]).toEqual([0, 1]);
  });

  it("that takes too long has failed, and what it answers later is dropped", async () => {
    const clock = createTestClock();
    const late = (): Promise<PassPlan> =>
      new Promise((resolve) => void clock.setTimeout(() => resolve({ system: "late" }), 40_000));
    const playing = play([], { clock, hooks: { preparePass: late } });
    await clock.advance(60_000);
    expect(await playing.result).toMatchObject(failedBy("preparePass", "The hook took longer than 30000 ms."));
    expect([playing.endedAt(), playing.provider.calls]).toEqual([30_000, 0]);
  });

  it("may fail in a later pass, and nothing that was done is lost", async () => {
    const preparePass = ({ iteration }: PassView): undefined => {
      if (iteration === 1) throw new Error("no");
    };
    const result = await play([[text("So. "), toolCall("a")]], { tools, hooks: { preparePass } }).result;
    expect(result).toMatchObject({ ...failedBy("preparePass", "no"), text: "So." });
    expect(outcomesOf(result)).toEqual(["call_p0_0: completed"]);
  });
});

describe("onIteration", () => {
  it("is asked after each batch, with what it needs to judge", async () => {
    const seen: (readonly [number, IterationState])[] = [];
    const playing = play([[text("So. "), toolCall("a"), toolCall("b")], toolCall("nope"), text("Done.")], {
      tools,
      pricing: () => 0.5,
      hooks: { onIteration: (iteration, state) => void seen.push([iteration, state]) },
    });
    await playing.result;
    const call = (callId: string, name: string): object => expect.objectContaining({ callId, name, args: {} });
    expect(seen).toEqual([
      [
        1,
        { iteration: 0, cumulativeCost: 0.5, messageCount: 3, lastToolCalls: [call("call_p0_0", "a"), call("call_p0_1", "b")] },
      ],
      [2, { iteration: 1, cumulativeCost: 1, messageCount: 5, lastToolCalls: [call("call_p1_0", "nope")] }],
    ]);
  });

  it("is told of a cost that nobody knows", async () => {
    const costs: unknown[] = [];
    await play([toolCall("a"), text("Done.")], {
      tools,
      hooks: { onIteration: (_, state) => void costs.push(state.cumulativeCost) },
    }).result;
    expect(costs).toEqual([undefined]);
  });

  it.for<[how: string, hook: NonNullable<LoopHooks["onIteration"]>, ending: object]>([
    [
      "aborts",
      () => ({ abort: true, reason: "enough" }),
      { status: "stopped_by_user", reason: { kind: "iteration-abort", reason: "enough" } },
    ],
    [
      "aborts later",
      async () => ({ abort: true }),
      { status: "stopped_by_user", reason: { kind: "iteration-abort", reason: undefined } },
    ],
    [
      "aborts for a reason that is no text",
      () => ({ abort: true, reason: 7n as never }),
      { reason: { kind: "iteration-abort", reason: undefined } },
    ],
    [
      "throws",
      () => {
        throw new Error("no");
      },
      failedBy("onIteration", "no"),
    ],
    ["rejects", () => Promise.reject(new Error("no")), failedBy("onIteration", "no")],
    ["says nothing", () => undefined, { status: "completed" }],
    ["says something else", () => ({ abort: false }) as never, { status: "completed" }],
    ["says yes", () => "abort" as never, { status: "completed" }],
    ["says null", () => null as never, { status: "completed" }],
  ])("that %s", async ([, onIteration, ending]) => {
    const result = await play([toolCall("a"), text("Done.")], { tools, hooks: { onIteration } }).result;
    expect(result).toMatchObject(ending);
    expect(() => JSON.stringify(result)).not.toThrow();
    expect(outcomesOf(result)).toEqual(["call_p0_0: completed"]);
  });

  it("that takes too long has failed", async () => {
    const playing = play([toolCall("a")], { tools, hooks: { onIteration: () => never }, timeouts: { hookMs: 50 } });
    await playing.clock.advance(1_000);
    expect(await playing.result).toMatchObject(failedBy("onIteration", "The hook took longer than 50 ms."));
    expect(playing.endedAt()).toBe(50);
  });

  it.for<[before: string, script: Parameters<typeof play>[0], asked: number, ending: string]>([
    ["the end of the turn", [toolCall("over")], 1, "iteration-abort"],
    ["the last iteration", [toolCall("a")], 1, "iteration-abort"],
    ["no tool error cap", [[toolCall("nope"), toolCall("nope")]], 0, "tool-error-cap"],
    ["no answer", [text("Done.")], 0, "answered"],
  ])("comes before %s", async ([, script, asked, ending]) => {
    let count = 0;
    const onIteration = (): { readonly abort: true } => ((count += 1), { abort: true });
    const over = tool("over", () => toolResult({ endTurn: true }));
    const { result } = play(script, {
      tools: [...tools, over],
      hooks: { onIteration },
      limits: { maxIterations: 1, maxConsecutiveToolErrors: 2 },
    });
    expect([(await result).reason.kind, count]).toEqual([ending, asked]);
  });

  it("is not asked once the run is being ended", async () => {
    let asked = 0;
    const playing = play([toolCall("stopper")], ({ control }) => ({
      tools: [tool("stopper", () => void control.stop())],
      hooks: { onIteration: () => void (asked += 1) },
    }));
    expect([(await playing.result).reason.kind, asked]).toEqual(["stopped", 0]);
  });
});

describe("a validation that waits", () => {
  const slow = (ms: number) => {
    const clock = createTestClock();
    const inputSchema = z
      .object({ n: z.number() })
      .refine(({ n }) => new Promise((resolve) => void clock.setTimeout(() => resolve(n > 1), ms)), "must be more than one");
    const check = defineTool({
      name: "check",
      description: "",
      inputSchema,
      jsonSchema: { type: "object" },
      execute: ({ n }) => n,
    });
    return { clock, tools: [check] };
  };

  it("is waited for", async () => {
    const setUp = slow(1_000);
    const playing = play([[toolCall("check", { n: 1 }), toolCall("check", { n: 2 })], text("Done.")], setUp);
    await setUp.clock.advance(1_000);
    expect(answersOf(await playing.result).map((part) => part.result)).toEqual([
      { status: "invalid_input", reason: "must be more than one", tool_name: "check" },
      2,
    ]);
  });

  it("too long reads as invalid input", async () => {
    const setUp = slow(31_000);
    const playing = play([toolCall("check", { n: 2 }), text("Done.")], setUp);
    await setUp.clock.advance(40_000);
    expect(answersOf(await playing.result).map((part) => part.result)).toEqual([
      { status: "invalid_input", reason: "The validation took longer than 30000 ms.", tool_name: "check" },
    ]);
    expect(playing.endedAt()).toBe(30_000);
  });
});
