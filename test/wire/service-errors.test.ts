// The error bodies of model services, through the real SDKs. Each body is tested on every wire, because gateways send them on all.

// Up to version 6, the SDK drops a body without the field "error".
import OpenAI from "openai-6";
import type { ProviderErrorCode } from "turnwright";
import { openaiChat } from "turnwright/openai";
import type { OpenAIChatClient } from "../../src/openai/chat-options.ts";
import { describe, expect, it } from "vitest";
import { ask, runIteration } from "./provider-iteration.ts";
import { answerWith, clients, events, refusal, wires } from "./service-clients.ts";
import { errorBodies } from "./service-error-bodies.ts";

/** Google's SDK and the AI SDK write the text of the status if there is no body. */
const hasOwnText = (wire: string): boolean => wire === "googleGenerateContent" || wire === "aiSdkModel";

describe.for(wires)("%s with errors from services", ([wire, connect]) => {
  it.for(errorBodies.map((row) => [row.service, row] as const))("reports the reason given by %s", async ([, row]) => {
    const { service: _, body, headers, status, message, ...fields } = row;
    const { error } = await runIteration(connect(answerWith(refusal(status, body, headers))), ask("Go."));
    expect(error).toMatchObject({ status, ...fields });
    if (body !== "" || !hasOwnText(wire)) expect(error?.message).toBe(message);
    expect(error?.message).not.toMatch(/^$|no body/);
  });

  it.for<[title: string, headers: Readonly<Record<string, string>>, message: string, retryAfterMs: number | undefined]>([
    ["a message with seconds", {}, "Rate limit reached. Please try again in 6.379s. Visit https://a.test.", 6_379],
    ["a message with milliseconds", {}, "Rate limit reached. Please try again in 564ms.", 564],
    ["a message with minutes", {}, "Rate limit reached. Please try again in 1m2.5s.", 62_500],
    ["an Azure message", {}, "You have exceeded the token rate limit. Please retry after 86400 seconds.", 86_400_000],
    ["a Codex message", {}, "Rate limit is exceeded. Try again in 17 seconds.", 17_000],
    ["a message with hours", {}, "Too many requests, please wait 2 hours.", 7_200_000],
    ["a message without a time", {}, "Too many requests, please wait before trying again.", undefined],
    ["a message with an unrelated number", {}, "Rate limit reached. Limit 3 requests per 20 s.", undefined],
    ["the retry-after header rather than the message", { "retry-after": "2" }, "Please try again in 9s.", 2_000],
    ["Groq's x-ratelimit-reset-tokens", { "x-ratelimit-reset-tokens": "7.66s" }, "Slow.", 7_660],
    ["Groq's x-ratelimit-reset-requests", { "x-ratelimit-reset-requests": "2m59.56s" }, "Slow.", 179_560],
    [
      "the limit that is used up",
      { "x-ratelimit-reset-requests": "1h", "x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-tokens": "3s" },
      "Slow.",
      3_000,
    ],
    [
      "retry-after rather than x-ratelimit-reset-tokens",
      { "retry-after": "2", "x-ratelimit-reset-tokens": "7.66s" },
      "Slow.",
      2_000,
    ],
  ])("reads the time to wait from %s", async ([, headers, message, retryAfterMs]) => {
    const { error } = await runIteration(connect(answerWith(refusal(429, { error: { message } }, headers))), ask("Go."));
    expect(error).toMatchObject({ code: "rate-limit", retryable: true });
    expect(error?.retryAfterMs).toBe(retryAfterMs);
  });

  it("reads the time to wait from the headers in an OpenRouter error body", async () => {
    const headers = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(Date.now() + 42_000) };
    const body = { error: { message: "Rate limit exceeded: free-models-per-min. ", code: 429, metadata: { headers } } };
    const { error } = await runIteration(connect(answerWith(refusal(429, body))), ask("Go."));
    expect(error).toMatchObject({ code: "rate-limit", retryable: true });
    expect(error?.retryAfterMs).toSatisfy((ms: number) => ms > 30_000 && ms <= 42_000);
  });

  it("ignores x-ratelimit-reset-tokens for errors other than 429", async () => {
    const reply = refusal(503, { error: { message: "Busy." } }, { "x-ratelimit-reset-tokens": "7.66s" });
    const { error } = await runIteration(connect(answerWith(reply)), ask("Go."));
    expect(error).toMatchObject({ code: "overloaded" });
    expect(error?.retryAfterMs).toBeUndefined();
  });

  it("gives an error the code from the `errorWords` option", async () => {
    const errorWords = [
      { pattern: /too plump/, code: "context-too-long" },
      { pattern: /shy/, code: "rate-limit" },
    ] as const;
    const code = async (message: string): Promise<unknown> => {
      const provider = connect(answerWith(refusal(400, { error: { message } })), { errorWords });
      return (await runIteration(provider, ask("Go."))).error;
    };
    expect(await code("The prompt is too plump.")).toMatchObject({ code: "context-too-long", retryable: false, status: 400 });
    expect(await code("The model is shy.")).toMatchObject({ code: "rate-limit", retryable: true });
    expect(await code("The prompt is odd.")).toMatchObject({ code: "bad-request" });
  });

  it("refuses errorWords with an unknown code", () => {
    const errorWords = [{ pattern: /x/, code: "odd" as ProviderErrorCode }];
    expect(() => connect(answerWith(refusal(400, {})), { errorWords })).toThrow(/errorWords.*\{ pattern: \/input too big\/i/);
  });
});

