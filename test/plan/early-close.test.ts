import { describe, expect, it } from "vitest";
import { type MockPart, text, usage, wait } from "turnwright/testing";
import type { ModelChunk, Provider } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import { play, tool } from "../loop/play.ts";
import { asksForPlan, plan, respond } from "./plan-stage.ts";

function counting(chunks: readonly ModelChunk[], answer: string): { provider: Provider; read: number[]; left: number } {
  const state = { read: [] as number[], left: 0 };
  const provider: Provider = {
    id: "p",
    model: "m",
    async *stream(request) {
      const own = state.read.push(0) - 1;
      let isOver = false;
      try {
        for (const one of asksForPlan(request)
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

describe("withPlanner: options.closesEarly", () => {
  const long = JSON.stringify({ next_action: "response", execution_commands: [], remark: "x".repeat(1_000) });
  const chunks: readonly ModelChunk[] = [...pieces(long), { type: "finish", reason: "stop" }];
  const known = '{"next_action":"response",'.length;

  it('is true by default: reading a plan stops at the "response" action', async () => {
    const model = counting(chunks, "Hello.");
    const { result } = play([], { provider: withPlanner(model.provider), tools: [tool("t", () => 1)] });
    expect([(await result).text, model.read, model.left]).toEqual(["Hello.", [known, 2], 1]);
  });

  it("lets withPlanner read the whole plan if set to false", async () => {
    const model = counting(chunks, "Hello.");
    const provider = withPlanner(model.provider, { closesEarly: false });
    const { result } = play([], { provider, tools: [tool("t", () => 1)] });
    expect([(await result).text, model.read, model.left]).toEqual(["Hello.", [chunks.length, 2], 0]);
  });
});

it.for([true, false])(
  'withPlanner: a plan with the actions "response" and "execute" runs no tool (closesEarly: %s)',
  async (closesEarly) => {
    const twice = text('{"next_action":"response","next_action":"execute","tool_command":{"tool_name":"look"}}');
    const { result, model } = plan([twice, text("Hello.")], {}, { closesEarly });
    const { text: said, toolCallsExecuted } = await result;
    expect([said, toolCallsExecuted, model.calls]).toEqual(["Hello.", 0, 2]);
  },
);

it("withPlanner: requests a plan again if the text before it quotes another plan", async () => {
  const quoted = 'I could say {"next_action":"response"}, but ';
  const { result, model } = plan([text(`${quoted}{"next_action":"execute"}`), respond, text("Hello.")]);
  expect([(await result).text, model.calls]).toEqual(["Hello.", 3]);
});

it.for<[what: string, plan: string]>([
  ["an unknown action", '{"next_action":"respond","execution_commands":[]}'],
  ['the word "response" in another field', '{"remark":"next_action: response","execution_commands":[]}'],
  ["a nested next_action", '{"execution_commands":[],"state":{"next_action":"response"}}'],
])("withPlanner: reads a plan to the end if the plan has %s", async ([, text_]) => {
  const chunks: readonly ModelChunk[] = [...pieces(text_), { type: "finish", reason: "stop" }];
  const model = counting(chunks, "Hello.");
  await play([], { provider: withPlanner(model.provider), tools: [tool("t", () => 1)] }).result;
  expect(model.read).toEqual([chunks.length, 2]);
});

describe("withPlanner: the usage of a plan that was closed early", () => {
  const spent = usage({ inputTokens: 50, outputTokens: 9 });
  const late: readonly MockPart[] = [respond, wait(5), spent];

  it("is estimated if the service has reported none", async () => {
    const { result, clock } = plan([late, [text("Hello."), spent]], { pricing: ({ totalTokens }) => totalTokens / 100 });
    await clock.advance(100);
    const { usage: used, costUSD } = await result;
    expect(used.inputTokens).toBeGreaterThan(150);
    expect(used.outputTokens).toBeGreaterThan(12);
    expect(costUSD).toBeCloseTo(used.totalTokens / 100, 9);
  });

  it("is the reported usage if the estimate is lower", async () => {
    const { result, clock } = plan([
      [usage({ inputTokens: 5_000, outputTokens: 100 }), ...late],
      [text("Hello."), spent],
    ]);
    await clock.advance(100);
    expect((await result).usage).toMatchObject({ inputTokens: 5_050, outputTokens: 109 });
  });
});
