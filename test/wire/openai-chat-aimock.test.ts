// Whole exchanges with a vendor's mock, through the real SDK: what is asked, what is answered, and what goes out next.

import { LLMock } from "@copilotkit/aimock";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openaiChat } from "../../src/adapters/openai/index.ts";
import type { Message, ToolDefinition } from "../../src/spi.ts";
import { connectOpenAI } from "./openai-client.ts";
import { ask, runPass, type Pass } from "./provider-pass.ts";
import { checkWireContract } from "./wire-contract.ts";

const weather: ToolDefinition = {
  name: "get_weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
};
const question = "Oslo or Rome?";

let mock: LLMock;

beforeEach(async () => {
  mock = new LLMock({ port: 0, chunkSize: 7, strict: true });
  mock.on(
    { userMessage: question, hasToolResult: false },
    {
      toolCalls: [
        { id: "call_oslo", name: "get_weather", arguments: '{"city":"Oslo"}' },
        { id: "call_rome", name: "get_weather", arguments: '{"city":"Rome"}' },
      ],
    },
  );
  mock.on({ userMessage: question, hasToolResult: true }, { content: "Rome is warmer." });
  await mock.start();
});

afterEach(() => mock.stop());

/** The turn that a pass was, and the answers to its calls. */
function toMessages({ calls }: Pass): readonly Message[] {
  const named = calls.map(({ id = "", name }) => ({ callId: id, name }));
  return [
    {
      role: "assistant",
      content: named.map((call, at) => ({ type: "tool-call" as const, ...call, args: Object(calls[at]?.args) })),
    },
    { role: "tool", results: named.map((call) => ({ ...call, outcome: "completed" as const, result: { celsius: 3 } })) },
  ];
}

describe("openaiChat with a vendor's mock", () => {
  it("asks for two calls at once, sends both answers back, and gets the text", async () => {
    const { client, bodies } = connectOpenAI(`${mock.url}/v1`);
    const provider = openaiChat({ client, model: "gpt-5" });
    const request = ask(question, { tools: [weather], system: "Be brief." });

    const first = await runPass(provider, request);
    expect(first).toMatchObject({
      finish: "tool-calls",
      calls: [
        { id: "call_oslo", name: "get_weather", args: { city: "Oslo" } },
        { id: "call_rome", name: "get_weather", args: { city: "Rome" } },
      ],
      usage: { inputTokens: expect.any(Number) },
      error: undefined,
    });

    const second = await runPass(provider, { ...request, messages: [...request.messages, ...toMessages(first)], iteration: 1 });
    expect(second).toMatchObject({ finish: "stop", text: "Rome is warmer.", calls: [], error: undefined });

    expect(bodies.map(checkWireContract)).toEqual([[], []]);
    expect(bodies[1]).toMatchObject({
      messages: [
        { role: "system" },
        { role: "user" },
        { role: "assistant", content: null, tool_calls: [{ id: "call_oslo" }, { id: "call_rome" }] },
        { role: "tool", tool_call_id: "call_oslo", content: '{"celsius":3}' },
        { role: "tool", tool_call_id: "call_rome", content: '{"celsius":3}' },
      ],
    });
  });

  it.for<[status: number, error: object]>([
    [429, { code: "rate-limit", retryable: true, status: 429, retryAfterMs: 1_000 }],
    [529, { code: "overloaded", retryable: true, status: 529 }],
  ])("has one error for status %i, and is well at the next request", async ([status, error]) => {
    mock.nextRequestError(status, { message: "Later." });
    const { client } = connectOpenAI(`${mock.url}/v1`);
    const provider = openaiChat({ client, model: "gpt-5" });
    expect((await runPass(provider, ask(question))).error).toMatchObject(error);
    expect((await runPass(provider, ask(question))).finish).toBe("tool-calls");
  });
});
