// Whole exchanges with a vendor's mock, through the real SDK: what is asked, what is answered, and what goes out next.

import { LLMock } from "@copilotkit/aimock";
import { defineTool, runToolLoop } from "turnwright";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { anthropicMessages } from "../../src/adapters/anthropic/index.ts";
import { connectAnthropic } from "./anthropic-client.ts";
import { checkMessagesContract } from "./messages-contract.ts";
import { ask, runPass } from "./provider-pass.ts";

const question = "Oslo or Rome?";

let mock: LLMock;

beforeEach(async () => {
  mock = new LLMock({ port: 0, chunkSize: 7, strict: true });
  mock.on(
    { userMessage: question, hasToolResult: false },
    {
      toolCalls: [
        { id: "toolu_oslo", name: "get_weather", arguments: '{"city":"Oslo"}' },
        { id: "toolu_rome", name: "get_weather", arguments: '{"city":"Rome"}' },
      ],
    },
  );
  mock.on({ userMessage: question, hasToolResult: true }, { content: "Rome is warmer." });
  await mock.start();
});

afterEach(() => mock.stop());

describe("anthropicMessages with a vendor's mock", () => {
  it("asks for two calls at once, sends both answers back in one message, and gets the text", async () => {
    const { client, bodies } = connectAnthropic(mock.url);
    const asked: unknown[] = [];
    const weather = defineTool({
      name: "get_weather",
      description: "Weather of a city",
      inputSchema: { type: "object", properties: { city: { type: "string" } } },
      execute: (args) => {
        asked.push(args);
        return { celsius: 3 };
      },
    });
    const result = await runToolLoop({
      provider: anthropicMessages({ client, model: "claude-opus-4-6" }),
      tools: [weather],
      system: "Be brief.",
      messages: [{ role: "user", content: question }],
    });
    expect(result).toMatchObject({ status: "completed", text: "Rome is warmer.", iterations: 2, toolCallsExecuted: 2 });
    expect(asked).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
    expect(bodies.map(checkMessagesContract)).toEqual([[], []]);
    const answered = (id: string): object => ({ type: "tool_result", tool_use_id: id, content: '{"celsius":3}' });
    expect(bodies[1]).toMatchObject({
      system: "Be brief.",
      max_tokens: 16_384,
      messages: [
        { role: "user", content: [{ type: "text", text: question }] },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "toolu_oslo", name: "get_weather", input: { city: "Oslo" } },
            { type: "tool_use", id: "toolu_rome", name: "get_weather", input: { city: "Rome" } },
          ],
        },
        { role: "user", content: [answered("toolu_oslo"), answered("toolu_rome")] },
      ],
    });
  });

  it("names its betas beside what the SDK sends", async () => {
    const { client, headers } = connectAnthropic(mock.url);
    await runPass(anthropicMessages({ client, model: "claude-opus-4-6", betas: ["a-1", "b-2"] }), ask(question));
    await runPass(anthropicMessages({ client, model: "claude-opus-4-6" }), ask(question));
    expect(headers.map((sent) => [sent.get("anthropic-beta"), sent.has("anthropic-version")])).toEqual([
      ["a-1,b-2", true],
      [null, true],
    ]);
  });

  it.for<[status: number, error: object]>([
    [429, { code: "rate-limit", retryable: true, status: 429, retryAfterMs: 1_000 }],
    [529, { code: "overloaded", retryable: true, status: 529 }],
  ])("has one error for status %i, and is well at the next request", async ([status, error]) => {
    mock.nextRequestError(status, { message: "Later." });
    const { client } = connectAnthropic(mock.url);
    const provider = anthropicMessages({ client, model: "claude-opus-4-6" });
    expect((await runPass(provider, ask(question))).error).toMatchObject(error);
    expect((await runPass(provider, ask(question))).finish).toBe("tool-calls");
  });
});
