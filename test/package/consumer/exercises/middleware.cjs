// Each feature in a program of its own.

const assert = require("node:assert/strict");

exports.imports = ["zod"];

// A run whose old messages are replaced with a summary.
const compaction = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { compactMessages } = await load("turnwright/middleware");
  const { createMockProvider, text } = await load("turnwright/testing");
  const provider = createMockProvider(({ purpose }) => text(purpose === "summary" ? "Three long messages." : "Hello."));
  const messages = [1, 2, 3, 4].map((number) => ({ role: "user", content: `${number} ${"x".repeat(4_000)}` }));
  const middleware = [compactMessages({ when: 2_000, keep: 1_000 })];
  const { compaction, messages: all } = await runToolLoop({ provider, messages, middleware });
  assert.deepEqual([compaction.summary, compaction.count, all.length], ["Three long messages.", 3, 5]);
};

// A gate that opens a tool because of the user's words.
const deliberate = async (load) => {
  const { createDeliberateMode } = await load("turnwright/middleware");
  const mode = createDeliberateMode({ triggers: { look: "look it up" } });
  assert.deepEqual(mode.problems, []);
  assert.deepEqual([...mode.forTurn({ text: "Please look it up." }).allowedNames], ["look"]);
  assert.deepEqual([...mode.forTurn({ text: "Hello." }).allowedNames], []);
};

// A run with refused input, and a run with a redacted answer.
const guardrails = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { guardrails } = await load("turnwright/middleware");
  const { createMockProvider, text } = await load("turnwright/testing");
  const middleware = [
    guardrails({
      input: [{ name: "topic", check: ({ text: asked }) => ({ kind: asked === "lock" ? "refuse" : "pass" }) }],
      output: [{ name: "numbers", check: ({ text: said }) => ({ kind: "rewrite", text: said.replace(/\d+/, "[number]") }) }],
    }),
  ];
  const ask = (content) =>
    runToolLoop({ provider: createMockProvider([text("Call 1234.")]), messages: [{ role: "user", content }], middleware });
  assert.equal((await ask("lock")).reason.kind, "input-guardrail");
  assert.equal((await ask("bill")).text, "Call [number].");
};

// A run that another agent takes over.
const handoffs = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { createHandoffs, withoutToolCalls } = await load("turnwright/middleware");
  const { createMockProvider, text, toolCall } = await load("turnwright/testing");
  const agents = createHandoffs({
    start: "triage",
    agents: {
      triage: { description: "Finds out the topic.", handoffs: ["billing"] },
      billing: { description: "Knows invoices.", system: "You know invoices.", history: withoutToolCalls },
    },
  });
  const provider = createMockProvider([toolCall("transfer_to_billing", {}), text("Done.")]);
  const messages = [{ role: "user", content: "My invoice" }];
  const result = await runToolLoop({ provider, messages, middleware: [agents] });
  assert.deepEqual([result.agent, result.text, provider.requests[1].system], ["billing", "Done.", "You know invoices."]);
};

// The partial values of an answer that streams.
const partialOutput = async (load) => {
  const { createPartialOutput, partialOutputs } = await load("turnwright/middleware");
  const partial = createPartialOutput();
  partial.take({ type: "iteration-start", continuation: 0 });
  assert.deepEqual(partial.take({ type: "text-delta", text: '{"city":"Os' }), { city: "Os" });
  async function* events() {
    yield { type: "iteration-start", continuation: 0 };
    yield { type: "text-delta", text: "[1]" };
  }
  const values = [];
  for await (const value of partialOutputs(events())) values.push(value);
  assert.deepEqual(values, [[1]]);
};

// Tools for a model that cannot call them.
const plan = async (load) => {
  const { defineTool, runToolLoop } = await load("turnwright");
  const { planLogs, withPlanner } = await load("turnwright/middleware");
  const { createMockProvider, text } = await load("turnwright/testing");
  const add = defineTool({
    name: "add",
    description: "Adds",
    inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
    execute: ({ a, b }) => a + b,
  });
  const command = { purpose: "the sum", tool_name: "add", tool_kwargs: { a: 2, b: 3 } };
  const plan = JSON.stringify({ next_action: "execute", execution_commands: [command] });
  const model = createMockProvider([text(plan), text('{ "next_action": "response" }'), text("5")]);
  const messages = [{ role: "user", content: "What is 2 + 3?" }];
  const result = await runToolLoop({ provider: withPlanner(model), tools: [add], messages });
  assert.equal(result.text, "5");
  assert.deepEqual(
    [...planLogs(result)].map(({ purpose, success, result: sum }) => [purpose, success, sum]),
    [["the sum", true, 5]],
  );
  const planner = () => ({ tool_command: { tool_name: "add", tool_kwargs: { a: 2n } } });
  const broken = await runToolLoop({ provider: withPlanner(model, { planner }), tools: [add], messages });
  assert.match(String(broken.error?.message), /tool_kwargs: must be plain data/);
};

// A run that changes its system text, and so breaks the prompt cache.
const promptCache = async (load) => {
  const { runToolLoop, defineTool, prepareIteration } = await load("turnwright");
  const { watchPromptCache } = await load("turnwright/middleware");
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

// A lead with one task, and the tree of its runs.
const team = async (load) => {
  const { streamToolLoop } = await load("turnwright");
  const { createRunTree, createTeam, renderTree } = await load("turnwright/middleware");
  const { createMockProvider, text, toolCall } = await load("turnwright/testing");
  const provider = createMockProvider([toolCall("writer", { task: "Write" }), text("Written."), text("Done.")]);
  const team = createTeam({ members: { writer: { description: "Writes", system: "Write." } } });
  const tree = createRunTree({ now: () => 0 });
  for await (const event of streamToolLoop({ provider, messages: [{ role: "user", content: "Go" }], ...team })) tree.add(event);
  assert.deepEqual([tree.runs.length, tree.runs[0].nested[0].name], [1, "writer"]);
  assert.match(renderTree(tree), /✓ writer Write/);
};

// A search among deferred tools.
const toolSearch = async (load) => {
  const { withToolSearch } = await load("turnwright/middleware");
  const inputSchema = { type: "object" };
  const look = { name: "look_up", description: "Looks something up", inputSchema, execute: () => 1 };
  const tools = withToolSearch([look], { defer: true });
  assert.deepEqual(
    tools.definitions().map(({ name }) => name),
    ["look_up", "find_tools"],
  );
  const found = await tools.executeTool("find_tools", { query: "look something up" }, {});
  assert.deepEqual(found.data, { tools: [{ name: "look_up", description: "Looks something up" }] });
};

exports.exercise = async (load) => {
  for (const feature of [compaction, deliberate, guardrails, handoffs, partialOutput, plan, promptCache, team, toolSearch])
    await feature(load);
};
