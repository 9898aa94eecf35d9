import {
  Agent,
  InputGuardrailTripwireTriggered,
  MaxTurnsExceededError,
  RunState,
  Runner,
  setTracingDisabled,
  tool,
  Usage,
} from "@openai/agents";
import { z } from "zod";
import { measureCompile } from "./compile.js";
import {
  agentRequests,
  countOf,
  createMoment,
  drain,
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
 * @typedef {import("./script.js").Turn} Turn
 */

setTracingDisabled(true);
const runner = new Runner({ tracingDisabled: true });
const usage = { inputTokens: usageOfRequest.input, outputTokens: usageOfRequest.output, totalTokens: tokensOfRequest };

/**
 * @param {Script} script
 * @param {Counter} counter
 */
function modelOf(script, counter) {
  /** @param {any} request */
  const next = async ({ input, tools, handoffs }) => {
    counter.requests += 1;
    const items = typeof input === "string" ? [] : input;
    const results = items.filter((/** @type {any} */ { type }) => type === "function_call_result");
    return script(results.length, tools.length + handoffs.length > 0);
  };
  return /** @type {any} */ ({
    getResponse: async (/** @type {any} */ request) => ({ output: itemsOf(await next(request)), usage: new Usage(usage) }),
    getStreamedResponse: (/** @type {any} */ request) => stream(next(request)),
  });
}

/** @param {Promise<Turn>} answer */
async function* stream(answer) {
  const turn = await answer;
  yield { type: "response_started" };
  for (const delta of piecesOf(turn.text ?? "")) {
    yield { type: "output_text_delta", delta };
    await new Promise(setImmediate);
  }
  yield { type: "response_done", response: { id: "script", output: itemsOf(turn), usage } };
}

let calls = 0;

/** @param {Turn} turn */
function itemsOf({ text = "", calls: asked = [] }) {
  const items = asked.map(({ name, args = {} }) => ({
    type: "function_call",
    callId: `call-${calls++}`,
    name,
    arguments: JSON.stringify(args),
    status: "completed",
  }));
  const message = { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
  return text === "" ? items : [message, ...items];
}

/** @param {any} event */
const deltaOf = (event) =>
  event.type === "raw_model_stream_event" && event.data.type === "output_text_delta" ? event.data.delta : "";

async function outputCheck() {
  const agent = new Agent({
    name: "talker",
    model: modelOf(() => ({ text: secret }), { requests: 0 }),
    outputGuardrails: [
      {
        name: "secrets",
        execute: async ({ agentOutput }) => ({
          tripwireTriggered: String(agentOutput).includes("secret"),
          outputInfo: undefined,
        }),
      },
    ],
  });
  const result = await runner.run(agent, "Tell me.", { stream: true });
  let shown = "";
  const error = await drain(result, (event) => (shown += deltaOf(event)));
  if (error === undefined) throw new Error("The guardrail did not trip.");
  return countOf(shown.length, "character");
}

async function inputCheck() {
  const worked = createMoment();
  let shown = "";
  let ran = 0;
  const pay = tool({
    name: "pay",
    description: "Pays",
    parameters: z.object({}),
    execute: async () => {
      ran += 1;
      worked.happen();
      return "paid";
    },
  });
  const agent = new Agent({
    name: "payer",
    model: modelOf((results) => (results === 0 ? { text: secret, calls: [{ name: "pay" }] } : { text: "Paid." }), {
      requests: 0,
    }),
    tools: [pay],
    inputGuardrails: [
      {
        name: "slow",
        execute: async () => {
          await orSoon(worked.happened);
          return { tripwireTriggered: true, outputInfo: undefined };
        },
      },
    ],
  });
  const result = await runner.run(agent, "Pay.", { stream: true });
  const error = await drain(result, (event) => (shown += deltaOf(event)));
  if (!(error instanceof InputGuardrailTripwireTriggered)) throw new Error(`The guardrail did not trip: ${error}`);
  return `${countOf(shown.length, "character")}, ${countOf(ran, "tool")}`;
}

/** @param {Counter} counter @param {boolean} [dies] */
function createDesk(counter, dies = false) {
  const model = modelOf((results) => {
    if (results === 0) return { calls: [{ name: "transfer_to_billing" }] };
    if (dies) return never();
    return results === 1 ? { calls: [{ name: "transfer_to_triage" }] } : { text: handoffTrip.answer };
  }, counter);
  const triage = new Agent({ name: "triage", model });
  const billing = new Agent({ name: "billing", model, handoffs: [triage] });
  triage.handoffs.push(billing);
  return triage;
}

async function handoff() {
  const counter = { requests: 0 };
  const result = await runner.run(createDesk(counter), handoffTrip.question);
  const outputs = result.history.filter((item) => "type" in item && item.type === "function_call_result");
  if (result.finalOutput !== handoffTrip.answer || outputs.length !== 2) throw new Error("The handoffs failed.");
  return `${countOf(counter.requests, "request")}, one transcript`;
}

async function handoffCrash() {
  const result = await runner.run(createDesk({ requests: 0 }, true), handoffTrip.question, { stream: true });
  const handedOver = createMoment();
  void drain(result, (event) => {
    if (event.type === "agent_updated_stream_event" && event.agent.name === "billing") handedOver.happen();
  });
  await handedOver.happened;
  await sleep(20);
  // Stores the state as late as an application can, while the next request is waiting.
  const stored = result.state.toString();
  const counter = { requests: 0 };
  const triage = createDesk(counter);
  try {
    const resumed = await runner.run(triage, await RunState.fromString(triage, stored));
    if (resumed.finalOutput !== handoffTrip.answer) throw new Error("The answer is another one.");
    return `${countOf(counter.requests - 2, "request")}, if the application stores the state after the handoff`;
  } catch (failure) {
    return `cannot resume: ${failure instanceof Error ? failure.message.slice(0, 80) : failure}`;
  }
}

async function preliminary() {
  let seen = 0;
  let read = "";
  const count = tool({
    name: "count",
    description: "Counts",
    parameters: z.object({}),
    execute: /** @type {any} */ (
      async function* () {
        yield "1";
        yield "2";
        yield "3";
        return "done";
      }
    ),
  });
  const model = modelOf((results) => (results === 0 ? { calls: [{ name: "count" }] } : { text: "Counted." }), { requests: 0 });
  const result = await runner.run(new Agent({ name: "counter", model, tools: [count] }), "Count.", { stream: true });
  await drain(result, (event) => {
    if (event.type !== "run_item_stream_event" || event.name !== "tool_output") return;
    seen += 1;
    const item = /** @type {any} */ (event.item.rawItem);
    read = typeof item.output === "string" ? item.output : String(item.output.text ?? JSON.stringify(item.output));
  });
  return `${seen - 1} preliminary results, the model reads \`${read}\``;
}

async function question() {
  const counter = { requests: 0 };
  const asked = createMoment();
  let questions = 0;
  const createAgent = (/** @type {() => Promise<string>} */ answer) =>
    new Agent({
      name: "clerk",
      model: modelOf((results) => (results === 0 ? { calls: [{ name: "book" }] } : { text: "Booked." }), counter),
      tools: [
        tool({
          name: "book",
          description: "Asks for the meal, then books a seat",
          parameters: z.object({}),
          execute: async () => {
            questions += 1;
            asked.happen();
            return answer();
          },
        }),
      ],
    });
  const result = await runner.run(createAgent(never), "Book.", { stream: true });
  void drain(result, () => {});
  await asked.happened;
  await sleep(20);
  const stored = result.state.toString();
  const agent = createAgent(async () => "vegetarian");
  try {
    const resumed = await runner.run(agent, await RunState.fromString(agent, stored));
    if (resumed.finalOutput !== "Booked.") throw new Error("The answer is another one.");
    return `${countOf(questions, "question")}, ${countOf(counter.requests, "request")}`;
  } catch (failure) {
    return `cannot resume: ${failure instanceof Error ? failure.message.slice(0, 80) : failure}`;
  }
}

const outputType = z.object({ id: z.string(), customer: z.string(), city: z.string(), items: z.number(), express: z.boolean() });

async function partialObjects() {
  const model = modelOf(() => ({ text: JSON.stringify(order) }), { requests: 0 });
  const result = await runner.run(new Agent({ name: "writer", model, outputType }), "Order.", { stream: true });
  let partial = 0;
  await drain(result, (event) => {
    if (deltaOf(event) === "" && "partial" in event) partial += 1;
  });
  await result.completed;
  if (result.finalOutput?.id !== order.id) throw new Error("There is no object.");
  return `${partial} (text deltas only)`;
}

async function invalidObject() {
  const counter = { requests: 0 };
  const model = modelOf(
    () => ({ text: JSON.stringify({ ...order, ...(counter.requests === 1 ? { items: "three" } : {}) }) }),
    counter,
  );
  const error = await runner.run(new Agent({ name: "writer", model, outputType }), "Order.").then(
    () => undefined,
    (thrown) => thrown,
  );
  return error === undefined
    ? `valid object after ${counter.requests} requests`
    : `${error.name ?? error.constructor.name} is thrown`;
}

async function tokenLimit() {
  const work = tool({ name: "work", description: "Works", parameters: z.object({}), execute: async () => "more" });
  const model = modelOf(partlyDone, { requests: 0 });
  // OpenAI Agents has no token limit, so the limit of turns is used.
  const error = await runner
    .run(new Agent({ name: "worker", model, tools: [work] }), "Work.", { maxTurns: 5 })
    .catch((thrown) => thrown);
  if (!(error instanceof MaxTurnsExceededError)) throw new Error("The limit was not reached.");
  return "no token limit; MaxTurnsExceededError at `maxTurns`";
}

async function histories() {
  return "1 (its own items, those of Responses)";
}

async function team() {
  const counter = { requests: 0 };
  const work = tool({ name: "work", description: "Works", parameters: z.object({}), execute: async () => "more" });
  const createWorker = (/** @type {number} */ index) => {
    const model = modelOf(
      (results) => (results < agentRequests - 1 ? { calls: [{ name: "work" }] } : { text: "Found." }),
      counter,
    );
    return new Agent({ name: `worker${index}`, model, tools: [work] }).asTool({
      toolName: `worker${index}`,
      toolDescription: "Searches",
    });
  };
  const lead = new Agent({
    name: "lead",
    model: modelOf(
      (results) =>
        results === 0
          ? { calls: [0, 1, 2].map((index) => ({ name: `worker${index}`, args: { input: "Search." } })) }
          : { text: "Done." },
      counter,
    ),
    tools: [0, 1, 2].map(createWorker),
  });
  await runner.run(lead, "Research.");
  return `${(counter.requests * tokensOfRequest - teamBudget).toLocaleString("en")} (no token limit)`;
}

const compile = () =>
  measureCompile(
    'import { tool } from "@openai/agents";\nimport { z } from "zod";',
    (index) =>
      `export const tool${index} = tool({ name: "tool${index}", description: "Tool ${index}", parameters: z.object({ city: z.string(), days: z.number(), unit: z.enum(["C", "F"]), tags: z.array(z.string()) }), execute: async ({ city, days }) => city.repeat(days) });`,
  );

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
  compile,
};
