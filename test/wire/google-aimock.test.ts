// Whole exchanges with a vendor's mock, through the real SDK: what is asked, what is answered, and what goes out next.

import { GoogleGenAI } from "@google/genai";
import { LLMock } from "@copilotkit/aimock";
import { defineTool, runToolLoop } from "turnwright";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { googleGenerateContent } from "../../src/adapters/google/index.ts";
import { checkGenerateContract } from "./generate-contract.ts";
import { ask, runPass } from "./provider-pass.ts";
import { createWireFetch, type WireFetch } from "./wire-fetch.ts";

const question = "Oslo or Rome?";

let mock: LLMock;

beforeEach(async () => {
  mock = new LLMock({ port: 0, chunkSize: 7, strict: true });
  mock.on(
    { userMessage: question, hasToolResult: false },
    {
      toolCalls: [
        { name: "get_weather", arguments: '{"city":"Oslo"}' },
        { name: "get_weather", arguments: '{"city":"Rome"}' },
      ],
      // By itself the mock says FUNCTION_CALL, which the service never does.
      finishReason: "stop",
    },
  );
  mock.on({ userMessage: question, hasToolResult: true }, { content: "Rome is warmer." });
  await mock.start();
});

afterEach(() => mock.stop());

function connect(): { readonly client: GoogleGenAI; readonly bodies: WireFetch["bodies"] } {
  const { fetch, bodies } = createWireFetch(undefined);
  const httpOptions = { baseUrl: mock.url, apiVersion: "v1beta", fetch };
  return { client: new GoogleGenAI({ apiKey: "test", httpOptions }), bodies };
}

describe("googleGenerateContent with a vendor's mock", () => {
  it("asks for two calls at once, sends both answers back in one content, and gets the text", async () => {
    const { client, bodies } = connect();
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
      provider: googleGenerateContent({ client, model: "gemini-2.5-flash" }),
      tools: [weather],
      system: "Be brief.",
      messages: [{ role: "user", content: question }],
    });
    expect(result).toMatchObject({ status: "completed", text: "Rome is warmer.", iterations: 2, toolCallsExecuted: 2 });
    expect(asked).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
    expect(bodies.map((body) => checkGenerateContract(body, { signed: false }))).toEqual([[], []]);
    expect(bodies[1]).toMatchObject({ systemInstruction: { parts: [{ text: "Be brief." }] } });
  });

  it.for<[status: number, error: object]>([
    [429, { code: "rate-limit", retryable: true, status: 429 }],
    [503, { code: "overloaded", retryable: true, status: 503 }],
  ])("has one error for status %i, and is well at the next request", async ([status, error]) => {
    mock.nextRequestError(status, { message: "Later." });
    const provider = googleGenerateContent({ client: connect().client, model: "gemini-2.5-flash" });
    expect((await runPass(provider, ask(question))).error).toMatchObject(error);
    expect((await runPass(provider, ask(question))).finish).toBe("tool-calls");
  });
});
