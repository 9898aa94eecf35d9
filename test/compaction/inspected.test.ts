import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type LoopEvent, type LoopOptions, type LoopResult, runToolLoop, streamToolLoop } from "turnwright";
import { createAGUIMapper } from "turnwright/ag-ui";
import { compactMessages } from "turnwright/middleware";
import {
  journalToRunLog,
  type LoggedRun,
  parseRunLog,
  readRunLog,
  rerunFrom,
  toChromeTrace,
  toMarkdown,
  runLog,
} from "turnwright/inspect";
import { fileJournal } from "turnwright/journal";
import { fail, type MockMessage, text, usage } from "turnwright/testing";
import { createUIMessageMapper } from "turnwright/ui-message-stream";
import { alignMessages } from "../../src/inspect/analysis/align-messages.ts";
import { budgetSeriesOf, totalsOf } from "../../src/inspect/analysis/run-totals.ts";
import { compareTotals } from "../../src/inspect/analysis/compare-runs.ts";
import { findCacheBreaks } from "../inspect/find-cache-breaks.ts";
import { buildTree, titleOf } from "../../src/inspect/ui/model/entries.ts";
import { buildRows } from "../../src/inspect/ui/model/rows.ts";
import { makeFolder } from "../journal/folder.ts";
import { tool } from "../loop/play.ts";
import { outline, scriptModel, type Scripted, tooLong } from "./compaction-stage.ts";
import { addWatchers } from "../add-watchers.ts";

const search = tool("search", (args) => `${JSON.stringify(args)} ${"x".repeat(3_980)}`);
const spent = usage({ inputTokens: 900, outputTokens: 30 });

interface Watched {
  readonly run: LoggedRun;
  readonly result: LoopResult;
  readonly events: readonly LoopEvent[];
  readonly files: { readonly log: string; readonly journal: string };
  readonly model: Scripted;
}

interface Script {
  readonly summary?: MockMessage;
  readonly isForced?: boolean;
}

/** Logs a run of six iterations with one compaction before iteration 4. */
async function watch({ summary = [text("The summary."), spent], isForced = false }: Script = {}): Promise<Watched> {
  const folder = makeFolder();
  const files = { log: join(folder, "run.jsonl"), journal: join(folder, "journal.jsonl") };
  let isRefused = false;
  const refuse = ({ messages }: { readonly messages: readonly unknown[] }): MockMessage | undefined => {
    if (!isForced || isRefused || messages.length < 7) return undefined;
    isRefused = true;
    return [tooLong];
  };
  const model = scriptModel({ calls: 5, summary: () => summary, refuse });
  const options: LoopOptions = {
    provider: model.provider,
    tools: [search],
    messages: [{ role: "user", content: "Go." }],
    runId: "first",
    pricing: () => 0.25,
    journal: fileJournal(files.journal, { fsync: false }),
    middleware: [compactMessages(isForced ? {} : { when: 3_500, keep: 1_500 })],
  };
  const stream = streamToolLoop(addWatchers(options, runLog({ to: files.log })));
  const events: LoopEvent[] = [];
  for await (const event of stream) events.push(event);
  const [run] = (await readRunLog(files.log)).runs;
  if (run === undefined) throw new Error("The log has no run.");
  return { run, result: await stream.result, events, files, model };
}

const last = <Value>(values: readonly Value[]): Value | undefined => values.at(-1);

