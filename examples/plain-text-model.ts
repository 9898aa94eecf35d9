// Gives three tools to a model that can only read and write text. `withPlanner` asks this model for plans, and the loop runs the
// tools in each plan. To use your own model, pass another function to `textProvider`.

import assert from "node:assert/strict";
import { z } from "zod";
import { createPlainTextModel } from "./support/plain-text-stand-in.ts";

// #region model
import { defineTool, type Message, type Provider, runToolLoop } from "turnwright";
import { planLogs, withPlanner } from "turnwright/middleware";

/** Ignores the tools in a request, and never returns tool calls. */
function textProvider(complete: (prompt: string) => AsyncIterable<string>): Provider {
  return {
    id: "plain-text",
    model: "a-small-model",
    async *stream({ system = "", messages }) {
      const prompt = [`System: ${system}`, ...messages.map(toLine), "Model:"].join("\n\n");
      for await (const said of complete(prompt)) yield { type: "text-delta", text: said };
      yield { type: "finish", reason: "stop" };
    },
  };
}

function toLine(message: Message): string {
  if (message.role === "tool") return ""; // the planner sends no tool messages: the results are in user messages
  const { role, content } = message;
  const words = typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return `${role === "user" ? "User" : "Model"}: ${words}`;
}
// #endregion model

let asked = 0;
const tools = [
  defineTool({
    name: "find_train",
    description: "Next train between two cities, with its price in NOK",
    inputSchema: z.object({ from: z.string(), to: z.string() }),
    execute: ({ from, to }) => ({ from, to, leaves: "08:25", priceNOK: 590 }),
  }),
  defineTool({
    name: "get_forecast",
    description: "Tomorrow's weather in a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => {
      asked += 1;
      if (asked === 1) throw new Error("The forecast is being made; ask again.");
      return { city, sky: "rain" };
    },
  }),
  defineTool({
    name: "convert_money",
    description: "An amount of money in another currency",
    inputSchema: z.object({ amount: z.number(), from: z.literal("NOK"), to: z.literal("EUR") }),
    execute: ({ amount }) => Math.round(amount * 0.085),
  }),
];
const model = createPlainTextModel();

// #region run
const provider = withPlanner(textProvider(model.complete), { maxRounds: 4 });
const result = await runToolLoop({
  provider,
  tools,
  messages: [{ role: "user", content: "I go from Oslo to Bergen tomorrow. What is it in euros, and what do I pack?" }],
});

for (const { tool_name, purpose, success, error } of planLogs(result)) {
  console.log(`${success ? "✓" : "✗"} ${tool_name}, for the ${purpose}${success ? "" : `: ${error}`}`);
}
console.log(result.text);
// ✓ find_train, for the train
// ✗ get_forecast, for the weather: The forecast is being made; ask again.
// ✓ get_forecast, for the weather
// ✓ convert_money, for the price in euros
// The train leaves at 08:25 and costs 50 euros. Take a raincoat.
// #endregion run

assert.equal(result.reason.kind, "answered");
assert.equal(result.text, "The train leaves at 08:25 and costs 50 euros. Take a raincoat.");
assert.deepEqual(
  planLogs(result).map(({ tool_name, success, error }) => [tool_name, success, error]),
  [
    ["find_train", true, ""],
    ["get_forecast", false, "The forecast is being made; ask again."],
    ["get_forecast", true, ""],
    ["convert_money", true, ""],
  ],
);
// The tools ran in the first two iterations. In the third iteration, the model planned to answer, and then wrote the answer.
assert.equal(result.iterations, 3);
assert.equal(model.texts.length, 4);
// The third plan begins with "response", which is all that the planner needs. So the planner stopped reading there.
assert.equal(model.texts[2]?.includes("response"), true);
assert.equal(model.texts[2]?.includes("All that was asked for is known."), false);

// Without tools, the model answers directly.
const bare = await runToolLoop({ provider, messages: [{ role: "user", content: "Hello?" }] });
assert.equal(bare.text, "I can only plan trips.");
