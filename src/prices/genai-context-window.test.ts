import { describe, expect, it } from "vitest";
import { isLoopError } from "turnwright";
import { genaiContextWindow } from "turnwright/prices";
import type { GenaiContextWindowOptions } from "./genai-prices.ts";

describe("genaiContextWindow", () => {
  it.for<[provider: string, model: string, tokens: number]>([
    ["openai", "gpt-5", 400_000],
    ["OpenAI", "gpt-5", 400_000],
    ["anthropic", "claude-sonnet-4-5", 200_000],
    ["anthropic", "claude-sonnet-4-5-20250929", 200_000],
    ["anthropic", "claude-opus-4-6", 1_000_000],
    ["aws.bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000],
    ["azure.ai.openai", "phi-4", 16_384],
    ["gcp.vertex_ai", "claude-sonnet-4-5@20250929", 200_000],
  ])("knows the context window for the provider %s and the model %s", ([provider, model, tokens]) => {
    expect(genaiContextWindow()(provider, model)).toBe(tokens);
  });

  it.for<[what: string, provider: string, model: string]>([
    ["an unknown model", "openai", "gpt-99"],
    ["a model without a context window in the catalog", "openai", "gpt-image-1"],
    ["a model from another provider", "openai", "claude-sonnet-4-5"],
    ["an unknown provider", "ibm.watsonx.ai", "granite-3"],
    ["a provider name that contains the name of another provider", "my-openai-proxy", "gpt-5"],
    ["a proxy with a model name that contains a known provider", "litellm", "openai/gpt-5"],
    ["an empty provider", "", "gpt-5"],
    ["an empty model", "openai", ""],
    ["the provider name constructor and the model name __proto__", "constructor", "__proto__"],
  ])("returns undefined for %s", ([, provider, model]) => {
    expect(genaiContextWindow()(provider, model)).toBeUndefined();
  });

  it.for<[what: string, options: GenaiContextWindowOptions, provider: string, model: string]>([
    ["provider", { provider: "openai" }, "my-proxy", "gpt-5"],
    ["model", { model: "gpt-5" }, "azure.ai.openai", "our-deployment"],
    ["provider and model", { provider: "azure.ai.openai", model: "gpt-5" }, "gateway", "fast"],
  ])("uses the %s from its options, not from the call", ([, options, provider, model]) => {
    expect(genaiContextWindow(options)(provider, model)).toBe(400_000);
  });

  it.for<[what: string, options: unknown, code: string, named: string]>([
    ["a misspelled provider", { provider: "opnai" }, "invalid-option", '"provider"'],
    ["a blank provider", { provider: " " }, "invalid-option", '"provider"'],
    ["a blank model", { model: "" }, "invalid-option", '"model"'],
    ["a date", { date: new Date() }, "unknown-option", '"date"'],
    ["null as options", null, "invalid-option", '"options"'],
  ])("rejects %s", ([, options, code, named]) => {
    let thrown: unknown;
    try {
      genaiContextWindow(options as never);
    } catch (error) {
      thrown = error;
    }
    expect(isLoopError(thrown)).toBe(true);
    expect(thrown).toMatchObject({ code, message: expect.stringContaining(named) });
  });
});
