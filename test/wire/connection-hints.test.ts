// A wrong base URL and a missing key are mistakes of the program. The errors of services rarely say so.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { type Provider, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { describe, expect, it } from "vitest";
import { connect, connectAnthropic } from "./service-client.ts";

type Fetch = typeof globalThis.fetch;

const base = "http://localhost:11434";

interface Row {
  readonly connect: (fetch: Fetch) => Provider;
  readonly address: string;
  readonly key: string;
}

const openaiKey = "The OpenAI client takes its key from `apiKey`, or else from the environment variable OPENAI_API_KEY.";
const packageKey = "Check the `apiKey` that the package's provider was created with, or the environment variable that it reads.";
const packageAddress =
  "Check the `baseURL` that the package's provider was created with. It usually ends with a version, such as /v1.";

const rows: { readonly [title: string]: Row } = {
  openaiChat: {
    connect: (fetch) => openaiChat({ client: connect(fetch, base), model: "m" }),
    address: "Check the client's `baseURL`, which is http://localhost:11434. It usually ends with /v1.",
    key: openaiKey,
  },
  openaiResponses: {
    connect: (fetch) => openaiResponses({ client: connect(fetch, `${base}/v1`), model: "m" }),
    address:
      "Check the client's `baseURL`, which is http://localhost:11434/v1. If it is right, the service may have no Responses API: use `openaiChat`.",
    key: openaiKey,
  },
  anthropicMessages: {
    connect: (fetch) => anthropicMessages({ client: connectAnthropic(fetch, `${base}/v1`), model: "claude-haiku-4-5" }),
    address: "Check the client's `baseURL`, which is http://localhost:11434/v1. The SDK appends /v1/messages.",
    key: "The Anthropic client takes its key from `apiKey`, or else from the environment variable ANTHROPIC_API_KEY.",
  },
  googleGenerateContent: {
    connect: (fetch) =>
      googleGenerateContent({
        client: new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: base, fetch } }),
        model: "gemini-3",
      }),
    address: "Check `httpOptions.baseUrl` and `apiVersion` of the client. The SDK appends the version, such as /v1.",
    key: "The Google client takes its key from `apiKey`, or else from the environment variable GEMINI_API_KEY or GOOGLE_API_KEY.",
  },
  "aiSdkModel, @ai-sdk/openai-compatible": {
    connect: (fetch) => aiSdkModel({ model: createOpenAICompatible({ name: "x", apiKey: "k", baseURL: base, fetch })("m") }),
    address: packageAddress,
    key: packageKey,
  },
  "aiSdkModel, @ai-sdk/anthropic": {
    connect: (fetch) => aiSdkModel({ model: createAnthropic({ apiKey: "k", baseURL: base, fetch })("claude-haiku-4-5") }),
    address: packageAddress,
    key: packageKey,
  },
};

/** Returns the error of a run whose service answers every request in the same way. */
async function play({ connect: connectTo }: Pick<Row, "connect">, status: number, body: string | object) {
  const fetch: Fetch = async () =>
    typeof body === "string"
      ? new Response(body, { status, headers: { "content-type": "text/html" } })
      : Response.json(body, { status });
  const { error } = await runToolLoop({ provider: connectTo(fetch), messages: [{ role: "user", content: "Hi" }] });
  return error;
}

const invalidUrl = { error: { message: "Invalid URL (POST /chat/completions)", type: "invalid_request_error" } };

describe.each(Object.entries(rows))("%s", (_title, row) => {
  it.for<[what: string, status: number, body: string | object]>([
    ["Ollama or a Go server", 404, "404 page not found"],
    ["a server without words", 404, ""],
    ["a proxy", 404, "<html><head><title>404 Not Found</title></head></html>"],
    ["vLLM", 404, { detail: "Not Found" }],
    ["llama-server", 404, { error: { code: 404, message: "File Not Found", type: "not_found_error" } }],
    ["Anthropic", 404, { type: "error", error: { type: "not_found_error", message: "Not Found" } }],
    ["OpenAI", 404, invalidUrl],
    ["Azure", 404, { error: { code: "404", message: "Resource not found" } }],
    ["FastAPI", 405, { detail: "Method Not Allowed" }],
    ["nginx", 405, "<html><head><title>405 Not Allowed</title></head></html>"],
  ])("says that %s has no such address", async ([, status, body]) => {
    const error = await play(row, status, body);
    expect(error).toMatchObject({ code: "bad-request", status, retryable: false });
    expect(error?.message).toContain(`The service has no such address. ${row.address}`);
  });

  it.for<[what: string, message: string]>([
    ["OpenAI", "The model `m` does not exist or you do not have access to it."],
    ["Anthropic", "model: claude-x"],
    ["Ollama", 'model "m" not found, try pulling it first'],
    ["Gemini", "models/m is not found for API version v1beta, or is not supported for generateContent."],
    ["OpenRouter", "No endpoints found that support tool use."],
    ["Azure", "The API deployment for this resource does not exist."],
  ])("does not change what %s says about an unknown model", async ([, message]) => {
    const error = await play(row, 404, { error: { message, type: "not_found_error", code: 404 } });
    expect(error).toMatchObject({ code: "bad-request", status: 404, message });
  });

  it.for<[what: string, body: string | object]>([
    ["without a reason", ""],
    ["with only a word", { error: "Unauthorized" }],
  ])("says where the key comes from if the service answers 401 %s", async ([, body]) => {
    const error = await play(row, 401, body);
    expect(error).toMatchObject({ code: "auth", status: 401 });
    expect(error?.message).toContain(row.key);
  });

  it("does not change the service's reason for refusing a key", async () => {
    const message = "Incorrect API key provided.";
    expect(await play(row, 401, { error: { message, type: "invalid_request_error" } })).toMatchObject({ code: "auth", message });
  });
});

it("openaiChat says that LM Studio has no such address if it answers 200", async () => {
  const row = { connect: (fetch: Fetch) => openaiChat({ client: connect(fetch, base), model: "m" }) };
  const error = await play(row, 200, { error: "Unexpected endpoint or method. (POST /chat/completions)" });
  expect(error?.message).toContain("The service has no such address. Check the client's `baseURL`");
});

it("anthropicMessages names the environment variable for the API key if the client has no key", async () => {
  const client = new Anthropic({ apiKey: null, authToken: null, baseURL: base, maxRetries: 0, logLevel: "off" });
  const provider = anthropicMessages({ client, model: "claude-haiku-4-5" });
  const { error } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi" }] });
  expect(error).toMatchObject({ code: "auth", message: expect.stringContaining("ANTHROPIC_API_KEY") });
});

it("openaiChat does not show the credentials in a base URL", async () => {
  const row = {
    connect: (fetch: Fetch) => openaiChat({ client: connect(fetch, "http://me:secret@localhost:1/?key=secret"), model: "m" }),
  };
  const error = await play(row, 404, "404 page not found");
  expect(error?.message).toContain("which is http://localhost:1. It");
});
