import { z } from "zod";
import { dist } from "../turnwright.js";
import { measureCompile } from "./compile.js";
import {
  agentRequests,
  countOf,
  createMoment,
  handoffTrip,
  never,
  order,
  orSoon,
  partlyDone,
  piecesOf,
  secret,
  sleep,
  teamBudget,
  tokensOfRequest,
  usageOfRequest,
} from "./script.js";

/**
 * @typedef {import("./script.js").Counter} Counter
 * @typedef {import("./script.js").Script} Script
 * @typedef {import("../../../src/core/index.ts").Message} Message
 * @typedef {import("../../../src/core/index.ts").Provider} Provider
 * @typedef {import("../../../src/core/types/provider.ts").ModelChunk} ModelChunk
 */

/** @param {string} name */
const load = (name) => import(new URL(`${name}.js`, dist).href);

const {
  ask,
  createLoopEvents,
  defineAgentTool,
  defineTool,
  finalAnswer,
  gateTools,
  memoryJournal,
  runToolLoop,
  streamToolLoop,
  structuredOutput,
} = /** @type {typeof import("../../../src/core/index.ts")} */ (await load("index"));

let calls = 0;

/**
 * @param {Script} script
 * @param {Counter} counter
 * @returns {Provider}
 */
function providerOf(script, counter) {
  return {
    id: "script",
    model: "script",
    /** @returns {AsyncGenerator<ModelChunk>} */
    async *stream({ messages, tools, toolChoice }) {
      counter.requests += 1;
      const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
      const { text = "", calls: asked = [] } = await script(results.length, tools.length > 0 && toolChoice !== "none");
      for (const delta of piecesOf(text)) {
        yield { type: "text-delta", text: delta };
        await new Promise(setImmediate);
      }
      for (const { name, args = {} } of asked) {
        const id = `call-${calls++}`;
        yield { type: "call-ready", key: id, id, name, args };
      }
      const usage = { inputTokens: usageOfRequest.input, outputTokens: usageOfRequest.output, totalTokens: tokensOfRequest };
      yield { type: "usage", usage, mode: "snapshot" };
      yield { type: "finish", reason: asked.length > 0 ? "tool-calls" : "stop" };
    },
  };
}

/** @param {string} content @returns {readonly Message[]} */
const userSays = (content) => [{ role: "user", content }];

const none = { type: "object" };
const work = defineTool({ name: "work", description: "Works", inputSchema: none, execute: () => "more" });

async function outputCheck() {
  const { guardrails } = await load("middleware");
  const events = createLoopEvents();
  let shown = "";
  events.on("text-delta", ({ text }) => (shown += text));
  const check = (/** @type {{ text: string }} */ { text }) => ({
    kind: text.includes("secret") ? "refuse" : "pass",
    reason: "secret",
  });
  const middleware = [guardrails({ output: [{ name: "secrets", check }] })];
  const provider = providerOf(() => ({ text: secret }), { requests: 0 });
  const result = await runToolLoop({ provider, messages: userSays("Tell me."), middleware, events });
  if (result.reason.kind !== "output-guardrail") throw new Error(`The run ended as ${result.reason.kind}.`);
  return countOf(shown.length, "character");
}

async function inputCheck() {
  const { guardrails } = await load("middleware");
  const events = createLoopEvents();
  const worked = createMoment();
  let shown = "";
  let ran = 0;
  events.on("text-delta", ({ text }) => (shown += text));
  const execute = () => {
    ran += 1;
    worked.happen();
    return "paid";
  };
  const pay = defineTool({ name: "pay", description: "Pays", inputSchema: none, execute });
  const check = async () => {
    await orSoon(worked.happened);
    return { kind: "refuse", reason: "slow" };
  };
  const middleware = [guardrails({ input: [{ name: "slow", check }] })];
  const provider = providerOf((results) => (results === 0 ? { text: secret, calls: [{ name: "pay" }] } : { text: "Paid." }), {
    requests: 0,
  });
  const result = await runToolLoop({ provider, tools: [pay], messages: userSays("Pay."), middleware, events });
  if (result.reason.kind !== "input-guardrail") throw new Error(`The run ended as ${result.reason.kind}.`);
  return `${countOf(shown.length, "character")}, ${countOf(ran, "tool")}`;
}

/**
 * @param {Counter} counter
 * @param {boolean} [dies]
 */
