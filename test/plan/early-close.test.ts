import { describe, expect, it } from "vitest";
import { createMockProvider, type MockPart, text, usage, wait } from "turnwright/testing";
import type { ModelChunk, Provider } from "turnwright";
import { withPlanner } from "turnwright/plan";
import { play, tool } from "../loop/play.ts";
import { plan, respond } from "./plan-stage.ts";

/** A model that counts what was read of it, and notes how it was left. */
function counting(chunks: readonly ModelChunk[], answer: string): { provider: Provider; read: number[]; left: number } {
  const state = { read: [] as number[], left: 0 };
  const provider: Provider = {
    id: "p",
    model: "m",
    async *stream({ messages }) {
      const isPlan = JSON.stringify(messages.at(-1)).includes("available_tools");
      const own = state.read.push(0) - 1;
      let isOver = false;
      try {
        for (const one of isPlan
          ? chunks
          : ([
              { type: "text-delta", text: answer },
              { type: "finish", reason: "stop" },
            ] as const)) {
          state.read[own] = (state.read[own] ?? 0) + 1;
          yield one;
        }
        isOver = true;
      } finally {
        if (!isOver) state.left += 1;
      }
    },
  };
  return Object.assign(state, { provider });
}

const pieces = (whole: string): readonly ModelChunk[] => [...whole].map((piece) => ({ type: "text-delta", text: piece }));

describe("a plan that says response", () => {
  const long = JSON.stringify({ next_action: "response", execution_commands: [], remark: "x".repeat(1_000) });
  const chunks: readonly ModelChunk[] = [...pieces(long), { type: "finish", reason: "stop" }];
  const known = '{"next_action":"response",'.length;

  it("is read no further than that, and closed", async () => {
    const model = counting(chunks, "Hello.");
    const { result } = play([], { provider: withPlanner(model.provider), tools: [tool("t", () => 1)] });
    expect([(await result).text, model.read, model.left]).toEqual(["Hello.", [known, 2], 1]);
  });

  it("is read to its end where that is wanted", async () => {
    const model = counting(chunks, "Hello.");
    const provider = withPlanner(model.provider, { closesEarly: false });
    const { result } = play([], { provider, tools: [tool("t", () => 1)] });
    expect([(await result).text, model.read, model.left]).toEqual(["Hello.", [chunks.length, 2], 0]);
  });

  it("is not waited for where it does not let go", async () => {
    const inner = counting(chunks, "Hello.").provider;
    const provider: Provider = {
      ...inner,
      stream: (request, call) => {
        const stream = inner.stream(request, call)[Symbol.asyncIterator]();
        return { [Symbol.asyncIterator]: () => ({ next: () => stream.next(), return: () => new Promise(() => {}) }) };
      },
    };
    const { result } = play([], { provider: withPlanner(provider), tools: [tool("t", () => 1)] });
    expect((await result).text).toBe("Hello.");
  });
});

it.for<[what: string, plan: string]>([
  ["an action of another kind", '{"next_action":"respond","execution_commands":[]}'],
  ["the word elsewhere", '{"remark":"next_action: response","execution_commands":[]}'],
  ["the word deeper inside", '{"execution_commands":[],"state":{"next_action":"response"}}'],
])("%s closes nothing", async ([, text_]) => {
  const chunks: readonly ModelChunk[] = [...pieces(text_), { type: "finish", reason: "stop" }];
  const model = counting(chunks, "Hello.");
  await play([], { provider: withPlanner(model.provider), tools: [tool("t", () => 1)] }).result;
  expect(model.read).toEqual([chunks.length, 2]);
});

describe("the tokens of a plan that was closed", () => {
  const spent = usage({ inputTokens: 50, outputTokens: 9 });
  const late: readonly MockPart[] = [respond, wait(5), spent];

  it("are estimated where the service had not said them", async () => {
    const { result, clock } = plan([late, [text("Hello."), spent]], { pricing: ({ totalTokens }) => totalTokens / 100 });
    await clock.advance(100);
    const { usage: used, costUSD } = await result;
    expect(used.inputTokens).toBeGreaterThan(150);
    expect(used.outputTokens).toBeGreaterThan(12);
    expect(costUSD).toBeCloseTo(used.totalTokens / 100, 9);
  });

  it("are what the service had said, where that is more", async () => {
    const { result, clock } = plan([
      [usage({ inputTokens: 5_000, outputTokens: 100 }), ...late],
      [text("Hello."), spent],
    ]);
    await clock.advance(100);
    expect((await result).usage).toMatchObject({ inputTokens: 5_050, outputTokens: 109 });
  });
});

it("a plan shows that the model is alive", async () => {
  const slow = ['{"next_action":', '"execute",', '"execution_commands":', "[]}"].flatMap((piece) => [wait(80), text(piece)]);
  const model = createMockProvider([slow, [wait(80), text("Hello.")]]);
  const playing = play([], {
    provider: withPlanner(model),
    tools: [tool("t", () => 1)],
    timeouts: { firstChunkMs: 100, streamIdleMs: 100 },
  });
  await playing.clock.advance(1_000);
  expect((await playing.result).text).toBe("Hello.");
});
