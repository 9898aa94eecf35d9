import { describe, expect, it } from "vitest";
import { createLoopEvents, isLoopError, memoryJournal, runToolLoop, type Usage } from "turnwright";
import { genaiPrices } from "turnwright/prices";
import type { GenaiPricesOptions } from "./genai-prices.ts";
import { createMockProvider, text, usage as spends } from "turnwright/testing";

function tokens(inputTokens: number, outputTokens: number, parts: Partial<Usage> = {}): Usage {
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...parts };
}

/** A date in the past, whose prices no longer change. */
const date = new Date("2026-01-01T12:00:00Z");
const thousand = tokens(1_000, 1_000);

describe("genaiPrices", () => {
  // The expected costs were calculated by hand from the catalog's prices.
  it.for<[what: string, provider: string, model: string, usage: Usage, costUSD: number]>([
    // USD per million tokens: input 1.25, cached input 0.125, output 10.
    ["input and output tokens", "openai", "gpt-5", tokens(10_000, 2_000), 0.0125 + 0.02],
    ["cached input tokens", "openai", "gpt-5", tokens(10_000, 2_000, { cachedInputTokens: 4_000 }), 0.0075 + 0.0005 + 0.02],
    ["reasoning tokens at the output price", "openai", "gpt-5", tokens(10_000, 2_000, { reasoningTokens: 1_500 }), 0.0125 + 0.02],
    ["zero tokens", "openai", "gpt-5", tokens(0, 0), 0],
    // USD per million tokens: input 3, cached input 0.3, cache write 3.75, output 15.
    [
      "cache write tokens",
      "anthropic",
      "claude-sonnet-4-5",
      tokens(10_000, 1_000, { cachedInputTokens: 6_000, cacheWriteTokens: 3_000 }),
      0.003 + 0.0018 + 0.01125 + 0.015,
    ],
    ["a model name with a date", "anthropic", "claude-sonnet-4-5-20250929", tokens(10_000, 1_000), 0.03 + 0.015],
    // USD per million tokens up to 200,000 input tokens: input 3, output 15. Beyond that: input 6, output 22.5.
    ["the longest prompt of a price tier", "anthropic", "claude-sonnet-4-5", tokens(200_000, 1_000), 0.6 + 0.015],
    ["a prompt in a higher price tier", "anthropic", "claude-sonnet-4-5", tokens(250_000, 1_000), 1.5 + 0.0225],
    // USD per million tokens: input 2, output 8, reasoning 3.
    [
      "reasoning tokens with a separate price",
      "perplexity",
      "sonar-deep-research",
      tokens(1_000, 1_000, { reasoningTokens: 400 }),
      0.002 + 0.0048 + 0.0012,
    ],
    // USD per million tokens: input 1, output 1. USD per request: 0.012.
    ["a request to a model with a fixed price per request", "perplexity", "sonar", tokens(1_000, 1_000), 0.012 + 0.001 + 0.001],
    // USD per million tokens: input 30, output 60. There is no price for cached tokens.
    [
      "cached tokens for a model without a cache discount",
      "openai",
      "gpt-4",
      tokens(1_000, 1_000, { cachedInputTokens: 500 }),
      0.03 + 0.06,
    ],
  ])("computes the cost of %s", ([, provider, model, usage, costUSD]) => {
    expect(genaiPrices({ date })(usage, { provider, model })).toBeCloseTo(costUSD, 10);
  });

  it.for<[provider: string, model: string, costUSD: number]>([
    ["openai", "gpt-4o-mini", 0.00075],
    ["OpenAI", "gpt-4o-mini", 0.00075],
    ["aws.bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 0.0198],
    ["azure.ai.openai", "gpt-4o", 0.0125],
    ["azure.ai.inference", "gpt-4o", 0.0125],
    ["cohere", "command-r-plus", 0.0125],
    ["deepseek", "deepseek-chat", 0.00137],
    ["gcp.gemini", "gemini-2.5-pro", 0.01125],
    ["gcp.gen_ai", "gemini-2.5-pro", 0.01125],
    ["gcp.vertex_ai", "claude-sonnet-4-5@20250929", 0.018],
    ["groq", "llama-3.3-70b-versatile", 0.00138],
    ["mistral_ai", "mistral-large-latest", 0.008],
    ["moonshot_ai", "kimi-k2-0905-preview", 0.0031],
    ["openrouter", "anthropic/claude-sonnet-4.5", 0.018],
    ["x_ai", "grok-4", 0.018],
  ])("knows the price for the provider %s and the model %s", ([provider, model, costUSD]) => {
    expect(genaiPrices({ date })(thousand, { provider, model })).toBeCloseTo(costUSD, 10);
  });

  it("looks up Azure models under Azure, not under OpenAI", () => {
    const price = genaiPrices();
    expect(price(thousand, { provider: "azure.ai.openai", model: "phi-4" })).toBeGreaterThan(0);
    expect(price(thousand, { provider: "openai", model: "phi-4" })).toBeUndefined();
  });

  it.for<[what: string, provider: string, model: string]>([
    ["an unknown model", "openai", "gpt-99"],
    ["a model from another provider", "openai", "claude-sonnet-4-5"],
    ["an unknown provider", "ibm.watsonx.ai", "granite-3"],
    ["a provider name that contains the name of another provider", "my-openai-proxy", "gpt-5"],
    ["a proxy with a model name that contains a known provider", "litellm", "openai/gpt-5"],
    ["an empty provider", "", "gpt-5"],
    ["an empty model", "openai", ""],
    ["a model without any price", "google", "gemma-3"],
    ["a model without a price for output", "openai", "text-embedding-3-large"],
    ["the provider name constructor and the model name __proto__", "constructor", "__proto__"],
  ])("returns undefined for %s", ([, provider, model]) => {
    expect(genaiPrices()(thousand, { provider, model })).toBeUndefined();
  });

  it("needs a price only for the kinds of tokens that are used", () => {
    const model = { provider: "openai", model: "text-embedding-3-large" };
    expect(genaiPrices()(tokens(1_000, 0), model)).toBeCloseTo(0.00013, 10);
    expect(genaiPrices()(tokens(1_000, 0), { provider: "google", model: "gemma-3" })).toBeUndefined();
  });

  it.for<[day: string, costUSD: number]>([
    // USD per million tokens until 10 June 2025: input 10, output 40. After that: input 2, output 8.
    ["2025-05-01", 0.05],
    ["2025-07-01", 0.01],
  ])("uses the prices on the day in the `date` option: %s", ([day, costUSD]) => {
    const price = genaiPrices({ date: new Date(day) });
    expect(price(thousand, { provider: "openai", model: "o3" })).toBeCloseTo(costUSD, 10);
  });

  it.for<[what: string, options: GenaiPricesOptions, used: { provider: string; model: string }]>([
    ["provider", { provider: "openai" }, { provider: "my-proxy", model: "gpt-5" }],
    ["model", { model: "gpt-5" }, { provider: "azure.ai.openai", model: "our-deployment" }],
    ["provider and model", { provider: "azure.ai.openai", model: "gpt-5" }, { provider: "gateway", model: "fast" }],
  ])("uses the %s from its options, not from the run", ([, options, used]) => {
    expect(genaiPrices(options)(thousand, used)).toBeCloseTo(0.01125, 10);
  });

  it.for<[what: string, options: unknown, code: string, named: string]>([
    ["a misspelled provider", { provider: "opnai" }, "invalid-option", '"provider"'],
    ["a provider name that contains the name of another provider", { provider: "my-openai" }, "invalid-option", '"provider"'],
    ["a blank provider", { provider: " " }, "invalid-option", '"provider"'],
    ["a blank model", { model: "" }, "invalid-option", '"model"'],
    ["a date as a string", { date: "2026-01-01" }, "invalid-option", '"date"'],
    ["an invalid date", { date: new Date("never") }, "invalid-option", '"date"'],
    ["an unknown option", { timestamp: new Date() }, "unknown-option", '"timestamp"'],
    ["null as options", null, "invalid-option", '"options"'],
  ])("rejects %s", ([, options, code, named]) => {
    let thrown: unknown;
    try {
      genaiPrices(options as never);
    } catch (error) {
      thrown = error;
    }
    expect(isLoopError(thrown)).toBe(true);
    expect(thrown).toMatchObject({ code, message: expect.stringContaining(named) });
  });

  it.for<[what: string, usage: Usage]>([
    ["a negative token count", tokens(-1, 10)],
    ["a token count of NaN", tokens(Number.NaN, 10)],
  ])("throws for %s", ([, usage]) => {
    expect(() => genaiPrices()(usage, { provider: "anthropic", model: "claude-sonnet-4-5" })).toThrow(/Invalid usage/);
  });
});

describe("runToolLoop with genaiPrices", () => {
  const messages = [{ role: "user", content: "Go." }] as const;
  const mock = { id: "openai", model: "gpt-5" };
  const spending = [[text("Done."), spends({ inputTokens: 10_000, outputTokens: 2_000, cachedInputTokens: 4_000 })]];

  it("reports the cost of the run", async () => {
    const result = await runToolLoop({ provider: createMockProvider(spending, mock), messages, pricing: genaiPrices() });
    expect(result.costUSD).toBeCloseTo(0.028, 10);
  });

  it("keeps the recorded cost in a replay after a price change", async () => {
    const model = { id: "openai", model: "o3" };
    const journal = memoryJournal();
    const options = { provider: createMockProvider(spending, model), messages, journal, runId: "priced" };
    const first = await runToolLoop({ ...options, pricing: genaiPrices({ date: new Date("2025-05-01") }) });
    const again = await runToolLoop({ ...options, pricing: genaiPrices({ date: new Date("2025-07-01") }) });
    expect(first.costUSD).toBeGreaterThan(0.1);
    expect(again.costUSD).toBe(first.costUSD);
  });

  it.for<[what: string, usage: Partial<Usage>, costUSD: number]>([
    // USD per million tokens: input 1.25, cached input 0.125, output 10.
    ["missing cached tokens to the input count", { inputTokens: 1_000, cachedInputTokens: 2_000, outputTokens: 0 }, 0.0015],
    ["missing reasoning tokens to the output count", { inputTokens: 0, outputTokens: 100, reasoningTokens: 900 }, 0.01],
  ])("adds %s before the cost is computed", async ([, usage, costUSD]) => {
    const heard: unknown[] = [];
    const events = createLoopEvents();
    events.on("listener-error", ({ error }) => void heard.push(error.message));
    const turn = [[text("Done."), spends({ inputTokens: 0, outputTokens: 0, ...usage })]];
    const result = await runToolLoop({ provider: createMockProvider(turn, mock), messages, events, pricing: genaiPrices() });
    expect(heard).toEqual([]);
    expect(result.costUSD).toBeCloseTo(costUSD, 10);
  });
});
