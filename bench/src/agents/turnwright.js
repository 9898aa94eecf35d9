// The features in turnwright.
import { z } from "zod";
import { dist } from "../turnwright.js";
import { measureCompile } from "./compile.js";
import { agentRequests, countOf, order, piecesOf, teamBudget, tokensOfRequest, usageOfRequest } from "./script.js";

/**
 * @typedef {import("./script.js").Counter} Counter
 * @typedef {import("./script.js").Script} Script
 * @typedef {import("../../../src/core/index.ts").Message} Message
 * @typedef {import("../../../src/core/index.ts").Provider} Provider
 * @typedef {import("../../../src/core/types/provider.ts").ModelChunk} ModelChunk
 */

const { defineAgentTool, defineTool, memoryJournal, runToolLoop, structuredOutput } =
  /** @type {typeof import("../../../src/core/index.ts")} */ (await import(new URL("index.js", dist).href));

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
const ask = (content) => [{ role: "user", content }];

const none = { type: "object" };
const work = defineTool({ name: "work", description: "Works", inputSchema: none, execute: () => "more" });

async function question() {
  const counter = { requests: 0 };
  let questions = 0;
  const book = defineTool({
    name: "book",
    description: "Asks for the meal",
    inputSchema: none,
    execute: (_args, { defer }) => {
      questions += 1;
      return defer();
    },
  });
  const provider = providerOf((results) => (results === 0 ? { calls: [{ name: "book" }] } : { text: "Booked." }), counter);
  const options = { provider, tools: [book], messages: ask("Book."), runId: "seat" };
  const { reason, journal } = await runToolLoop(options);
  if (reason.kind !== "result-required") throw new Error(`The run ended as ${reason.kind}.`);
  const id = reason.calls[0]?.id ?? "";
  const stored = JSON.parse(JSON.stringify(journal));
  const { text } = await runToolLoop({
    ...options,
    journal: memoryJournal(stored),
    decisions: { [id]: { kind: "result", result: "vegetarian" } },
  });
  if (text !== "Booked.") throw new Error("The answer is another one.");
  return `${countOf(questions, "question")}, ${countOf(counter.requests, "request")}`;
}

const schema = z.object({ id: z.string(), customer: z.string(), city: z.string(), items: z.number(), express: z.boolean() });

async function invalidObject() {
  const counter = { requests: 0 };
  const provider = providerOf(
    () => ({ text: JSON.stringify({ ...order, ...(counter.requests === 1 ? { items: "three" } : {}) }) }),
    counter,
  );
  const { output } = await runToolLoop({ provider, messages: ask("Order."), policies: { output: structuredOutput(schema) } });
  if (output?.items !== order.items) throw new Error("There is no object.");
  return `valid object after ${countOf(counter.requests, "request")}`;
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
      prepare: () => ({ provider: inner, messages: ask("Search."), tools: [work] }),
    }),
  );
  const provider = providerOf(
    (results) => (results === 0 ? { calls: workers.map(({ name }) => ({ name })) } : { text: "Done." }),
    counter,
  );
  const { reason } = await runToolLoop({
    provider,
    tools: workers,
    messages: ask("Research."),
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

/** @type {import("./script.js").Library} */
export const library = {
  question,
  invalidObject,
  team,
  compile,
};
