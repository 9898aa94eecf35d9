import { describe, expect, it } from "vitest";
import type { Message, UserMessage } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { createBench, user } from "./ai-sdk-bench.ts";
import { specs } from "./ai-sdk-specs.ts";
import { ask, runIteration } from "./provider-iteration.ts";

describe.each(specs)("aiSdkModel (spec $version): a request", (spec) => {
  it("contains only the prompt, the abort signal and includeRawChunks by default", async () => {
    const { send } = createBench(spec);
    expect(await send({})).toEqual({
      prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      includeRawChunks: true,
      abortSignal: expect.any(AbortSignal),
    });
  });

  it("omits empty text, an empty system prompt and an empty list of stop sequences", async () => {
    const { send } = createBench(spec);
    const messages = [user([{ type: "text", text: "" }]), user("Hi")];
    const call = await send({ messages, system: "", settings: { stopSequences: [] } });
    expect(call).toMatchObject({ prompt: [{ role: "user", content: [{ text: "Hi" }] }] });
    expect(call).not.toHaveProperty("stopSequences");
  });

  it("contains the model settings, the tools and the tool choice", async () => {
    const { send } = createBench(spec, { headers: { "x-team": "a" }, providerOptions: { mock: { effort: "low" } } });
    const call = await send({
      system: "Be brief.",
      tools: [{ name: "search", description: "Searches", inputSchema: { type: "object", properties: {} }, sequential: true }],
      toolChoice: { name: "search" },
      settings: { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 7 },
    });
    expect(call).toEqual({
      prompt: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "Hi" }] },
      ],
      tools: [{ type: "function", name: "search", description: "Searches", inputSchema: { type: "object", properties: {} } }],
      toolChoice: { type: "tool", toolName: "search" },
      maxOutputTokens: 9,
      temperature: 0,
      topP: 0.5,
      stopSequences: ["END"],
      seed: 7,
      headers: { "x-team": "a" },
      providerOptions: { mock: { effort: "low" } },
      includeRawChunks: true,
      abortSignal: expect.any(AbortSignal),
    });
  });

  it.for(["auto", "required", "none"] as const)(
    'contains the tool choice "%s" only if the request has tools',
    async (toolChoice) => {
      const { send } = createBench(spec);
      const tools = [{ name: "search", description: "Searches", inputSchema: {} }];
      expect(await send({ tools, toolChoice })).toMatchObject({ toolChoice: { type: toolChoice } });
      expect(await send({ toolChoice })).not.toHaveProperty("toolChoice");
    },
  );

  it("lets settings.extra override every field except abortSignal and includeRawChunks", async () => {
    const { send } = createBench(spec, { providerOptions: { mock: { effort: "low" } } });
    const extra = { topK: 4, temperature: 1, providerOptions: { mock: { n: 1 } }, abortSignal: null, includeRawChunks: null };
    expect(await send({ settings: { temperature: 0, extra } })).toMatchObject({
      topK: 4,
      temperature: 1,
      providerOptions: { mock: { n: 1 } },
      abortSignal: expect.any(AbortSignal),
      includeRawChunks: true,
    });
  });

  it("contains a provider tool instead of a run tool with the same name", async () => {
    const providerTools = { bash: { id: "mock.bash_1", args: { version: 1 } } };
    const { send } = createBench(spec, { providerTools });
    const tools = ["bash", "search"].map((name) => ({ name, description: name, inputSchema: {} }));
    expect(await send({ tools, toolChoice: "auto" })).toMatchObject({
      tools: [
        { type: "function", name: "search" },
        { type: spec.providerToolType, id: "mock.bash_1", name: "bash", args: { version: 1 } },
      ],
    });
  });

  it("contains the bytes of files and data URLs", async () => {
    const { send } = createBench(spec);
    const url = new URL("https://pics.test/A.png");
    const content: UserMessage["content"] = [
      { type: "text", text: "Look:" },
      { type: "text", text: "" },
      { type: "image", mediaType: "image/png", data: "aW1n" },
      { type: "image", mediaType: "image/png", data: "data:image/gif;base64,R0lG" },
      { type: "file", mediaType: "text/plain", data: "data:,Gr%C3%BC%C3%9Fe" },
      { type: "image", mediaType: "image/png", data: url },
      { type: "image", mediaType: "IMAGE/png", data: url.href },
    ];
    const file = (mediaType: string, data: string | URL): object => ({ type: "file", mediaType, data: spec.promptData(data) });
    expect(await send({ messages: [user(content)] })).toMatchObject({
      prompt: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look:" },
            file("image/png", "aW1n"),
            file("image/gif", "R0lG"),
            file("text/plain", "R3LDvMOfZQ=="),
            file("image/png", url),
            file("image/png", url),
          ],
        },
      ],
    });
  });

  it.for<[what: string, mediaType: string, data: string]>([
    ["a URL on an unsupported host", "image/png", "https://elsewhere.test/a.png?sig=abcdef123456"],
    ["a URL with an unsupported file type", "application/pdf", "https://pics.test/a.pdf"],
    ["a URL for a file on disk", "image/png", "file:///etc/passwd"],
    ["an invalid URL", "image/png", "https://"],
    ["a data URL that cannot be decoded", "image/png", "data:image/png,%E0%A4%A"],
    ["an empty data URL", "image/png", "data:image/png;base64"],
  ])("fails for %s, and does not show the URL in the error message", async ([, mediaType, data]) => {
    const { provider, calls } = createBench(spec);
    const { error } = await runIteration(provider, ask("", { messages: [user([{ type: "image", mediaType, data }])] }));
    expect(error).toMatchObject({ code: "bad-request", retryable: false, message: expect.stringContaining(mediaType) });
    expect(error?.message).not.toMatch(/elsewhere|abcdef|passwd/);
    expect(calls).toEqual([]);
  });

  it("is sent only after the model has resolved the `supportedUrls` promise", async () => {
    const supportedUrls = Promise.resolve({ "*": [/^gs:\/\/bucket\//] });
    const { model, calls } = spec.create([{ parts: [spec.finish("stop")] }]);
    const asking = new Proxy(model, {
      get: (target, key) => (key === "supportedUrls" ? supportedUrls : Reflect.get(target, key)),
    });
    const content: UserMessage["content"] = [{ type: "file", mediaType: "video/mp4", data: "gs://bucket/A b.mp4" }];
    await runIteration(aiSdkModel({ model: asking }), ask("", { messages: [user(content)] }));
    expect(calls).toHaveLength(1);
  });

  it("is not sent if the signal has already fired", async () => {
    const { provider, calls } = createBench(spec);
    const { error } = await runIteration(provider, ask("Hi"), { signal: AbortSignal.abort() });
    expect(error).toMatchObject({ code: "network", retryable: false });
    expect(calls).toEqual([]);
  });

  it("reuses the messages that an earlier request has already converted", async () => {
    const { send, calls } = createBench(spec);
    const messages: Message[] = [user([{ type: "image", mediaType: "image/png", data: "aW1n" }])];
    await send({ messages });
    await send({ messages: [...messages, user("More.")] });
    const [first, second] = calls.map((call) => ("prompt" in call && Array.isArray(call.prompt) ? call.prompt : []));
    expect(second?.[0]).toBe(first?.[0]);
  });
});

describe("aiSdkModel (spec v4): a file's URL in a request", () => {
  it("keeps the original text if parsing would change the URL", async () => {
    const spec = specs[2];
    if (spec === undefined) throw new Error("There is no specification v4.");
    const { send } = createBench(spec, {}, { supportedUrls: { "*/*": [/^gs:/g] } });
    const text = "gs://Bucket/a b.mp4";
    const message = user([{ type: "file", mediaType: "video/mp4", data: text }]);
    const data = { type: "url", url: new URL(text), originalUrl: text };
    expect(await send({ messages: [message] })).toMatchObject({ prompt: [{ content: [{ type: "file", data }] }] });
  });
});
