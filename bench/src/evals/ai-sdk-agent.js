// The support agent, written with the AI SDK. The libraries that evaluate any function evaluate this one.
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";
import { beginTrial, note } from "./script.js";

/** @typedef {import("./script.js").Turn} Turn */

const usage = {
  inputTokens: { total: 90, noCache: 90, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

/**
 * The scripted model of one trial.
 *
 * @param {(results: number) => Turn | Promise<never>} script
 */
export function modelOf(script) {
  const generate = async (/** @type {any} */ { prompt, abortSignal }) => {
    const noteAbort = () => note("abort");
    abortSignal?.addEventListener("abort", noteAbort);
    const results = prompt.flatMap((/** @type {any} */ { role, content }) => (role === "tool" ? content : []));
    const { text, refund } = await script(results.length);
    abortSignal?.removeEventListener("abort", noteAbort);
    const call = { type: "tool-call", toolCallId: `call-${results.length}`, toolName: "refund", input: `{"order":${refund}}` };
    const content = refund === undefined ? [{ type: "text", text }] : [call];
    return {
      content,
      finishReason: { unified: refund === undefined ? "stop" : "tool-calls", raw: undefined },
      usage,
      warnings: [],
    };
  };
  return /** @type {any} */ ({
    specificationVersion: "v4",
    provider: "script",
    modelId: "script",
    supportedUrls: {},
    doGenerate: generate,
    doStream: async (/** @type {any} */ call) => {
      const { content, finishReason } = await generate(call);
      const parts = content.flatMap((/** @type {any} */ part) =>
        part.type === "text"
          ? [
              { type: "text-start", id: "0" },
              { type: "text-delta", id: "0", delta: part.text },
              { type: "text-end", id: "0" },
            ]
          : [part],
      );
      const all = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of all) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  });
}

/**
 * @param {string} text
 * @param {import("./script.js").Shop} shop
 * @param {AbortSignal} [signal]
 * @param {(model: any) => any} [wrap]
 */
export async function answer(text, shop, signal, wrap = (model) => model) {
  const refund = tool({
    description: "Pays the money for an order back",
    inputSchema: z.object({ order: z.number() }),
    execute: async ({ order }) => {
      shop.paid.push(order);
      return "paid";
    },
  });
  const result = await generateText({
    model: wrap(modelOf(beginTrial(text))),
    prompt: text,
    tools: { refund },
    stopWhen: isStepCount(4),
    maxRetries: 0,
    ...(signal !== undefined && { abortSignal: signal }),
  });
  return result.text;
}
