import { defineTool, type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { aiSdkModel, type AiSdkModelOptions } from "turnwright/ai-sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { generations } from "./ai-sdk-client.ts";
import { done, json, sse, startRawServer, type RawReply } from "./raw-sse-server.ts";
import { checkWireContract } from "./wire-contract.ts";

interface Played {
  readonly result: LoopResult;
  readonly asked: readonly unknown[];
}

async function play(model: AiSdkModelOptions["model"], more: Partial<LoopOptions & AiSdkModelOptions> = {}): Promise<Played> {
  const asked: unknown[] = [];
  const tool = defineTool({
    name: "get_weather",
    description: "Weather of a city",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    execute: (args) => {
      asked.push(args);
      return { celsius: 3 };
    },
  });
  const { id, providerOptions, ...options } = more;
  const provider = aiSdkModel({ model, id, providerOptions });
  const messages = [{ role: "user" as const, content: "Oslo or Rome?" }];
  return { result: await runToolLoop({ provider, tools: [tool], messages, ...options }), asked };
}

async function serve(...replies: readonly RawReply[]): Promise<string> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  return server.url;
}

const text = (content: string): string => sse({ choices: [{ index: 0, delta: { content } }] });
const finish = (reason: string): string => sse({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const call = (id: string, args: string): string =>
  sse({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id, type: "function", function: { name: "get_weather", arguments: args } }] },
      },
    ],
  });
const answer: RawReply = { frames: [text("Mild."), finish("stop"), done] };

const event = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;

function respond(id: string, ...items: readonly (readonly [added: object, item: object, ...deltas: string[]])[]): RawReply {
  const usage = {
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 2 },
    output_tokens: 4,
    output_tokens_details: { reasoning_tokens: 1 },
  };
  const frames = items.flatMap(([added, item, ...deltas], index) => [
    event("response.output_item.added", { output_index: index, item: added }),
    ...deltas,
    event("response.output_item.done", { output_index: index, item }),
  ]);
  const created = { id, created_at: 1, model: "gpt-5", service_tier: null };
  return {
    frames: [
      event("response.created", { response: created }),
      ...frames,
      event("response.completed", { response: { ...created, incomplete_details: null, usage } }),
    ],
  };
}

describe.each(generations)("runToolLoop with aiSdkModel (@ai-sdk/openai, spec $version)", ({ connect }) => {
  it("sends encrypted reasoning back before the same message's call", async () => {
    const reasoning = { type: "reasoning", id: "rs_1", encrypted_content: "ZW5j", summary: [] };
    const called = { type: "function_call", id: "fc_1", call_id: "call_1", name: "get_weather", status: "completed" };
    const delta = event("response.function_call_arguments.delta", { item_id: "fc_1", output_index: 1, delta: '{"city":"Oslo"}' });
    const said = { type: "message", id: "msg_1", role: "assistant", content: [] };
    const mild = event("response.output_text.delta", { item_id: "msg_1", output_index: 0, delta: "Mild." });
    const url = await serve(
      respond(
        "resp_1",
        [reasoning, reasoning],
        [{ ...called, arguments: "" }, { ...called, arguments: '{"city":"Oslo"}' }, delta],
      ),
      respond("resp_2", [said, said, mild]),
    );
    const { responses, bodies } = connect(url, 5);
    const providerOptions = { openai: { store: false, include: ["reasoning.encrypted_content"] } };
    const { result, asked } = await play(responses, { providerOptions, id: "openai" });
    expect(result).toMatchObject({ status: "completed", text: "Mild.", usage: { inputTokens: 10, cachedInputTokens: 4 } });
    expect(asked).toEqual([{ city: "Oslo" }]);
    expect(bodies[1]).toMatchObject({
      store: false,
      input: [
        { role: "user" },
        { type: "reasoning", encrypted_content: "ZW5j" },
        { type: "function_call", call_id: "call_1", name: "get_weather", arguments: '{"city":"Oslo"}' },
        { type: "function_call_output", call_id: "call_1", output: '{"celsius":3}' },
      ],
    });
    expect(result.accumulatedModelParts[0]).toMatchObject({
      provider: "openai",
      model: "gpt-5",
      item: { part: { type: "reasoning" } },
    });
  });

  it.for<[what: string, reply: RawReply, error: object, said: string]>([
    [
      "the service reports a rate limit",
      json(429, { error: { message: "Slow.", type: "requests", code: "rate_limit_exceeded" } }, { "retry-after": "7" }),
      { code: "rate-limit", retryable: true, retryAfterMs: 7_000 },
      "",
    ],
    [
      "the quota is exhausted",
      json(429, { error: { message: "No more.", type: "insufficient_quota", code: "insufficient_quota" } }),
      { code: "rate-limit", retryable: false },
      "",
    ],
    [
      "the context is too long",
      json(400, { error: { message: "No.", type: "invalid_request_error", code: "context_length_exceeded" } }),
      { code: "context-too-long", status: 400 },
      "",
    ],
    ["the server is overloaded", json(529, { error: { message: "Busy." } }), { code: "overloaded", retryable: true }, ""],
    ["the service rejects the API key", json(401, { error: { message: "No." } }), { code: "auth", retryable: false }, ""],
    ["the stream ends early", { frames: [text("Hel")] }, { code: "stream-ended-early" }, "Hel"],
    ["the stream ends after a complete call", { frames: [call("a", '{"city":"Oslo"}')] }, { code: "stream-ended-early" }, ""],
    ["the connection drops", { frames: [text("Hel")], ending: "drop" }, { code: "network" }, "Hel"],
    [
      "the stream reports an error",
      { frames: [text("Hel"), sse({ error: { message: "It broke.", type: "server_error" } })] },
      { code: "server", retryable: true },
      "Hel",
    ],
    [
      "the response is an HTML page with status 200",
      { headers: { "content-type": "text/html" }, frames: ["<!doctype html>\n\n"] },
      { code: "server", retryable: false },
      "",
    ],
  ])("keeps the text, runs no tool and ends with an error if %s", async ([, reply, error, said]) => {
    const { chat, bodies } = connect(await serve(reply));
    const { result, asked } = await play(chat);
    expect(result).toMatchObject({ status: "error", reason: { kind: "provider-error", error }, text: said });
    expect([asked.length, bodies.length]).toEqual([0, 1]);
    const next = await play(connect(await serve(answer)).chat, {
      messages: [...result.messages, { role: "user", content: "Now?" }],
    });
    expect(next.result.text).toBe("Mild.");
  });

  it("ends with a network error if the server is down", async () => {
    const server = await startRawServer([]);
    await server.close();
    const { result } = await play(connect(server.url).chat);
    expect(result).toMatchObject({ status: "error", reason: { error: { code: "network", retryable: true } } });
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
    const { chat, bodies } = connect(await serve(turn, answer));
    const { result, asked } = await play(chat);
    expect(result).toMatchObject({ status: "completed", text: "Mild.", functionHistory: [{ outcome }] });
    expect(asked).toEqual([]);
    expect(bodies.map(checkWireContract)).toEqual([[], []]);
  });
});
