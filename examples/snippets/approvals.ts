// Two ways to decide whether a call may run: the policy `approve`, and a gate.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { approve, type Approve, defineTool, gateTools, type Message, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "Pay the bill." }];
let payments = 0;
const tools = [
  defineTool({
    name: "pay",
    description: "Pays an amount",
    inputSchema: z.object({ amount: z.number() }),
    execute: ({ amount }) => {
      payments += 1;
      return { paid: amount };
    },
  }),
  defineTool({ name: "read", description: "Reads a page", inputSchema: z.object({}), execute: () => "a page" }),
];

{
  const provider = createMockProvider([[toolCall("pay", { amount: 20 }), toolCall("pay", { amount: 900 })], text("Half done.")]);
  // #region approve
  const policy: Approve = ({ name, args }) => {
    if (name !== "pay") return { kind: "approve" };
    const { amount } = args as { amount: number }; // the schema has validated them
    return amount <= 100 ? { kind: "approve" } : { kind: "deny", reason: "Only up to 100 without a signature." };
  };
  const result = await runToolLoop({ provider, tools, messages, middleware: [approve(policy)] });
  // #endregion approve
  assert.deepEqual(
    result.functionHistory.map(({ functionResponse }) => functionResponse.response.result),
    [{ paid: 20 }, { status: "denied", reason: "Only up to 100 without a signature.", tool_name: "pay" }],
  );
}

{
  const provider = createMockProvider([[toolCall("remove", { path: "drafts/1" }), toolCall("remove", { path: "home" })]]);
  // #region needs
  const remove = defineTool({
    name: "remove",
    description: "Removes a page",
    inputSchema: z.object({ path: z.string() }),
    needsApproval: ({ path }) => !path.startsWith("drafts/"), // or `true` for every call
    execute: ({ path }) => `${path} is gone`,
  });
  const result = await runToolLoop({ provider, tools: [remove], messages, middleware: [approve()] });
  // `result.reason` is { kind: "approval-required", calls: [{ name: "remove", args: { path: "home" }, ... }] }
  // #endregion needs
  assert(result.reason.kind === "approval-required");
  assert.deepEqual(
    result.reason.calls.map(({ name, args }) => ({ name, args })),
    [{ name: "remove", args: { path: "home" } }],
  );
  assert.equal(result.toolCallsExecuted, 1);
}

{
  const provider = createMockProvider([toolCall("pay", { amount: 900 }), text("Done.")]);
  const policy: Approve = () => ({ kind: "modify", args: { amount: 90 } });
  const { messages: transcript } = await runToolLoop({ provider, tools, messages, middleware: [approve(policy)] });
  const [, message] = transcript;
  if (message?.role !== "assistant") throw new Error("The model did not answer.");
  const [call] = message.content; // { ..., name: "pay", args: { amount: 900 }, approvedArgs: { amount: 90 } }
  assert.deepEqual(call, {
    type: "tool-call",
    callId: "call_i0_0",
    name: "pay",
    args: { amount: 900 },
    approvedArgs: { amount: 90 },
  });
}

{
  const provider = createMockProvider([[toolCall("pay", { amount: 900 }), toolCall("read")], text("Only read.")]);
  const policy: Approve = (_, { needsApproval }) => (needsApproval ? { kind: "ask" } : { kind: "approve" });
  const result = await runToolLoop({ provider, tools, messages, middleware: [approve(policy)] });
  assert.equal(result.toolCallsExecuted, 2);
}

{
  const provider = createMockProvider([[toolCall("pay", { amount: 1 }), toolCall("read")], text("Only read.")]);
  // #region gate
  const used: string[] = [];
  const gate = { active: true, allowedNames: ["read"], retain: (name: string) => void used.push(name) };
  const result = await runToolLoop({ provider, tools, messages, middleware: [gateTools(gate)] });
  // #endregion gate
  assert.deepEqual(used, ["read"]);
  assert.deepEqual(
    result.functionHistory.map(({ outcome }) => outcome),
    ["blocked", "completed"],
  );
}

{
  const provider = createMockProvider([[toolCall("pay", { amount: 900 }), toolCall("read")], text("Paid.")]);
  const folder = mkdtempSync(join(tmpdir(), "bills-"));
  const home = process.cwd();
  process.chdir(folder);
  payments = 0;
  // #region ask
  const policy: Approve = ({ name }) => ({ kind: name === "pay" ? "ask" : "approve" });
  const options = { provider, tools, messages, middleware: [approve(policy)], runId: "bill-7" };
  const first = await runToolLoop({ ...options, journal: fileJournal("bill-7.jsonl") });
  if (first.reason.kind !== "approval-required") throw new Error("No call needs approval.");
  const ids = first.reason.calls.map(({ id }) => id); // days later, in another process:
  const answers = Object.fromEntries(ids.map((id) => [id, { kind: "approve" as const }]));
  const second = await runToolLoop({ ...options, journal: fileJournal("bill-7.jsonl"), answers });
  // #endregion ask
  assert.deepEqual([first.status, first.functionHistory.length], ["suspended", 1]);
  assert.deepEqual([second.text, second.functionHistory.length, payments], ["Paid.", 2, 1]);
  const third = await runToolLoop({ ...options, journal: fileJournal("bill-7.jsonl"), answers });
  assert.deepEqual([third.text, payments], ["Paid.", 1]);
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
}