async function createDesk(counter, dies = false) {
  const { createHandoffs } = await load("middleware");
  const provider = providerOf((results) => {
    if (results === 0) return { calls: [{ name: "transfer_to_billing" }] };
    if (dies) return never();
    return results === 1 ? { calls: [{ name: "transfer_to_triage" }] } : { text: handoffTrip.answer };
  }, counter);
  const handoffs = createHandoffs({
    agents: {
      triage: { description: "Finds out what the user needs", handoffs: ["billing"] },
      billing: { description: "Answers questions about money", handoffs: ["triage"] },
    },
    start: "triage",
  });
  return { provider, tools: handoffs.tools, messages: userSays(handoffTrip.question), middleware: [handoffs] };
}

async function handoff() {
  const counter = { requests: 0 };
  const { text, messages } = await runToolLoop(await createDesk(counter));
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  if (text !== handoffTrip.answer || results.length !== 2) throw new Error("The handoffs failed.");
  return `${countOf(counter.requests, "request")}, one transcript`;
}

async function handoffCrash() {
  const journal = memoryJournal();
  const waits = createMoment();
  const dying = await createDesk({ requests: 0 }, true);
  const events = createLoopEvents();
  events.on("iteration-start", ({ iteration }) => void (iteration === 1 && waits.happen()));
  void runToolLoop({ ...dying, journal, events });
  await waits.happened;
  await sleep(20);
  const counter = { requests: 0 };
  const stored = JSON.parse(JSON.stringify(journal));
  const { text } = await runToolLoop({ ...(await createDesk(counter)), journal: memoryJournal(stored) });
  if (text !== handoffTrip.answer) throw new Error("The answer is another one.");
  return countOf(counter.requests - 2, "request");
}

async function preliminary() {
  const events = createLoopEvents();
  let seen = 0;
  events.on("tool-progress", ({ preliminary: isPreliminary }) => void (isPreliminary === true && (seen += 1)));
  const count = defineTool({
    name: "count",
    description: "Counts",
    inputSchema: none,
    async *execute() {
      yield "1";
      yield "2";
      yield "3";
      return "done";
    },
  });
  const provider = providerOf((results) => (results === 0 ? { calls: [{ name: "count" }] } : { text: "Counted." }), {
    requests: 0,
  });
  const { messages } = await runToolLoop({ provider, tools: [count], messages: userSays("Count."), events });
  const [read] = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  return `${seen} preliminary results, the model reads \`${read?.result}\``;
}

async function question() {
  const counter = { requests: 0 };
  let questions = 0;
  const book = defineTool({
    name: "book",
    description: "Asks for the meal",
    inputSchema: none,
    execute: async (_args, context) => `Booked with a ${await ask(context, { question: "Which meal?" })} meal.`,
  });
  const provider = providerOf((results) => (results === 0 ? { calls: [{ name: "book" }] } : { text: "Booked." }), counter);
  const options = { provider, tools: [book], messages: userSays("Book."), runId: "seat" };
  const { reason, journal } = await runToolLoop(options);
  if (reason.kind !== "result-required") throw new Error(`The run ended as ${reason.kind}.`);
  questions += reason.calls.length;
  const id = reason.calls[0]?.id ?? "";
  const stored = JSON.parse(JSON.stringify(journal));
  const { text } = await runToolLoop({
    ...options,
    journal: memoryJournal(stored),
    answers: { [id]: { kind: "result", result: "vegetarian" } },
  });
  if (text !== "Booked.") throw new Error("The answer is another one.");
  return `${countOf(questions, "question")}, ${countOf(counter.requests, "request")}`;
}

const schema = z.object({ id: z.string(), customer: z.string(), city: z.string(), items: z.number(), express: z.boolean() });

async function partialObjects() {
  const { partialOutputs } = await load("middleware");
  const provider = providerOf(() => ({ text: JSON.stringify(order) }), { requests: 0 });
  const stream = streamToolLoop({ provider, messages: userSays("Order."), middleware: [structuredOutput(schema)] });
  let partial = 0;
  for await (const _ of partialOutputs(stream)) partial += 1;
  if ((await stream.result).output?.id !== order.id) throw new Error("There is no object.");
  return String(partial);
}

async function invalidObject() {
  const counter = { requests: 0 };
  const provider = providerOf(
    () => ({ text: JSON.stringify({ ...order, ...(counter.requests === 1 ? { items: "three" } : {}) }) }),
    counter,
  );
  const { output } = await runToolLoop({ provider, messages: userSays("Order."), middleware: [structuredOutput(schema)] });
  if (output?.items !== order.items) throw new Error("There is no object.");
  return `valid object after ${countOf(counter.requests, "request")}`;
}

