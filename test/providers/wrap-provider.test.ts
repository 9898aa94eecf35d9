import { expect, it } from "vitest";
import { type Provider, runToolLoop, withFallback, withRetry } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import { wrapProvider } from "turnwright/kit";
import { createMockProvider, memoryCassette, recordTo, text } from "turnwright/testing";
import { observeProvider } from "../../src/observe/run-observer.ts";

const wrappers: { readonly [name: string]: (provider: Provider) => Provider } = {
  wrapProvider: (provider) => wrapProvider(provider, { stream: provider.stream.bind(provider) }),
  withRetry: (provider) => withRetry(provider),
  withFallback: (provider) => withFallback([provider, createMockProvider([])]),
  withPlanner: (provider) => withPlanner(provider),
  recordTo: (provider) => recordTo(memoryCassette(), provider),
  observeProvider: (provider) => observeProvider(provider, () => undefined),
};

it.for(Object.entries(wrappers))("%s keeps provider fields that a later version may add", ([, wrap]) => {
  const provider = { ...createMockProvider([], { id: "a", model: "m", family: "f" }), tastesTools: true };
  expect(wrap(provider)).toMatchObject({ id: "a", model: "m", family: "f", tastesTools: true });
});

it.for(Object.entries(wrappers))("%s reads a class instance's fields", ([, wrap]) => {
  class Own implements Provider {
    readonly #model = "m";
    readonly id = "a";
    get model(): string {
      return this.#model;
    }
    get family(): string {
      return this.#model;
    }
    stream: Provider["stream"] = () => {
      throw new Error("No request is expected.");
    };
  }
  expect(wrap(new Own())).toMatchObject({ id: "a", model: "m", family: "m" });
});

it("wrapProvider: combines the provider's capabilities with the wrapper's changes", async () => {
  let requests = 0;
  const provider = createMockProvider([text("Hello.")], { compacts: true });
  const counted = wrapProvider(provider, {
    compacts: undefined,
    stream: (request, call) => ((requests += 1), provider.stream(request, call)),
  });
  expect([wrapProvider(provider, { stream: counted.stream }).compacts, counted.compacts]).toEqual([true, undefined]);
  const { text: said } = await runToolLoop({ provider: counted, messages: [{ role: "user", content: "Hi." }] });
  expect([said, requests]).toEqual(["Hello.", 1]);
});
