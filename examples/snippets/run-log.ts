// Writes the log of a run, and reads it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, type Message, runToolLoop } from "turnwright";
import { parseRunLog, readRunLog, runLog } from "turnwright/inspect";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Where is order A-1042? Write to ann@example.com." }];
const findOrder = defineTool<{ readonly id: string }>({
  name: "find_order",
  description: "Status of an order",
  inputSchema: { type: "object", properties: { id: { type: "string" } } },
  execute: ({ id }) => ({ id, status: "shipped" }),
});
const tools = [findOrder];
const provider = createMockProvider(({ messages: sent }) =>
  sent.length === 1 ? toolCall("find_order", { id: "A-1042" }) : text("It has shipped."),
);
const folder = mkdtempSync(join(tmpdir(), "turnwright-log-"));
const home = process.cwd();
process.chdir(folder);
const printed: string[] = [];
const console = { log: (...values: readonly unknown[]): void => void printed.push(values.join(" ")) };

{
  // #region write
  const result = await runToolLoop({ provider, tools, messages, middleware: [runLog({ to: "run.jsonl" })] });
  // #endregion write
  assert.equal(result.text, "It has shipped.");
}

{
  // #region read
  const { runs } = await readRunLog("run.jsonl");
  for (const { iteration, request, firstToken, usage, calls, waits } of runs[0]?.iterations ?? []) {
    console.log(
      iteration,
      `${request?.messages().length} messages`,
      `first token after ${firstToken?.ms} ms`,
      usage?.totalTokens,
    );
    for (const { name, args, result, durationMs, runs: nested } of calls)
      console.log(name, args, result, durationMs, nested.length);
    for (const { kind, from, to } of waits) console.log(kind, to === undefined ? "open" : to - from);
  }
  // #endregion read
  assert.match(printed.join("\n"), /^0 1 messages first token after \d+ ms \d+\nfind_order /);
}

{
  // #region redact
  const lines: string[] = [];
  const log = runLog({
    to: { write: (line) => lines.push(line) }, // a sink instead of a file
    redact: (said) => said.replace(/\S+@\S+/g, "[email]"),
  });
  await runToolLoop({ provider, tools, messages, middleware: [log] });
  const { runs } = parseRunLog(lines.join(""));
  // #endregion redact
  assert.deepEqual(runs[0]?.iterations[0]?.request?.added, [
    { role: "user", content: "Where is order A-1042? Write to [email]" },
  ]);
}

process.chdir(home);
rmSync(folder, { recursive: true });
