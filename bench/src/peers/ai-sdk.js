import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { checkRun, description, question } from "./script.js";

/**
 * @typedef {import("./script.js").Work} Work
 * @typedef {import("./script.js").ModelChunk} ModelChunk
 */

const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 20, text: 20, reasoning: 0 },
};

/** @type {import("./script.js").Peer} */
export const generate = (work) => async () => {
  const { options, count } = toOptions(work);
  const { text } = await generateText(options);
  checkRun(text, count(), work);
};

/** @type {import("./script.js").Peer} */
export const stream = (work) => async () => {
  const { options, count } = toOptions(work);
  let text = "";
  for await (const delta of streamText(options).textStream) text += delta;
  checkRun(text, count(), work);
};

/** @param {Work} work */
function toOptions({ stream: script, execute, iterations }) {
  let requests = 0;
  const open = (/** @type {{ abortSignal?: AbortSignal | undefined }} */ { abortSignal }) => {
    abortSignal?.throwIfAborted();
    return script(requests++);
  };
  const model = /** @type {any} */ ({
    specificationVersion: "v4",
    provider: "script",
    modelId: "script",
    supportedUrls: {},
    doGenerate: async (/** @type {{ abortSignal?: AbortSignal }} */ call) => answer(open(call)),
    doStream: async (/** @type {{ abortSignal?: AbortSignal }} */ call) => ({ stream: toParts(open(call)) }),
  });
  const forecast = tool({
    description,
    inputSchema: z.object({ city: z.string(), days: z.number() }),
    execute: async (args, { abortSignal }) => {
      abortSignal?.throwIfAborted();
      return /** @type {any} */ (await execute(args));
    },
  });
  const { signal: abortSignal } = new AbortController();
  const options = { model, tools: { forecast }, prompt: question, stopWhen: isStepCount(iterations), abortSignal };
  return { options, count: () => requests };
}

/** @param {AsyncIterable<ModelChunk>} chunks */
async function answer(chunks) {
  const content = [];
  let text = "";
  for await (const chunk of chunks) {
    if (chunk.type === "text-delta") text += chunk.text;
    if (chunk.type === "call-ready") content.push(toCall(chunk));
  }
  const unified = content.length > 0 ? "tool-calls" : "stop";
  if (text !== "") content.unshift({ type: "text", text });
  return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
}

/** @param {AsyncIterable<ModelChunk>} chunks */
function toParts(chunks) {
  const parts = partsOf(chunks);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** @param {AsyncIterable<ModelChunk>} chunks */
async function* partsOf(chunks) {
  yield { type: "stream-start", warnings: [] };
  let hasText = false;
  let unified = "stop";
  for await (const chunk of chunks) {
    if (chunk.type === "text-delta") {
      if (!hasText) yield { type: "text-start", id: "0" };
      hasText = true;
      yield { type: "text-delta", id: "0", delta: chunk.text };
    }
    if (chunk.type === "call-ready") {
      unified = "tool-calls";
      yield toCall(chunk);
    }
  }
  if (hasText) yield { type: "text-end", id: "0" };
  yield { type: "finish", finishReason: { unified, raw: undefined }, usage };
}

/** @param {Extract<ModelChunk, { type: "call-ready" }>} chunk */
function toCall({ id, name, argsText }) {
  return { type: "tool-call", toolCallId: id, toolName: name, input: argsText };
}
