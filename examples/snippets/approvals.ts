// Who may decide whether a call runs: a function that is asked, and a gate that is shut.

import assert from "node:assert/strict";
import { defineTool, memoryJournal, runToolLoop, type Approve, type Message, type SavedJournal } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "Pay the bill." }];
const tools = [
  defineTool({
    name: "pay",
    description: "Pays an amount",
    inputSchema: z.object({ amount: z.number() }),
    execute: ({ amount }) => ({ paid: amount }),
  }),
  defineTool({ name: "read", description: "Reads a page", inputSchema: z.object({}), execute: () => "a page" }),
];

{
  const provider = createMockProvider([[toolCall("pay", { amount: 20 }), toolCall("pay", { amount: 900 })], text("Half done.")]);
  // #region approve
  const approve: Approve = ({ name, args }) => {
    if (name !== "pay") return { kind: "approve" };
    const { amount } = args as { amount: number }; // the schema has seen these arguments before
    return amount <= 100 ? { kind: "approve" } : { kind: "deny", reason: "Only up to 100 without a signature." };
  };
  const result = await runToolLoop({ provider, tools, messages, policies: { approve } });
  // #endregion approve
  assert.deepEqual(
    result.functionHistory.map(({ functionResponse }) => functionResponse.response.result),
    [{ paid: 20 }, { status: "denied", reason: "Only up to 100 without a signature.", tool_name: "pay" }],
  );
}

{
  const provider = createMockProvider([toolCall("pay", { amount: 900 }), text("Done.")]);
  // #region modify
  const approve: Approve = () => ({ kind: "modify", args: { amount: 90 } });
  const { messages: transcript } = await runToolLoop({ provider, tools, messages, policies: { approve } });
  // #endregion modify
  assert.deepEqual(transcript[1], {
    role: "assistant",
    content: [{ type: "tool-call", callId: "call_p0_0", name: "pay", args: { amount: 900 }, approvedArgs: { amount: 90 } }],
  });
}

{
  const provider = createMockProvider([[toolCall("pay", { amount: 1 }), toolCall("read")], text("Only read.")]);
  // #region gate
  const used: string[] = [];
  const gate = { active: true, allowedNames: ["read"], retain: (name: string) => void used.push(name) };
  const result = await runToolLoop({ provider, tools, messages, policies: { gate } });
  // #endregion gate
  assert.deepEqual(used, ["read"]);
  assert.deepEqual(
    result.functionHistory.map(({ outcome }) => outcome),
    ["blocked", "completed"],
  );
}

{
  const provider = createMockProvider([[toolCall("pay", { amount: 900 }), toolCall("read")], text("Paid.")]);
  // #region ask
  const approve: Approve = ({ name }) => ({ kind: name === "pay" ? "ask" : "approve" });
  const options = { provider, tools, messages, policies: { approve }, runId: "bill-7" };
  const first = await runToolLoop(options);
  const saved = JSON.stringify(first.journal); // days later, elsewhere:
  if (first.reason.kind !== "approval-required") throw new Error("Nothing to decide.");
  const decisions = Object.fromEntries(first.reason.calls.map(({ id }) => [id, { kind: "approve" as const }]));
  const journal = memoryJournal(JSON.parse(saved) as SavedJournal);
  const second = await runToolLoop({ ...options, journal, decisions });
  // #endregion ask
  assert.deepEqual([first.status, first.functionHistory.length], ["suspended", 1]);
  assert.deepEqual([second.text, second.functionHistory.length], ["Paid.", 2]);
}
