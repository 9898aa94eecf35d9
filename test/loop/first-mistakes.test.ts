// The mistakes that users of other libraries are most likely to make first. Each error says what was passed, and what to write.

import { describe, expect, it } from "vitest";
import Anthropic from "@anthropic-ai/sdk";
import { createOpenAI } from "@ai-sdk/openai";
import { tool as aiTool } from "ai";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { z } from "zod";
import { createRunHost } from "turnwright/host";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import {
  createToolRegistry,
  defineAgentTool,
  isLoopError,
  memoryJournal,
  runToolLoop,
  unwrap,
  withFallback,
  withRetry,
} from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { play, tool } from "./play.ts";
import { refusal } from "./refusal.ts";

const apiKey = "sk-abcdefghijklmnopqrstuvwx";
const client = new OpenAI({ apiKey });
const aiSdk = createOpenAI({ apiKey });

const expected = 'but must be a provider: an object with "id", "model" and "stream"';
const aiSdkAdvice = 'aiSdkModel({ model }), from "turnwright/ai-sdk"';
const chat = (model: string, with_ = "new OpenAI()"): string =>
  `openaiChat({ client: ${with_}, model: ${model} }), from "turnwright/openai"`;

const rows: readonly (readonly [what: string, provider: unknown, received: string, instead: string])[] = [
  ["an AI SDK model", aiSdk("gpt-5"), "an AI SDK model", aiSdkAdvice],
  ["an AI SDK chat model", aiSdk.chat("gpt-5"), "an AI SDK model", aiSdkAdvice],
  [
    "an AI SDK provider",
    aiSdk,
    "an AI SDK provider, not a model",
    'aiSdkModel({ model: openai("...") }), from "turnwright/ai-sdk"',
  ],
  ["an OpenAI client", client, "an OpenAI client", chat('"..."', "client")],
  [
    "an Anthropic client",
    new Anthropic({ apiKey }),
    "an Anthropic client",
    'anthropicMessages({ client: client, model: "..." }), from "turnwright/anthropic"',
  ],
  [
    "a Google client",
    new GoogleGenAI({ apiKey }),
    "a Google client",
    'googleGenerateContent({ client: client, model: "..." }), from "turnwright/google"',
  ],
  ["the OpenAI class", OpenAI, "the function OpenAI", chat('"..."')],
  ["the openaiChat function itself", openaiChat, "the function openaiChat", chat('"..."')],
  ["the options for openaiChat", { client, model: "gpt-5" }, "an options object", chat('"..."', "client")],
  ["a model name", "gpt-5", 'the name "gpt-5"', chat('"gpt-5"')],
  ["a model name with a vendor prefix", "openai/gpt-5", 'the name "openai/gpt-5"', chat('"gpt-5"')],
  [
    "the name of a Claude model",
    "claude-opus-5",
    'the name "claude-opus-5"',
    'anthropicMessages({ client: new Anthropic(), model: "claude-opus-5" }), from "turnwright/anthropic"',
  ],
  [
    "the name of a Gemini model",
    "google/gemini-3-pro",
    'the name "google/gemini-3-pro"',
    'googleGenerateContent({ client: new GoogleGenAI({ apiKey }), model: "gemini-3-pro" }), from "turnwright/google"',
  ],
  ["a missing provider", undefined, "undefined", chat('"..."')],
  ["several providers", [createMockProvider([])], "an array of 1 item", "withFallback([first, second])"],
];

describe("the `provider` option", () => {
  it.for(rows)("refuses %s, and says what to write", async ([, provider, received, instead]) => {
    const { code, message } = await refusal({ provider });
    expect([code, message]).toEqual(["invalid-option", `Option "provider" is ${received}, ${expected}. Write: ${instead}.`]);
    expect(message).not.toContain(apiKey);
  });

  it.for<[what: string, make: () => unknown]>([
    ["withRetry", () => withRetry(aiSdk("gpt-5") as never)],
    ["withFallback", () => withFallback([aiSdk("gpt-5") as never])],
    [
      "createConversation",
      () => createConversation({ id: "a", store: memoryConversationStore(), options: { provider: aiSdk("gpt-5") as never } }),
    ],
  ])("of %s refuses an AI SDK model with the same advice", ([, make]) => {
    expect(make).toThrow(aiSdkAdvice);
  });
});

