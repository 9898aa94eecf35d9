import { describe, expect, it } from "vitest";
import { type LoopLimits, type LoopOptions, memoryJournal, type Message, runToolLoop, type UserMessage } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { journalToRunLog, parseRunLog, rerunFrom, type RunLog, toMarkdown, runLog } from "turnwright/inspect";
import { inspectJournal } from "turnwright/journal";
import { createMockProvider, type MockProvider, text, toolCall, usage } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { addWatchers } from "../add-watchers.ts";

const work = tool("work", () => "y".repeat(600), { replay: "safe" });
const counted = (inputTokens: number) => usage({ inputTokens, outputTokens: 1 });

function provide(calls: number): MockProvider {
  return createMockProvider(({ purpose, iteration }) => {
    if (purpose === "summary") return [text("The summary."), counted(60)];
    return [iteration < calls ? toolCall("work") : text("Done."), counted(iteration === 0 ? 30 : 90)];
  });
}

interface Recorded {
  readonly result: Awaited<ReturnType<typeof runToolLoop>>;
  readonly journal: ReturnType<typeof memoryJournal>;
  readonly log: RunLog;
  readonly journalLog: RunLog;
}

async function record(options: LoopOptions): Promise<Recorded> {
  const journal = memoryJournal();
  const lines: string[] = [];
  const to = { write: (line: string) => void lines.push(line) };
  const result = await runToolLoop(addWatchers({ ...options, journal, runId: "r" }, runLog({ to })));
  const log = parseRunLog(lines.map((line) => (line.endsWith("\n") ? line : `${line}\n`)).join(""));
  return { result, journal, log, journalLog: parseRunLog(await journalToRunLog(journal)) };
}

describe("a run that ends directly after a compaction", () => {
  it.for<[what: string, limits: LoopLimits]>([
    ["maxTokens", { maxTokens: 180 }],
    ["maxCostUSD", { maxCostUSD: 0.0301 }],
  ])("because of %s is the same in inspectJournal and in its logs", async ([, limits]) => {
    const messages: readonly UserMessage[] = [{ role: "user", content: "Go." }];
    const middleware = [compactMessages({ when: 200, keep: 20 })];
    const options = { provider: provide(9), tools: [work], messages, limits, middleware, pricing: () => 0.01 };
    const { result, journal, log, journalLog } = await record(options);
    const { status, reason, usage: used, costUSD, compaction, messages: said } = result;
    expect([status, compaction?.summary]).toEqual(["error", "The summary."]);
    expect(await inspectJournal(journal)).toMatchObject({ status, reason, usage: used, costUSD, compaction, messages: said });
    for (const { runs } of [log, journalLog]) {
      expect(runs[0]?.usage).toMatchObject({ totalTokens: used.totalTokens });
      expect(runs[0]).toMatchObject({ status, costUSD, compactions: [{ outcome: "compacted" }] });
    }
  });
});

describe("a run with a compaction before its first request", () => {
  const messages: readonly Message[] = [
    { role: "user", content: "a".repeat(4_000) },
    { role: "assistant", content: [{ type: "text", text: "b".repeat(4_000) }] },
    { role: "user", content: "Go." },
  ];
  const options = (): LoopOptions => ({
    provider: provide(1),
    tools: [work],
    messages,
    middleware: [compactMessages({ when: 500, keep: 20 })],
  });

  it("has a journal that converts to a readable log", async () => {
    const { journalLog } = await record(options());
    expect(journalLog.runs[0]).toMatchObject({ provider: "mock", compactions: [{ iteration: 0, outcome: "compacted" }] });
  });

  it.for(["log", "journal", "journalLog"] as const)(
    "can be repeated by rerunFrom from each iteration of its %s",
    async (kind) => {
      const recorded = await record(options());
      for (const iteration of [0, 1]) {
        const provider = provide(1);
        const result = await runToolLoop(await rerunFrom(recorded[kind], { iteration }, { provider, tools: [work] }));
        expect([result.status, result.text]).toEqual(["completed", "Done."]);
        expect(provider.requests[0]?.messages.at(iteration === 0 ? -1 : -3)).toMatchObject({ role: "user", content: "Go." });
      }
    },
  );
});

it("a log that begins with a resumed run lists the calls in the order in which the message contains them", async () => {
  const tools = [tool("read", () => "read"), tool("pay", () => "paid", { needsApproval: true })];
  const script = ({ iteration }: { readonly iteration: number }) =>
    iteration === 0 ? [toolCall("read"), toolCall("pay")] : text("Done.");
  const options: LoopOptions = { provider: createMockProvider(script), tools, messages: [{ role: "user", content: "Go." }] };
  const journal = memoryJournal();
  await runToolLoop({ ...options, journal, runId: "r" });
  const lines: string[] = [];
  const answers = { call_i0_1: { kind: "approve" } } as const;
  const resumed = memoryJournal(JSON.parse(JSON.stringify(journal)));
  const to = { write: (line: string) => void lines.push(line) };
  await runToolLoop(addWatchers({ ...options, journal: resumed, runId: "r", answers }, runLog({ to })));
  const log = parseRunLog(lines.map((line) => (line.endsWith("\n") ? line : `${line}\n`)).join(""));
  const [run] = log.runs;
  expect(run?.iterations[0]?.calls.map(({ name, index }) => [name, index])).toEqual([
    ["read", 0],
    ["pay", 1],
  ]);
  const again = await runToolLoop(await rerunFrom(log, { iteration: 1 }, { provider: options.provider, tools }));
  expect(again.calls.map(({ name }) => name)).toEqual(["read", "pay"]);
  const markdown = run === undefined ? "" : toMarkdown(run);
  expect(markdown.indexOf("read")).toBeLessThan(markdown.indexOf("pay"));
});
