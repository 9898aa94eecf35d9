// Nested runs that run at the same time share the limits of their outer run. They must not all spend the last part of a budget.

import { describe, expect, it } from "vitest";
import { createLoopControl, type LoopOptions, type LoopResult, type Tool, eagerTools, runNested } from "turnwright";
import { createMockProvider, type MockPart, type MockProvider, text, toolCall, usage, wait } from "turnwright/testing";
import { answersOf, play, tool } from "../play.ts";
import { kinds, nesting, question } from "./nesting.ts";

const stream = (...parts: readonly MockPart[]): readonly MockPart[] => [
  wait(10),
  usage({ inputTokens: 90, outputTokens: 10 }),
  ...parts,
];
const ok = tool("ok", () => "fine");

interface Setup extends Partial<LoopOptions> {
  /** The cost of the first stream, and of each other stream. */
  readonly costs?: readonly [number, number];
  /** The tool of the nested runs. */
  readonly work?: Tool;
}

interface Played {
  readonly result: LoopResult;
  readonly provider: MockProvider;
  readonly endedAt: number;
}

async function run(
  kind: (typeof kinds)[number],
  width: number,
  { costs = [100, 100], work = ok, ...options }: Setup = {},
): Promise<Played> {
  const [first, inner] = costs;
  const provider = createMockProvider(({ messages }) =>
    messages.length === 1 ? stream(toolCall("ok")) : stream(text("Found.")),
  );
  const child = nesting(kind, "child", () => ({ messages: question, provider, tools: [work] }));
  const script = [stream(...Array.from({ length: width }, () => toolCall("child"))), stream(text("Done."))];
  let requests = 0;
  const pricing = (): number => {
    requests += 1;
    return requests === 1 ? first : inner;
  };
  const playing = play(script, { tools: [child], pricing, ...options });
  await playing.clock.runAll();
  return { result: await playing.result, provider, endedAt: playing.clock.now() };
}

describe.for(kinds)("parallel nested runs in an %s", (kind) => {
  it.each([2, 4, 8])("exceed maxTokens by at most the tokens of one stream (%i runs)", async (width) => {
    const { result } = await run(kind, width, { limits: { maxTokens: 350 } });
    expect(result.reason).toEqual({ kind: "max-tokens", limit: 350, spent: 400 });
  });

  it.each([2, 4, 8])("exceed maxCostUSD by at most the cost of one run's first stream (%i runs)", async (width) => {
    const { result } = await run(kind, width, { limits: { maxCostUSD: 350 } });
    expect([result.reason.kind, result.costUSD]).toEqual(["max-cost", width === 2 ? 300 : 400]);
  });

  it("all complete if the budget allows it, even though the outer run was expensive", async () => {
    const { result, provider } = await run(kind, 8, { costs: [100, 1], limits: { maxCostUSD: 250 } });
    expect([result.text, provider.calls, result.costUSD]).toEqual(["Done.", 16, 117]);
    expect(answersOf(result).map(({ outcome }) => outcome)).toEqual(Array.from({ length: 8 }, () => "completed"));
  });

  it("run at the same time without a limit", async () => {
    const { result, endedAt } = await run(kind, 8);
    expect([result.text, endedAt]).toEqual(["Done.", 40]);
  });

  it("end when the run is stopped while they wait for the budget", async () => {
    const control = createLoopControl();
    const work = tool("ok", () => void control.stop());
    const { result, provider } = await run(kind, 8, { limits: { maxTokens: 250 }, control, work });
    expect([result.status, provider.calls]).toEqual(["stopped-by-user", 2]);
  });
});

describe("a nested run in a tool that starts early", () => {
  it("does not wait for a stream that is waiting for the nested run", async () => {
    const provider = createMockProvider(() => stream(text("Early.")));
    const early = tool("early", async (_args, context) => (await runNested(context, { messages: question, provider })).text, {
      eager: true,
    });
    const inner = createMockProvider(({ messages }) =>
      messages.length === 1 ? [toolCall("early"), ...stream()] : stream(text("Found.")),
    );
    const child = nesting("agent tool", "child", () => ({
      messages: question,
      provider: inner,
      tools: [early],
      middleware: [eagerTools()],
    }));
    const script = [stream(toolCall("child"), toolCall("child")), stream(text("Done."))];
    const playing = play(script, { tools: [child], limits: { maxTokens: 390 } });
    await playing.clock.runAll();
    expect((await playing.result).reason.kind).toBe("max-tokens");
    expect(playing.clock.now()).toBeLessThan(1_000);
  });
});