async function tokenLimit() {
  const provider = providerOf(partlyDone, { requests: 0 });
  const { text, reason } = await runToolLoop({
    provider,
    tools: [work],
    messages: userSays("Work."),
    limits: { maxTokens: teamBudget },
    middleware: [finalAnswer({ reserve: { tokens: 2 * tokensOfRequest } })],
  });
  if (reason.kind !== "max-tokens") throw new Error(`The run ended as ${reason.kind}.`);
  return text === "" ? "empty" : `"${text}"`;
}

/** A question, a call with its result, and an answer, in the formats that applications store. */
const formats = {
  "Chat Completions": [
    { role: "user", content: "Work." },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "a", type: "function", function: { name: "work", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "a", content: "more" },
    { role: "assistant", content: "Done." },
  ],
  Responses: [
    { role: "user", content: "Work." },
    { type: "function_call", call_id: "a", name: "work", arguments: "{}" },
    { type: "function_call_output", call_id: "a", output: "more" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "Done.", annotations: [] }] },
  ],
  Messages: [
    { role: "user", content: "Work." },
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "work", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "more" }] },
    { role: "assistant", content: [{ type: "text", text: "Done." }] },
  ],
  "UI messages": [
    { id: "1", role: "user", parts: [{ type: "text", text: "Work." }] },
    {
      id: "2",
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "tool-work", toolCallId: "a", state: "output-available", input: {}, output: "more" },
        { type: "step-start" },
        { type: "text", text: "Done." },
      ],
    },
  ],
};

async function histories() {
  const { fromOpenAIMessages } = await load("openai");
  const { fromAnthropicMessages } = await load("anthropic");
  const { fromUIMessages } = await load("ui-message-stream");
  const read = [
    fromOpenAIMessages(formats["Chat Completions"]),
    fromOpenAIMessages(formats.Responses),
    fromAnthropicMessages(formats.Messages),
    fromUIMessages(formats["UI messages"]),
  ];
  const complete = read.filter(
    ({ messages, lost }) =>
      lost.length === 0 && messages.map((/** @type {Message} */ { role }) => role).join() === "user,assistant,tool,assistant",
  );
  return `${complete.length}, with nothing lost`;
}

async function team() {
  const counter = { requests: 0 };
  const inner = providerOf(
    (results) => (results < agentRequests - 1 ? { calls: [{ name: "work" }] } : { text: "Found." }),
    counter,
  );
  const workers = [0, 1, 2].map((index) =>
    defineAgentTool({
      name: `worker${index}`,
      description: "Searches",
      inputSchema: none,
      prepare: () => ({ provider: inner, messages: userSays("Search."), tools: [work] }),
    }),
  );
  const provider = providerOf(
    (results) => (results === 0 ? { calls: workers.map(({ name }) => ({ name })) } : { text: "Done." }),
    counter,
  );
  const { reason } = await runToolLoop({
    provider,
    tools: workers,
    messages: userSays("Research."),
    limits: { maxTokens: teamBudget },
  });
  return `${Math.max(0, counter.requests * tokensOfRequest - teamBudget).toLocaleString("en")}, ends as \`${reason.kind}\``;
}

const compile = () =>
  measureCompile(
    'import { defineTool } from "turnwright";\nimport { z } from "zod";',
    (index) =>
      `export const tool${index} = defineTool({ name: "tool${index}", description: "Tool ${index}", inputSchema: z.object({ city: z.string(), days: z.number(), unit: z.enum(["C", "F"]), tags: z.array(z.string()) }), execute: async ({ city, days }) => city.repeat(days) });`,
  );

async function triggers() {
  const { createDeliberateMode } = await load("middleware");
  const ran = new Set();
  const toolOf = (/** @type {string} */ name, /** @type {string[]} */ own) =>
    defineTool({ name, description: name, inputSchema: none, triggers: own, execute: () => (ran.add(name), "done") });
  const tools = [toolOf("remind", ["remind me"]), toolOf("pay", ["pay"]), toolOf("send", ["send*"])];
  const provider = providerOf((results) => (results === 0 ? { calls: tools.map(({ name }) => ({ name })) } : { text: "Done." }), {
    requests: 0,
  });
  const said = "Remind me of the cake.";
  const gate = createDeliberateMode({ tools }).forTurn({ conversationId: "one", text: said });
  await runToolLoop({ provider, tools, messages: userSays(said), middleware: [gateTools(gate)] });
  return `${ran.size} of ${tools.length}`;
}

/** @type {import("./script.js").Library} */
export const library = {
  outputCheck,
  inputCheck,
  handoff,
  handoffCrash,
  preliminary,
  question,
  partialObjects,
  invalidObject,
  tokenLimit,
  histories,
  team,
  triggers,
  compile,
};
