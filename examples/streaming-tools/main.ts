// A report that a tool writes while the user watches: preliminary results, text and a chart on a page with useChat.
// `npx tsx examples/streaming-tools/main.ts` needs no key: a script plays the model.

import assert from "node:assert/strict";
import { defineAgentTool, defineTool, streamToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { toUIMessageStream } from "turnwright/ui-message-stream";
import { z } from "zod";

const sales = [12, 19, 31];

// #region report
const report = defineTool({
  name: "report",
  description: "Adds up the sales of a quarter",
  inputSchema: z.object({ quarter: z.number() }),
  async *execute(_args, { emit }) {
    let total = 0;
    for (const [index, sold] of sales.entries()) {
      total += sold;
      yield { months: index + 1, total };
      // Each part has the same id, so the page shows one chart that grows.
      emit({ type: "data", name: "chart", data: sales.slice(0, index + 1), id: "sales" });
    }
    return { months: sales.length, total };
  },
});
// #endregion report

const comment = defineAgentTool({
  name: "comment",
  description: "Comments on a total",
  inputSchema: z.object({ total: z.number() }),
  emitText: true,
  prepare: ({ total }) => ({ messages: [{ role: "user", content: `Comment on ${total}.` }] }),
});

const provider = createMockProvider([
  toolCall("report", { quarter: 3 }),
  toolCall("comment", { total: 62 }),
  text("A record quarter.", { chunks: 3 }),
  text("The report is done."),
]);
const stream = streamToolLoop({
  provider,
  tools: [report, comment],
  messages: [{ role: "user", content: "How was the quarter?" }],
});

const outputs: unknown[] = [];
const charts = new Map<string | undefined, unknown>();
const texts = new Map<string, string>();
for await (const chunk of toUIMessageStream(stream)) {
  if (chunk.type === "tool-output-available" && chunk.toolCallId.endsWith("call_i0_0")) outputs.push(chunk.output);
  else if (chunk.type === "data-chart") charts.set(chunk.id, chunk.data);
  else if (chunk.type === "text-delta") texts.set(chunk.id, (texts.get(chunk.id) ?? "") + chunk.delta);
}
const { messages } = await stream.result;

assert.deepEqual(outputs, [
  { months: 1, total: 12 },
  { months: 2, total: 31 },
  { months: 3, total: 62 },
  { months: 3, total: 62 },
]);
assert.deepEqual([...charts.values()], [[12, 19, 31]]);
assert.deepEqual([...texts.values()], ["A record quarter.", "The report is done."]);
// The model reads the transcript. It has the results of tools, but nothing that a tool emitted.
assert.ok(!JSON.stringify(messages).includes("chart"));

console.log(`The page saw ${outputs.length} outputs and ${charts.size} chart, and read: ${[...texts.values()].join(" ")}`);
