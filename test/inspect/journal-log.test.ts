import { join } from "node:path";
import { truncateSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { approve, defineAgentTool, defineTool, type LoopOptions, memoryJournal, runToolLoop } from "turnwright";
import { journalToRunLog, parseRunLog, type RunLog, toChromeTrace, toMarkdown } from "turnwright/inspect";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, createTestClock, reasoning, text, toolCall, usage } from "turnwright/testing";
import { makeFolder } from "../journal/folder.ts";
import { deepFactsOf } from "./compare-logs.ts";
import { logRun } from "./log-run.ts";

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object" },
  execute: () => ({ found: ["a", "b"] }),
});
const pay = defineTool({
  name: "pay",
  description: "Pays",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});
const ask = defineAgentTool({
  name: "ask",
  description: "Asks",
  inputSchema: { type: "object" },
  prepare: () => ({
    provider: createMockProvider([[toolCall("look")], text("Inner.")]),
    tools: [look],
    messages: [{ role: "user", content: "Look." }],
  }),
});

const counted = usage({ inputTokens: 100, outputTokens: 7, cachedInputTokens: 60 });
const script = [
  [reasoning("Hm."), text("Let me see."), toolCall("look", { n: 1 }), toolCall("ask"), counted],
  [toolCall("pay", { amount: 3 }), toolCall("nope"), counted],
  [text("Done."), counted],
];

function optionsIn(folder: string): LoopOptions {
  return {
    provider: createMockProvider(({ iteration }) => script[iteration] ?? text("More.")),
    tools: [look, pay, ask],
    messages: [{ role: "user", content: "Go." }],
    runId: "r",
    version: "7",
    journal: fileJournal(join(folder, "journal.jsonl"), { fsync: false }),
  };
}

const parse = async (folder: string): Promise<RunLog> => parseRunLog(await journalToRunLog(join(folder, "journal.jsonl")));

describe("journalToRunLog", () => {
  it("creates a log with the iterations, calls, nested runs and end of the run", async () => {
    const folder = makeFolder();
    const { log } = await logRun({ ...optionsIn(folder), middleware: [approve(() => ({ kind: "approve" }))] });
    const made = await parse(folder);
    expect([log.source, made.source]).toEqual(["log", "journal"]);
    expect(made.runs.map(deepFactsOf)).toEqual(log.runs.map(deepFactsOf));
    expect(made.runs[0]).toMatchObject({ runId: "r", version: "7", provider: "mock", status: "completed" });
    const messagesOf = ({ runs }: RunLog): unknown => runs[0]?.iterations.map(({ request }) => request?.messages());
    expect(messagesOf(made)).toEqual(messagesOf(log));
    expect(made.runs[0]?.iterations[0]?.request?.tools.map(({ name, description }) => [name, description])).toEqual([
      ["look", "Looks"],
      ["pay", "Pays"],
      ["ask", "Asks"],
    ]);
  });

  it("includes the waiting call of a suspended run and the later decision", async () => {
    const folder = makeFolder();
    await runToolLoop(optionsIn(folder));
    const waiting = (await parse(folder)).runs[0];
    expect(waiting).toMatchObject({ status: "suspended", reason: { kind: "approval-required" } });
    const calls = waiting?.iterations.at(-1)?.calls ?? [];
    expect(calls).toMatchObject([{ name: "pay" }, { name: "nope", outcome: "unknown-tool" }]);
    expect(calls[0]?.startedAt).toBeUndefined();
    const [id = ""] = calls.map(({ callId }) => callId);
    await runToolLoop({ ...optionsIn(folder), answers: { [id]: { kind: "deny", reason: "Too much." } } });
    const decided = (await parse(folder)).runs[0];
    expect(decided?.iterations[1]?.calls[0]).toMatchObject({ decision: "deny", outcome: "denied" });
    expect(decided?.status).toBe("completed");
  });

  it("expresses durations as times since the start of the run", async () => {
    const clock = createTestClock();
    const journal = memoryJournal();
    const slow = defineTool({
      name: "slow",
      description: "Takes long",
      inputSchema: { type: "object" },
      execute: () => new Promise((resolve) => clock.setTimeout(() => resolve("ok"), 500)),
    });
    const provider = createMockProvider([[toolCall("slow"), toolCall("slow")], text("Done.")]);
    const running = runToolLoop({ provider, tools: [slow], messages: [{ role: "user", content: "Go." }], clock, journal });
    await clock.runAll();
    await running;
    const [run] = parseRunLog(await journalToRunLog(journal)).runs;
    expect(run?.iterations.map(({ startedAt, endedAt }) => [startedAt, endedAt])).toEqual([
      [0, 500],
      [500, 500],
    ]);
    expect(run?.iterations[0]?.calls.map(({ startedAt, endedAt }) => [startedAt, endedAt])).toEqual([
      [0, 500],
      [0, 500],
    ]);
  });

  it("creates a log whose transcript and trace have no dates, because a journal has no dates", async () => {
    const folder = makeFolder();
    await runToolLoop(optionsIn(folder));
    const log = await parse(folder);
    expect(log.runs.map((run) => toMarkdown(run)).join()).not.toContain("1970-01-01");
    expect(log.runs.map((run) => toMarkdown(run)).join()).toMatch(/^- Waits for approval$/m);
    expect(JSON.parse(toChromeTrace(log))).toMatchObject({ otherData: {} });
    expect(toChromeTrace(log)).not.toContain("1970-01-01");
  });

  it("includes all steps left in the journal after a crash", async () => {
    const folder = makeFolder();
    const path = join(folder, "journal.jsonl");
    const { size } = await runToolLoop({ ...optionsIn(folder), middleware: [approve(() => ({ kind: "approve" }))] }).then(() =>
      statSync(path),
    );
    const seen = new Set<string>();
    for (let cut = size; cut > 0; cut -= 97) {
      truncateSync(path, cut);
      const { runs } = await parse(folder);
      seen.add(`${runs[0]?.status} ${runs[0]?.iterations.map(({ calls }) => calls.length).join()}`);
    }
    expect([...seen]).toEqual([
      "completed 2,2,0",
      "undefined 2,2,0",
      "undefined 2,2",
      "undefined 2",
      "undefined ",
      "undefined undefined",
    ]);
  });

  it("rejects a damaged journal file and names the line", async () => {
    const folder = makeFolder();
    await runToolLoop({ ...optionsIn(folder), middleware: [approve(() => ({ kind: "approve" }))] });
    writeFileSync(join(folder, "journal.jsonl"), "x", { flag: "r+" });
    await expect(parse(folder)).rejects.toMatchObject({ code: "journal-damaged", details: { line: 1 } });
  });
});
