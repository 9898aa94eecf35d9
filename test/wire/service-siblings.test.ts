import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { GoogleGenAI } from "@google/genai";
import { type Message, runToolLoop } from "turnwright";
import { aiSdkModel, type AiSdkLanguageModel } from "turnwright/ai-sdk";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { googleGenerateContent, type GoogleGenerateContentOptions } from "turnwright/google";
import { describe, expect, it } from "vitest";
import {
  answered,
  asked,
  chatText,
  connectAnthropic,
  createRecorder,
  refuse,
  type RunOptions,
  said,
  type SentBody,
  sse,
  tool,
  user,
} from "./service-client.ts";

const long = "chatcmpl-tool-8174c6dc1d3047b3953aa8f422063ddb";
const afterTool = [user("Look."), asked(long), answered(long), user("And now?")];

describe("aiSdkModel", () => {
  async function send(
    connect: (fetch: typeof globalThis.fetch) => AiSdkLanguageModel,
    run: RunOptions,
  ): Promise<SentBody | undefined> {
    const { fetch, bodies } = createRecorder(chatText);
    await runToolLoop({ provider: aiSdkModel({ model: connect(fetch) }), messages: afterTool, ...run });
    return bodies.at(-1);
  }

  it("for Mistral, sends call ids of 9 characters, and an assistant message after the results", async () => {
    const body = await send((fetch) => createMistral({ apiKey: "test", fetch })("mistral-large-latest"), {});
    expect(body?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    const id = body?.messages[1]?.tool_calls?.[0]?.id;
    expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(body?.messages[2]?.tool_call_id).toBe(id);
  });

  it("for OpenAI Chat, sends call ids of at most 40 characters", async () => {
    const body = await send((fetch) => createOpenAI({ apiKey: "test", fetch }).chat("gpt-4.1"), {});
    const id = body?.messages[1]?.tool_calls?.[0]?.id;
    expect(id).toHaveLength(40);
    expect(body?.messages[2]?.tool_call_id).toBe(id);
  });

  it("omits a tool choice in extra if the request has no tools", async () => {
    const extra = { toolChoice: { type: "auto" } };
    const body = await send((fetch) => createOpenAI({ apiKey: "test", fetch }).chat("gpt-4.1"), { modelSettings: { extra } });
    expect(body).not.toHaveProperty("tool_choice");
  });
});

describe("anthropicMessages", () => {
  async function send(
    at: string | undefined,
    options: Partial<AnthropicMessagesOptions>,
    run: RunOptions,
  ): Promise<SentBody | undefined> {
    const { fetch, bodies } = createRecorder(() => refuse(400, { error: { message: "Seen enough." } }));
    const provider = anthropicMessages({ client: connectAnthropic(fetch, at), model: "claude-sonnet-4-6", ...options });
    await runToolLoop({ provider, messages: afterTool, ...run });
    return bodies.at(-1);
  }

  it.for<[at: string | undefined, options: Partial<AnthropicMessagesOptions>]>([
    ["https://bedrock-runtime.us-east-1.amazonaws.com", {}],
    ["http://127.0.0.1:4000", {}],
    [undefined, { id: "aws.bedrock" }],
  ])(
    "at %s with the options %j, declares the tools from earlier messages, but allows no calls to them",
    async ([at, options]) => {
      const body = await send(at, options, {});
      expect(body?.tools).toMatchObject([{ name: "look", input_schema: { type: "object" } }]);
      expect(body).toMatchObject({ tool_choice: { type: "none" } });
      expect((await send(at, options, { tools: [tool("new")] }))?.tools).toHaveLength(1);
    },
  );

  it("sends neither tools from earlier messages nor a tool choice from extra to Anthropic's own address", async () => {
    const body = await send(undefined, {}, { modelSettings: { extra: { tool_choice: { type: "auto" } } } });
    expect(body).not.toHaveProperty("tools");
    expect(body).not.toHaveProperty("tool_choice");
  });

  it("sends call ids of at most 64 letters, digits, _ and -", async () => {
    const id = `functions.${"look".repeat(20)}:0`;
    const body = await send(undefined, {}, { messages: [user("Look."), asked(id), answered(id), user("And now?")] });
    const [call, result] = [body?.messages[1]?.content, body?.messages[2]?.content] as [
      { id: string }[],
      { tool_use_id: string }[],
    ];
    expect(call[0]?.id).toMatch(/^[\w-]{64}$/);
    expect(result[0]?.tool_use_id).toBe(call[0]?.id);
  });
});

interface Content {
  readonly role: string;
  readonly parts: readonly { readonly [field: string]: unknown }[];
}

describe("googleGenerateContent", () => {
  const textAnswer = (): Response =>
    sse({ candidates: [{ content: { role: "model", parts: [{ text: "Done." }] }, finishReason: "STOP" }], usageMetadata: {} });
  const callAnswer = (): Response =>
    sse({
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { functionCall: { name: "look", args: {} }, thoughtSignature: "YWJj" },
              { functionCall: { name: "look", args: {} } },
            ],
          },
          finishReason: "STOP",
        },
      ],
    });

  async function send(
    options: Partial<GoogleGenerateContentOptions>,
    run: RunOptions,
    answer: (body: SentBody) => Response = textAnswer,
  ): Promise<{ readonly body: SentBody; readonly contents: readonly Content[] }> {
    const { fetch, bodies } = createRecorder(answer);
    const client = new GoogleGenAI({ apiKey: "test", httpOptions: { fetch } });
    const provider = googleGenerateContent({ client, model: "gemini-4-argon", ...options });
    await runToolLoop({ provider, messages: [user("Hi")], ...run });
    const body = bodies.at(-1) ?? { messages: [], input: [] };
    return { body, contents: body["contents"] as readonly Content[] };
  }

  it.for<[what: string, messages: readonly Message[], roles: readonly string[]]>([
    ["ends with the model", [user("Hi"), said("A")], ["user", "model", "user"]],
    ["begins with a call", [asked("c"), answered("c")], ["user", "model", "user"]],
    ["has only blank text", [user(" ")], ["user"]],
    ["ends with blank text", [user("Hi"), said("A"), user(" ")], ["user", "model", "user"]],
  ])("sends a conversation that %s in a form that the service accepts", async ([, messages, roles]) => {
    const { contents } = await send({}, { messages });
    expect(contents.map(({ role }) => role)).toEqual(roles);
    expect(contents.every(({ parts }) => parts.length > 0)).toBe(true);
  });

  it.for<[model: string, signature: string | undefined]>([
    ["gemini-4-argon", "skip_thought_signature_validator"],
    ["gemini-3.8-flash", "skip_thought_signature_validator"],
    ["gemini-2.5-pro", undefined],
  ])("for %s, sends the first call from a different model with the signature %s", async ([model, signature]) => {
    const content = [...Object(asked("c")).content, ...Object(asked("d")).content];
    const results = [...Object(answered("c")).results, ...Object(answered("d")).results];
    const { contents } = await send(
      { model },
      { messages: [user("Hi"), { role: "assistant", content }, { role: "tool", results }] },
    );
    expect(contents[1]?.parts.map(({ thoughtSignature }) => thoughtSignature)).toEqual([signature, undefined]);
  });

  it("sends a call back with the signature from the service", async () => {
    let count = 0;
    const answer = (): Response => (count++ === 0 ? callAnswer() : textAnswer());
    const { contents } = await send({}, { tools: [tool("look")] }, answer);
    expect(contents[1]?.parts.map(({ thoughtSignature }) => thoughtSignature)).toEqual(["YWJj", undefined]);
    expect(contents[2]?.parts).toHaveLength(2);
  });

  it("sends a call back with a signature even if the service signed only text", async () => {
    const part = { text: "A", thoughtSignature: "YWJj" };
    const call = { functionCall: { name: "look", args: {} } };
    let count = 0;
    const signedText = (): Response =>
      sse({ candidates: [{ content: { role: "model", parts: [part, call] }, finishReason: "STOP" }] });
    const { contents } = await send({}, { tools: [tool("look")] }, () => (count++ === 0 ? signedText() : textAnswer()));
    expect(contents[1]?.parts).toEqual([part, { ...call, thoughtSignature: "skip_thought_signature_validator" }]);
  });

  it("sends tool names in the history with at most 64 characters, starting with a letter or _", async () => {
    const name = `9${"look".repeat(20)}`;
    const { contents } = await send({}, { messages: [user("Hi"), asked("c", name), answered("c", name)] });
    expect(Object(contents[1]?.parts[0]).functionCall.name).toMatch(/^t_9[\w-]{1,61}$/);
  });

  it("replaces a tool name that begins with a digit in requests, and restores it in calls", async () => {
    const { contents, body } = await send({}, { tools: [tool("9look"), tool("look")] }, ({ contents: all }) => {
      const part = { functionCall: { name: "t_9look", args: {} }, thoughtSignature: "YWJj" };
      const isFirst = (all as readonly unknown[]).length === 1;
      return isFirst ? sse({ candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP" }] }) : textAnswer();
    });
    expect(body.tools).toMatchObject([{ functionDeclarations: [{ name: "t_9look" }, { name: "look" }] }]);
    expect(contents[1]?.parts).toMatchObject([{ functionCall: { name: "t_9look" }, thoughtSignature: "YWJj" }]);
    expect(contents[2]?.parts).toMatchObject([{ functionResponse: { name: "t_9look", response: { output: "seen" } } }]);
  });

  it("omits a calling mode in extra if the request has no functions", async () => {
    const extra = { toolConfig: { functionCallingConfig: { mode: "AUTO" }, retrievalConfig: { languageCode: "en" } } };
    const modelSettings = { extra };
    expect((await send({}, { modelSettings })).body["toolConfig"]).toEqual({ retrievalConfig: { languageCode: "en" } });
    expect((await send({}, { modelSettings, tools: [tool("look")] })).body["toolConfig"]).toEqual(extra.toolConfig);
  });
});
