import { LLMock } from "@copilotkit/aimock";
import { createLoopControl, defineTool, type LoopOptions, type LoopResult, runToolLoop, type Tool } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { createTestClock } from "turnwright/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectOpenAI } from "./openai-client.ts";
import { done, json, sse, startRawServer, type RawReply, type RawServer } from "./raw-sse-server.ts";
import { checkWireContract } from "./wire-contract.ts";

const text = (content: string): string => sse({ choices: [{ index: 0, delta: { content } }] });
const finish = (reason: string): string => sse({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const call = (id: string, args: string, index = 0): string =>
  sse({
    choices: [
      { index: 0, delta: { tool_calls: [{ index, id, type: "function", function: { name: "get_weather", arguments: args } }] } },
    ],
  });
const answer: RawReply = { frames: [text("Mild."), finish("stop"), done] };

function createWeather(): { readonly tool: Tool; readonly asked: readonly unknown[] } {
  const asked: unknown[] = [];
  const inputSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const tool = defineTool({
    name: "get_weather",
    description: "Weather of a city",
    inputSchema,
    execute: (args) => {
      asked.push(args);
      return { celsius: 3 };
    },
  });
  return { tool, asked };
}

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly unknown[];
  readonly asked: readonly unknown[];
}

async function play(baseURL: string, more: Partial<LoopOptions> = {}): Promise<Played> {
  const { client, bodies } = connectOpenAI(baseURL);
  const { tool, asked } = createWeather();
  const provider = openaiChat({ client, model: "gpt-5" });
  const result = await runToolLoop({ provider, tools: [tool], messages: [{ role: "user", content: "Oslo or Rome?" }], ...more });
  expect(bodies.map(checkWireContract)).toEqual(bodies.map(() => []));
  return { result, bodies, asked };
}

async function serve(...replies: readonly RawReply[]): Promise<RawServer> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  return server;
}

