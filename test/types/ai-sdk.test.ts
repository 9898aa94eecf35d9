import { createOpenAI as createV4 } from "@ai-sdk/openai";
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import { createOpenAI as createV2 } from "ai-sdk-openai-v2";
import { createOpenAI as createV3 } from "ai-sdk-openai-v3";
import { expect, expectTypeOf, it } from "vitest";
import type { Provider } from "turnwright";
import { aiSdkModel, type AiSdkLanguageModel, type AiSdkModelOptions } from "turnwright/ai-sdk";

const [v2, v3, v4] = [createV2({ apiKey: "k" }), createV3({ apiKey: "k" }), createV4({ apiKey: "k" })];

it("aiSdkModel: accepts models from all three generations of provider packages", () => {
  const provider = aiSdkModel({ model: v4("gpt-5") });
  expectTypeOf(provider).toEqualTypeOf<Provider>();
  expect(provider).toMatchObject({ id: "openai.responses", model: "gpt-5" });
  expect(aiSdkModel({ model: v3("gpt-5") }).id).toBe("openai.responses");
  expect(aiSdkModel({ model: v2.chat("gpt-5") }).id).toBe("openai.chat");
  expectTypeOf<LanguageModelV2 | LanguageModelV3 | LanguageModelV4>().toExtend<AiSdkLanguageModel>();
});

it("aiSdkModel: accepts a model with middleware", () => {
  const model = wrapLanguageModel({ model: v3("gpt-5"), middleware: [] });
  expect(aiSdkModel({ model, id: "openai" })).toMatchObject({ id: "openai", model: "gpt-5" });
});

it("aiSdkModel: accepts provider tools from all three generations", () => {
  for (const { tools } of [v2, v3, v4]) {
    const options: AiSdkModelOptions = { model: v4("gpt-5"), providerTools: { web_search: tools.webSearch({}) } };
    expect(aiSdkModel(options).model).toBe("gpt-5");
  }
});

it("aiSdkModel: rejects a model id and models of other kinds", () => {
  // @ts-expect-error only a gateway can resolve an id
  expect(() => aiSdkModel({ model: "openai/gpt-5" })).toThrow(/"model" is .*, but must be an AI SDK language model object/);
  // @ts-expect-error an embedding model is not a language model
  expect(() => aiSdkModel({ model: v4.embedding("text-embedding-3-small") })).toThrow(
    /"model" is .*, but must be an AI SDK language model object/,
  );
  // @ts-expect-error a provider is not a model
  expect(() => aiSdkModel({ model: v4 })).toThrow(/"model" is .*, but must be an AI SDK language model object/);
});
