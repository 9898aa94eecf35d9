// Tests a tool: first alone with `runTool`, then in a run with a scripted model. Uses node:test, but works with any test runner.

import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineTool, runToolLoop } from "turnwright";
import { createMockProvider, createTestClock, runTool, text, toolCall } from "turnwright/testing";

// #region tool
interface Orders {
  find(id: string, options: { signal: AbortSignal }): Promise<{ status: string } | undefined>;
}

const createOrderTool = (orders: Orders) =>
  defineTool({
    name: "find_order",
    description: "Status of an order by its number, such as A-1042",
    inputSchema: z.object({ id: z.string().regex(/^[A-Z]-\d+$/) }),
    timeoutMs: 5_000,
    async execute({ id }, { signal }) {
      const order = await orders.find(id, { signal });
      if (order === undefined) throw new Error(`There is no order ${id}.`);
      return order;
    },
  });
// #endregion tool

const shipped = createOrderTool({ find: async () => ({ status: "shipped" }) });

// #region alone
await test("an order is found by its number", async () => {
  const outcome = await runTool(shipped, { id: "A-1042" });
  assert(outcome.kind === "completed");
  assert.deepEqual(outcome.data, { status: "shipped" });
});

await test("an invalid order number never reaches the store", async () => {
  const outcome = await runTool(shipped, { id: "../../etc/passwd" });
  assert(outcome.kind === "invalid-input");
  assert.deepEqual(outcome.issues[0]?.path, ["id"]);
});

await test("a missing order is a failure that the model can read", async () => {
  const outcome = await runTool(createOrderTool({ find: async () => undefined }), { id: "A-1" });
  assert(outcome.kind === "failed");
  assert.equal(outcome.error.message, "There is no order A-1.");
});

await test("a store that does not answer is abandoned after five seconds, and its request is cancelled", async () => {
  const clock = createTestClock();
  let request: AbortSignal | undefined;
  const silent = createOrderTool({
    find: (_id, { signal }) => {
      request = signal;
      return new Promise(() => {});
    },
  });
  const running = runTool(silent, { id: "A-1042" }, { clock });
  await clock.advance(5_000);
  assert.equal((await running).kind, "timed-out");
  assert.equal(request?.aborted, true);
});

await test("a call ends with the run that started it", async () => {
  const run = new AbortController();
  const slow = createOrderTool({
    find: () => {
      run.abort();
      return new Promise(() => {});
    },
  });
  const outcome = await runTool(slow, { id: "A-1042" }, { signal: run.signal });
  assert.equal(outcome.kind, "interrupted");
});
// #endregion alone

// #region conversation
await test("the model corrects a call with invalid arguments, and answers from the result", async () => {
  const provider = createMockProvider([
    toolCall("find_order", { id: "1042" }),
    toolCall("find_order", { id: "A-1042" }, { id: "second" }),
    text("It is on its way."),
  ]);
  const result = await runToolLoop({
    provider,
    tools: [shipped],
    messages: [{ role: "user", content: "Where is my order?" }],
  });

  assert.equal(result.reason.kind, "answered");
  assert.equal(result.text, "It is on its way.");
  const outcomes = result.functionHistory.map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, ["invalid-input", "completed"]);
  // The model read this tool result before it answered.
  assert.deepEqual(provider.requests[2]?.messages.at(-1), {
    role: "tool",
    results: [{ callId: "second", name: "find_order", outcome: "completed", result: { status: "shipped" } }],
  });
});
// #endregion conversation
