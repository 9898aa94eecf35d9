import { describe, expect, it } from "vitest";
import { aiSdkModel } from "./ai-sdk-model.ts";
import { type AiSdkLanguageModel, checkModelOptions } from "./model-options.ts";

const model: AiSdkLanguageModel = {
  specificationVersion: "v4",
  provider: "mock.chat",
  modelId: "m",
  supportedUrls: {},
  doStream: () => Promise.reject(new Error("Not asked for.")),
};

describe("aiSdkModel", () => {
  it("uses the provider and model id of the AI SDK model by default", () => {
    expect(checkModelOptions({ model })).toEqual({ model, id: "mock.chat", quirks: {} });
    const provider = aiSdkModel({ model });
    expect(provider).toEqual({ id: "mock.chat", model: "m", structuresOutput: true, stream: expect.any(Function) });
    expect(aiSdkModel({ model, id: "mock", family: "f" })).toMatchObject({ id: "mock", model: "m", family: "f" });
  });

  it.for<[name: string, value: unknown]>([
    ["model", undefined],
    ["model", "openai/gpt-5"],
    ["model", Object.assign(() => model, model)],
    ["model", { ...model, specificationVersion: "v1" }],
    ["model", { ...model, specificationVersion: "v5" }],
    ["model", { ...model, specificationVersion: "toString" }],
    ["model", { ...model, doStream: undefined }],
    ["model", { ...model, modelId: "" }],
    ["model", { ...model, provider: 1 }],
    ["id", " "],
    ["family", 1],
    ["headers", { a: 1 }],
    ["providerOptions", { openai: "low" }],
    ["providerTools", { bash: { args: {} } }],
    ["providerTools", { bash: { id: "a.b" } }],
    ["approveProviderTool", true],
    ["onWarning", "warn"],
  ])('rejects the option "%s" with the value %o', ([name, value]) => {
    const options = { model, [name]: value };
    expect(() => checkModelOptions(options)).toThrow(
      expect.objectContaining({ code: "invalid-option", details: expect.objectContaining({ option: name }) }),
    );
  });

  it("rejects an unknown option and suggests the nearest one", () => {
    const options = { model, modell: 1 };
    expect(() => checkModelOptions(options)).toThrow(
      expect.objectContaining({ code: "unknown-option", details: { option: "modell", nearest: "model" } }),
    );
  });
});