describe("options in the wrong place", () => {
  it.for<[what: string, make: () => unknown, message: string]>([
    [
      "createConversation({ provider })",
      () => createConversation({ provider: createMockProvider([]) } as never),
      'There is no option "provider". Write: options: { provider }, because "options" applies to each run',
    ],
    [
      "createRunHost({ tools })",
      () => createRunHost({ tools: [] } as never),
      'There is no option "tools". Write: host.start(id, { tools, message })',
    ],
  ])("cause an error that says where they belong: %s", ([, make, message]) => {
    expect(make).toThrow(message);
  });
});

describe("an adapter call without an options object", () => {
  it.for<[what: string, make: () => unknown, name: string, instead: string]>([
    ["openaiChat(client)", () => openaiChat(client as never), "client", 'openaiChat({ client, model: "gpt-5" })'],
    ["openaiResponses(client)", () => openaiResponses(client as never), "client", 'openaiResponses({ client, model: "gpt-5" })'],
    [
      "anthropicMessages(client)",
      () => anthropicMessages(new Anthropic({ apiKey }) as never),
      "client",
      'anthropicMessages({ client, model: "claude-opus-5" })',
    ],
    [
      "googleGenerateContent(client)",
      () => googleGenerateContent(new GoogleGenAI({ apiKey }) as never),
      "client",
      'googleGenerateContent({ client, model: "gemini-3.5-flash" })',
    ],
    ["aiSdkModel(model)", () => aiSdkModel(aiSdk("gpt-5") as never), "model", 'aiSdkModel({ model: openai("gpt-5") })'],
  ])("throws an error that shows the object to pass: %s", ([, make, name, instead]) => {
    expect(make).toThrow(`Option "options" is the ${name} itself, but must be an object with the ${name}. Write: ${instead}.`);
  });
});

describe("a message in a different format", () => {
  const host = createRunHost();
  const options = { provider: createMockProvider([]) };
  const conversation = createConversation({ id: "a", store: memoryConversationStore(), options });

  it.for<[what: string, message: unknown, received: string]>([
    [
      "from useChat",
      { id: "1", role: "user", parts: [{ type: "text", text: "Hi." }] },
      'is a message of useChat, but must be a non-blank string or a non-empty message with the role "user". Write: the "message" that',
    ],
    [
      "without a role",
      { content: "Hi." },
      'is an object without a role, but must be a non-blank string or a non-empty message with the role "user". Write: { role: "user", content }.',
    ],
    ["from the model", { role: "assistant", content: "Hi." }, "is an object, but must be a non-blank string"],
  ])("%s is refused by a host and a conversation, with the same advice", async ([, message, received]) => {
    await expect(host.start("a", { ...options, message: message as never })).rejects.toThrow(received);
    await expect(conversation.send(message as never)).rejects.toThrow(received);
  });

  it.for<[given: object, received: string]>([
    [{}, 'is an object with none of "message", "messages" and "regenerate", but must be'],
    [{ message: "Hi.", regenerate: true }, 'is an object with 2 of "message", "messages" and "regenerate", but must be'],
  ])("is refused by a host if the request contains %j", async ([given, received]) => {
    await expect(host.start("a", { ...options, ...given } as never)).rejects.toThrow(received);
  });
});

describe("the `store` option", () => {
  it("is rejected if it is a path, with a suggestion to use fileConversationStore, in a run host and in a conversation", () => {
    const store = "./chats" as never;
    expect(() => createRunHost({ store })).toThrow('Write: fileConversationStore("chats"), from');
    const options = { provider: createMockProvider([]) };
    expect(() => createConversation({ id: "a", store, options })).toThrow('Write: fileConversationStore("chats"), from');
  });
});

