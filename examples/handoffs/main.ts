// A support desk: triage hands a customer over to billing, and billing hands back. The process is killed while billing looks up
// an invoice. Another process continues as billing, with the same journal file.
// `npx tsx examples/handoffs/main.ts` needs no key: a script plays the models.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createLoopEvents, defineTool, type LoopResult, type Message, runToolLoop } from "turnwright";
import { type AgentHandoffs, createHandoffs, withoutToolCalls } from "turnwright/middleware";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, type MockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

interface Desk {
  readonly lookUp: (id: string) => Promise<string>;
  readonly refunds: string[];
  readonly triage: MockProvider;
  readonly billing: MockProvider;
}

/** The scripted models depend only on the request, so any process can continue the run. */
function createDesk(lookUp: Desk["lookUp"]): Desk {
  const lastTool = (messages: readonly Message[]): string => {
    const last = messages.at(-1);
    return last?.role === "tool" ? (last.results[0]?.name ?? "") : "";
  };
  return {
    lookUp,
    refunds: [],
    triage: createMockProvider(({ messages }) => {
      if (lastTool(messages) === "transfer_to_triage") return toolCall("find_order", { id: "7" });
      if (lastTool(messages) === "find_order") return text("Your refund is on its way. The new cup arrives on Friday.");
      const reason = "a refund";
      return lastTool(messages) === "" ? [text("One moment. "), toolCall("transfer_to_billing", { reason })] : undefined;
    }),
    billing: createMockProvider(({ messages }) => {
      if (lastTool(messages) === "find_invoice") return toolCall("refund", { id: "7" });
      if (lastTool(messages) === "refund") return toolCall("transfer_to_triage", { reason: "the refund is done" });
      return messages.some(({ role }) => role === "tool") ? text("It was 12 EUR.") : toolCall("find_invoice", { id: "7" });
    }),
  };
}

// #region agents
function createAgents({ lookUp, refunds, billing }: Desk): AgentHandoffs {
  const inputSchema = z.object({ id: z.string() });
  const findOrder = defineTool({ name: "find_order", description: "Finds an order", inputSchema, execute: () => "sent" });
  const findInvoice = defineTool({
    name: "find_invoice",
    description: "Finds an invoice",
    inputSchema,
    replay: "safe", // a call that was cut off may run again
    execute: ({ id }) => lookUp(id),
  });
  const refund = defineTool({
    name: "refund",
    description: "Refunds an invoice",
    inputSchema,
    execute: ({ id }) => (refunds.push(id), "refunded"),
  });
  return createHandoffs({
    start: "triage",
    maxHandoffs: 4,
    agents: {
      triage: {
        description: "Knows orders, and all that is left.",
        system: "Find out what the customer needs.",
        tools: [findOrder],
        handoffs: ["billing"],
      },
      billing: {
        description: "Looks up invoices and refunds them.",
        system: "Look up the invoice before you refund it.",
        tools: [findInvoice, refund],
        handoffs: ["triage"],
        provider: billing,
        history: withoutToolCalls,
      },
    },
  });
}
// #endregion agents

const question: Message = { role: "user", content: "My cup from order 7 is broken. I want my money back." };

async function serve(folder: string, desk: Desk, lines: string[]): Promise<LoopResult> {
  const agents = createAgents(desk);
  const events = createLoopEvents();
  events.on("handoff", ({ from, to, replayed }) => lines.push(`${from} -> ${to}${replayed === true ? " (replayed)" : ""}`));
  return runToolLoop({
    provider: desk.triage,
    messages: [question],
    tools: agents.tools,
    middleware: [agents],
    events,
    runId: "customer-7",
    journal: fileJournal(join(folder, "customer-7.jsonl")),
  });
}

/** The first process. Its invoice service never answers, so it is killed during this call. */
async function serveSlowly(folder: string): Promise<void> {
  const desk = createDesk(() => {
    console.log("The invoice is looked up.");
    return new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
  });
  await serve(folder, desk, []);
}

/** Returns the signal that ended the first process. */
async function crash(folder: string): Promise<unknown> {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "The invoice is looked up.") child.kill("SIGKILL");
  }
  return end;
}

async function checkDesk(folder: string): Promise<void> {
  assert.equal(await crash(folder), "SIGKILL");

  const desk = createDesk(async () => "12 EUR for a cup");
  const lines: string[] = [];
  const result = await serve(folder, desk, lines);
  assert.equal(result.status, "completed");
  assert.equal(result.text, "Your refund is on its way. The new cup arrives on Friday.");
  assert.deepEqual(lines, ["triage -> billing (replayed)", "billing -> triage"]);
  assert.deepEqual(
    result.handoffs?.map(({ from, to, reason }) => `${from} -> ${to}: ${reason}`),
    ["triage -> billing: a refund", "billing -> triage: the refund is done"],
  );
  assert.equal(result.agent, "triage");
  assert.deepEqual(desk.refunds, ["7"]);

  // The second process did not request the first message of triage again. Triage sent these requests after billing handed back.
  assert.deepEqual([desk.billing.calls, desk.triage.calls], [2, 2]);
  const [first] = desk.billing.requests;
  assert.equal(first?.system, "Look up the invoice before you refund it.");
  assert.deepEqual(
    first?.tools.map(({ name }) => name),
    ["find_invoice", "refund", "transfer_to_triage"],
  );
  // Billing sees the messages of the customer and of triage, but not the handoff call.
  assert.deepEqual(
    first?.messages.slice(0, 2).map(({ role }) => role),
    ["user", "assistant"],
  );
  assert.ok(!JSON.stringify(first?.messages).includes("transfer_to_billing"));

  // `startWith` sends the next question to the agent that answered last.
  const next = createAgents(desk).startWith(result.agent);
  const followUp = await runToolLoop({
    provider: createMockProvider([text("Yes, on Friday.")]),
    messages: [...result.messages, { role: "user", content: "On Friday?" }],
    tools: next.tools,
    middleware: [next],
  });
  assert.deepEqual([followUp.agent, followUp.text], ["triage", "Yes, on Friday."]);
  console.log(`${lines.join(", ")}: ${result.text}`);
}

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  const made = mkdtempSync(join(tmpdir(), "handoffs-"));
  try {
    await checkDesk(made);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
} else {
  await serveSlowly(folder);
}
