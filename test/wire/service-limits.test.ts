import { type ModelSettings, runToolLoop, structuredOutput } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { recordEvents } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  chatCall,
  chatText,
  type ChatOptions,
  connect,
  createRecorder,
  type RunOptions,
  sse,
  sendChat,
  sendResponses,
  tool,
  user,
} from "./service-client.ts";

const local = "http://127.0.0.1";

describe("service limits", () => {
  const many = Array.from({ length: 129 }, (_, index) => tool(`tool_${index}`));
  const stopSequences = ["a", "b", "c", "d", "e"];

  it.for<[what: string, options: ChatOptions, run: RunOptions, message: RegExp]>([
    [
      "OpenAI: 129 tools",
      {},
      { tools: many },
      /^The request has 129 tools, but the service accepts at most 128\. Show fewer tools/,
    ],
    ["Groq: 129 tools", { service: "groq" }, { tools: many }, /at most 128/],
    [
      "OpenAI: 5 stop sequences",
      { model: "gpt-4.1" },
      { modelSettings: { stopSequences } },
      /^The request has 5 stop sequences, but .* at most 4/,
    ],
    ["Groq: 5 stop sequences", { service: "groq" }, { modelSettings: { stopSequences } }, /at most 4/],
    [
      "Azure: 5 stop sequences",
      { at: "https://x.openai.azure.com/openai/v1", model: "gpt-4.1" },
      { modelSettings: { stopSequences } },
      /at most 4/,
    ],
  ])("are checked before any request, and named in the error: %s", async ([, options, run, message]) => {
    const { result, bodies } = await sendChat(options, run);
    expect(result.error).toMatchObject({ code: "bad-request", message: expect.stringMatching(message) });
    expect(bodies).toEqual([]);
  });

  it("do not apply to stop sequences with openaiResponses, which does not send them", async () => {
    const { result } = await sendResponses({ model: "gpt-4.1" }, { modelSettings: { stopSequences } });
    expect(result.status).toBe("completed");
  });

  it("are not assumed for unknown services", async () => {
    const run: RunOptions = { tools: many, modelSettings: { stopSequences } };
    const { result } = await sendChat({ at: "https://models.test/v1" }, run);
    expect(result.status).toBe("completed");
  });
});

