import { describe, expect, it } from "vitest";
import { type Provider, withFallback, withRetry } from "turnwright";
import { createMockProvider, createScenarioProvider, createTestClock, fail, providerSuite, stall } from "turnwright/testing";

describe.for<[what: string, wrap: (provider: Provider) => Provider]>([
  ["withRetry with maxAttempts: 1", (provider) => withRetry(provider, { maxAttempts: 1 })],
  ["withRetry with three attempts", (provider) => withRetry(provider, { baseDelayMs: 1 })],
  ["withFallback with one provider", (provider) => withFallback([provider])],
  [
    "withFallback with a failing first provider",
    (provider) => withFallback([createMockProvider(() => fail({ status: 503 })), provider]),
  ],
  ["withFallback with a silent second provider", (provider) => withFallback([provider, createMockProvider(() => stall())])],
  [
    "withFallback around withRetry around withFallback",
    (provider) => withFallback([withRetry(withFallback([provider]), { maxAttempts: 1 })]),
  ],
])("%s, tested with providerSuite", ([what, wrap]) => {
  // After a failure, these two wrappers make another attempt. They do not report the failure that the suite expects.
  const isAlone = what !== "withFallback with a silent second provider" && what !== "withRetry with three attempts";
  const suite = providerSuite({ create: (scenario) => ({ provider: wrap(createScenarioProvider(scenario)) }) });
  for (const { title, run } of suite)
    if (isAlone || !/closes early|reports a (?:rejected|rate|server)/.test(title)) it(title, run);

  it("leaves no timers on the clock", async () => {
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
