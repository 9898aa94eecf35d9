import { describe, expect, it } from "vitest";
import {
  deferTools,
  type LoopOptions,
  type LoopResult,
  prepareIteration,
  type Provider,
  withFallback,
  withRetry,
} from "turnwright";
import { createMockProvider, type MockScript, memoryCassette, recordTo, replayFrom, text, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { outcomesOf, play } from "../loop/play.ts";
import { pair, run } from "./search-stage.ts";

const done = text("Done.");

describe("deferred tools without a search", () => {
  it("are all visible if neither a tool nor the provider can find tools", async () => {
    const { lists, result } = await run([done], { tools: pair });
    expect(lists).toEqual([["clock", "alpha", "beta"]]);
    expect(result.status).toBe("completed");
  });
});

describe("deferred tools for a provider with its own search", () => {
  const marksOf = ({ requests }: ReturnType<typeof createMockProvider>): readonly string[] =>
    requests.map(({ tools }) => tools.map(({ name, deferred }) => (deferred === true ? `${name}*` : name)).join());
  const searching = (script: MockScript): ReturnType<typeof createMockProvider> =>
    Object.assign(createMockProvider(script), { searchesTools: true });
  const go = async (provider: Provider, more: Partial<LoopOptions> = {}): Promise<LoopResult> =>
    play([], { provider, tools: withToolSearch(pair), middleware: [deferTools()], ...more }).result;

  it("are all included in each request, marked as deferred", async () => {
    const provider = searching([toolCall("beta"), toolCall("find_tools", { query: "x" }), done]);
    const result = await go(provider);
    expect(marksOf(provider)).toEqual(Array.from({ length: 3 }, () => "clock,alpha*,beta*"));
    expect(outcomesOf(result).map((outcome) => outcome.split(": ")[1])).toEqual(["completed", "unknown-tool"]);
  });

  it("do not need withToolSearch", async () => {
    const provider = searching([done]);
    await go(provider, { tools: pair });
    expect(marksOf(provider)).toEqual(["clock,alpha*,beta*"]);
  });

  it("obey prepareIteration, which may choose a different provider", async () => {
    const plain = createMockProvider([done, done]);
    const provider = searching([toolCall("beta"), done]);
    const prepare = ({ iteration }: { readonly iteration: number }): object =>
      iteration === 0 ? { tools: ["alpha", "beta", "find_tools"] } : { provider: plain };
    await go(provider, { middleware: [prepareIteration(prepare), deferTools()] });
    expect(marksOf(provider)).toEqual(["alpha*,beta*"]);
    expect(marksOf(plain)).toEqual(["clock,find_tools,beta"]);
  });

  it("are searched by the service in a recording and in a replay", async () => {
    const cassette = memoryCassette();
    const recorded = await go(recordTo(cassette, searching([toolCall("beta"), done])));
    const replayed = await go(replayFrom(cassette));
    expect([recorded.text, replayed.text, replayed.streamResults[0]?.visibleTools]).toEqual([
      "Done.",
      "Done.",
      ["clock", "alpha", "beta"],
    ]);
  });

  it("are searched through withFallback only if all providers can search", async () => {
    const both = withFallback([searching([done]), withRetry(searching([done]))]);
    expect([withRetry(searching([])).searchesTools, both.searchesTools]).toEqual([true, true]);
    const mixed = searching([done]);
    const provider = withFallback([mixed, createMockProvider([done])]);
    expect([provider.searchesTools, withRetry(createMockProvider([])).searchesTools]).toEqual([undefined, undefined]);
    await go(provider);
    expect(marksOf(mixed)).toEqual(["clock,find_tools"]);
  });
});
