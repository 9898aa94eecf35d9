// Exports the log of a run.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { defineTool, runToolLoop } from "turnwright";
import { readRunLog, runLog, toChromeTrace, toMarkdown } from "turnwright/inspect";
import { recordSpans } from "turnwright/observe";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const findOrder = defineTool({
  name: "find_order",
  description: "Status of an order",
  inputSchema: { type: "object" },
  execute: () => ({ status: "shipped" }),
});
const provider = createMockProvider([toolCall("find_order", {}), text("It has shipped.")]);
const folder = mkdtempSync(join(tmpdir(), "turnwright-export-"));
const home = process.cwd();
process.chdir(folder);
const path = "run.jsonl";
const tracePath = join(folder, "run.trace.json");
const messages = [{ role: "user", content: "Where is my order?" }] as const;
await runToolLoop({ provider, tools: [findOrder], messages, middleware: [runLog({ to: path })] });

{
  const log = await readRunLog(path);
  await writeFile(tracePath, toChromeTrace(log));
  assert.match(readFileSync(tracePath, "utf8"), /"name":"find_order","ph":"X"/);
}

{
  // #region markdown
  const { runs } = await readRunLog("run.jsonl");
  const pages = runs.map((run) => toMarkdown(run, { reasoning: false, maxChars: 1000 }));
  await writeFile("run.md", pages.join("\n"));
  // #endregion markdown
  assert.match(readFileSync("run.md", "utf8"), /### Call `find_order`/);
}

{
  // #region spans
  const exporter = new InMemorySpanExporter(); // or the exporter of your backend
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  recordSpans(await readRunLog("run.jsonl"), { tracerProvider, agentName: "support" });
  // #endregion spans
  assert.deepEqual(
    exporter.getFinishedSpans().map(({ name }) => name),
    ["execute_tool find_order", "chat mock-model", "chat mock-model", "invoke_agent support"],
  );
}

process.chdir(home);
rmSync(folder, { recursive: true });
