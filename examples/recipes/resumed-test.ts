// #region test
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineTool, memoryJournal, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const pay = defineTool({
  name: "pay",
  description: "Pays",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "done",
});

await test("a payment waits for a person, and then runs", async () => {
  // An array of answers would begin again in the second execution. This function answers what it reads.
  const createModel = () => createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay") : text("Paid.")));
  const messages = [{ role: "user" as const, content: "Pay." }];
  const options = { tools: [pay], messages, runId: "bill-7", journal: memoryJournal() };
  const first = await runToolLoop({ ...options, provider: createModel() });
  assert.equal(first.status, "suspended");
  const answers = Object.fromEntries(first.pendingCalls.map(({ id }) => [id, { kind: "approve" as const }]));
  const second = await runToolLoop({ ...options, provider: createModel(), answers });
  assert.equal(second.text, "Paid.");
});
// #endregion test
