import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestarts,
  gateTools,
  type LoopOptions,
  type NestedLoopOptions,
  onIteration,
  prepareIteration,
  type ToolContext,
} from "turnwright";
import { createMockProvider, createTestClock, stall, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "../play.ts";
import { callAndAnswer, kinds, nesting, question, tokens } from "./nesting.ts";

const ok = tool("ok", () => "fine");

describe.for(kinds)("options that a nested run in an %s does not set", (kind) => {
  it("are inherited: provider, pricing, session and context", async () => {
    const seen: unknown[] = [];
    const look = tool(
      "look",
      (_, { context, session, provider }: ToolContext) => void seen.push([context, session, provider.model]),
    );
    const child = nesting(kind, "child", () => ({ messages: question, tools: [look] }));
    const playing = play(
      [
        [toolCall("child"), tokens(1)],
        [toolCall("look"), tokens(10)],
        [text("c"), tokens(100)],
        [text("Done."), tokens(1_000)],
      ],
      {
        tools: [child],
        context: "mine",
        session: { userId: "Ada" },
        pricing: ({ totalTokens }) => totalTokens,
      },
    );
    const result = await playing.result;
    expect([result.text, result.costUSD, playing.provider.calls]).toEqual(["Done.", 1_111, 4]);
    expect(seen).toEqual([["mine", { userId: "Ada" }, "mock-model"]]);
  });

  it("are inherited: timeouts and clock", async () => {
    const provider = createMockProvider([stall()]);
    const child = nesting(kind, "child", () => ({ messages: question, provider }));
    const playing = play([toolCall("child"), text("Done.")], { tools: [child], timeouts: { firstChunkMs: 70 } });
    await playing.clock.runAll();
    expect([answersOf(await playing.result)[0]?.result, playing.endedAt()]).toMatchObject([
      { reason: "timeout: first-chunk" },
      70,
    ]);
  });

  it("are not inherited: tools, system, settings, policies, hooks, limits and contextItems", async () => {
    const inner = createMockProvider([toolCall("ok"), toolCall("ok"), text("c")]);
    const hooked: unknown[] = [];
    const child = nesting(kind, "child", () => ({ messages: question, provider: inner, tools: [ok] }));
    const options: Partial<LoopOptions> = {
      tools: [child],
      system: "Outer.",
      modelSettings: { temperature: 1 },
      toolChoice: "required",
      middleware: [
        onIteration((count) => void hooked.push(`after ${count}`)),
        contextRestarts({ items: ["a fact"] }),
        prepareIteration(({ iteration }) => void hooked.push(iteration)),
        gateTools({ active: true, allowedNames: ["child"] }),
        approve(({ name }) => (hooked.push(name), { kind: "approve" })),
      ],
      limits: { maxIterations: 2 },
    };
    const playing = play([toolCall("child"), text("Done.")], options);
    expect([(await playing.result).text, hooked]).toEqual(["Done.", [0, "child", "after 1", 1]]);
    expect(inner.requests[0]).toMatchObject({ messages: question, tools: [{ name: "ok" }] });
    const { system, settings, toolChoice } = inner.requests[0] ?? {};
    expect([inner.calls, system, settings, toolChoice]).toEqual([3, undefined, undefined, undefined]);
  });

  it("are inherited even if explicitly set to undefined", async () => {
    const nothing = {
      provider: undefined,
      pricing: undefined,
      timeouts: undefined,
      clock: undefined,
      session: undefined,
      tools: undefined,
    };
    const child = nesting(kind, "child", () => ({
      messages: question,
      ...nothing,
      runId: undefined,
      limits: undefined,
      events: undefined,
    }));
    const playing = play([toolCall("child"), text("c"), text("Done.")], { tools: [child] });
    expect(answersOf(await playing.result)[0]?.result).toBe("c");
  });
});

describe.for(kinds)("the options of a nested run in an %s", (kind) => {
  it("apply only to the nested run", async () => {
    const clock = createTestClock(5);
    const provider = createMockProvider(callAndAnswer("ok", [1, 2]), { model: "small" });
    const seen: unknown[] = [];
    const look = tool("ok", (_, { context, session, provider: { model } }) => void seen.push([context, session, model]));
    const options: NestedLoopOptions = {
      messages: question,
      provider,
      clock,
      tools: [look],
      system: "Inner.",
      context: "other",
      session: {},
      pricing: () => 7,
      timeouts: { toolMs: 10 },
    };
    const child = nesting(kind, "child", () => options);
    const playing = play([toolCall("child"), text("Done.")], {
      tools: [child],
      pricing: () => 100,
      context: "mine",
      system: "Outer.",
    });
    const result = await playing.result;
    expect([result.costUSD, seen, provider.requests[0]?.system]).toEqual([214, [["other", {}, "small"]], "Inner."]);
    expect(playing.recording.of("run-start").map(({ model }) => model)).toEqual(["mock-model", "small"]);
    expect(playing.provider.requests.map(({ system }) => system)).toEqual(["Outer.", "Outer."]);
  });

  it.for<[what: string, options: object, reason: string]>([
    ["an unknown option", { messages: question, nothing: 1 }, 'There is no option "nothing".'],
    ["no messages", {}, 'Option "messages" is undefined, but must be a non-empty array of messages.'],
    [
      "an option of the wrong type",
      { messages: question, tools: 7 },
      'Option "tools" is 7, but must be an array of tools or a registry (for tools in an object: importTools(tools) from "turnwright/interop").',
    ],
    [
      "an invalid limit",
      { messages: question, limits: { maxDepth: 0 } },
      'Option "limits.maxDepth" is 0, but must be a whole number of at least 1, or Infinity',
    ],
    [
      "a call without a result in the messages",
      { messages: [{ role: "assistant", content: [{ type: "tool-call", callId: "x", name: "y", args: {} }] }] },
      "Message 0",
    ],
    ["two tools with the same name", { messages: question, tools: [ok, ok] }, 'There are two tools named "ok": rename one'],
  ])("fail the call, with a reason for the model, if they contain %s", async ([, options, reason]) => {
    const child = nesting(kind, "child", () => options as NestedLoopOptions);
    const playing = play([toolCall("child"), text("Done.")], { tools: [child] });
    const result = await playing.result;
    expect([outcomesOf(result), result.text, playing.provider.calls]).toEqual([["call_i0_0: failed"], "Done.", 2]);
    expect(answersOf(result)[0]?.result).toMatchObject({ reason: expect.stringContaining(reason) });
    expect([playing.recording.of("run-start").length, playing.clock.pending]).toEqual([1, 0]);
  });
});