describe("settings that reasoning models refuse", () => {
  const modelSettings: ModelSettings = { temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 1 };
  const sampling = { temperature: 0, top_p: 0.5, stop: ["END"] };
  const withEffort = (effort: string): RunOptions => ({
    modelSettings: { ...modelSettings, extra: { reasoning_effort: effort } },
  });

  it.for<[model: string, run: RunOptions, isSent: boolean]>([
    ["gpt-5-mini", { modelSettings }, false],
    ["o3", { modelSettings }, false],
    ["gpt-6-sol", { modelSettings }, false],
    ["gpt-6-sol", withEffort("none"), true],
    ["gpt-6.2-sol", withEffort("none"), false],
    ["gpt-5.4", { modelSettings }, true],
    ["gpt-5.4", withEffort("low"), false],
    ["gpt-5-chat-latest", { modelSettings }, true],
    ["gpt-4.1", { modelSettings }, true],
    ["some-model", { modelSettings }, true],
  ])("are sent or omitted for the model %s with %j (sent: %s)", async ([model, run, isSent]) => {
    const { body } = await sendChat({ model }, run);
    expect(body).toMatchObject({ seed: 1, ...(isSent ? sampling : {}) });
    if (!isSent) for (const field of Object.keys(sampling)) expect(body).not.toHaveProperty(field);
  });

  it.for<[options: ChatOptions, isSent: boolean]>([
    [{ service: "moonshot", model: "kimi-k2.5" }, false],
    [{ at: "https://api.moonshot.ai/v1", model: "kimi-k3" }, false],
    [{ at: "https://api.kimi.com/coding/v1", model: "k3-256k" }, false],
    [{ service: "moonshot", model: "kimi-k2-0905-preview" }, true],
    [{ service: "openrouter", model: "moonshotai/kimi-k3" }, true],
  ])("are sent or omitted for Kimi with the options %j (sent: %s)", async ([options, isSent]) => {
    const { body } = await sendChat(options, { modelSettings });
    expect([body["temperature"], body["top_p"]]).toEqual(isSent ? [0, 0.5] : [undefined, undefined]);
    expect(body["stop"]).toEqual(["END"]);
  });

  it("are each reported once per run if they are omitted", async () => {
    const { emitter, events } = recordEvents(undefined, ["request-adjusted"]);
    const { fetch, bodies } = createRecorder(({ messages }) => (messages.length === 1 ? chatCall("c", "look") : chatText()));
    const provider = openaiChat({ client: connect(fetch), model: "gpt-5-mini" });
    const settings: ModelSettings = { temperature: 0, topP: 0.5 };
    await runToolLoop({ provider, tools: [tool("look")], messages: [user("Hi")], modelSettings: settings, events: emitter });
    expect(bodies).toHaveLength(2);
    const removed = { by: "adapter", action: "removed", reason: "unsupported" };
    expect(events.flatMap((event) => Object(event).changes)).toEqual([
      { ...removed, field: "temperature" },
      { ...removed, field: "topP" },
    ]);
  });

  it("depend on the effort in the `reasoning` option of openaiResponses", async () => {
    const run = { modelSettings };
    expect((await sendResponses({ model: "gpt-5.4", reasoning: { effort: "low" } }, run)).body).not.toHaveProperty("temperature");
    expect((await sendResponses({ model: "gpt-5.4" }, run)).body).toMatchObject({ temperature: 0 });
    expect((await sendResponses({ model: "gpt-6-sol", reasoning: { effort: "none" } }, run)).body).toMatchObject({
      temperature: 0,
    });
  });

  it.for<[model: string, options: ChatOptions, effort: string | undefined, error: RegExp | undefined]>([
    [
      "gpt-5.6-sol",
      {},
      undefined,
      /^The model gpt-5\.6-sol accepts no function tools in Chat Completions while it reasons\. Use `openaiResponses`\. .*none/,
    ],
    ["gpt-5.6-sol", {}, "none", undefined],
    ["gpt-6.2-sol", {}, undefined, /Use `openaiResponses`\.$/],
    ["gpt-6-astra", {}, "none", /Use `openaiResponses`\.$/],
    ["gpt-5.5", {}, undefined, undefined],
    ["gpt-5.5", {}, "low", /openaiResponses/],
    ["gpt-5-mini", {}, "low", undefined],
    ["gpt-6-sol", { at: "https://x.openai.azure.com/openai/v1" }, undefined, /openaiResponses/],
    ["gpt-6-sol", { at: "https://gateway.test/v1" }, undefined, undefined],
  ])("for %s with tools, the options %j and the effort %s, cause the error: %s", async ([model, options, effort, error]) => {
    const extra = effort === undefined ? {} : { reasoning_effort: effort };
    const { result, bodies } = await sendChat({ model, ...options }, { tools: [tool("look")], modelSettings: { extra } });
    if (error === undefined) expect(result.status).toBe("completed");
    else expect(result.error).toMatchObject({ code: "bad-request", message: expect.stringMatching(error) });
    expect(bodies).toHaveLength(error === undefined ? 1 : 0);
  });
});

