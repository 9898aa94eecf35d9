// A run that ends at a call that needs a person's approval, and continues later.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import type { Message } from "turnwright";

const folder = mkdtempSync(join(tmpdir(), "first-steps-"));
const home = process.cwd();
process.chdir(folder);
const provider = createMockProvider([[toolCall("pay", { amount: 900 })], text("Paid.")]);
const messages: readonly Message[] = [{ role: "user", content: "Pay the bill." }];

// #region approve
import { z } from "zod";
import { approve, defineTool, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";

const pay = defineTool({
  name: "pay",
  description: "Pays an amount in EUR",
  inputSchema: z.object({ amount: z.number() }),
  needsApproval: ({ amount }) => amount > 100,
  execute: ({ amount }) => ({ paid: amount }),
});
const options = { provider, tools: [pay], middleware: [approve()], messages, runId: "bill-7" };
const first = await runToolLoop({ ...options, journal: fileJournal("bill-7.jsonl") });
// The status is "suspended", and `first.reason.calls` lists the calls that wait for a decision. The process can end here.
// #endregion approve

assert.equal(first.status, "suspended");
assert.equal(first.reason.kind, "approval-required");
assert.equal(first.toolCallsExecuted, 0);

// #region resume
import { inspectJournal } from "turnwright/journal";

const { pendingCalls } = await inspectJournal("bill-7.jsonl");
const waiting = pendingCalls.filter(({ state }) => state === "awaiting-approval"); // show their `name` and `args` to a person
const answers = Object.fromEntries(waiting.map(({ id }) => [id, { kind: "approve" as const }])); // or "deny"
const result = await runToolLoop({ ...options, journal: fileJournal("bill-7.jsonl"), answers });
// The status is "completed", and the text is "Paid." The first response comes from the journal, so you do not pay for it twice.
// #endregion resume

assert.deepEqual([result.status, result.text, result.toolCallsExecuted, provider.calls], ["completed", "Paid.", 1, 2]);
process.chdir(home);
rmSync(folder, { recursive: true, force: true });
