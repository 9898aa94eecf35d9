// Durable loops on Restate. On Node 20, or without a Restate server, only the definitions run.

import assert from "node:assert/strict";
import { workflow, type WorkflowContext } from "@restatedev/restate-sdk";
import { defineTool, runToolLoop, type UserMessage } from "turnwright";
import { tracing } from "turnwright/observe";
import { defineDurableHost, defineDurableLoop, launchWorker, runInWorkflow } from "turnwright/restate";
import { createMockProvider, runTool, text } from "turnwright/testing";

const provider = createMockProvider(() => text("Refunded."));
const charged = new Map<string, number>();
const bank = {
  /** Like payment services, charges only once for each key. */
  async charge(amount: number, { idempotencyKey }: { readonly idempotencyKey: string }): Promise<void> {
    charged.set(idempotencyKey, amount);
  },
};

// #region key
const charge = defineTool<{ readonly amount: number }>({
  name: "charge",
  description: "Charges the customer",
  inputSchema: { type: "object", properties: { amount: { type: "number" } } },
  replay: "safe", // The call may run twice. The key is the same both times.
  execute: async ({ amount }, { idempotencyKey }) => {
    await bank.charge(amount, { idempotencyKey });
    return { charged: amount };
  },
});
// #endregion key
const tools = [charge];

function define(): ReturnType<typeof defineDurableLoop<{ readonly question: string }>> {
  // #region define
  const support = defineDurableLoop({
    name: "support",
    options: ({ question }: { readonly question: string }) => ({
      provider,
      tools,
      messages: [{ role: "user", content: question } satisfies UserMessage],
    }),
  });
  // #endregion define
  return support;
}

function defineWatched(): unknown {
  // #region watch
  const watched = defineDurableHost({
    name: "watched",
    options: () => ({ provider, tools, middleware: [tracing({ agentName: "support" })] }),
  });
  // #endregion watch
  return watched;
}

async function run(): Promise<string> {
  const support = define();
  defineWatched();
  // #region launch
  const worker = await launchWorker({ ingressUrl: "http://localhost:8080", adminUrl: "http://localhost:9070" });
  await support.start("ticket-7", { question: "Please refund order 7." });
  const result = await support.result("ticket-7");
  // #endregion launch
  await worker.stop();
  return result.text;
}

// #region journal
const answer = workflow({
  name: "answer",
  handlers: {
    run: async (ctx: WorkflowContext, question: string) => {
      const messages = [{ role: "user" as const, content: question }];
      const end = await runInWorkflow(ctx, (ports) => runToolLoop({ provider, messages, ...ports }));
      return end.text;
    },
  },
});
// #endregion journal

const hasServer = process.env["TURNWRIGHT_RESTATE"] === "local";
if (hasServer) assert.equal(await run(), "Refunded.");
assert.equal(answer.name, "answer");

for (let attempt = 0; attempt < 2; attempt += 1) await runTool(charge, { amount: 7 });
assert.ok(charged.size > 0);
