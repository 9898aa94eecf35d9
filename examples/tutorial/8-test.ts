// Step 8 of the tutorial: tests of a tool, of a conversation and of a failure.

// #region imports
import assert from "node:assert/strict";
import { test } from "node:test";
import { runToolLoop } from "turnwright";
import { createMockProvider, fail, runTool, text, toolCall } from "turnwright/testing";
import { answer, refund } from "./8-shop.ts";
// #endregion imports

// #region tool
await test("a refund is not larger than the price", async () => {
  const outcome = await runTool(refund, { id: "A-1042", euros: 500 });
  assert.equal(outcome.kind, "failed");
});
// #endregion tool

// #region conversation
await test("a refund waits for a person", async () => {
  const provider = createMockProvider([toolCall("refund", { id: "A-1042", euros: 12 })]);
  const { status, pendingCalls } = await runToolLoop(answer("I want my money back.", provider));
  assert.equal(status, "suspended");
  assert.deepEqual(
    pendingCalls.map(({ name }) => name),
    ["refund"],
  );
});
// #endregion conversation

// #region failure
await test("a broken connection loses nothing", async () => {
  const provider = createMockProvider([
    toolCall("find_order", { id: "A-1042" }),
    [text("I am sorry: the carrier"), fail(new TypeError("terminated"))],
  ]);
  const { status, text: said, calls } = await runToolLoop(answer("Where is my order?", provider));
  assert.deepEqual([status, said, calls.length], ["error", "I am sorry: the carrier", 1]);
});
// #endregion failure
