// Runs a tool with the Ollama provider. Then runs the test suite that every provider must pass. Needs no server and no key.

import assert from "node:assert/strict";
import { defineTool, runToolLoop } from "turnwright";
import { createTestClock, providerSuite, type ProviderScenario } from "turnwright/testing";
import { z } from "zod";
import { ollamaChat, type OllamaClient } from "./ollama-chat.ts";

/** The client streams replies in Ollama's format, and records all request bodies. */
function createClient(replies: ProviderScenario["replies"]): OllamaClient & { readonly bodies: object[] } {
  const bodies: object[] = [];
  return {
    bodies,
    async chat(body) {
      const reply = replies[bodies.push(structuredClone(body)) - 1];
      assert(reply !== undefined, "The script has no more replies.");
      if (reply.kind === "failure") throw Object.assign(new Error("refused"), { status_code: reply.status });
      let hangUp: (error: Error) => void = () => {};
      const aborted = new Promise<never>((_, reject) => (hangUp = reject));
      aborted.catch(() => {});
      return Object.assign(play(reply, aborted), { abort: () => hangUp(new Error("The stream was aborted.")) });
    },
  };
}

type Turn = Extract<ProviderScenario["replies"][number], { readonly kind: "turn" }>;

async function* play({ text, calls, usage, ending }: Turn, aborted: Promise<never>): AsyncGenerator<object> {
  for (const content of text.split(/(?<= )/)) if (content !== "") yield { message: { content } };
  for (const { name, args } of calls) yield { message: { content: "", tool_calls: [{ function: { name, arguments: args } }] } };
  if (ending === "silent") await aborted;
  if (ending !== "finished") return;
  const { inputTokens: prompt_eval_count, outputTokens: eval_count } = usage;
  yield { done: true, done_reason: "stop", prompt_eval_count, eval_count };
}

const usage = { inputTokens: 40, outputTokens: 9 };
const client = createClient([
  { kind: "turn", text: "", calls: [{ name: "get_tide", args: { harbour: "Bergen" } }], usage, ending: "finished" },
  { kind: "turn", text: "High tide is at 11:40.", calls: [], usage, ending: "finished" },
]);

const tide = defineTool({
  name: "get_tide",
  description: "Says when the next high tide is.",
  inputSchema: z.object({ harbour: z.string() }),
  execute: ({ harbour }) => ({ harbour, high: "11:40" }),
});

const result = await runToolLoop({
  provider: ollamaChat({ client, model: "qwen3" }),
  tools: [tide],
  system: "Answer in one sentence.",
  messages: [{ role: "user", content: "When is high tide in Bergen?" }],
});
assert.equal(result.text, "High tide is at 11:40.");
assert.equal(result.usage.totalTokens, 98);
assert.deepEqual(Reflect.get(client.bodies[1] ?? {}, "messages"), [
  { role: "system", content: "Answer in one sentence." },
  { role: "user", content: "When is high tide in Bergen?" },
  { role: "assistant", content: "", tool_calls: [{ function: { name: "get_tide", arguments: { harbour: "Bergen" } } }] },
  { role: "tool", tool_name: "get_tide", content: '{"harbour":"Bergen","high":"11:40"}' },
]);
console.log(`✓ ${result.text}`);

const suite = providerSuite({
  create: ({ replies }) => ({ provider: ollamaChat({ client: createClient(replies), model: "qwen3" }) }),
  clock: createTestClock(),
});
for (const { title, run } of suite) {
  await run();
  console.log(`✓ ${title}`);
}
