// An agent with 300 tools of five services. Each request contains only find_tools and the tools that the model has found.
// `npx tsx examples/many-tools/main.ts` needs no key: a script plays the model.

import assert from "node:assert/strict";
import { approve, deferTools, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { catalog } from "./catalog.ts";

const provider = createMockProvider([
  toolCall("find_tools", { query: "refund a payment" }),
  toolCall("stripe_create_refund", { id: "pi_1" }),
  // The description of find_tools lists this name, so the model can call the tool without a search.
  toolCall("slack_create_message", { id: "billing" }),
  text("The payment is refunded, and the billing channel knows."),
]);

// #region run
const result = await runToolLoop({
  provider,
  tools: withToolSearch(catalog, { defer: true }),
  messages: [{ role: "user", content: "Refund the payment pi_1, and tell the billing channel." }],
  // Found tools need approval like all other tools.
  middleware: [deferTools(), approve(({ name }) => (name.includes("_delete_") ? { kind: "deny" } : { kind: "approve" }))],
});
// #endregion run

/** Estimates the tokens of the tools in a request, with 4 bytes per token. */
function tokensOf(tools: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(tools)) / 4);
}

const all = tokensOf(catalog.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })));
console.log(`All ${catalog.length} tools: ${all} tokens in each request.`);
for (const [index, { tools }] of provider.requests.entries())
  console.log(`Request ${index + 1}: ${tools.length} tools, ${tokensOf(tools)} tokens.`);
console.log(result.text);

assert.equal(result.status, "completed");
assert.deepEqual(
  result.functionHistory.map(({ functionCall, outcome }) => `${functionCall.name}: ${outcome}`),
  ["find_tools: completed", "stripe_create_refund: completed", "slack_create_message: completed"],
);
assert.equal(catalog.length, 300);
assert.ok(tokensOf(provider.requests[0]?.tools) <= 1_500);
assert.ok(tokensOf(provider.requests.at(-1)?.tools) < all / 5);
const lists = provider.requests.map(({ tools }) => tools.map(({ name }) => name));
for (const [index, list] of lists.entries())
  assert.deepEqual(list.slice(0, lists[index - 1]?.length ?? 0), lists[index - 1] ?? []);
