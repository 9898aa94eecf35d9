// The features in the AI SDK, which has no guardrails and no handoffs.
import { convertToModelMessages, generateText, isStepCount, Output, streamText, tool } from "ai";
import { z } from "zod";
import { measureCompile } from "./compile.js";
import {
  agentRequests,
  countOf,
  createMoment,
  drain,
  never,
  order,
  partlyDone,
  piecesOf,
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

const usage = {
  inputTokens: { total: usageOfRequest.input, noCache: usageOfRequest.input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: usageOfRequest.output, text: usageOfRequest.output, reasoning: 0 },
};

/**
 * @param {Script} script
 * @param {Counter} counter
 */
function modelOf(script, counter) {
  /** @param {any} call */
  const next = async ({ prompt, tools = [] }) => {
    counter.requests += 1;
    const results = prompt.flatMap((/** @type {any} */ { role, content }) => (role === "tool" ? content : []));
    return script(results.length, tools.length > 0);
  };
  return /** @type {any} */ ({
    specificationVersion: "v4",
    provider: "script",
    modelId: "script",
    supportedUrls: {},
    doGenerate: async (/** @type {any} */ call) => {
      const turn = await next(call);
      const content = [...(turn.text === undefined ? [] : [{ type: "text", text: turn.text }]), ...callsOf(turn)];
      return { content, finishReason: reasonOf(turn), usage, warnings: [] };
    },
    doStream: async (/** @type {any} */ call) => ({ stream: streamOf(await next(call)) }),
  });
}

let calls = 0;

/** @param {Turn} turn */
const callsOf = ({ calls: asked = [] }) =>
  asked.map(({ name, args = {} }) => ({
    type: "tool-call",
    toolCallId: `call-${calls++}`,
    toolName: name,
    input: JSON.stringify(args),
  }));

/** @param {Turn} turn */
const reasonOf = ({ calls: asked = [] }) => ({ unified: asked.length > 0 ? "tool-calls" : "stop", raw: undefined });

/** @param {Turn} turn */
function streamOf(turn) {
  const text = piecesOf(turn.text ?? "").map((delta) => ({ type: "text-delta", id: "0", delta }));
  const parts = [
    { type: "stream-start", warnings: [] },
    ...(text.length > 0 ? [{ type: "text-start", id: "0" }, ...text, { type: "text-end", id: "0" }] : []),
    ...callsOf(turn),
    { type: "finish", finishReason: reasonOf(turn), usage },
  ];
  return new ReadableStream({
    async pull(controller) {
      await new Promise(setImmediate);
      const part = parts.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
}

const none = z.object({});
const work = tool({ description: "Works", inputSchema: none, execute: async () => "more" });

async function preliminary() {
  let seen = 0;
  let read = "";
  const count = tool({
    description: "Counts",
    inputSchema: none,
    async *execute() {
      yield "1";
      yield "2";
      yield "3";
      yield "done";
    },
  });
  const model = modelOf((results) => (results === 0 ? { calls: [{ name: "count" }] } : { text: "Counted." }), { requests: 0 });
  const { stream } = streamText({ model, tools: { count }, prompt: "Count.", stopWhen: isStepCount(3) });
  await drain(stream, (part) => {
    if (part.type !== "tool-result") return;
    if (part.preliminary === true) seen += 1;
    else read = String(part.output);
  });
  // The last yielded value is the result. The AI SDK also sends it as a preliminary result.
  return `${seen - 1} preliminary results, the model reads \`${read}\``;
}

async function question() {
  const counter = { requests: 0 };
  const asked = createMoment();
  let questions = 0;
  const model = modelOf((results) => (results === 0 ? { calls: [{ name: "book" }] } : { text: "Booked." }), counter);
  const toolOf = (/** @type {() => Promise<string>} */ answer) =>
    tool({
      description: "Asks for the meal, then books a seat",
      inputSchema: none,
      execute: () => {
        questions += 1;
        asked.happen();
        return answer();
      },
    });
  /** @type {import("ai").ModelMessage[]} */
  const stored = [{ role: "user", content: "Book." }];
  const options = { model, messages: stored, stopWhen: isStepCount(3) };
  // The application stores the messages of each step that has ended.
  void generateText({
    ...options,
    tools: { book: toolOf(never) },
    onStepEnd: ({ response }) => void stored.push(...response.messages),
  });
  await asked.happened;
  await sleep(20);
  const { text } = await generateText({ ...options, tools: { book: toolOf(async () => "vegetarian") } });
  if (text !== "Booked.") throw new Error("The answer is another one.");
  return `${countOf(questions, "question")}, ${countOf(counter.requests, "request")}`;
}

const schema = z.object({ id: z.string(), customer: z.string(), city: z.string(), items: z.number(), express: z.boolean() });

async function partialObjects() {
  const model = modelOf(() => ({ text: JSON.stringify(order) }), { requests: 0 });
  const result = streamText({ model, output: Output.object({ schema }), prompt: "Order." });
  let partial = 0;
  await drain(result.partialOutputStream, () => (partial += 1));
  return String(partial);
}

async function invalidObject() {
  const counter = { requests: 0 };
  const model = modelOf(
    () => ({ text: JSON.stringify({ ...order, ...(counter.requests === 1 ? { items: "three" } : {}) }) }),
    counter,
  );
  const error = await generateText({ model, output: Output.object({ schema }), prompt: "Order.", stopWhen: isStepCount(3) }).then(
    ({ output }) => void output,
    (thrown) => thrown,
  );
  return error === undefined ? `valid object after ${countOf(counter.requests, "request")}` : `${error.name} is thrown`;
}

/** @param {readonly { readonly usage: { readonly totalTokens?: number | undefined } }[]} steps */
const isOverBudget = (steps) => steps.reduce((sum, { usage: { totalTokens = 0 } }) => sum + totalTokens, 0) >= teamBudget;

async function tokenLimit() {
  const model = modelOf(partlyDone, { requests: 0 });
  // The AI SDK has no token limit, so a stop condition is used.
  const { text } = await generateText({ model, tools: { work }, prompt: "Work.", stopWhen: ({ steps }) => isOverBudget(steps) });
  return text === "" ? "empty, with a `stopWhen` that counts tokens" : `"${text}"`;
}

async function histories() {
  const messages = await convertToModelMessages([
    { role: "user", parts: [{ type: "text", text: "Work." }] },
    {
      role: "assistant",
      parts: [{ type: "tool-work", toolCallId: "a", state: "output-available", input: {}, output: "more" }],
    },
  ]);
  if (messages.length !== 3) throw new Error("The history is another one.");
  return "1 (its own UI messages)";
}

async function team() {
  const counter = { requests: 0 };
  const workerOf = () =>
    tool({
      description: "Searches",
      inputSchema: none,
      execute: async () => {
        const model = modelOf(
          (results) => (results < agentRequests - 1 ? { calls: [{ name: "work" }] } : { text: "Found." }),
          counter,
        );
        const { text } = await generateText({ model, tools: { work }, prompt: "Search.", stopWhen: isStepCount(agentRequests) });
        return text;
      },
    });
  const model = modelOf(
    (results) => (results === 0 ? { calls: [0, 1, 2].map((index) => ({ name: `worker${index}` })) } : { text: "Done." }),
    counter,
  );
  const tools = { worker0: workerOf(), worker1: workerOf(), worker2: workerOf() };
  await generateText({ model, tools, prompt: "Research.", stopWhen: ({ steps }) => isOverBudget(steps) });
  return `${(counter.requests * tokensOfRequest - teamBudget).toLocaleString("en")}, with a \`stopWhen\` that counts tokens`;
}

const compile = () =>
  measureCompile(
    'import { tool } from "ai";\nimport { z } from "zod";',
    (index) =>
      `export const tool${index} = tool({ description: "Tool ${index}", inputSchema: z.object({ city: z.string(), days: z.number(), unit: z.enum(["C", "F"]), tags: z.array(z.string()) }), execute: async ({ city, days }) => city.repeat(days) });`,
  );

/** @type {import("./script.js").Library} */
export const library = {
  preliminary,
  question,
  partialObjects,
  invalidObject,
  tokenLimit,
  histories,
  team,
  compile,
};
