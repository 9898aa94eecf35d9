// Runs the provider adapters with the SDKs that are installed beside this file, over a server that speaks their wires. Prints the
// versions of the SDKs and how each round ended, as JSON.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createLoopEvents, defineTool, runToolLoop } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";

const [{ default: Anthropic }, { GoogleGenAI }, { default: OpenAI }] = await Promise.all(
  ["@anthropic-ai/sdk", "@google/genai", "openai"].map((name) => import(name)),
);

const frame = (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const data = (event) => `data: ${JSON.stringify(event)}\n\n`;

const chunk = (delta, finish_reason = null) => data({ id: "c", choices: [{ index: 0, delta, finish_reason }] });
const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Hel" }] };
const call = { type: "function_call", id: "fc_1", call_id: "a1", name: "weather", arguments: '{"city":"Rome"}' };
const completed = (...output) => frame({ type: "response.completed", response: { status: "completed", output } });
const candidate = (parts, finishReason) =>
  data({ candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason && { finishReason }) }] });
const block = (start, ...deltas) => [
  frame({ type: "content_block_start", index: 0, content_block: start }),
  ...deltas.map((delta) => frame({ type: "content_block_delta", index: 0, delta })),
];
const start = frame({
  type: "message_start",
  message: { id: "m", type: "message", role: "assistant", content: [], usage: { input_tokens: 1, output_tokens: 1 } },
});
const stop = (stop_reason) => [
  frame({ type: "content_block_stop", index: 0 }),
  frame({ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 2 } }),
  frame({ type: "message_stop" }),
];

const busy = { message: "Slow down.", type: "rate_limit_error", code: "rate_limit_exceeded" };

/** Each wire has an answer with a call, the beginning and the rest of an answer with text, and the body of an error. */
const wires = {
  openaiChat: {
    connect: (url) => openaiChat({ client: new OpenAI({ baseURL: url, apiKey: "k", maxRetries: 0 }), model: "m" }),
    call: [
      chunk({
        role: "assistant",
        tool_calls: [{ index: 0, id: "a1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
      }),
      chunk({}, "tool_calls"),
      "data: [DONE]\n\n",
    ],
    begin: [chunk({ role: "assistant", content: "Hel" })],
    rest: [chunk({ content: "lo" }, "stop"), "data: [DONE]\n\n"],
    error: { error: busy },
  },
  openaiResponses: {
    connect: (url) => openaiResponses({ client: new OpenAI({ baseURL: url, apiKey: "k", maxRetries: 0 }), model: "m" }),
    call: [completed(call)],
    begin: [
      frame({ type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } }),
      frame({ type: "response.output_text.delta", output_index: 0, item_id: "msg_1", content_index: 0, delta: "Hel" }),
    ],
    rest: [completed({ ...item, content: [{ type: "output_text", text: "Hello" }] })],
    error: { error: busy },
  },
  googleGenerateContent: {
    connect: (url) =>
      googleGenerateContent({
        client: new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: url } }),
        model: "gemini-2.5-flash",
      }),
    call: [candidate([{ functionCall: { id: "a1", name: "weather", args: { city: "Rome" } } }], "STOP")],
    begin: [candidate([{ text: "Hel" }])],
    rest: [candidate([{ text: "lo" }], "STOP")],
    error: { error: { code: 429, message: "Slow down.", status: "RESOURCE_EXHAUSTED" } },
  },
  anthropicMessages: {
    connect: (url) =>
      anthropicMessages({
        client: new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 }),
        model: "claude-opus-4-8",
        maxTokens: 1_000,
      }),
    call: [
      start,
      ...block(
        { type: "tool_use", id: "a1", name: "weather", input: {} },
        { type: "input_json_delta", partial_json: '{"city":"Rome"}' },
      ),
      ...stop("tool_use"),
    ],
    begin: [start, ...block({ type: "text", text: "" }, { type: "text_delta", text: "Hel" })],
    rest: [frame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lo" } }), ...stop("end_turn")],
    error: { type: "error", error: busy },
  },
};

const stream = (...frames) => ({ frames: frames.flat() });
const rounds = {
  call: (wire) => [stream(wire.call), stream(wire.begin, wire.rest)],
  error: (wire) => [{ status: 429, body: wire.error }],
  "early end": (wire) => [stream(wire.begin)],
  abort: (wire) => [{ ...stream(wire.begin), stalls: true }],
};

const server = createServer();
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const url = `http://127.0.0.1:${server.address().port}`;

async function play(wire, replies) {
  let asked = 0;
  let left = () => undefined;
  const gone = new Promise((resolve) => (left = resolve));
  server.removeAllListeners("request").on("request", (request, response) => {
    const { status = 200, frames = [], body, stalls = false } = replies[asked++] ?? { status: 500, body: {} };
    response.writeHead(status, { "content-type": body === undefined ? "text/event-stream" : "application/json" });
    if (stalls) response.once("close", left).write(frames.join(""));
    else response.end(body === undefined ? frames.join("") : JSON.stringify(body));
    request.resume();
  });
  const stalls = replies.some((reply) => reply.stalls);
  const controller = new AbortController();
  const heard = [];
  const weather = defineTool({
    name: "weather",
    description: "Reads the weather.",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    execute({ city }) {
      heard.push(city);
      return "sunny";
    },
  });
  const events = createLoopEvents();
  if (stalls) events.on("text-delta", () => controller.abort());
  const { status, reason, text } = await runToolLoop({
    provider: wire.connect(url),
    messages: [{ role: "user", content: "Hi." }],
    tools: [weather],
    signal: controller.signal,
    events,
  });
  if (stalls) await gone;
  return [status, reason.error?.code ?? reason.kind, reason.error?.message ?? text, heard.join()];
}

const results = {};
for (const [name, wire] of Object.entries(wires)) {
  results[name] = {};
  for (const [round, toReplies] of Object.entries(rounds)) results[name][round] = await play(wire, toReplies(wire));
}
server.closeAllConnections();
server.close();

const versionOf = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version;
const sdks = ["@anthropic-ai/sdk", "@google/genai", "openai"].map(versionOf);
console.log(JSON.stringify({ node: process.version, sdks, results }));
