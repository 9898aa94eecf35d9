import { describe, expect, it } from "vitest";
import { type Journal, type LoopOptions, type Provider, runToolLoop, type Tool } from "turnwright";
import { createMockProvider, createTestClock, fail, type MockMessage, text, toolCall } from "turnwright/testing";
import { play, tool } from "../play.ts";
import { callAndAnswer, kinds, nesting, plain, question, scripted, spendingOf, tokens } from "./nesting.ts";
import { keyOf, over, scriptOf, stepsOf } from "./records.ts";

describe("a replay of a run with a nested run", () => {
  it.for(kinds)("gives the same result and cost over three levels in an %s, and calls no model or tool", async (kind) => {
    const nest = (create: () => Provider, execute: () => unknown): Tool => {
      const inside = { messages: question, tools: [tool("ok", execute)] };
      const grandchild = nesting(kind, "grandchild", () => ({ ...inside, provider: create() }));
      return nesting(kind, "child", () => ({ ...inside, tools: [...inside.tools, grandchild], provider: create() }));
    };
    const scripts = ["grandchild", "ok", "ok"].map((name) => callAndAnswer(name, [10, 20]));
    const playing = play(
      [
        [toolCall("child"), toolCall("child"), tokens(1)],
        [text("Done."), tokens(2)],
      ],
      {
        tools: [
          nest(
            () => createMockProvider(scripts.shift() ?? []),
            () => 1,
          ),
        ],
        limits: { toolConcurrency: 1 },
        pricing: ({ totalTokens }) => totalTokens / 8,
      },
    );
    const result = await playing.result;
    expect(spendingOf(result)).toEqual([93, 93 / 8, 5]);
    const untouchable = createMockProvider([]);
    const touched: unknown[] = [];
    const journal = over(Object.entries(stepsOf(result)));
    const tools = [
      nest(
        () => untouchable,
        () => touched.push("ok"),
      ),
    ];
    const again = await runToolLoop({ ...playing.options, control: undefined, provider: untouchable, tools, journal });
    expect([plain(again), untouchable.calls, touched]).toEqual([plain(result), 0, []]);
  });

  it("gives the same result even if prepare now fails or returns different options", async () => {
    const child = scripted(["agent tool", "child"], [text("c")]);
    const playing = play([toolCall("child"), text("Done.")], { tools: [child.tool] });
    const result = await playing.result;
    const journal = (): Journal => over(Object.entries(stepsOf(result)));
    const broken = nesting("agent tool", "child", () => {
      throw new Error("gone");
    });
    const other = scripted(["agent tool", "child"], [text("other")], { resume: "retry-last" });
    for (const changed of [broken, other.tool]) {
      const again = await runToolLoop({ ...playing.options, control: undefined, tools: [changed], journal: journal() });
      expect(plain(again)).toEqual(plain(result));
    }
    expect([other.provider.calls, playing.provider.calls]).toEqual([0, 2]);
  });

  it('does not retry a failed nested run that sets resume: "retry-last"', async () => {
    const turns = (): MockMessage => fail({ status: 500 });
    const provider = createMockProvider(turns);
    const child = nesting("agent tool", "child", () => ({ messages: question, provider, resume: "retry-last" as const }));
    const playing = play([toolCall("child"), text("Done.")], { tools: [child] });
    const result = await playing.result;
    const journal = over(Object.entries(stepsOf(result)));
    const again = await runToolLoop({ ...playing.options, control: undefined, journal });
    expect([plain(again), provider.calls]).toEqual([plain(result), 1]);
  });
});

it.for(["i0/call/0/child/begun", "i0/call/0/child/tool/run/i0/request/model"])(
  "limits.maxToolCalls counts an agent call once in a run resumed from a journal that ends at %s",
  async (last) => {
    const child = nesting("agent tool", "child", (_, context) => ({
      messages: question,
      provider: scriptOf(`${keyOf(context)}/tool/run/`, [[toolCall("ok"), toolCall("ok")], text("c")], []),
      tools: [tool("ok", () => 1)],
    }));
    const options: Omit<LoopOptions, "journal"> = {
      messages: question,
      provider: scriptOf("", [toolCall("child"), text("Done.")], []),
      tools: [child],
      limits: { maxToolCalls: 2 },
      clock: createTestClock(),
    };
    const first = await runToolLoop(options);
    const entries = Object.entries(stepsOf(first));
    const end = entries.findIndex(([key]) => key === last) + 1;
    const again = await runToolLoop({ ...options, runId: first.runId, journal: over(entries.slice(0, end)) });
    expect([first.toolCallsExecuted, end > 0, plain(again)]).toEqual([2, true, plain(first)]);
  },
);

it("context.budget in a resumed run counts the usage of nested runs of a recorded ordinary call", async () => {
  const ok = tool("ok", () => 1);
  const inside = nesting("ordinary tool", "inside", () => ({
    messages: question,
    provider: createMockProvider([
      [toolCall("ok"), toolCall("ok"), tokens(5)],
      [text("i"), tokens(5)],
    ]),
    tools: [ok],
  }));
  const left: unknown[] = [];
  const look = tool("look", (_, { budget: { toolCalls, tokens: unused } }) => void left.push([toolCalls, unused]));
  const child = nesting("agent tool", "child", (_, context) => ({
    messages: question,
    provider: scriptOf(
      `${keyOf(context)}/tool/run/`,
      [[toolCall("inside"), tokens(5)], [toolCall("look"), tokens(5)], text("c")],
      [],
    ),
    tools: [inside, look],
  }));
  const options: Omit<LoopOptions, "journal"> = {
    messages: question,
    provider: scriptOf("", [[toolCall("child"), tokens(5)], text("Done.")], []),
    tools: [child],
    limits: { maxToolCalls: 10, maxTokens: 1_000 },
    clock: createTestClock(),
  };
  const first = await runToolLoop(options);
  const entries = Object.entries(stepsOf(first));
  const end = entries.findIndex(([key]) => key.endsWith("i1/call/0/look/outcome"));
  await runToolLoop({ ...options, runId: first.runId, journal: over(entries.slice(0, end)) });
  // Five of the 10 calls were made: child, inside, ok, ok and look. The five streams used 25 of the 1,000 tokens.
  expect(left).toEqual([
    [5, 975],
    [5, 975],
  ]);
});
