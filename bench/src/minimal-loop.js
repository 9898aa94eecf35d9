// The baseline of all comparisons: a tool loop as a developer might write it in an afternoon. It has no limits, no timeouts and
// no history, and does not catch errors. It gives an abort signal to each stream and each tool, because real SDKs and `fetch`
// accept one.

/**
 * @typedef {import("../../src/core/types/provider.ts").ModelChunk} ModelChunk
 * @typedef {Extract<ModelChunk, { type: "call-ready" }>} Call
 */

/**
 * @template Args
 * @typedef {{ inputSchema: { parse(args: unknown): Args }, execute(args: Args, call: { signal: AbortSignal }): unknown }} MinimalTool
 */

/**
 * Sends requests to the model, and runs the tools that it calls. Ends when a response has no calls.
 *
 * @template Args
 * @param {{
 *   stream: (iteration: number, signal: AbortSignal) => AsyncIterable<ModelChunk>,
 *   tools: ReadonlyMap<string, MinimalTool<Args>>,
 *   messages: readonly object[],
 *   onText: (text: string) => void,
 * }} options
 */
export async function runMinimalLoop({ stream, tools, messages, onText }) {
  const transcript = [...messages];
  for (let iteration = 0; ; iteration += 1) {
    let text = "";
    /** @type {Call[]} */
    const calls = [];
    for await (const chunk of stream(iteration, new AbortController().signal)) {
      if (chunk.type === "text-delta") {
        text += chunk.text;
        onText(chunk.text);
      } else if (chunk.type === "call-ready") {
        calls.push(chunk);
      }
    }
    transcript.push({ role: "assistant", text, calls });
    if (calls.length === 0) return { text, transcript };
    const outputs = calls.map((call) => runCall(call, tools));
    // `await` takes time even for a value that is not a promise, so plain values are not awaited.
    const results = outputs.some((output) => output instanceof Promise) ? await Promise.all(outputs) : outputs;
    transcript.push({ role: "tool", results: calls.map((call, index) => toMessagePart(call, results[index])) });
  }
}

/**
 * @template Args
 * @param {Call} call
 * @param {ReadonlyMap<string, MinimalTool<Args>>} tools
 */
function runCall(call, tools) {
  const tool = tools.get(call.name);
  if (tool === undefined) throw new Error(`There is no tool "${call.name}".`);
  return tool.execute(tool.inputSchema.parse(call.args), new AbortController());
}

/**
 * @param {Call} call
 * @param {unknown} output
 */
function toMessagePart(call, output) {
  return { callId: call.id, content: JSON.stringify(output) };
}
