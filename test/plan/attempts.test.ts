// Planning and answering by whoever can: each is paid for at the prices of who did it.

import { describe, expect, it } from "vitest";
import { type Pricing, providerError, withFallback, withRetry } from "turnwright";
import { withPlanner } from "turnwright/plan";
import {
  chunk,
  createMockProvider,
  type MockPart,
  type MockProvider,
  type MockScript,
  native,
  text,
  usage,
} from "turnwright/testing";
import { play, tool } from "../loop/play.ts";
import { execute, respond } from "./plan-stage.ts";

const spent = usage({ inputTokens: 10, outputTokens: 0 });
const busy: MockPart = chunk({ type: "error", error: providerError("overloaded", "Busy.", { retryable: true }) });
/** Ten tokens cost one dollar of "a", and ten of "b". */
const pricing: Pricing = ({ totalTokens }, { model }) => (totalTokens / 10) * (model === "a" ? 1 : 10);
const named = (model: string, script: MockScript): MockProvider => createMockProvider(script, { model });
const tools = [tool("t", () => 1)];

describe("a plan and an answer", () => {
  it("by different models are each paid for at their own price", async () => {
    // "a" fails at the plan after it has begun one, "b" plans, "a" answers.
    const a = named("a", [
      [text('{"next_action":"exec'), spent, busy],
      [text("Hello."), spent],
    ]);
    const b = named("b", [[respond, spent]]);
    const provider = withPlanner(withFallback([a, b]), { closesEarly: false });
    const { usage: used, costUSD, text: said, streamResults } = await play([], { provider, tools, pricing }).result;
    expect([said, used.totalTokens, costUSD]).toEqual(["Hello.", 30, 12]);
    expect(streamResults[0]).toMatchObject({ model: "a" });
  });

  it("by one model are paid for once each, also with a retry around", async () => {
    const a = named("a", [
      [respond, spent],
      [spent, busy],
      [respond, spent],
      [text("Hello."), spent],
    ]);
    const provider = withRetry(withPlanner(a, { closesEarly: false }), { baseDelayMs: 0 });
    const playing = play([], { provider, tools, pricing });
    await playing.clock.runAll();
    const { usage: used, costUSD, text: said } = await playing.result;
    expect([said, used.totalTokens, costUSD]).toEqual(["Hello.", 40, 4]);
  });

  it.for<[what: string, script: MockScript]>([
    ["a plan beside its answer", [respond, [text("Hello."), spent]]],
    ["an answer beside its plan", [[respond, spent], text("Hello.")]],
    ["a plan that could not be read", [text("no plan"), [respond, spent], [text("Hello."), spent]]],
    ["a plan behind one that could not be read", [[text("no plan"), spent], respond, [text("Hello."), spent]]],
  ])("are estimated where they do not say what they took and others do: %s", async ([, script]) => {
    const model = createMockProvider(script, { usage: false });
    const provider = withPlanner(model, { closesEarly: false });
    const { usage: used, costUSD } = await play([], { provider, tools, pricing: ({ totalTokens }) => totalTokens }).result;
    expect(used.totalTokens).toBeGreaterThan(20);
    expect(costUSD).toBe(used.totalTokens);
  });

  it("are estimated once, however often the others say what they took", async () => {
    const totals = [[spent], [spent, spent]].map(async (said) => {
      const model = createMockProvider([respond, [text("Hello."), ...said]], { usage: false });
      return (await play([], { provider: withPlanner(model, { closesEarly: false }), tools }).result).usage.totalTokens;
    });
    expect(await totals[1]).toBe(await totals[0]);
  });

  it("are not known where none of them says it", async () => {
    const model = createMockProvider([text("no plan"), respond, text("Hello.")], { usage: false });
    const provider = withPlanner(model, { closesEarly: false });
    const { usage: used, costUSD } = await play([], { provider, tools, pricing }).result;
    expect([used.totalTokens, costUSD]).toEqual([0, undefined]);
  });

  it("forget what an attempt had begun to write", async () => {
    const a = named("a", [[text('{"next_action":"response'), busy]]);
    const b = named("b", [[execute()], [text("Hello.")]]);
    const provider = withPlanner(withFallback([a, b], { restMs: 10_000 }));
    const { text: said } = await play([], { provider, tools }).result;
    expect([said, b.calls]).toEqual(["Hello.", 2]);
  });

  it("forget what the provider wrote of an answer that was taken back", async () => {
    const a = named("a", [respond, [native({ mark: 1 }), text("Hel"), busy]]);
    const provider = withPlanner(withFallback([a, named("b", [[native({ mark: 2 }), text("Hello.")]])]));
    const { text: said, messages } = await play([], { provider, tools }).result;
    expect(said).toBe("Hello.");
    expect(messages.at(-1)).toMatchObject({ native: [{ item: { mark: 2 } }, { item: { type: "turnwright.plan" } }] });
  });

  it("by a model that was asked again for its answer, keep the plan", async () => {
    const a = named("a", [[respond], [busy], [text("Hello.")]]);
    const playing = play([], { provider: withPlanner(withRetry(a, { baseDelayMs: 0 })), tools });
    await playing.clock.runAll();
    const { text: said, messages } = await playing.result;
    expect(said).toBe("Hello.");
    expect(messages.at(-1)).toMatchObject({ native: [{ item: { type: "turnwright.plan", next_action: "response" } }] });
  });
});
