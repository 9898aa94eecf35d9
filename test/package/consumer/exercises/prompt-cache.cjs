// A run that changes its system text, and so breaks the prompt cache.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop, defineTool, prepareIteration } = await load("turnwright");
  const { watchPromptCache } = await load("turnwright/prompt-cache");
  const provider = {
    id: "p",
    model: "m",
    async *stream({ system, messages, iteration }, call) {
      call.sending?.({ system, messages }, { id: "p", model: "m" });
      if (iteration === 0) yield { type: "call-ready", key: "a", id: "a", name: "look", args: {} };
      else yield { type: "text-delta", text: "Done." };
      yield { type: "finish", reason: iteration === 0 ? "tool-calls" : "stop" };
    },
  };
  const look = defineTool({ name: "look", description: "", inputSchema: { type: "object" }, execute: () => "seen" });
  const { cache } = await runToolLoop({
    provider,
    tools: [look],
    messages: [{ role: "user", content: "Go." }],
    middleware: [prepareIteration(({ iteration }) => ({ system: `It is ${iteration}.` })), watchPromptCache()],
  });
  assert.equal(cache.requests, 2);
  assert.deepEqual(
    cache.breaks.map(({ cause }) => cause.kind),
    ["system-changed"],
  );
};
