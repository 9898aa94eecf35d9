// Functions between the iterations of a run, and its session.

import assert from "node:assert/strict";
import { defineTool, type Message, type Middleware, onIteration, prepareIteration, runToolLoop } from "turnwright";
import { createMockProvider, details, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Which way does the tide go?" }];
const tools = ["search", "note"].map((name) =>
  defineTool({ name, description: "Does something", inputSchema: { type: "object" }, execute: () => "done" }),
);

{
  const lines: string[] = [];
  const console = { log: (line: string) => void lines.push(line) };
  const provider = createMockProvider([toolCall("search"), text("Out.")]);
  // #region hooks
  const hooks: readonly Middleware[] = [
    onIteration((finished, { cumulativeCost, lastToolCalls }) => {
      console.log(`${finished}: ${lastToolCalls.map(({ name }) => name).join(", ")}, ${cumulativeCost ?? "unknown"} USD`);
      if (finished === 8) return { abort: true, reason: "Eight iterations are enough." };
    }),
    prepareIteration(({ iteration }) => {
      if (iteration === 0) return { tools: ["search"], toolChoice: "required" }; // look it up first
      return { modelSettings: { temperature: 0 } }; // or another `provider`; omitted fields keep the values of the options
    }),
  ];
  const result = await runToolLoop({ provider, tools, messages, middleware: hooks });
  // #endregion hooks
  assert.deepEqual([result.text, lines], ["Out.", ["1: search, unknown USD"]]);
  const [request, second] = provider.requests;
  assert.deepEqual([request?.tools.map(({ name }) => name), request?.toolChoice], [["search"], "required"]);
  assert.equal(second?.settings?.temperature, 0);
}

{
  const provider = createMockProvider([[text("Out."), details("Moon: full")]]);
  // #region session
  const session = { userId: "user 7", detailsLabel: "[Sources]" };
  const { responseText } = await runToolLoop({ provider, messages, session });
  // If the provider returned details, `responseText` is "Out.\n\n[Sources]\nMoon: full".
  // #endregion session
  assert.equal(responseText, "Out.\n\n[Sources]\nMoon: full");
}
