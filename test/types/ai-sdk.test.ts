// AI SDK models that the compiler accepts. Each `@ts-expect-error` marks a wrong use that must not compile.

import { createOpenAI as createV4 } from "@ai-sdk/openai";
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import { createOpenAI as createV2 } from "ai-sdk-openai-v2";
import { createOpenAI as createV3 } from "ai-sdk-openai-v3";
import { expect, expectTypeOf, it } from "vitest";
import type { Provider } from "turnwright";
import { aiSdkModel, type AiSdkLanguageModel, type AiSdkModelOptions } from "turnwright/ai-sdk";

const [v2, v3, v4] = [createV2({ apiKey: "k" }), createV3({ apiKey: "k" }), createV4({ apiKey: "k" })];

it("takes what the provider packages of all three generations make", () => {
  const provider = aiSdkModel({ model: v4("gpt-5") });
  expectTypeOf(provider).toEqualTypeOf<Provider>();
  expect(provider).toMatchObject({ id: "openai.responses", model: "gpt-5" });
  expect(aiSdkModel({ model: v3("gpt-5") }).id).toBe("openai.responses");
  expect(aiSdkModel({ model: v2.chat("gpt-5") }).id).toBe("openai.chat");
  expectTypeOf<LanguageModelV2 | LanguageModelV3 | LanguageModelV4>().toExtend<AiSdkLanguageModel>();
});

it("takes a model in middleware", () => {
  const model = wrapLanguageModel({ model: v3("gpt-5"), middleware: [] });
  expect(aiSdkModel({ model, id: "openai" })).toMatchObject({ id: "openai", model: "gpt-5" });
});

it("takes the service's tools of all three generations", () => {
  for (const { tools } of [v2, v3, v4]) {
    const options: AiSdkModelOptions = { model: v4("gpt-5"), providerTools: { web_search: tools.webSearch({}) } };
    expect(aiSdkModel(options).model).toBe("gpt-5");
  }
});

it("takes no id for a model, and no model of another kind", () => {
  // @ts-expect-error an id is resolved by a gateway, which is not this package's
  expect(() => aiSdkModel({ model: "openai/gpt-5" })).toThrow(/"model" must be a language model/);
  // @ts-expect-error it makes vectors
  expect(() => aiSdkModel({ model: v4.embedding("text-embedding-3-small") })).toThrow(/"model" must be a language model/);
  // @ts-expect-error this is a maker of models
  expect(() => aiSdkModel({ model: v4 })).toThrow(/"model" must be a language model/);
});
