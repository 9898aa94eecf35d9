// Runs the provider suite with a provider that is broken on purpose. Collects the messages of the checks that fail.

import type { ModelChunk, Provider } from "turnwright";
import {
  createScenarioProvider,
  createTestClock,
  type ProviderScenario,
  providerSuite,
  type SuiteCheck,
} from "turnwright/testing";
import type { ProviderFixture } from "../../src/testing/provider-suite.ts";

export type Stream = Provider["stream"];

export async function complaintsOf(create: (scenario: ProviderScenario) => ProviderFixture): Promise<Record<string, string>> {
  const clock = createTestClock();
  const complaints: Record<string, string> = {};
  const complaintOf = async ({ title, run }: SuiteCheck): Promise<void> => {
    const running = run().catch((error: unknown) => {
      complaints[title] = error instanceof Error ? error.message : String(error);
    });
    await clock.runAll();
    await running;
  };
  for (const suiteCheck of providerSuite({ create, clock, withinMs: 1_000 })) await complaintOf(suiteCheck);
  return complaints;
}

export function broken(breakStream: (stream: Stream) => Stream): (scenario: ProviderScenario) => ProviderFixture {
  return (scenario) => {
    const provider = createScenarioProvider(scenario);
    return { provider: { id: provider.id, model: provider.model, stream: breakStream(provider.stream) } };
  };
}

/** Replaces each chunk with zero, one or several chunks. */
export function mapping(change: (chunk: ModelChunk) => readonly ModelChunk[]): (stream: Stream) => Stream {
  return (stream) =>
    async function* (request, call) {
      for await (const chunk of stream(request, call)) yield* change(chunk);
    };
}
