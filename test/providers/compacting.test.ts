import { describe, expect, it } from "vitest";
import { type Provider, withFallback, withRetry } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import { createMockProvider, memoryCassette, recordTo, replayFrom, text } from "turnwright/testing";
import { observeProvider } from "../../src/observe/run-observer.ts";
import { play, request } from "../testing/play.ts";

const compacting = (): Provider => createMockProvider([text("Hi.")], { compacts: true });
const plain = (): Provider => createMockProvider([text("Hi.")]);

const replay = (provider: Provider): Provider => {
  const cassette = memoryCassette();
  recordTo(cassette, provider);
  return replayFrom(cassette);
};

const observe = (provider: Provider): Provider => observeProvider(provider, () => undefined);

describe("the provider's `compacts` field", () => {
  it.for<[wrapper: string, wrap: (provider: Provider) => Provider]>([
    ["withRetry", withRetry],
    ["withFallback, if all providers have it", (provider) => withFallback([provider, compacting()])],
    ["recordTo", (provider) => recordTo(memoryCassette(), provider)],
    ["replayFrom", replay],
    ["observeProvider", observe],
  ])("is passed on by %s", ([, wrap]) => {
    expect([wrap(compacting()).compacts, wrap(plain()).compacts]).toEqual([true, undefined]);
  });

  it.for<[wrapper: string, provider: Provider]>([
    ["withFallback, if the first provider lacks it", withFallback([plain(), compacting()])],
    ["withFallback, if the last provider lacks it", withFallback([compacting(), plain()])],
    ["withPlanner, which keeps only the plans of most requests", withPlanner(compacting())],
  ])("is not passed on by %s", ([, provider]) => {
    expect(provider.compacts ?? false).toBe(false);
  });

  it.for<[wrapper: string, wrap: (provider: Provider) => Provider]>([
    ["withRetry", withRetry],
    ["withFallback", (provider) => withFallback([provider])],
    ["recordTo", (provider) => recordTo(memoryCassette(), provider)],
    ["observeProvider", observe],
  ])("is kept by %s, which also passes on the request's compactAt field", async ([, wrap]) => {
    const inner = createMockProvider([text("Hi.")], { compacts: true });
    await play(wrap(inner), { ...request, compactAt: 9_000 });
    expect(inner.requests.map(({ compactAt }) => compactAt)).toEqual([9_000]);
  });
});