describe("openaiChat: a request", () => {
  it.for<[options: ChatOptions, field: string]>([
    [{}, "max_completion_tokens"],
    [{ at: "https://api.mistral.ai/v1" }, "max_tokens"],
    [{ at: "https://api.deepseek.com" }, "max_tokens"],
    [{ at: `${local}:11434/v1` }, "max_tokens"],
    [{ service: "mistral", maxTokensField: "max_completion_tokens" }, "max_completion_tokens"],
  ])("with the options %j, contains the output limit in the field %s", async ([options, field]) => {
    expect((await sendChat(options, { modelSettings: { maxOutputTokens: 9 } })).body).toMatchObject({ [field]: 9 });
  });

  it.for<[options: ChatOptions, field: string | undefined]>([
    [{ model: "deepseek-v4-pro" }, "reasoning_content"],
    [{ at: "https://api.deepseek.com", model: "deepseek-reasoner" }, "reasoning_content"],
    [{ model: "moonshotai/kimi-k3", at: "https://openrouter.ai/api/v1" }, "reasoning_content"],
    [{ model: "moonshotai/Kimi-K3", service: "vllm" }, "reasoning"],
    [{ at: "https://api.xiaomimimo.com/v1", model: "mimo-v2.5-pro" }, "reasoning_content"],
    [{ model: "xiaomi/mimo-v2-flash", at: "https://openrouter.ai/api/v1" }, "reasoning_content"],
    [{ model: "deepseek-ai/DeepSeek-R1" }, undefined],
    [{ at: "https://api.deepseek.com", model: "deepseek-r1-0528" }, undefined],
    [{ at: "https://api.cerebras.ai/v1", model: "kimi-k3" }, undefined],
    [{ at: "https://api.groq.com/openai/v1", model: "moonshotai/kimi-k2-thinking" }, undefined],
    [{ model: "gpt-4.1" }, undefined],
    [{ model: "deepseek-v4-pro", echoReasoning: "reasoning" }, "reasoning"],
  ])("with the options %j, contains earlier reasoning in the field %s", async ([options, field]) => {
    const content = [
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "A" },
    ] as const;
    const { body } = await sendChat(options, { messages: [user("Hi"), { role: "assistant", content }, user("B")] });
    const { role: _role, content: _content, ...rest } = body.messages[1] ?? { role: "", content: "" };
    expect(rest).toEqual(field === undefined ? {} : { [field]: "Hm." });
  });

  it.for<[service: "groq" | "llama-server" | "openai", isSent: boolean]>([
    ["groq", false],
    ["llama-server", false],
    ["openai", true],
  ])("with tools, to %s, contains the answer's schema: %s", async ([service, isSent]) => {
    const output = structuredOutput(z.object({ n: z.number() }));
    const options: ChatOptions = { service, structuredOutput: true };
    const { bodies } = await sendChat(options, { tools: [tool("look")], middleware: [output] });
    expect("response_format" in Object(bodies[0])).toBe(isSent);
    const { bodies: plain } = await sendChat(options, { middleware: [output] });
    expect(plain[0]).toHaveProperty("response_format");
  });

  it("cannot be sent with an unknown `service` option", () => {
    const options = { client: connect(fetch), model: "m", service: "mistrall" };
    expect(() => Reflect.apply(openaiChat, undefined, [options])).toThrow(
      /a known service .*, mistral, .* absent for any other service/,
    );
  });
});

describe("openaiChat: an answer that was cut off before its first token", () => {
  const cut = (word: string, completion: number, delta: object): Response =>
    sse({
      id: "chatcmpl-1",
      choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: word }],
      usage: { prompt_tokens: 200_000, completion_tokens: completion, total_tokens: 200_000 + completion },
    });

  it.for<[word: string, completion: number, delta: object, code: string | undefined]>([
    ["length", 0, { content: "" }, "context-too-long"],
    ["model_context_window_exceeded", 0, {}, "context-too-long"],
    ["length", 9, { content: "" }, "no-output"],
    ["length", 0, { content: "Hi" }, undefined],
    ["length", 0, { reasoning_content: "Hm" }, "no-output"],
    ["stop", 0, { content: "" }, undefined],
  ])("with the reason %j, %j output tokens and the delta %j, gives the error %j", async ([word, completion, delta, code]) => {
    const { fetch } = createRecorder(() => cut(word, completion, delta));
    const result = await runToolLoop({
      provider: openaiChat({ client: connect(fetch), model: "mimo-v3" }),
      messages: [user("Hi")],
    });
    expect(result.error?.code).toBe(code);
  });
});
