// The first mistake of many users: no API key. The SDKs refuse the request themselves.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Provider, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";

beforeEach(() => {
  for (const name of ["OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "GOOGLE_GENERATIVE_AI"])
    vi.stubEnv(`${name}_API_KEY`, undefined);
  vi.stubEnv("ANTHROPIC_AUTH_TOKEN", undefined);
  // Otherwise Google's SDK would look for a server that has credentials.
  vi.stubEnv("METADATA_SERVER_DETECTION", "none");
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it.each<[string, () => Provider, RegExp]>([
  ["anthropicMessages", () => anthropicMessages({ client: new Anthropic(), model: "claude-sonnet-4-6" }), /apiKey/],
  [
    "googleGenerateContent",
    () => googleGenerateContent({ client: new GoogleGenAI({}), model: "gemini-2.5-flash" }),
    /credentials/,
  ],
  ["aiSdkModel with OpenAI", () => aiSdkModel({ model: createOpenAI()("gpt-5-mini") }), /OPENAI_API_KEY/],
  ["aiSdkModel with Google", () => aiSdkModel({ model: createGoogleGenerativeAI()("gemini-2.5-flash") }), /API_KEY/],
])('%s reports a missing API key as the error "auth"', async (_, create, said) => {
  const result = await runToolLoop({ provider: create(), messages: [{ role: "user", content: "Hello" }] });
  expect(result.reason).toMatchObject({ kind: "provider-error", error: { code: "auth", retryable: false } });
  expect(JSON.stringify(result.reason)).toMatch(said);
});
