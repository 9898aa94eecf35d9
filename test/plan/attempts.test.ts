import { describe, expect, it } from "vitest";
import { type LoopOptions, type Pricing, type Provider, withFallback, withRetry } from "turnwright";
import { planLogs, withPlanner } from "turnwright/middleware";
import {
  chunk,
  createMockProvider,
  fail,
  finish,
  type MockProvider,
  type MockMessage,
  providerMetadata,
  text,
  usage,
} from "turnwright/testing";
import { play, type Playing } from "../loop/play.ts";
import { add, command, execute, look, respond } from "./plan-stage.ts";

/** A token costs 1 USD with the model "dear", and 0.25 USD with the model "cheap". Sums of these numbers are exact. */
const pricing: Pricing = ({ totalTokens }, { model }) => (model === "dear" ? totalTokens : totalTokens / 4);
const took = (tokens: number): ReturnType<typeof usage> => usage({ inputTokens: tokens, outputTokens: 0 });
const busy = fail({ status: 529 });
const asks: MockMessage = [respond, took(3)];
const runs: MockMessage = [execute(command("look")), took(5)];
const answers: MockMessage = [text("Done."), took(7)];

const dear = (...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id: "d", model: "dear", usage: false });
const cheap = (...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id: "c", model: "cheap", usage: false });
const retry = (provider: Provider): Provider => withRetry(provider, { random: () => 0, baseDelayMs: 1 });
const plans = (provider: Provider): Provider => withPlanner(provider, { closesEarly: false });

async function run(provider: Provider, more: Partial<LoopOptions> = {}): Promise<Playing & { readonly facts: object }> {
  const playing = play([], { provider, tools: [add, look], pricing, ...more });
  await playing.clock.runAll();
  const result = await playing.result;
  expect(playing.clock.pending).toBe(0);
  const { text: said, reason, usage: used, costUSD, toolCallsExecuted } = result;
  const facts = { said, kind: reason.kind, tokens: used.totalTokens, costUSD, ran: toolCallsExecuted };
  const discarded = playing.recording.of("attempt-discarded").length;
  return { ...playing, facts: { ...facts, discarded, records: planLogs(result).length } };
}

const failing: MockMessage = [text('{"next_'), took(2), busy];
const answered = { said: "Done.", kind: "answered", ran: 1, records: 1 };

describe.for<[where: string, wrap: (...turns: readonly MockMessage[]) => Provider]>([
  ["inside", (...turns) => plans(retry(cheap(...turns)))],
  ["outside", (...turns) => retry(plans(cheap(...turns)))],
])("withRetry %s withPlanner", ([where, wrap]) => {
  it("counts a discarded plan's usage", async () => {
    const { facts } = await run(wrap([took(2), busy], runs, asks, answers));
    expect(facts).toEqual({ ...answered, tokens: 2 + 5 + 3 + 7, costUSD: 17 / 4, discarded: 1 });
  });

  it("counts a discarded answer's usage", async () => {
    const turns = where === "inside" ? [runs, asks, [took(2), busy], answers] : [runs, asks, [took(2), busy], asks, answers];
    const { facts } = await run(wrap(...turns));
    const tokens = where === "inside" ? 5 + 3 + 2 + 7 : 5 + 3 + 2 + 3 + 7;
    expect(facts).toEqual({ ...answered, tokens, costUSD: tokens / 4, discarded: 1 });
  });

  it("counts the usage of a plan whose stream fails", async () => {
    const { facts } = await run(wrap(failing, runs, asks, answers));
    const error = { kind: "provider-error", tokens: 2, costUSD: 2 / 4, discarded: 0, ran: 0 };
    expect(facts).toMatchObject(where === "inside" ? error : { ...answered, tokens: 17, costUSD: 17 / 4, discarded: 1 });
  });

  it("does not discard text that the user has already received", async () => {
    const { facts } = await run(wrap(runs, asks, [text("Do"), took(2), busy]));
    expect(facts).toMatchObject({ said: "Do", kind: "provider-error", tokens: 5 + 3 + 2, discarded: 0 });
  });

  it('ends the run with the reason "provider-error" if every attempt to get a plan fails', async () => {
    const { facts } = await run(wrap(busy, busy, busy));
    expect(facts).toMatchObject({ kind: "provider-error", ran: 0, discarded: 2 });
  });
});

describe("withFallback inside withPlanner", () => {
  it("prices each request by the model that answered it", async () => {
    const a = dear(failing, asks, [text("Do"), took(2), busy]);
    const b = cheap(runs, answers);
    const { facts, result } = await run(plans(withFallback([a, b])));
    expect(facts).toMatchObject({ ...answered, tokens: 2 + 5 + 3 + 2 + 7, costUSD: 2 + 5 / 4 + 3 + 2 + 7 / 4, discarded: 2 });
    const { streamResults } = await result;
    expect(streamResults.map(({ model, usage: used, costUSD }) => [model, used?.totalTokens, costUSD])).toEqual([
      ["cheap", 7, 2 + 5 / 4],
      ["cheap", 12, 5 + 7 / 4],
    ]);
  });

  it("prices a plan by the model that made it if a different model answers", async () => {
    const a = dear([busy], answers);
    const b = cheap(asks);
    const { facts } = await run(plans(withFallback([a, b])));
    expect(facts).toMatchObject({ said: "Done.", tokens: 3 + 7, costUSD: 3 / 4 + 7 });
  });

  it("does not run commands from a discarded plan", async () => {
    const half = '{"next_action":"execute","execution_commands":[{"tool_name":"add"},';
    const a = dear([text(half), took(2), busy]);
    const { facts } = await run(plans(withFallback([a, cheap(asks, answers)])));
    expect(facts).toMatchObject({ said: "Done.", ran: 0, tokens: 2 + 3 + 7 });
  });
});

