// If only some requests of a run report their usage, the usage of the others must be estimated. Otherwise a cost limit would not be
// kept.

import { describe, expect, it } from "vitest";
import { type Message, type Pricing, type Provider, providerError, type Usage, withFallback, withRetry } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import type { PlannerOptions } from "../../src/middleware/plan/with-planner.ts";
import {
  chunk,
  createMockProvider,
  fail,
  finish,
  type MockPart,
  type MockProvider,
  type MockScript,
  reasoning,
  text,
  usage,
} from "turnwright/testing";
import { play } from "../loop/play.ts";
import { add, respond } from "./plan-stage.ts";

const spent = usage({ inputTokens: 10, outputTokens: 0 });
const busy: MockPart = chunk({ type: "error", error: providerError("overloaded", "Busy.", { retryable: true }) });
const long = "x".repeat(4_000);
const silent = (model: string, script: MockScript): MockProvider => createMockProvider(script, { model, usage: false });
const reads = (provider: Provider, options: PlannerOptions = {}): Provider =>
  withPlanner(provider, { closesEarly: false, ...options });

async function bill(provider: Provider, messages?: readonly Message[]): Promise<{ used: Usage; costUSD: number | undefined }> {
  const more = messages === undefined ? {} : { messages };
  const playing = play([], { provider, tools: [add], pricing: ({ totalTokens }) => totalTokens, ...more });
  await playing.clock.runAll();
  const { usage: used, costUSD } = await playing.result;
  return { used, costUSD };
}

it.for<[what: string, create: () => Provider]>([
  ["a plan", () => reads(silent("a", [respond, [text("Hello."), spent]]))],
  ["an answer", () => reads(silent("a", [[respond, spent], text("Hello.")]))],
  ["an unreadable plan", () => reads(silent("a", [text("no plan"), [respond, spent], [text("Hello."), spent]]))],
  ["a plan after an unreadable plan", () => reads(silent("a", [[text("no plan"), spent], respond, [text("Hello."), spent]]))],
  [
    "a plan from a different model than the answer",
    () => reads(withFallback([silent("a", [busy, [text("Hello."), spent]]), silent("b", [respond])])),
  ],
  [
    "an answer from a different model than the plan",
    () => reads(withFallback([silent("a", [busy, text("Hello.")]), silent("b", [[respond, spent]])])),
  ],
  ["a plan with a discarded answer", () => reads(withRetry(silent("a", [respond, busy, [text("Hello."), spent]])))],
])("withPlanner: estimates the missing usage of %s", async ([, create]) => {
  const { used, costUSD } = await bill(create());
  expect(used.totalTokens).toBeGreaterThan(10);
  expect(costUSD).toBe(used.totalTokens);
});

it.for<[what: string, create: () => Provider]>([
  [
    "a plan whose stream fails",
    () => reads(withFallback([silent("a", [[text(`{"n":"${long}`), busy]]), silent("b", [[respond, spent], text("Hi.")])])),
  ],
  [
    "a plan that ends with an error chunk",
    () =>
      reads(
        silent("a", [
          [text(long), spent],
          [text(long), busy],
        ]),
        { planRetries: 1 },
      ),
  ],
  [
    "a plan whose stream throws",
    () =>
      reads(
        silent("a", [
          [text(long), spent],
          [text(long), fail({ status: 500 })],
        ]),
      ),
  ],
  [
    "the start of a failed answer",
    () =>
      reads(
        silent("a", [
          [respond, spent],
          [text(long), busy],
        ]),
      ),
  ],
  ["the reasoning before a plan", () => withPlanner(silent("a", [[reasoning(long), respond], text("Hi.")]))],
])("withPlanner: estimates the token count of %s", async ([, create]) => {
  const { used } = await bill(create());
  expect(used.outputTokens).toBeGreaterThanOrEqual(1_000);
});

describe("withPlanner: estimated usage", () => {
  it.for<[planner: string, what: string, a: MockScript, b: MockScript]>([
    ["a", 'model "a" plans and model "b" answers', [respond, busy], [[text("Hello."), spent]]],
    ["b", 'model "a" fails and model "b" plans', [busy, [text("Hello."), spent]], [respond]],
  ])('is charged at the price of model "%s" if %s', async ([planner, , a, b]) => {
    const provider = reads(withFallback([silent("a", a), silent("b", b)]));
    const pricing: Pricing = ({ totalTokens }, { model }) => (model === planner ? totalTokens : 0);
    const { usage: used, costUSD } = await play([], { provider, tools: [add], pricing }).result;
    expect(costUSD).toBe(used.totalTokens - 10);
  });

  it("is added once, even if another request reports usage twice", async () => {
    const [once, twice] = await Promise.all(
      [[spent], [spent, spent]].map((said) => bill(reads(silent("a", [respond, [text("Hello."), ...said]])))),
    );
    expect(twice).toEqual(once);
  });

  it("is not added if no request reports usage", async () => {
    expect(await bill(reads(silent("a", [text("no plan"), respond, text("Hello.")])))).toMatchObject({
      used: { totalTokens: 0 },
      costUSD: undefined,
    });
  });

  it("ignores the bytes of images", async () => {
    const image = { type: "image", mediaType: "image/png", data: "A".repeat(1_000_000) } as const;
    const { used } = await bill(withPlanner(silent("a", [respond, text("Hello.")])), [{ role: "user", content: [image] }]);
    expect(used.inputTokens).toBeGreaterThan(100);
    expect(used.inputTokens).toBeLessThan(1_000);
  });

  it("is never less than the reported usage", async () => {
    const said = chunk({ type: "usage", usage: { inputTokens: 5, outputTokens: 9, totalTokens: 100 }, mode: "snapshot" });
    const { used } = await bill(
      withPlanner(
        silent("a", [
          [said, respond],
          [text("Hello."), spent],
        ]),
      ),
    );
    expect(used.totalTokens).toBe(110);
  });
});

it("withPlanner: counts the known fields in an incomplete usage report", async () => {
  const half = chunk({ type: "usage", usage: { inputTokens: 10 } as Usage, mode: "snapshot" });
  const { used } = await bill(
    reads(
      silent("a", [
        [half, respond],
        [usage({ inputTokens: 10, outputTokens: 20 }), text("Hello.")],
      ]),
    ),
  );
  expect(used).toMatchObject({ inputTokens: 20, outputTokens: 20, totalTokens: 40 });
});

it("withPlanner: adds up the tokens of two providers with the same model and different families", async () => {
  const as = (family: string, script: MockScript): Provider => createMockProvider(script, { model: "m", family, usage: false });
  const { used, costUSD } = await bill(
    reads(withFallback([as("x", [busy, [text("Hello."), spent]]), as("y", [[respond, spent]])])),
  );
  expect([used.totalTokens, costUSD]).toEqual([20, 20]);
});

it("withPlanner: puts an empty line between the plan's reasoning and the answer's reasoning", async () => {
  const model = createMockProvider([
    [reasoning("Tools? "), reasoning("No."), respond],
    [reasoning("Greet."), text("Hello."), finish("stop")],
  ]);
  const { result, recording } = play([], { provider: withPlanner(model), tools: [add] });
  expect((await result).streamResults[0]?.reasoning).toBe("Tools? No.\n\nGreet.");
  expect(recording.of("reasoning-delta").map((event) => event.text)).toEqual(["Tools? ", "No.", "\n\n", "Greet."]);
});