describe("runToolLoop with openaiChat", () => {
  it("runs two parallel calls and receives an answer from a third-party mock server", async () => {
    const mock = new LLMock({ port: 0, chunkSize: 7, strict: true });
    onTestFinished(() => mock.stop());
    const cities = ["Oslo", "Rome"].map((city) => ({
      id: `call_${city}`,
      name: "get_weather",
      arguments: JSON.stringify({ city }),
    }));
    mock.on({ userMessage: "Oslo or Rome?", hasToolResult: false }, { toolCalls: cities });
    mock.on({ userMessage: "Oslo or Rome?", hasToolResult: true }, { content: "Rome is warmer." });
    await mock.start();
    const { result, asked } = await play(`${mock.url}/v1`, { system: "Be brief." });
    expect(result).toMatchObject({
      status: "completed",
      reason: { kind: "answered" },
      text: "Rome is warmer.",
      iterations: 2,
      toolCallsExecuted: 2,
    });
    expect(asked).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
  });

  it.for<[what: string, reply: RawReply, error: object, said: string]>([
    [
      "the service reports a rate limit",
      json(429, { error: { message: "Slow." } }, { "retry-after": "7" }),
      { code: "rate-limit", retryable: true, retryAfterMs: 7_000 },
      "",
    ],
    ["the server is overloaded", json(529, { error: { message: "Busy." } }), { code: "overloaded" }, ""],
    ["the service rejects the API key", json(401, { error: { message: "No." } }), { code: "auth" }, ""],
    ["the stream ends early", { frames: [text("Hel")] }, { code: "stream-ended-early" }, "Hel"],
    ["the stream ends after a complete call", { frames: [call("a", '{"city":"Oslo"}')] }, { code: "stream-ended-early" }, ""],
    ["the connection drops", { frames: [text("Hel")], ending: "drop" }, { code: "network" }, "Hel"],
    [
      "the connection drops after a complete call",
      { frames: [call("a", '{"city":"Oslo"}')], ending: "drop" },
      { code: "network" },
      "",
    ],
    [
      "the stream reports an error",
      { frames: [text("Hel"), sse({ error: { message: "It broke.", type: "server_error" } })] },
      { code: "server" },
      "Hel",
    ],
    [
      "the response is an HTML page with status 200",
      { headers: { "content-type": "text/html" }, frames: ["<!doctype html>\n\n"] },
      { code: "server", retryable: false },
      "",
    ],
  ])("keeps the text, runs no tool and ends with an error if %s", async ([, reply, error, said]) => {
    const { result, asked, bodies } = await play((await serve(reply)).url);
    expect(result).toMatchObject({ status: "error", reason: { kind: "provider-error", error }, text: said });
    expect([asked.length, bodies.length]).toEqual([0, 1]);
    const next = await play((await serve(answer)).url, { messages: [...result.messages, { role: "user", content: "And now?" }] });
    expect(next.result.text).toBe("Mild.");
  });

  it("returns messages that can be sent again after a failure in a later iteration", async () => {
    const server = await serve(
      { frames: [call("a", '{"city":"Oslo"}'), finish("tool_calls"), done] },
      { frames: [text("It is")] },
      answer,
    );
    const failed = await play(server.url);
    expect(failed.result).toMatchObject({ status: "error", text: "It is" });
    const { result } = await play(server.url, { messages: [...failed.result.messages, { role: "user", content: "Go on." }] });
    expect(result).toMatchObject({ status: "completed", text: "Mild." });
  });

  it.for<[what: string, turn: RawReply, outcome: string]>([
    ["cut off by the length limit", { frames: [call("a", '{"city":'), finish("length"), done] }, "truncated"],
    [
      "complete in a message that the length limit cuts off",
      { frames: [call("a", '{"city":"Oslo"}'), finish("length"), done] },
      "truncated",
    ],
    ["malformed", { frames: [call("a", '{"city":'), finish("tool_calls"), done] }, "malformed"],
  ])("sends another request, and does not run a call whose arguments are %s", async ([, turn, outcome]) => {
    const { result, asked } = await play((await serve(turn, answer)).url);
    expect(result).toMatchObject({ status: "completed", text: "Mild.", functionHistory: [{ outcome }] });
    expect(asked).toEqual([]);
  });

  it("wraps arguments that are not an object in an object", async () => {
    const { bodies } = await play((await serve({ frames: [call("a", "7"), finish("tool_calls"), done] }, answer)).url);
    const sent = { tool_calls: [{ id: "a", function: { arguments: '{"INVALID_ARGUMENTS":7}' } }] };
    expect(bodies).toMatchObject([{}, { messages: [{ role: "user" }, sent, { role: "tool" }] }]);
  });

  it('runs both calls if two calls share an id, despite the finish reason "stop"', async () => {
    const turn: RawReply = { frames: [call("a", '{"city":"Oslo"}', 0), call("a", '{"city":"Rome"}', 1), finish("stop"), done] };
    const { result, asked } = await play((await serve(turn, answer)).url);
    expect(asked).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
    expect(result.status).toBe("completed");
  });

  it("does not run calls from a message that is a refusal", async () => {
    const refusal = sse({ choices: [{ index: 0, delta: { refusal: "I can't." } }] });
    const { result, asked } = await play(
      (await serve({ frames: [refusal, call("a", '{"city":"Oslo"}'), finish("stop"), done] })).url,
    );
    expect(result).toMatchObject({ status: "completed", reason: { kind: "refusal" }, text: "I can't." });
    expect(asked).toEqual([]);
  });

  it('ends with the status "timeout" and closes the connection if the server sends nothing more', async () => {
    const server = await serve({ frames: [text("Hel")], ending: "stall" });
    const clock = createTestClock();
    const { client } = connectOpenAI(server.url);
    let heard: () => void = () => undefined;
    const hearing = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const provider = openaiChat({ client, model: "gpt-5" });
    const watched: LoopOptions["provider"] = {
      ...provider,
      async *stream(request, modelCall) {
        for await (const chunk of provider.stream(request, modelCall)) {
          yield chunk;
          heard();
        }
      },
    };
    const running = runToolLoop({
      provider: watched,
      messages: [{ role: "user", content: "Hi" }],
      clock,
      timeouts: { streamIdleMs: 1_000 },
    });
    await hearing;
    await clock.advance(1_000);
    expect(await running).toMatchObject({ status: "timeout", reason: { kind: "stream-idle", limitMs: 1_000 }, text: "Hel" });
    expect(clock.pending).toBe(0);
    await server.left;
  });

  it("ends and closes the connection when the run is killed while the server is silent", async () => {
    const server = await serve({ frames: [text("Hel")], ending: "stall" });
    const control = createLoopControl();
    const { client } = connectOpenAI(server.url);
    const provider = openaiChat({ client, model: "gpt-5" });
    const watched: LoopOptions["provider"] = {
      ...provider,
      async *stream(request, modelCall) {
        for await (const chunk of provider.stream(request, modelCall)) {
          yield chunk;
          control.kill();
        }
      },
    };
    const result = await runToolLoop({ provider: watched, messages: [{ role: "user", content: "Hi" }], control });
    expect(result).toMatchObject({ status: "stopped-by-user", reason: { kind: "killed" }, text: "Hel" });
    await server.left;
  });
});
