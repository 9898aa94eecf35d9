import { type ContentPart, type Message, type Provider, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { describe, expect, it } from "vitest";
import { specs, textParts } from "./ai-sdk-specs.ts";
import { messages as messagesWire } from "./messages-script.ts";
import { chatText, connect, connectAnthropic, createRecorder, type Recorder, responsesText } from "./service-client.ts";

type Image = Exclude<ContentPart, { readonly type: "text" }>;

function png(width: number, bytes = 40): Image {
  const data = Buffer.alloc(bytes);
  data.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
  data.writeUInt32BE(width, 16);
  data.writeUInt32BE(10, 20);
  return { type: "image", mediaType: "image/png", data: data.toString("base64") };
}

const bmp: Image = { type: "image", mediaType: "image/bmp", data: "Qk0gdGlkZXM=" };
const webp: Image = {
  type: "image",
  mediaType: "image/webp",
  data: "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=",
};
const link: Image = { type: "image", mediaType: "image/png", data: "https://x.test/a.png" };

/** A conversation in which a tool returned these images, one in each result. */
function conversation(images: readonly Image[]): readonly Message[] {
  const calls = images.map((_, index) => ({ type: "tool-call", callId: `call_${index}`, name: "look", args: {} }) as const);
  const results = images.map(
    (image, index) =>
      ({ callId: `call_${index}`, name: "look", outcome: "completed", result: "seen", content: [image] }) as const,
  );
  return [
    { role: "user", content: "Look." },
    { role: "assistant", content: calls },
    { role: "tool", results },
  ];
}

interface Service {
  readonly provider: Provider;
  readonly bodies: readonly unknown[];
}

const record = (answer: () => Response, make: (fetch: Recorder["fetch"]) => Provider): Service => {
  const { fetch, bodies } = createRecorder(answer);
  return { provider: make(fetch), bodies };
};

const messagesText = (): Response => {
  const { frames = [] } = messagesWire.toReply({ text: "Done.", end: "stop" });
  return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
};

const chat = (model: string, baseURL?: string): Service =>
  record(chatText, (fetch) => openaiChat({ client: connect(fetch, baseURL), model }));

const [spec] = specs;
const aiSdk = (provider: string): Service => {
  if (spec === undefined) throw new Error("There is no specification.");
  const { model, calls } = spec.create([{ parts: [...textParts(["Done."]), spec.finish("stop")] }], { provider });
  return { provider: aiSdkModel({ model }), bodies: calls };
};

const claude = (baseURL?: string, options: Partial<AnthropicMessagesOptions> = {}): Service =>
  record(messagesText, (fetch) =>
    anthropicMessages({ client: connectAnthropic(fetch, baseURL), model: "claude-sonnet-4-6", ...options }),
  );

const services = {
  anthropic: () => claude(),
  "Claude at Bedrock": () => claude("https://bedrock-runtime.us-east-1.amazonaws.com"),
  "Claude at Bedrock Mantle": () => claude("https://bedrock-mantle.us-east-1.api.aws/anthropic"),
  "Claude at Bedrock in a private network": () => claude("https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com"),
  "Claude at a gateway to Bedrock": () => claude("https://llm.example.com", { service: "bedrock" }),
  "Claude at an unknown gateway": () => claude("https://llm.example.com"),
  "Claude at Vertex AI": () => claude("https://aiplatform.eu.rep.googleapis.com/v1"),
  "Claude at Foundry": () => claude("https://x.services.ai.azure.com/anthropic"),
  "DeepSeek with Anthropic's API": () => claude("https://api.deepseek.com/anthropic", { model: "deepseek-v4-pro" }),
  "openai chat": () => chat("gpt-4o"),
  "openai responses": () => record(responsesText, (fetch) => openaiResponses({ client: connect(fetch), model: "gpt-5" })),
  azure: () => chat("gpt-4o", "https://x.openai.azure.com/openai/v1"),
  "DeepSeek V4 Pro": () => chat("deepseek-v4-pro", "https://api.deepseek.com"),
  "DeepSeek V4.1 Flash": () => chat("deepseek-v4-flash", "https://api.deepseek.com"),
  ollama: () => chat("llava", "http://127.0.0.1:11434/v1"),
  "claude at OpenRouter": () => chat("anthropic/claude-sonnet-4.6", "https://openrouter.ai/api/v1"),
  "llama-server": () => chat("qwen-vl", "http://127.0.0.1:8080/v1"),
  vLLM: () => chat("qwen-vl", "http://127.0.0.1:8000/v1"),
  "AI SDK, Bedrock": () => aiSdk("amazon-bedrock"),
  "AI SDK, Anthropic": () => aiSdk("anthropic.messages"),
  "AI SDK, Claude at Vertex AI": () => aiSdk("googleVertex.anthropic.messages"),
  "AI SDK, OpenAI": () => aiSdk("openai.responses"),
  "AI SDK, Gemini": () => aiSdk("google.generative-ai"),
} as const;

const many = (count: number, width = 100): readonly Image[] => Array.from({ length: count }, () => png(width));
const large = png(100, 3_932_250);

describe("limits for images from a tool", () => {
  it.for<[service: keyof typeof services, what: string, images: readonly Image[], told: number, text: string]>([
    ["anthropic", "more than 5 MiB of base64", [large], 1, "it has 5243000 characters as base64"],
    ["anthropic", "more than 8,000 pixels", [png(8_001)], 1, "it has 8001 x 10 pixels"],
    ["anthropic", "more than 100 images", many(101), 25, "at most 100 images and files"],
    ["anthropic", "more than 2,000 pixels beside 20 other images", many(21, 2_001), 5, "at most 2000 pixels"],
    ["anthropic", "20 images with more than 2,000 pixels", many(20, 2_001), 0, ""],
    ["Claude at Bedrock", "more than 20 images", many(21), 5, "at most 20 images and files"],
    ["Claude at Bedrock Mantle", "more than 20 images", many(21), 5, "at most 20 images and files"],
    ["Claude at Bedrock in a private network", "more than 20 images", many(21), 5, "at most 20 images and files"],
    ["Claude at a gateway to Bedrock", "more than 20 images", many(21), 5, "at most 20 images and files"],
    ["Claude at Bedrock", "more than 5 MiB of base64", [large], 1, "it has 5243000 characters as base64"],
    ["Claude at an unknown gateway", "more than 100 images", many(101), 25, "at most 100 images and files"],
    ["Claude at Vertex AI", "more than 100 images", many(101), 25, "at most 100 images and files"],
    ["Claude at Foundry", "more than 100 images", many(101), 25, "at most 100 images and files"],
    ["DeepSeek with Anthropic's API", "101 images", many(101), 0, ""],
    ["openai chat", "the type BMP", [bmp], 1, "of type image/bmp"],
    ["openai responses", "the type BMP", [bmp], 1, "of type image/bmp"],
    ["azure", "more than 50 images", many(51), 13, "at most 50 images and files"],
    ["openai chat", "51 images", many(51), 0, ""],
    ["DeepSeek V4 Pro", "no images", [png(100)], 1, "the service accepts no images"],
    ["DeepSeek V4.1 Flash", "an image", [png(100)], 0, ""],
    ["ollama", "a URL", [link], 1, "the service accepts no URLs"],
    ["claude at OpenRouter", "more than 5 MiB of base64", [large], 1, "it has 5243000 characters as base64"],
    ["llama-server", "the type WebP", [webp, bmp, png(100)], 1, "of type image/webp"],
    ["vLLM", "no known limit", [bmp, webp, link, png(9_000)], 0, ""],
    ["AI SDK, Bedrock", "more than 20 images", many(21), 5, "at most 20 images and files"],
    ["AI SDK, Anthropic", "more than 5 MiB of base64", [large], 1, "it has 5243000 characters as base64"],
    ["AI SDK, Claude at Vertex AI", "more than 5 MiB of base64", [large], 1, "it has 5243000 characters as base64"],
    ["AI SDK, OpenAI", "the type BMP", [bmp], 1, "of type image/bmp"],
    ["AI SDK, Gemini", "the type BMP", [bmp], 1, "of type image/bmp"],
  ])("are applied at %s: %s", async ([name, , images, told, text]) => {
    const { provider, bodies } = services[name]();
    const messages = conversation(images);
    const result = await runToolLoop({ provider, messages });
    expect([result.status, result.error]).toEqual(["completed", undefined]);
    const sent = JSON.stringify(bodies);
    expect(sent.split("[The tool returned an image").length - 1).toBe(told);
    expect(sent).toContain(text);
    expect(result.messages.slice(0, 3)).toEqual(messages);
  });
});

const pdf: Image = { type: "file", mediaType: "application/pdf", data: "JVBERi0xLjc=" };
const wav: Image = { type: "file", mediaType: "audio/wav", data: "UklGRiQAAABXQVZF" };
const note: Image = { type: "file", mediaType: "text/plain", data: "SGVsbG8=" };

describe("files from a tool", () => {
  it.for<[service: string, sent: string, make: () => Service]>([
    ["DeepSeek", "text, text", () => chat("deepseek-flash", "https://api.deepseek.com")],
    ["Groq", "text, text", () => chat("openai/gpt-oss-120b", "https://api.groq.com/openai/v1")],
    ["Ollama", "text, text", () => chat("llava", "http://127.0.0.1:11434/v1")],
    ["llama-server", "text, input_audio", () => chat("qwen", "http://127.0.0.1:8080/v1")],
    ["OpenAI", "file, input_audio", () => chat("gpt-4o")],
  ])("are sent to %s as %s (a PDF and a WAV file) or as text (a text file)", async ([, sent, make]) => {
    const { provider, bodies } = make();
    const result = await runToolLoop({ provider, messages: conversation([pdf, wav, note]) });
    expect([result.status, result.error]).toEqual(["completed", undefined]);
    const types = JSON.stringify(bodies);
    expect(types.split("the service accepts").length - 1).toBe(sent.split("text").length - 1);
    for (const type of ["file", "input_audio"]) expect(types.includes(`"type":"${type}"`)).toBe(sent.includes(type));
    expect(types).toContain("Hello");
  });
});

describe("a new user message with an image that is too large", () => {
  it("ends the run before any request, and the next run can continue the conversation", async () => {
    const { provider, bodies } = services.anthropic();
    const first: Message = { role: "user", content: [{ type: "text", text: "Look." }, large] };
    const { error } = await runToolLoop({ provider, messages: [first] });
    expect(error).toMatchObject({
      code: "bad-request",
      message: expect.stringMatching(/^Part 1 of message 0 is .* at most 5242880\. Send a smaller one\.$/),
    });
    expect(bodies).toEqual([]);
    const answered: Message = { role: "assistant", content: [{ type: "text", text: "It is too large." }] };
    const next = await runToolLoop({ provider, messages: [first, answered, { role: "user", content: "Never mind." }] });
    expect(next.text).toBe("Done.");
    expect(JSON.stringify(bodies)).toContain("[The user sent an image");
  });
});
