import { describe, expect, it } from "vitest";
import { contextRestarts, prepareIteration } from "turnwright";
import type { IterationPlan, IterationView } from "../../src/core/types/loop-options.ts";
import { createMockProvider, createTestClock, finish, text, toolCall, usage } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";

const tools = ["a", "b", "c"].map((name) => tool(name, () => name));
const failedBy = (hook: string, message: string): object => ({
  status: "error",
  reason: { kind: "hook-failed", hook, error: { message } },
});

describe("prepareIteration", () => {
  it("changes tools, system prompt, settings and provider for one iteration only", async () => {
    const other = createMockProvider([text("Hello from elsewhere.")], { id: "else", model: "where", family: "far" });
    const plans: readonly IterationPlan[] = [
      { tools: ["c", "nope", "a"], toolChoice: "required", system: "Be loud.", modelSettings: { temperature: 1 } },
      {},
      { provider: other },
    ];
    const playing = play([toolCall("a"), toolCall("b"), text("unused")], {
      tools,
      system: "Be brief.",
      toolChoice: "auto",
      modelSettings: { seed: 7 },
      middleware: [prepareIteration(({ iteration }) => plans[iteration])],
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
      result.streamResults.map(({ provider, model, family, visibleTools }) => [provider, model, family, visibleTools.join("")]),
    ).toEqual([
      ["mock", "mock-model", undefined, "ac"],
      ["mock", "mock-model", undefined, "abc"],
      ["else", "where", "far", "abc"],
    ]);
    expect(result.text).toBe("Hello from elsewhere.");
  });

  it("limits the tools that the model may call in one iteration", async () => {
    const playing = play([toolCall("b"), toolCall("b"), text("Done.")], {
      tools,
      middleware: [prepareIteration(({ iteration }) => (iteration === 0 ? { tools: ["a"] } : undefined))],
    });
    expect(answersOf(await playing.result).map((part) => part.outcome)).toEqual(["unknown-tool", "completed"]);
  });

  it("receives the request before each stream", async () => {
    const views: unknown[] = [];
    const see = ({ messages, tools: shown, usage, ...rest }: IterationView): void =>
      void views.push([rest, messages.at(-1)?.role, shown.length, usage.totalTokens > 0]);
    await play([[text("One "), finish("paused")], toolCall("a"), text("Done.")], {
      tools,
      system: "s",
      middleware: [contextRestarts({ items: ["night"] }), prepareIteration(see)],
    }).result;
    const view = (iteration: number): object => ({ iteration, system: "s", modelSettings: undefined, toolChoice: undefined });
    expect(views).toEqual([
      [view(0), "user", 3, false],
      // The last message of a continuation is the paused assistant message, after the context items.
      [view(0), "assistant", 3, true],
      [view(1), "user", 3, true],
    ]);
  });

  it.for<[how: string, hook: NonNullable<Parameters<typeof prepareIteration>[0]>, message: string]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
      "no",
    ],
    ["rejects", () => Promise.reject(new Error("no")), "no"],
    [
      "returns tools that are not an array",
      () => ({ tools: "abc" as never }),
      'Option "prepareIteration.tools" is "abc", but must be an array of tool names.',
    ],
    [
      "returns an invalid provider",
      () => ({ provider: {} as never }),
      'Option "prepareIteration.provider" is an object, but must be a provider: an object with "id", "model" and "stream".',
    ],
    [
      "returns an invalid toolChoice",
      () => ({ toolChoice: "never" as never }),
      'Option "prepareIteration.toolChoice" is "never", but must be "auto", "required", "none" or { name }.',
    ],
    ["returns a number", () => 7 as never, 'Option "prepareIteration" is 7, but must be an object.'],
    [
      "returns a misspelled field",
      async () => ({ toolChoise: "none" }) as never,
      'There is no option "prepareIteration.toolChoise". Did you mean "prepareIteration.toolChoice"?',
    ],
  ])("ends the run before any request if the hook %s", async ([, prepare, message]) => {
    const playing = play([], { tools, middleware: [prepareIteration(prepare)] });
    const result = await playing.result;
    expect(result).toMatchObject(failedBy("prepare-iteration.request", message));
    expect([playing.provider.calls, result.messages.length]).toEqual([0, 1]);
  });

  it("fails the run if the hook takes longer than 30 seconds", async () => {
    const clock = createTestClock();
    const late = (): Promise<IterationPlan> =>
      new Promise((resolve) => void clock.setTimeout(() => resolve({ system: "late" }), 40_000));
    const playing = play([], { clock, middleware: [prepareIteration(late)] });
    await clock.advance(60_000);
    expect(await playing.result).toMatchObject(failedBy("prepare-iteration.request", "The hook took longer than 30000 ms."));
    expect([playing.endedAt(), playing.provider.calls]).toEqual([30_000, 0]);
  });

  it("keeps earlier text and results if the hook fails in a later iteration", async () => {
    const prepare = ({ iteration }: IterationView): undefined => {
      if (iteration === 1) throw new Error("no");
    };
    const result = await play([[text("So. "), toolCall("a")]], { tools, middleware: [prepareIteration(prepare)] }).result;
    expect(result).toMatchObject({ ...failedBy("prepare-iteration.request", "no"), text: "So." });
    expect(outcomesOf(result)).toEqual(["call_i0_0: completed"]);
  });

  it("keeps the cost of earlier iterations if the hook fails", async () => {
    const prepare = ({ iteration }: IterationView): undefined => {
      if (iteration === 1) throw new Error("no");
    };
    const turn = [toolCall("a"), usage({ inputTokens: 1, outputTokens: 1 })];
    const result = await play([turn], { tools, pricing: () => 0.5, middleware: [prepareIteration(prepare)] }).result;
    expect([result.reason.kind, result.costUSD]).toEqual(["hook-failed", 0.5]);
  });
});