describe("the error message", () => {
  it.for<[option: string, advice: string]>([
    ["timeout", "limits: { wallClockMs: 60_000 } for the whole run, or timeouts: { toolMs } for each wait"],
    ["timeoutMs", "limits: { wallClockMs: 60_000 }"],
    ["budget", "limits: { maxCostUSD: 0.5 }, and pricing: genaiPrices()"],
    ["maxCost", "limits: { maxCostUSD: 0.5 }, and pricing: genaiPrices()"],
  ])("for the wrong option %s says which limit to set", async ([option, advice]) => {
    expect((await refusal({ [option]: 5 })).message).toContain(`Write: ${advice}`);
  });

  it.for<[option: string, given: object, advice: string]>([
    ["signal", { signal: new AbortController() }, "is an AbortController, but must be an AbortSignal. Write: controller.signal."],
    ["journal", { journal: "./run.jsonl" }, 'Write: fileJournal("run.jsonl"), from "turnwright/journal".'],
    ["pricing", { limits: { maxCostUSD: 1 } }, 'Write: genaiPrices(), from "turnwright/prices".'],
  ])("for the option %s says what to write", async ([, given, advice]) => {
    expect((await refusal(given)).message).toContain(advice);
  });

  it("for host.resume with a message says that only start accepts messages", async () => {
    const options = { provider: createMockProvider([]), message: "Hi." };
    await expect(createRunHost().resume("a", options as never)).rejects.toThrow(
      /Option "message" is .*, but must be omitted because only/,
    );
  });

  it("for unwrap(stream) says to await the result", async () => {
    const stream = play([text("Done.")]);
    expect(() => unwrap(stream as never)).toThrow(
      "is a stream, but must be the awaited result of runToolLoop. Write: unwrap(await stream.result).",
    );
    await stream.result;
  });

  it("for defineAgentTool without prepare says where the nested run's options belong", () => {
    const fields = { name: "ask", description: "Asks", inputSchema: z.object({}), system: "Be short." };
    expect(() => defineAgentTool(fields as never)).toThrow("Return the options of the nested run from it: prepare: (args) => (");
  });
});

describe("the `messages` option", () => {
  it.for<[what: string, messages: unknown]>([
    ["a string", "Hi."],
    ["one message", { role: "user", content: "Hi." }],
  ])("refuses %s, and says what to write", async ([, messages]) => {
    expect((await refusal({ messages })).message).toContain("Write: messages: [");
  });

  it("accepts a string as an assistant message's content, which becomes a text part", async () => {
    const provider = createMockProvider([toolCall("t"), text("Done.")]);
    const journal = memoryJournal();
    const messages = [
      { role: "user", content: "Hi." },
      { role: "assistant", content: "Hello." },
      { role: "user", content: "How high is the tide?" },
    ] as const;
    const options = { provider, journal, messages, tools: [tool("t", () => 1)] };
    const result = await runToolLoop(options);
    const [, second] = result.messages;
    expect(second).toEqual({ role: "assistant", content: [{ type: "text", text: "Hello." }] });
    expect(provider.requests[0]?.messages[1]).toEqual(second);
    // The same call with the same journal is a replay: both forms are the same message.
    const again = await runToolLoop({ ...options, messages: result.messages.slice(0, 3) });
    expect([again.text, provider.calls]).toEqual(["Done.", 2]);
  });

  it("accepts an assistant message with an empty string", async () => {
    const messages = [{ role: "user", content: "Hi." } as const, { role: "assistant", content: "" } as const];
    const result = await play([text("Hello.")], { messages: [...messages, { role: "user", content: "Hi?" }] }).result;
    expect([result.text, result.messages[1]]).toEqual(["Hello.", { role: "assistant", content: [] }]);
  });
});

describe("an array of tools", () => {
  it.for<[what: string, given: object, advice: string]>([
    [
      "an AI SDK tool",
      aiTool({ description: "Searches", inputSchema: z.object({}), execute: async () => "found" }),
      'AI SDK tools have none; for these, write: tools: importTools({ search: tool }), from "turnwright/interop"',
    ],
    [
      "an OpenAI tool",
      { type: "function", function: { name: "search", parameters: {} } },
      "Write: defineTool({ name, description, inputSchema, execute })",
    ],
    ["a registry", createToolRegistry([tool("t", () => 1)]), "Write: tools: mergeRegistries(tools, registry)"],
    [
      "a LangChain tool",
      { name: "search", description: "", schema: z.object({}), invoke: () => "found" },
      'Write: importTool(tool), from "turnwright/interop"',
    ],
  ])("with %s causes an error that says how to import the tool", ([, given, advice]) => {
    try {
      createToolRegistry([given as never]);
      expect.unreachable();
    } catch (error) {
      expect(isLoopError(error, "invalid-tool") && error.message).toContain(advice);
    }
  });
});
