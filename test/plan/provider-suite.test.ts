import { describe, expect, it } from "vitest";
import type { ModelChunk, ModelRequest, Provider } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import { createScenarioProvider, createTestClock, providerSuite, type ProviderScenario } from "turnwright/testing";
import { asksForPlan } from "./plan-stage.ts";

function toPlan(calls: readonly Extract<ModelChunk, { type: "call-ready" }>[]): string {
  const commands = calls.map(({ name, args }) => ({ tool_name: name, tool_kwargs: args }));
  return JSON.stringify({ next_action: commands.length > 0 ? "execute" : "response", execution_commands: commands });
}

function createTextModel(scenario: ProviderScenario): Provider {
  const inner = createScenarioProvider(scenario);
  const hasCalls = scenario.replies.some((reply) => reply.kind === "turn" && reply.calls.length > 0);
  const answered: ModelChunk[] = [];
  async function* planFrom(request: ModelRequest, call: Parameters<Provider["stream"]>[1]): AsyncGenerator<ModelChunk, void> {
    const calls: Extract<ModelChunk, { type: "call-ready" }>[] = [];
    for await (const chunk of inner.stream(request, call)) {
      if (chunk.type === "call-ready") calls.push(chunk);
      else if (chunk.type === "text-delta") answered.push(chunk);
      else if (chunk.type === "finish") {
        yield { type: "text-delta", text: toPlan(calls) };
        if (calls.length === 0) answered.push(chunk);
        yield { type: "finish", reason: "stop" };
      } else if (!chunk.type.startsWith("call-")) yield chunk;
    }
  }
  return {
    id: inner.id,
    model: inner.model,
    async *stream(request, call) {
      if (!asksForPlan(request)) {
        if (hasCalls) yield* answered.splice(0);
        else yield* inner.stream(request, call);
      } else if (hasCalls) yield* planFrom(request, call);
      else {
        // The plan reports no tokens, so that the usage of the iteration equals the usage in the scenario.
        yield { type: "usage", usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, mode: "snapshot" };
        yield { type: "text-delta", text: toPlan([]) };
        yield { type: "finish", reason: "stop" };
      }
    },
  };
}

describe.for<[what: string, wrap: (scenario: ProviderScenario) => Provider]>([
  ["with enabled: false", (scenario) => withPlanner(createScenarioProvider(scenario), { enabled: false })],
  ["around a model that writes plans", (scenario) => withPlanner(createTextModel(scenario), { closesEarly: false })],
  [
    "with a planner function",
    (scenario) => withPlanner(createScenarioProvider(scenario), { planner: () => ({ next_action: "response" }) }),
  ],
])("withPlanner %s", ([what, create]) => {
  const setup = { create: (scenario: ProviderScenario) => ({ provider: create(scenario) }) };
  // The planner function returns no commands, so the run calls no tools.
  const givesCalls = what !== "with a planner function";
  const suite = providerSuite(setup);
  for (const { title, run } of suite) if (givesCalls || !/call|results/.test(title)) it(title, run);

  it("leaves no timers", async () => {
    const clock = createTestClock();
    for (const { run } of providerSuite({ ...setup, clock })) {
      const running = run().catch(() => undefined);
      await clock.runAll();
      await running;
      expect(clock.pending).toBe(0);
    }
  });
});