const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m" };
const said = { ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "Hel" }, finish_reason: null }] };

describe.for([
  ["openaiChat", clients.openaiChat],
  ["aiSdkModel", clients.aiSdkModel],
] as const)("%s with errors in a stream", ([, connect]) => {
  const upstream = { raw: '{"error":{"message":"Slow down.","code":429}}', provider_name: "Acme" };
  it.for<[service: string, frame: object | string, error: object]>([
    [
      "OpenRouter, with JSON from the upstream",
      { ...chunk, error: { code: 502, message: "Provider returned error", metadata: upstream }, choices: [] },
      { code: "rate-limit", message: "Provider returned error (Acme): Slow down.", status: 502 },
    ],
    [
      "Vercel's gateway",
      {
        error: {
          type: "stream_error",
          message: "Stream error occurred",
          value: { error_message: '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}' },
        },
      },
      { code: "context-too-long", message: "Stream error occurred: prompt is too long: 9 tokens > 8 maximum" },
    ],
    [
      "an error that is a string",
      { error: "model is overloaded" },
      { code: "overloaded", message: "model is overloaded", retryable: true },
    ],
    [
      "a flat body",
      { object: "error", message: "Prompt exceeds max length", type: "x", code: 400 },
      { code: "context-too-long", message: "Prompt exceeds max length" },
    ],
    ["FastAPI", { detail: "Not allowed" }, { message: "Not allowed" }],
    [
      "LM Studio",
      'event: error\ndata: {"error":{"message":"Trying to keep the first 900 tokens when context the overflows."}}\n\n',
      { code: "context-too-long" },
    ],
  ])("reports the reason given by %s", async ([, frame, error]) => {
    const iteration = await runIteration(connect(answerWith(events(said, frame))), ask("Go."));
    expect(iteration.text).toBe("Hel");
    expect(iteration.error).toMatchObject(error);
  });
});

describe("openaiChat with openai 6: the caller's client", () => {
  const fetch = answerWith(refusal(400, { object: "error", message: "Unexpected role", code: "3230" }));
  const create = (client: OpenAI): Promise<unknown> =>
    client.chat.completions.create({ model: "m", messages: [] }).then(
      () => undefined,
      (error: unknown) => error,
    );

  it("throws the same errors as without the adapter", async () => {
    const client = new OpenAI({ apiKey: "k", baseURL: "https://a.test/v1", fetch, maxRetries: 0 });
    const before = await create(client);
    openaiChat({ client, model: "m" });
    openaiChat({ client, model: "m" });
    const after = await create(client);
    expect(after).toBeInstanceOf(OpenAI.BadRequestError);
    expect({ ...(after as object), headers: undefined }).toEqual({ ...(before as object), headers: undefined });
    expect(Object.keys(client)).not.toContain("makeStatusError");
  });

  it.for<[how: string, wrap: (client: OpenAI) => OpenAIChatClient]>([
    ["a proxy", (client) => new Proxy(client, {})],
    ["an object with its resources", ({ chat }) => ({ chat })],
  ])("may be wrapped in %s", async ([, wrap]) => {
    const client = wrap(new OpenAI({ apiKey: "k", baseURL: "https://a.test/v1", fetch, maxRetries: 0 }));
    const { error } = await runIteration(openaiChat({ client, model: "m" }), ask("Go."));
    expect(error?.message).toBe("Unexpected role");
  });

  it("may have only the method that sends requests: the error then contains the status instead of the service's reason", async () => {
    const { chat } = new OpenAI({ apiKey: "k", baseURL: "https://a.test/v1", fetch, maxRetries: 0 });
    const create: OpenAIChatClient["chat"]["completions"]["create"] = ({ model }, options) =>
      chat.completions.create({ model, messages: [], stream: true }, options);
    const client = { chat: { completions: { create } } };
    const { error } = await runIteration(openaiChat({ client, model: "m" }), ask("Go."));
    expect(error).toMatchObject({ code: "bad-request", message: "The service answered with the status 400 and gave no reason." });
  });
});
