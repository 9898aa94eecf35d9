// Whole exchanges with a vendor's mock, through the real SDK: what is asked, what is answered, and what goes out next.

import { LLMock } from "@copilotkit/aimock";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { defineTool, runToolLoop } from "turnwright";
import { openaiResponses } from "turnwright/openai";
import { connectOpenAI } from "./openai-client.ts";
import { ask, runPass } from "./provider-pass.ts";
import { checkResponsesContract } from "./responses-contract.ts";

const weather = defineTool({
  name: "get_weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  execute: () => ({ celsius: 3 }),
});
const question = "Oslo or Rome?";

let mock: LLMock;

beforeEach(async () => {
  mock = new LLMock({ port: 0, chunkSize: 7, strict: true });
  const toolCalls = ["Oslo", "Rome"].map((city) => ({
    id: `call_${city}`,
    name: "get_weather",
    arguments: JSON.stringify({ city }),
  }));
  mock.on({ userMessage: question, hasToolResult: false }, { toolCalls, reasoning: "Both, I think." });
  mock.on({ userMessage: question, hasToolResult: true }, { content: "Rome is warmer." });
  await mock.start();
});

afterEach(() => mock.stop());

describe("openaiResponses with a vendor's mock", () => {
  it("asks for two calls at once, sends its reasoning and both answers back, and gets the text", async () => {
    const { client, bodies } = connectOpenAI(`${mock.url}/v1`);
    const provider = openaiResponses({ client, model: "gpt-5", reasoning: { effort: "low", summary: "auto" } });
    const messages = [{ role: "user" as const, content: question }];
    const result = await runToolLoop({ provider, tools: [weather], system: "Be brief.", messages });
    expect(result).toMatchObject({ status: "completed", text: "Rome is warmer.", toolCallsExecuted: 2 });
    expect(result.streamResults[0]?.reasoning).toBe("Both, I think.");
    expect(bodies.map(checkResponsesContract)).toEqual([[], []]);
    expect(bodies[1]).toMatchObject({
      instructions: "Be brief.",
      store: false,
      include: ["reasoning.encrypted_content"],
      input: [
        { role: "user", content: question },
        { type: "reasoning", summary: [{ text: "Both, I think." }], encrypted_content: expect.any(String) },
        { type: "function_call", call_id: "call_Oslo", arguments: '{"city":"Oslo"}' },
        { type: "function_call", call_id: "call_Rome", arguments: '{"city":"Rome"}' },
        { type: "function_call_output", call_id: "call_Oslo", output: '{"celsius":3}' },
        { type: "function_call_output", call_id: "call_Rome", output: '{"celsius":3}' },
      ],
    });
  });

  it.for<[status: number, error: object]>([
    [429, { code: "rate-limit", retryable: true, status: 429, retryAfterMs: 1_000 }],
    [529, { code: "overloaded", retryable: true, status: 529 }],
  ])("has one error for status %i, and is well at the next request", async ([status, error]) => {
    mock.nextRequestError(status, { message: "Later." });
    const { client } = connectOpenAI(`${mock.url}/v1`);
    const provider = openaiResponses({ client, model: "gpt-5" });
    expect((await runPass(provider, ask(question))).error).toMatchObject(error);
    expect((await runPass(provider, ask(question))).finish).toBe("tool-calls");
  });
});
