// Both wrappers pass the conformance suite, around the mock provider and around each other.

import { describe, expect, it } from "vitest";
import { type Provider, withFallback, withRetry } from "turnwright";
import { createMockProvider, createScenarioProvider, createTestClock, fail, providerSuite, stall } from "turnwright/testing";

describe.for<[what: string, wrap: (provider: Provider) => Provider]>([
  ["withRetry", (provider) => withRetry(provider, { maxAttempts: 1 })],
  ["withRetry with several attempts", (provider) => withRetry(provider, { baseDelayMs: 1 })],
  ["withFallback of one provider", (provider) => withFallback([provider])],
  [
    "withFallback after a failed provider",
    (provider) => withFallback([createMockProvider(() => fail({ status: 503 })), provider]),
  ],
  ["withFallback with a silent second provider", (provider) => withFallback([provider, createMockProvider(() => stall())])],
  [
    "withFallback over withRetry over withFallback",
    (provider) => withFallback([withRetry(withFallback([provider]), { maxAttempts: 1 })]),
  ],
])("%s: provider suite", ([what, wrap]) => {
  // After a failure, these two wrappers make another attempt, for which the script has no message or another provider
  // answers.
  const isAlone = what !== "withFallback with a silent second provider" && what !== "withRetry with several attempts";
  const suite = providerSuite({ create: (scenario) => ({ provider: wrap(createScenarioProvider(scenario)) }) });
  for (const { title, run } of suite)
    if (isAlone || !/closes early|reports a (?:rejected|rate|server)/.test(title)) it(title, run);

  it("leaves no timers", async () => {
    const clock = createTestClock();
    for (const { run } of providerSuite({
      create: (scenario) => ({ provider: wrap(createScenarioProvider(scenario)) }),
      clock,
    })) {
      const running = run().catch(() => undefined);
      await clock.runAll();
      await running;
      expect(clock.pending).toBe(0);
    }
  });
});