it("withPlanner: discards text from an attempt that sent no attempt-start", async () => {
  const error = { name: "ProviderError", code: "overloaded", message: "Busy.", retryable: true } as const;
  const again = chunk({ type: "attempt-discarded", attempt: 1, error });
  const half = text('{"next_action":"execute","execution_commands":[{"tool_name":"add"},');
  const { facts } = await run(plans(dear([half, took(2), again, respond, took(3)], answers)));
  expect(facts).toMatchObject({ said: "Done.", ran: 0, tokens: 2 + 3 + 7, discarded: 1 });
});

describe("withFallback outside withPlanner", () => {
  it("requests a new plan from the next provider, which receives the finished rounds", async () => {
    const a = dear(runs, failing);
    const b = cheap(asks, answers);
    const { facts } = await run(withFallback([plans(a), plans(b)]));
    expect(facts).toMatchObject({ ...answered, tokens: 5 + 2 + 3 + 7, costUSD: 5 + 2 + 3 / 4 + 7 / 4, discarded: 1 });
    expect(JSON.stringify(b.requests[1]?.messages)).toContain("a quiet place");
  });

  it("discards the plan and the answer if the answer's stream fails", async () => {
    const a = dear(asks, [text("Do"), took(2), busy], busy);
    const { facts, recording } = await run(withFallback([plans(a), plans(cheap(runs, asks, answers))]));
    expect(facts).toMatchObject({ ...answered, costUSD: 3 + 2 + (5 + 3 + 7) / 4, discarded: 2 });
    expect(recording.of("text-delta").map(({ text: said }) => said)).toEqual(["Do", "Done."]);
  });

  it("falls back to a provider without a planner", async () => {
    const own = cheap(answers);
    const { facts } = await run(withFallback([plans(dear(runs, busy)), own]));
    expect(facts).toMatchObject({ ...answered, tokens: 12, costUSD: 5 + 7 / 4 });
    const roles = own.requests[0]?.messages.map(({ role }) => role);
    expect([roles, own.requests[0]?.tools.length]).toEqual([["user", "assistant", "tool"], 2]);
  });

  it("calls the next provider if a plan cannot be read", async () => {
    const a = dear([text("No."), took(1)], [text("No."), took(1)], [text("No."), took(1)]);
    const { facts } = await run(withFallback([plans(a), cheap(answers)]));
    expect(facts).toMatchObject({ said: "Done.", tokens: 3 + 7, costUSD: 3 + 7 / 4, discarded: 1 });
  });
});

describe("withPlanner: a run's cost", () => {
  it("ends the run before the next round would exceed limits.maxCostUSD", async () => {
    const model = dear(runs, runs, runs, runs);
    const { facts, result } = await run(plans(model), { limits: { maxCostUSD: 12 } });
    expect(facts).toMatchObject({ kind: "max-cost", tokens: 10, costUSD: 10, ran: 2, records: 2 });
    expect([model.calls, (await result).reason]).toEqual([2, { kind: "max-cost", limitUSD: 12, spentUSD: 10, expectedUSD: 5 }]);
  });

  it("includes discarded attempts, even for limits.maxCostUSD", async () => {
    const model = dear([took(2), busy], runs, runs);
    const { facts } = await run(plans(retry(model)), { limits: { maxCostUSD: 13 } });
    expect([model.calls, facts]).toMatchObject([2, { kind: "max-cost", costUSD: 7 }]);
  });

  it('ends the run with the reason "cost-unknown" if the model reports no usage', async () => {
    const { facts } = await run(plans(dear(execute(command("look")))), { limits: { maxCostUSD: 13 } });
    expect(facts).toMatchObject({ kind: "cost-unknown", ran: 1 });
  });

  it.for<[what: string, closesEarly: boolean, plan: MockMessage]>([
    ["was closed early", true, respond],
    ["reported its usage", false, asks],
  ])("includes an estimate for an answer without usage if the plan %s", async ([, closesEarly, planned]) => {
    const silent = dear(planned, text("Four."));
    const told = dear(planned, [text("Four."), took(0)]);
    const provider = (model: Provider): Provider => withPlanner(model, { closesEarly });
    const [quiet, loud] = [await run(provider(silent)), await run(provider(told))];
    const [{ usage: more }, { usage: less }] = [await quiet.result, await loud.result];
    expect(more.outputTokens - less.outputTokens).toBe(2);
    expect(more.inputTokens).toBeGreaterThan(less.inputTokens);
  });
});

it('withRetry inside withPlanner: a plan with the finish reason "content-filter" ends the run', async () => {
  const { result } = await run(plans(retry(cheap([text("I will not."), finish("content-filter"), took(1)]))));
  expect((await result).reason.kind).toBe("content-filter");
});

describe("withPlanner: an attempt's provider metadata", () => {
  it("is dropped with a discarded answer", async () => {
    const a = dear(respond, [providerMetadata({ mark: 1 }), text("Do"), busy]);
    const { result } = await run(plans(withFallback([a, cheap([providerMetadata({ mark: 2 }), text("Done.")])])));
    expect((await result).messages.at(-1)).toMatchObject({
      content: [{ text: "Done." }],
      providerMetadata: [{ item: { mark: 2 } }, { item: { type: "turnwright.plan" } }],
    });
  });

  it("is kept for a plan whose answer is retried", async () => {
    const { result } = await run(plans(retry(dear(respond, busy, text("Done.")))));
    expect((await result).messages.at(-1)).toMatchObject({
      content: [{ text: "Done." }],
      providerMetadata: [{ item: { type: "turnwright.plan", next_action: "response" } }],
    });
  });
});
