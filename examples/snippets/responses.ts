// Runs that use OpenAI's Responses API, with a tool whose argument is plain text.

import assert from "node:assert/strict";
import OpenAI from "openai";
import { z } from "zod";
import { defineTool, runToolLoop } from "turnwright";
import { openaiResponses } from "turnwright/openai";

const answers = [
  [
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
    { type: "custom_tool_call", id: "ct_1", call_id: "call_1", name: "run_sql", input: "SELECT count(*) FROM orders" },
  ],
  [{ type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Three orders." }] }],
];
const bodies: { readonly input: readonly object[] }[] = [];
const client = new OpenAI({
  apiKey: "not-a-key",
  fetch: async (_, init) => {
    const body: { readonly input: readonly object[] } = JSON.parse(typeof init?.body === "string" ? init.body : "{}");
    bodies.push(body);
    const end = { type: "response.completed", response: { status: "completed", output: answers[bodies.length - 1] } };
    return new Response(`data: ${JSON.stringify(end)}\n\n`, { headers: { "content-type": "text/event-stream" } });
  },
});
const database = { count: (query: string): number => (query.includes("orders") ? 3 : 0) };

const runSql = defineTool({
  name: "run_sql",
  description: "Runs one SQLite query and gives its only number",
  inputSchema: z.object({ input: z.string() }), // the arguments of a custom tool
  execute: ({ input }) => database.count(input),
});

process.env["OPENAI_API_KEY"] = "not-a-key";
{
  // #region responses
  const provider = openaiResponses({
    client: new OpenAI(), // reads OPENAI_API_KEY from the environment
    model: "gpt-5-mini",
    reasoning: { effort: "low", summary: "auto" },
  });
  // #endregion responses
  assert.equal(provider.id, "openai");
}

const provider = openaiResponses({
  client,
  model: "gpt-5-mini",
  reasoning: { effort: "low", summary: "auto" },
  customTools: { run_sql: { type: "text" } },
});
const result = await runToolLoop({
  provider,
  tools: [runSql],
  messages: [{ role: "user", content: "How many orders are there?" }],
});

assert.equal(result.text, "Three orders.");
assert.deepEqual(bodies[1]?.input.slice(1), [
  { type: "reasoning", summary: [], encrypted_content: "gAAA" },
  { type: "custom_tool_call", call_id: "call_1", name: "run_sql", input: "SELECT count(*) FROM orders" },
  { type: "custom_tool_call_output", call_id: "call_1", output: "3" },
]);
