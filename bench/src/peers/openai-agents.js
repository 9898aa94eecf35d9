import { Agent, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import { z } from "zod";
import { checkRun, description, question } from "./script.js";

/**
 * @typedef {import("./script.js").Work} Work
 * @typedef {import("./script.js").ModelChunk} ModelChunk
 * @typedef {import("@openai/agents").ModelRequest} ModelRequest
 */

setTracingDisabled(true);
const runner = new Runner({ tracingDisabled: true });
const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120 };

/** @type {import("./script.js").Peer} */
export const run = (work) => async () => {
  let requests = 0;
  const open = (/** @type {ModelRequest} */ { signal }) => {
    signal?.throwIfAborted();
    return work.stream(requests++);
  };
  const model = /** @type {any} */ ({
    getResponse: async (/** @type {ModelRequest} */ request) => ({
      output: await outputOf(open(request)),
      usage: new Usage(usage),
    }),
    getStreamedResponse: (/** @type {ModelRequest} */ request) => speak(open(request)),
  });
  const agent = new Agent({ name: "script", model, tools: [toTool(work)] });
  const { signal } = new AbortController();
  const result = await runner.run(agent, question, { stream: true, maxTurns: work.iterations, signal });
  let text = "";
  for await (const event of result) {
    if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") text += event.data.delta;
  }
  await result.completed;
  checkRun(text, requests, work);
};

/** @param {Work} work */
function toTool({ execute }) {
  return tool({
    name: "forecast",
    description,
    parameters: z.object({ city: z.string(), days: z.number() }),
    execute: async (args, _context, details) => {
      details?.signal?.throwIfAborted();
      return execute(args);
    },
  });
}

/** @param {AsyncIterable<ModelChunk>} chunks */
async function* speak(chunks) {
  yield { type: "response_started" };
  const seen = [];
  for await (const chunk of chunks) {
    seen.push(chunk);
    if (chunk.type === "text-delta") yield { type: "output_text_delta", delta: chunk.text };
  }
  yield { type: "response_done", response: { id: "script", output: toItems(seen), usage } };
}

/** @param {AsyncIterable<ModelChunk>} chunks */
async function outputOf(chunks) {
  const seen = [];
  for await (const chunk of chunks) seen.push(chunk);
  return toItems(seen);
}

/** @param {readonly ModelChunk[]} chunks */
function toItems(chunks) {
  const text = chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.text : "")).join("");
  const calls = chunks.flatMap((chunk) =>
    chunk.type === "call-ready"
      ? [{ type: "function_call", callId: chunk.id, name: chunk.name, arguments: chunk.argsText, status: "completed" }]
      : [],
  );
  const message = { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
  return text === "" ? calls : [message, ...calls];
}
