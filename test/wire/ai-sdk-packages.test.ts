import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createXai } from "@ai-sdk/xai";
import { describe, expect, it } from "vitest";
import { defineTool, runToolLoop } from "turnwright";
import { type AiSdkLanguageModel, aiSdkModel } from "turnwright/ai-sdk";
import { choice, finish, text, usage } from "./chat-chunks.ts";
import { awsFrame } from "./event-stream-frames.ts";
import { done, sse } from "./raw-sse-server.ts";
import { call, message, respond } from "./responses-frames.ts";

type Reply = () => Response;

interface Package {
  readonly name: string;
  connect(options: { readonly apiKey: string; readonly fetch: () => Promise<Response> }): AiSdkLanguageModel;
  readonly call: Reply;
  readonly text: Reply;
  readonly errors: readonly (readonly [title: string, reply: Reply, error: object])[];
}

const stream = (frames: readonly (string | Buffer)[], type = "text/event-stream"): Reply => {
  return () =>
    new Response(new Uint8Array(Buffer.concat(frames.map((frame) => Buffer.from(frame)))), { headers: { "content-type": type } });
};
const json = (status: number, body: object, headers: { readonly [name: string]: string } = {}): Reply => {
  return () => new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
};

const [id, name, args] = ["abcdefghi", "weather", '{"city":"Rome"}'];

/** Mistral sends a call in one piece, and the usage together with the finish reason. */
const chat = {
  call: stream([
    sse({
      ...choice(
        { tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: args } }] },
        { finish_reason: "tool_calls" },
      ),
      usage,
    }),
    done,
  ]),
  text: stream([sse(text("Hel")), sse(text("lo")), sse({ ...finish("stop"), usage }), done]),
};

const bedrock = (...frames: readonly Buffer[]): Reply => stream(frames, "application/vnd.amazon.eventstream");
const bedrockStart = awsFrame("messageStart", { role: "assistant" });
const bedrockStop = (stopReason: string): readonly Buffer[] => [
  awsFrame("contentBlockStop", { contentBlockIndex: 0 }),
  awsFrame("messageStop", { stopReason }),
  awsFrame("metadata", { usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } }),
];

const packages: readonly Package[] = [
  {
    name: "mistral",
    connect: (options) => createMistral(options)("mistral-large-4"),
    ...chat,
    errors: [
      [
        "a flat body",
        json(400, {
          object: "error",
          message: "Unexpected role 'user' after role 'tool'",
          type: "invalid_request_message_order",
          param: null,
          code: "3230",
        }),
        { code: "bad-request", message: "Unexpected role 'user' after role 'tool'" },
      ],
      [
        "only a message",
        json(429, { message: "Requests rate limit exceeded" }),
        { code: "rate-limit", message: "Requests rate limit exceeded" },
      ],
    ],
  },
  {
    name: "groq",
    connect: (options) => createGroq(options)("openai/gpt-oss-120b"),
    ...chat,
    errors: [
      [
        "a wait in a header",
        json(429, { error: { message: "Slow down.", type: "tokens", code: "rate_limit_exceeded" } }, { "retry-after": "7" }),
        { code: "rate-limit", message: "Slow down.", retryAfterMs: 7_000 },
      ],
    ],
  },
  {
    name: "deepseek",
    connect: (options) => createDeepSeek(options)("deepseek-v4-pro"),
    ...chat,
    errors: [
      [
        "status 402",
        json(402, {
          error: { message: "Insufficient Balance", type: "unknown_error", param: null, code: "invalid_request_error" },
        }),
        { code: "rate-limit", retryable: false, message: "Insufficient Balance" },
      ],
    ],
  },
  {
    name: "openai-compatible",
    connect: (options) => createOpenAICompatible({ ...options, name: "x", baseURL: "https://x.test/v1" })("m"),
    ...chat,
    errors: [
      [
        "a flat body about the context length",
        json(400, {
          object: "error",
          message: "This model's maximum context length is 4096 tokens.",
          type: "BadRequestError",
          code: 400,
        }),
        { code: "context-too-long", message: "This model's maximum context length is 4096 tokens." },
      ],
      ["only a detail", json(400, { detail: "No." }), { code: "bad-request", message: "No." }],
    ],
  },
  {
    name: "xai",
    connect: (options) => createXai(options)("grok-4.7"),
    call: stream(respond(call([id, name, args]))),
    text: stream(respond(message("Hello"))),
    errors: [
      [
        "a code and a text",
        json(400, {
          code: "Client specified an invalid argument",
          error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        }),
        {
          code: "context-too-long",
          message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        },
      ],
    ],
  },
  {
    name: "amazon-bedrock",
    connect: (options) => createAmazonBedrock({ ...options, region: "us-east-1" })("us.anthropic.claude-opus-4-8-v1:0"),
    call: bedrock(
      bedrockStart,
      awsFrame("contentBlockStart", { contentBlockIndex: 0, start: { toolUse: { toolUseId: id, name } } }),
      awsFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { toolUse: { input: args } } }),
      ...bedrockStop("tool_use"),
    ),
    text: bedrock(
      bedrockStart,
      awsFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Hello" } }),
      ...bedrockStop("end_turn"),
    ),
    errors: [
      [
        "a prompt that is too long",
        json(400, { message: "Input is too long for requested model." }, { "x-amzn-errortype": "ValidationException:http://x" }),
        { code: "context-too-long", message: "Input is too long for requested model." },
      ],
      [
        "an exception in the stream",
        bedrock(bedrockStart, awsFrame("throttlingException", { message: "Too many requests." }, "exception")),
        { code: "rate-limit", retryable: true, message: "Too many requests." },
      ],
    ],
  },
];

async function play(one: Package, replies: readonly Reply[]) {
  const waiting = [...replies];
  const heard: unknown[] = [];
  const fetch = (): Promise<Response> => Promise.resolve(waiting.shift()?.() ?? new Response("", { status: 500 }));
  const weather = defineTool({
    name: "weather",
    description: "Reads the weather.",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    execute: (given) => heard.push(given),
  });
  const provider = aiSdkModel({ model: one.connect({ apiKey: "test", fetch }) });
  const result = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi." }], tools: [weather] });
  return { result, heard };
}

describe.for(packages)("aiSdkModel with @ai-sdk/$name", (one) => {
  it("runs a call and returns the answer", async () => {
    const { result, heard } = await play(one, [one.call, one.text]);
    expect(result).toMatchObject({ status: "completed", text: "Hello", error: undefined });
    expect(heard).toEqual([{ city: "Rome" }]);
  });

  it.for(one.errors)("keeps the reason for an error with %s", async ([, reply, error]) => {
    const { result } = await play(one, [reply]);
    expect(result.error).toMatchObject(error);
  });
});
