// #region approval
import { z } from "zod";
import { approve, defineTool, type LoopOptions, type LoopResult, type Provider, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";

const refund = defineTool({
  name: "refund",
  description: "Refunds an order in EUR",
  inputSchema: z.object({ orderId: z.string(), amount: z.number().positive() }),
  needsApproval: ({ amount }) => amount > 50,
  // Services that take this key charge once, even if a crash makes the call uncertain.
  execute: ({ orderId, amount }, { idempotencyKey }) => ({ refunded: amount, orderId, idempotencyKey }),
});

/**
 * The first execution ends as "suspended". A person looks at `result.pendingCalls`. The next execution, in any process, gets the
 * decisions by the ids of these calls: `{ [id]: { kind: "approve" } }`, or `"deny"`.
 */
export function refundOrder(provider: Provider, file: string, answers?: LoopOptions["answers"]): Promise<LoopResult> {
  return runToolLoop({
    provider,
    tools: [refund],
    middleware: [approve()], // needed, because `needsApproval` is a function
    messages: [{ role: "user", content: "Refund 80 EUR of order A-1042." }],
    runId: "refund-A-1042",
    journal: fileJournal(file), // each execution passes the same options, the same file and the same runId
    answers,
  });
}
// #endregion approval
