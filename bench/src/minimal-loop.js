// The baseline: a minimal loop, as a developer might write in an afternoon. It has no limits, no timeouts and no history, and
// catches no errors. Each stream and each tool gets an abort signal, because real SDKs and `fetch` accept one.

/**
 * @typedef {import("../../src/core/types/provider.ts").ModelChunk} ModelChunk
 * @typedef {Extract<ModelChunk, { type: "call-ready" }>} Call
 */

/**
 * @template Args
 * @typedef {{ inputSchema: { parse(args: unknown): Args }, execute(args: Args, call: { signal: AbortSignal }): unknown }} MinimalTool
 */

/**
 * Sends requests to the model and runs its calls, until the model makes no more calls. Passes text deltas to `onText`.
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
    // Awaits only promises, so that the baseline is as fast as possible.
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
 * Converts the result to text, because every provider API expects text.
 *
 * @param {Call} call
 * @param {unknown} output
 */
function toMessagePart(call, output) {
  return { callId: call.id, content: JSON.stringify(output) };
}
