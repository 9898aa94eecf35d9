// A run that is continued by a later version of the code.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, isLoopError, type LoopOptions, type Message, runToolLoop } from "turnwright";
import { fileJournal, inspectJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const folder = mkdtempSync(join(tmpdir(), "runs-"));
const home = process.cwd();
process.chdir(folder);
const messages: readonly Message[] = [{ role: "user", content: "Where is my order?" }];
const lines: string[] = [];
let lookups = 0;

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => {
    lookups += 1;
    return { order: 7, state: "shipped" };
  },
});
const searchOrders = { ...findOrder, name: "search_orders" };
const provider = createMockProvider(({ iteration }) => (iteration === 0 ? toolCall("find_order") : text("I cannot look.")));

const oldCode: LoopOptions = {
  provider,
  tools: [findOrder],
  messages,
  runId: "ticket-7",
  journal: fileJournal("ticket-7.jsonl"),
};
const newCode: LoopOptions = { ...oldCode, tools: [searchOrders], version: "2.5.0" };

{
  const tools = [findOrder];
  // #region version
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    runId: "ticket-7",
    journal: fileJournal("ticket-7.jsonl"),
    version: "2.4.0",
  });
  // #endregion version
  assert.deepEqual([result.status, result.reason.kind], ["suspended", "approval-required"]);
}

{
  const console = { error: (line: string) => void lines.push(line) };
  const { tools = [] } = newCode;
  // #region refused
  const options = { provider, tools, messages, runId: "ticket-7", journal: fileJournal("ticket-7.jsonl") };
  const refusal: unknown = await runToolLoop(options).catch((error: unknown) => error);
  if (isLoopError(refusal, "tools-changed")) console.error(refusal.message);
  // #endregion refused
  assert.deepEqual([lines.length, lines[0]?.includes("find_order")], [1, true]);
}

{
  // #region needed
  async function needsTool(path: string, name: string): Promise<boolean> {
    const { pendingCalls } = await inspectJournal(path);
    return pendingCalls.some((call) => call.name === name);
  }
  // #endregion needed
  assert.deepEqual(
    [await needsTool("ticket-7.jsonl", "find_order"), await needsTool("ticket-7.jsonl", "search_orders")],
    [true, false],
  );
}

{
  // #region rule
  const result = await runToolLoop({
    ...newCode,
    allowToolChange: ({ toolName, kind }) => toolName === "find_order" && kind === "removed",
  });
  // #endregion rule
  assert.deepEqual([result.text, lookups], ["I cannot look.", 0]);
}

{
  // #region read
  const { version, lastVersion } = await inspectJournal("ticket-7.jsonl"); // "2.4.0" began the run, "2.5.0" continued it
  // #endregion read
  assert.deepEqual([version, lastVersion], ["2.4.0", "2.5.0"]);
}

process.chdir(home);
rmSync(folder, { recursive: true, force: true });