describe("a run with a compaction", () => {
  it.for(["compacted", "failed"])(
    "adds the cost of the summary to the live cost in UI message and AG-UI streams (outcome: %s)",
    async (outcome) => {
      const { events, result } = await watch(outcome === "failed" ? { summary: [text(""), spent] } : {});
      expect(events.findLast(({ type }) => type === "compaction-end")).toMatchObject({ outcome, usage: { totalTokens: 930 } });
      const { costUSD } = result;
      const total = JSON.parse(JSON.stringify(result.usage)) as object;
      const chunks = createUIMessageMapper();
      const costs = events.flatMap((event) => chunks.map(event)).filter(({ type }) => type === "data-cost");
      expect(last(costs)).toMatchObject({ data: { streams: result.iterations, usage: total, costUSD } });
      const mapper = createAGUIMapper();
      const sent = events.flatMap((event) => mapper.map(event));
      const custom = sent.filter((event) => event.type === "CUSTOM" && event.name === "cost");
      expect(last(custom)).toMatchObject({ value: { streams: result.iterations, usage: total, costUSD } });
    },
  );

  it("includes the cost of the summary in the totals, budgets and comparison of its log", async () => {
    const { run, result } = await watch();
    const { totalTokens: tokens } = result.usage;
    expect(run.compactions).toMatchObject([
      { iteration: 4, cause: "due", outcome: "compacted", provider: "mock", model: "mock-model", costUSD: 0.25 },
    ]);
    expect(totalsOf(run)).toMatchObject({ tokens, costUSD: result.costUSD, iterations: 6 });
    const { points } = budgetSeriesOf(run);
    expect(points.map(({ label }) => label).slice(3, 6)).toEqual(["Iteration 3", "Compaction 4", "Iteration 4"]);
    expect(last(points)).toMatchObject({ tokens, costUSD: result.costUSD });
    expect(compareTotals(run, run).left.tokens).toBe(tokens);
  });

  it.for(["log", "journal"] as const)(
    "is shown with the compaction and the summary on an inspect page made from the %s",
    async (source) => {
      const { files } = await watch();
      const text = source === "log" ? readFileSync(files.log, "utf8") : await journalToRunLog(files.journal);
      const [run] = parseRunLog(text).runs;
      const tree = buildTree(run as LoggedRun);
      const rows = buildRows(tree);
      const at = rows.findIndex(({ kind }) => kind === "compaction");
      expect(rows.slice(at - 2, at + 2).map(({ label, note }) => [label, note])).toEqual([
        ["i3", ""],
        ["search", ""],
        ["compaction", "4,185 to 1,141 tokens"],
        ["i4", ""],
      ]);
      const titles = tree.entries.map((entry) => `${entry.key}: ${titleOf(entry)}`);
      expect(titles.filter((title) => /ompaction|ummary/.test(title))).toEqual([
        `${rows[at]?.entryKey}: Compaction: the context is nearly full`,
        expect.stringContaining("A summary replaces old messages, 4,185 to 1,141 tokens"),
        "i4/message/0: Summary of old messages",
      ]);
      expect(titles.filter((title) => title.includes("added to the request"))).toEqual([]);
    },
  );

  it('has "messages-compacted" as the cause of its next cache break', async () => {
    const { run } = await watch();
    const breaks = [...findCacheBreaks(run).values()].filter((found) => found !== undefined);
    expect(breaks.map(({ iteration, causes }) => [iteration, causes.map(({ kind }) => kind)])).toEqual([
      [4, ["messages-compacted"]],
    ]);
    const before = run.iterations[3]?.request?.messages() ?? [];
    const pinned = { role: "user", content: "Pinned." } as const;
    const [first, ...others] = before;
    const old = [...(first === undefined ? [] : [first]), ...others.slice(0, 2), pinned, ...others.slice(2)];
    const next = run.iterations[4]?.request?.messages() ?? [];
    const moved = [...next.slice(0, 1), pinned, ...next.slice(1)];
    expect(alignMessages(old, moved, new Set()).map(({ kind }) => kind)).toEqual(["kept", "compacted", "added"]);
  });

  it("is exported by toMarkdown and toChromeTrace with the compaction between two iterations", async () => {
    const { run } = await watch();
    const markdown = toMarkdown(run);
    expect(markdown.match(/^## .*/gm)?.slice(3, 6)).toEqual([
      "## Iteration 3",
      "## Compaction before iteration 4",
      "## Iteration 4",
    ]);
    expect(markdown).toContain("- Cause: the context was nearly full\n- Ended: `compacted`");
    expect(markdown.match(/\*\*Summary, in place of old messages\*\*/g)).toHaveLength(1);
    const trace = toChromeTrace({ version: 1, source: "log", runs: [run], isTorn: false });
    const { traceEvents } = JSON.parse(trace) as { traceEvents: { name: string; ph: string; args: object }[] };
    expect(traceEvents.filter(({ name, ph }) => name === "compaction" && ph === "X")).toMatchObject([
      { cat: "compaction", args: { outcome: "compacted", costUSD: 0.25, model: "mock-model" } },
    ]);
    const cost = traceEvents.findLast(({ name, ph }) => name === "cost" && ph === "C");
    expect(cost?.args).toEqual({ USD: 1.75 });
  });

  it.for(["log", "journal"] as const)("lets rerunFrom reuse the recorded summary from the %s", async (source) => {
    const { files, model } = await watch();
    const again = scriptModel({ calls: 5 });
    const options = await rerunFrom(files[source], { iteration: 5 }, { provider: again.provider, tools: [search] });
    const { status, messages } = await runToolLoop(options);
    expect([status, again.summaries.length, again.requests.length]).toEqual(["completed", 0, 1]);
    expect(outline(again.requests[0]?.messages ?? [])).toEqual(outline(model.requests[5]?.messages ?? []));
    expect(messages).toHaveLength(12);
  });

  it.for(["log", "journal"] as const)("lets rerunFrom repeat the shortened request from the %s", async (source) => {
    const { files, model } = await watch({ isForced: true });
    const again = scriptModel({ calls: 5 });
    const middleware = [compactMessages()];
    const options = await rerunFrom(files[source], { iteration: 5 }, { provider: again.provider, tools: [search], middleware });
    const { status } = await runToolLoop(options);
    expect([status, again.summaries.length]).toEqual(["completed", 0]);
    expect(outline(again.requests[0]?.messages ?? [])).toEqual(outline(model.requests[5]?.messages ?? []));
  });

  it.for(["log", "journal"] as const)("lets rerunFrom without compactMessages send all messages from the %s", async (source) => {
    const { files } = await watch();
    const again = scriptModel({ calls: 5 });
    const options = await rerunFrom(files[source], { iteration: 4 }, { provider: again.provider, tools: [search] });
    expect((await runToolLoop(options)).status).toBe("completed");
    expect(again.requests[0]?.messages).toHaveLength(9);
  });

  it("contains one failed iteration for a request that was too long, but still completes", async () => {
    const { run, result } = await watch({ isForced: true });
    expect([result.status, run.status, run.iterations.map(({ status }) => status)]).toEqual([
      "completed",
      "completed",
      ["tool-calls", "tool-calls", "tool-calls", "error", "tool-calls", "tool-calls", "completed"],
    ]);
    expect(toMarkdown(run)).toContain("- Cause: the service refused the last request as too long");
    const rows = buildRows(buildTree(run)).filter(({ kind }) => kind !== "call");
    expect(rows.slice(3, 6).map(({ label, note }) => [label, note])).toEqual([
      ["i3", "error"],
      ["compaction", expect.stringContaining(" tokens")],
      ["i4", ""],
    ]);
  });

  it("counts the tokens of a failed summary in the totals of its log", async () => {
    const { run, result } = await watch({ summary: [spent, fail({ status: 400, message: "No." })] });
    expect(run.compactions[0]).toMatchObject({ outcome: "failed", error: { message: "No." } });
    expect([result.status, buildRows(buildTree(run)).find(({ kind }) => kind === "compaction")?.note]).toEqual([
      "completed",
      "failed",
    ]);
    expect(totalsOf(run).tokens).toBe(result.usage.totalTokens);
  });
});
