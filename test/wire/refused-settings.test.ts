// A service may refuse a setting although no rule says so, for example if the name of a deployment does not tell its model.

import { createLoopEvents, runToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { strictService, text } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { allRows, type StrictRow, titleOf } from "../services/connect-strict.ts";
import { chatCall, chatText, connect, createRecorder, refuse, tool } from "./service-client.ts";

const messages = [{ role: "user" as const, content: "Look." }];

async function play({ kind, connect }: StrictRow, message: string, modelSettings: { temperature?: number; topP?: number }) {
  const service = strictService(kind, { answers: () => [text("Done.")] });
  const bodies: string[] = [];
  const fetch: typeof service.fetch = async (input, init) => {
    const body = z.string().parse(init?.body);
    bodies.push(body);
    const error = { message, type: "invalid_request_error", code: 400, status: "INVALID_ARGUMENT" };
    return body.includes('"temperature"') ? Response.json({ type: "error", error }, { status: 400 }) : service.fetch(input, init);
  };
  const events = createLoopEvents();
  const changes: string[] = [];
  events.on("request-adjusted", (found) => changes.push(...found.changes.map(({ field, action }) => `${field} ${action}`)));
  const options = { provider: connect({ ...service, fetch }), events, messages, modelSettings };
  const first = await runToolLoop(options);
  const next = await runToolLoop(options);
  return { first, next, bodies, changes };
}

describe.each(allRows.map((row) => [titleOf(row), row] as const))("a temperature that %s refuses", (_title, row) => {
  it.for([
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    "Unsupported parameter: 'temperature' is not supported with this model.",
    "Unsupported parameter: temperature",
    "bedrock does not support parameters: ['temperature'], for model=deepseek.r1-v1:0.",
    "gpt-5 models don't support temperature=0.2. Only temperature=1 is supported.",
  ])("is omitted, even in later runs, after the error: %s", async (message) => {
    const { first, next, bodies, changes } = await play(row, message, { temperature: 0.2, topP: 0.9 });
    expect([first.status, first.text, next.status, next.text]).toEqual(["completed", "Done.", "completed", "Done."]);
    const refused = bodies.map((body) => body.includes('"temperature"'));
    expect([
      [true, false, false],
      [false, false],
    ]).toContainEqual(refused);
    if (!row.model.startsWith("AI SDK") || refused.includes(true)) expect(changes).toContain("temperature removed");
  });
});

it("openaiChat: omits topP, even in later runs, if the model accepts it only without a temperature", async () => {
  const message = "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
  const { fetch, bodies } = createRecorder((body) => ("top_p" in body ? refuse(400, { error: { message } }) : chatText()));
  const provider = openaiChat({ client: connect(fetch), model: "eu.anthropic.claude-haiku-4-5" });
  const options = { provider, messages, modelSettings: { temperature: 0.2, topP: 0.9 } };
  const results = [await runToolLoop(options), await runToolLoop(options)];
  expect(results.map(({ text: said }) => said)).toEqual(["Done.", "Done."]);
  expect(bodies.map((body) => ["temperature", "top_p"].map((field) => field in body))).toEqual([
    [true, true],
    [true, false],
    [true, false],
  ]);
});

const chat = allRows.filter(({ kind }) => kind === "openai-chat").slice(0, 1);

it.for(chat)("openaiChat: does not retry if the service rejects only the value of the temperature", async (row) => {
  const message = "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 9 instead.";
  const { first, bodies } = await play(row, message, { temperature: 9 });
  expect(first).toMatchObject({ status: "error", error: { code: "bad-request", message } });
  expect(bodies).toHaveLength(2);
});

it.for<[sent: "max_tokens" | "max_completion_tokens", other: string, message: string]>([
  [
    "max_tokens",
    "max_completion_tokens",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  ],
  ["max_completion_tokens", "max_tokens", "Unrecognized request argument supplied: max_completion_tokens"],
  ["max_completion_tokens", "max_tokens", "body.max_completion_tokens: Extra inputs are not permitted"],
])("openaiChat replaces %s with %s if the service says: %s", async ([sent, other, message]) => {
  const { fetch, bodies } = createRecorder((body) => (sent in body ? refuse(400, { error: { message } }) : chatText()));
  const provider = openaiChat({ client: connect(fetch), model: "prod-chat", maxTokensField: sent });
  const options = { provider, messages, modelSettings: { maxOutputTokens: 100 } };
  const results = [await runToolLoop(options), await runToolLoop(options)];
  expect(results.map(({ text: said }) => said)).toEqual(["Done.", "Done."]);
  expect(bodies.map((body) => [body[sent], body[other]])).toEqual([
    [100, undefined],
    [undefined, 100],
    [undefined, 100],
  ]);
});

it("openaiChat does not replace max_tokens if its value is wrong", async () => {
  const message = "max_tokens is too large: 900000. This model supports at most 16384 completion tokens.";
  const { fetch, bodies } = createRecorder(() => refuse(400, { error: { message } }));
  const provider = openaiChat({ client: connect(fetch), model: "prod-chat", maxTokensField: "max_tokens" });
  const result = await runToolLoop({ provider, messages, modelSettings: { maxOutputTokens: 900_000 } });
  expect([result.status, bodies.length]).toEqual(["error", 1]);
});

it.for(["look<|channel|>commentary", "functions.look", "default_api.look", "default_api:look"])(
  "openaiChat: runs the right tool if the model calls it %s",
  async (name) => {
    const { fetch, bodies } = createRecorder(({ messages: sent }) => (sent.length > 1 ? chatText() : chatCall("c1", name)));
    const provider = openaiChat({ client: connect(fetch), model: "openai/gpt-oss-20b" });
    const result = await runToolLoop({ provider, tools: [tool("look")], messages });
    expect(result).toMatchObject({ status: "completed", calls: [{ name: "look", outcome: "completed" }] });
    expect(bodies[1]?.messages[1]).toMatchObject({ tool_calls: [{ function: { name: "look" } }] });
  },
);

it.for([
  "The `reasoning_content` in the thinking mode must be passed back to the API.",
  "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
])("openaiChat: sends reasoning back, even in later runs, after the error: %s", async (message) => {
  const { fetch, bodies } = createRecorder(({ messages: sent }) => {
    if (sent.length < 2) return chatCall("c1", "look", { reasoning_content: "I look." });
    return sent.every((one) => one.role !== "assistant" || "reasoning_content" in one)
      ? chatText()
      : refuse(400, { error: { message, type: "invalid_request_error" } });
  });
  const options = { provider: openaiChat({ client: connect(fetch), model: "DeepSeekV4Pro" }), tools: [tool("look")], messages };
  const results = await Promise.all([runToolLoop(options), runToolLoop(options)]);
  expect([...results, await runToolLoop(options)].map(({ status, text: said }) => [status, said])).toEqual(
    Array.from({ length: 3 }, () => ["completed", "Done."]),
  );
  expect(bodies).toHaveLength(8);
  expect(bodies.at(-1)?.messages[1]).toMatchObject({ reasoning_content: "I look." });
});

it("openaiChat: asks once if the service misses reasoning that was sent", async () => {
  const message = "The `reasoning_content` in the thinking mode must be passed back to the API.";
  const { fetch, bodies } = createRecorder(() => refuse(400, { error: { message } }));
  const provider = openaiChat({ client: connect(fetch), model: "deepseek-v4-pro" });
  expect(await runToolLoop({ provider, messages })).toMatchObject({ status: "error", error: { code: "bad-request", message } });
  expect(bodies).toHaveLength(1);
});

it.for(["crm.look", "functions.see"])("openaiChat: runs no tool if the model calls %s, which does not exist", async (name) => {
  const { fetch } = createRecorder(({ messages: sent }) => (sent.length > 1 ? chatText() : chatCall("c1", name)));
  const result = await runToolLoop({
    provider: openaiChat({ client: connect(fetch), model: "m" }),
    tools: [tool("look")],
    messages,
  });
  expect(result.calls).toMatchObject([{ name, outcome: "unknown-tool" }]);
});

it.for(["temperature", "max_tokens"])(
  "openaiChat: resends each of several concurrent requests in which the service refuses %s",
  async (field) => {
    const message = `Unsupported parameter: '${field}' is not supported with this model.`;
    const { fetch, bodies } = createRecorder((body) => (field in body ? refuse(400, { error: { message } }) : chatText()));
    const provider = openaiChat({ client: connect(fetch), model: "prod-chat", maxTokensField: "max_tokens" });
    const modelSettings = { temperature: 0.2, maxOutputTokens: 100 };
    const results = await Promise.all([1, 2].map(() => runToolLoop({ provider, messages, modelSettings })));
    expect(results.map(({ text: said }) => said)).toEqual(["Done.", "Done."]);
    expect(bodies.map((body) => field in body)).toEqual([true, true, false, false]);
  },
);
