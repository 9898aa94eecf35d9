// Runs the tools once with a model. A person answers in the terminal; without a terminal, the answer is yes.

import { createInterface } from "node:readline/promises";
import { type CallDecision, memoryJournal, runToolLoop } from "turnwright";
import { chooseModel } from "./model.ts";
import { script } from "./script.ts";
import { offlineServices } from "./services.ts";
import { createTools } from "./tools.ts";

const options = {
  provider: await chooseModel(script),
  tools: Object.values(createTools(offlineServices)),
  messages: [{ role: "user" as const, content: "Book a table for four, please." }],
  runId: "booking-1",
  journal: memoryJournal(),
};

async function decide(name: string, args: unknown): Promise<CallDecision> {
  if (!process.stdin.isTTY) return { kind: "approve" };
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`Run ${name} with ${JSON.stringify(args)}? [y/n] `);
  terminal.close();
  return answer.trim().toLowerCase().startsWith("y") ? { kind: "approve" } : { kind: "deny", reason: "The user said no." };
}

let result = await runToolLoop(options);
while (result.status === "suspended") {
  const answers: Record<string, CallDecision> = {};
  for (const { id, name, args } of result.pendingCalls) if (id !== undefined) answers[id] = await decide(name, args);
  result = await runToolLoop({ ...options, answers });
}
for (const { name, outcome } of result.calls) console.log(`${name}: ${outcome}`);
console.log(result.status === "completed" ? result.text : `${result.reason.kind}: ${result.error?.message ?? ""}`);
