// Two runs wait for approvals. An inbox lists both waiting calls, approves one of them, and continues its run.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";
import { decide, listQuestions, type OptionsOf } from "./inbox.ts";

const paid: string[] = [];
const pay = defineTool({
  name: "pay",
  description: "Pays a bill",
  inputSchema: z.object({ to: z.string(), usd: z.number() }),
  needsApproval: true,
  execute({ to, usd }) {
    paid.push(`${usd} USD to ${to}`);
    return { paid: true };
  },
});

const bills = new Map([
  ["bill-1", { to: "Harbour Books", usd: 40 }],
  ["bill-2", { to: "Nobody Ltd.", usd: 9_000 }],
]);

const optionsOf: OptionsOf = (runId, journal) => ({
  provider: createMockProvider(({ messages }) =>
    messages.length === 1 ? [text("The bill is due today. "), toolCall("pay", bills.get(runId))] : text("That is settled."),
  ),
  tools: [pay],
  messages: [{ role: "user", content: `Settle ${runId}.` }],
  runId,
  journal,
});

const folder = mkdtempSync(join(tmpdir(), "inbox-"));
try {
  for (const runId of bills.keys()) {
    const { status } = await runToolLoop(optionsOf(runId, fileJournal(join(folder, `${runId}.jsonl`))));
    assert.equal(status, "suspended");
  }

  const questions = await listQuestions(folder);
  for (const { runId, said, call } of questions) {
    console.log(`${runId}: ${said} ${call.tool.description}: ${call.name} ${JSON.stringify(call.args)}?`);
  }
  assert.deepEqual(
    questions.map(({ runId, call }) => [runId, call.name, call.args]),
    [...bills].map(([runId, args]) => [runId, "pay", args]),
  );

  const [harmless, odd] = questions;
  assert.ok(harmless && odd);
  const settled = await decide(folder, harmless, { decision: { kind: "approve" }, optionsOf });
  assert.deepEqual([settled.text, paid], ["That is settled.", ["40 USD to Harbour Books"]]);
  assert.deepEqual(await listQuestions(folder), [odd]);

  const refused = await decide(folder, odd, { decision: { kind: "deny", reason: "Nobody ordered that." }, optionsOf });
  assert.deepEqual([refused.status, paid.length, await listQuestions(folder)], ["completed", 1, []]);
  console.log(`Paid: ${paid.join(", ")}. The inbox is empty.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
