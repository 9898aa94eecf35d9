// Each strict service with the SDK and the adapter that users take for it.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogle } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import type { Provider } from "turnwright";
import { aiSdkModel, type AiSdkLanguageModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import type { StrictService } from "turnwright/testing";
import type { StrictServiceKind } from "../../src/testing/strict/kinds.ts";

type Connect = (service: StrictService, url?: string) => Provider;

const chat =
  (model: string, address: string, options: object = {}): Connect =>
  ({ fetch }, url) => {
    const client = new OpenAI({ apiKey: "test", baseURL: url ?? address, fetch, maxRetries: 0, logLevel: "off" });
    return openaiChat({ client, model, ...options });
  };

const messages =
  (model: string, options: object = {}, address?: string): Connect =>
  ({ fetch }, url) => {
    const baseURL = url ?? address;
    const client = new Anthropic({
      apiKey: "test",
      fetch,
      maxRetries: 0,
      logLevel: "off",
      ...(baseURL === undefined ? {} : { baseURL }),
    });
    return anthropicMessages({ client, model, ...options });
  };

const responses =
  (model: string, options: object = {}): Connect =>
  ({ fetch }, url) => {
    const client = new OpenAI({ apiKey: "test", baseURL: url ?? null, fetch, maxRetries: 0, logLevel: "off" });
    return openaiResponses({ client, model, ...options });
  };

const gemini =
  (model: string, options: object = {}): Connect =>
  ({ fetch }, baseUrl = "https://generativelanguage.googleapis.com") =>
    googleGenerateContent({ client: new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl, fetch } }), model, ...options });

const aiSdk =
  (create: (options: { readonly apiKey: string; readonly fetch: typeof globalThis.fetch }) => AiSdkLanguageModel): Connect =>
  ({ fetch }) =>
    aiSdkModel({ model: create({ apiKey: "test", fetch }) });

const adaptive = { thinking: { type: "adaptive" } };
const budget = { thinking: { type: "enabled", budget_tokens: 2_000 } };

/** Tools that Anthropic runs, its summaries and its search for tools. */
const claudeTools = {
  serverTools: [
    { type: "web_search_20250305", name: "web_search" },
    { type: "code_execution_20250825", name: "code_execution" },
  ],
  compaction: true,
  toolSearch: "bm25",
};

/** One adapter of a service. A service with several models or APIs has several entries. */
export interface StrictRow {
  readonly kind: StrictServiceKind;
  readonly model: string;
  readonly connect: Connect;
}

const row = (kind: StrictServiceKind, model: string, connect: (model: string) => Connect): StrictRow => ({
  kind,
  model,
  connect: connect(model),
});

export const strictRows: readonly StrictRow[] = [
  row("openai-chat", "gpt-4.1", (model) => chat(model, "https://api.openai.com/v1")),
  row("openai-responses", "gpt-5", responses),
  row("openai-responses", "gpt-6.2-sol", responses),
  row("azure", "gpt-4.1", (model) => chat(model, "https://test.openai.azure.com/openai/v1")),
  row("anthropic", "claude-haiku-4-5", (model) => messages(model)),
  row("anthropic", "claude-sonnet-4-6", (model) => messages(model, budget)),
  row("anthropic", "claude-opus-5", (model) => messages(model, adaptive)),
  row("anthropic-preserved-thinking", "claude-opus-5-5", (model) => messages(model, adaptive)),
  row("gemini", "gemini-3-pro-preview", gemini),
  row("gemini", "gemini-2.5-pro", gemini),
  row("mistral", "mistral-large-4", (model) => chat(model, "https://api.mistral.ai/v1")),
  row("mistral", "tuned-model", (model) => chat(model, "https://api.mistral.ai/v1")),
  row("groq", "openai/gpt-oss-120b", (model) => chat(model, "https://api.groq.com/openai/v1")),
  row("deepseek", "deepseek-v4-pro", (model) => chat(model, "https://api.deepseek.com")),
  row("moonshot", "kimi-k3", (model) => chat(model, "https://api.moonshot.ai/v1")),
  row("openrouter", "mistralai/mistral-large-4", (model) => chat(model, "https://openrouter.ai/api/v1")),
  row("openrouter", "anthropic/claude-opus-5.5", (model) => chat(model, "https://openrouter.ai/api/v1")),
  row("openrouter", "z-ai/glm-5.3", (model) => chat(model, "https://openrouter.ai/api/v1")),
  row("vllm", "qwen3.8-27b", (model) => chat(model, "http://127.0.0.1:8000/v1")),
  row("vllm", "mistralai/Mistral-Small-2603", (model) => chat(model, "http://127.0.0.1:8000/v1")),
  row("llama-server", "qwen3.8-27b", (model) => chat(model, "http://127.0.0.1:8080/v1")),
  row("ollama", "qwen3.8:27b", (model) => chat(model, "http://127.0.0.1:11434/v1")),
  row("lm-studio", "qwen3.8-27b", (model) => chat(model, "http://127.0.0.1:1234/v1")),
  row("bedrock", "us.anthropic.claude-opus-4-8-v1:0", (model) => chat(model, "https://gateway.test/v1", { id: "aws.bedrock" })),
  row("bedrock", "us.anthropic.claude-sonnet-4-6-v1:0", (model) =>
    messages(model, { id: "aws.bedrock" }, "https://bedrock-mantle.us-east-1.api.aws/anthropic"),
  ),
];

/** Services with tools that they run themselves. */
export const serverToolRows: readonly StrictRow[] = [
  row("anthropic", "claude-opus-5 with server tools", () => messages("claude-opus-5", { ...adaptive, ...claudeTools })),
  row("anthropic-preserved-thinking", "claude-opus-5-5 with server tools", () =>
    messages("claude-opus-5-5", { ...adaptive, ...claudeTools }),
  ),
  row("openai-responses", "gpt-5.5 with server tools", () =>
    responses("gpt-5.5", { serverTools: [{ type: "web_search" }], compaction: true, toolSearch: true }),
  ),
  row("gemini", "gemini-3-pro-preview with server tools", () =>
    gemini("gemini-3-pro-preview", { serverTools: [{ googleSearch: {} }, { codeExecution: {} }] }),
  ),
];

/** The same services through the AI SDK packages. */
export const aiSdkRows: readonly StrictRow[] = [
  row("openai-chat", "AI SDK gpt-4.1", () => aiSdk((options) => createOpenAI(options).chat("gpt-4.1"))),
  row("openai-responses", "AI SDK gpt-5", () => aiSdk((options) => createOpenAI(options).responses("gpt-5"))),
  row("anthropic", "AI SDK claude-sonnet-4-6", () => aiSdk((options) => createAnthropic(options)("claude-sonnet-4-6"))),
  row("gemini", "AI SDK gemini-3-pro-preview", () => aiSdk((options) => createGoogle(options)("gemini-3-pro-preview"))),
  row("mistral", "AI SDK mistral-large-4", () => aiSdk((options) => createMistral(options)("mistral-large-4"))),
  row("groq", "AI SDK gpt-oss-120b", () => aiSdk((options) => createGroq(options)("openai/gpt-oss-120b"))),
  row("deepseek", "AI SDK deepseek-v4-pro", () => aiSdk((options) => createDeepSeek(options)("deepseek-v4-pro"))),
];

export const allRows: readonly StrictRow[] = [...strictRows, ...serverToolRows, ...aiSdkRows];

export const titleOf = ({ kind, model }: StrictRow): string => `${kind}, ${model}`;
