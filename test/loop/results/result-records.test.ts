import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  defineAgentTool,
  type LoopOptions,
  memoryJournal,
  processResults,
  type ResultPipeline,
  runToolLoop,
  runNested,
} from "turnwright";
import { createMockProvider, type MockScript, text, toolCall, usage } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { answersOf, play, tool } from "../play.ts";
import { changesOf, start, texts } from "./result-stage.ts";

describe("an extractor's usage", () => {
  const spent = { inputTokens: 90, outputTokens: 10, totalTokens: 100 };
  const extracting = (more: object = {}): ResultPipeline => ({
    extractor: { threshold: 0, extract: () => ({ text: "short", usage: spent, ...more }) },
  });
  const turn = usage({ inputTokens: 4, outputTokens: 1 });
  const script: MockScript = [
    [toolCall("give"), turn],
    [text("Done."), turn],
  ];

  it.for<[whose: string, more: object, model: string]>([
    ["the run's own provider", {}, "mock/mock-model"],
    ["another model", { model: { provider: "other", model: "small" } }, "other/small"],
  ])("counts toward usage and cost at the prices of %s", async ([, more, by]) => {
    const priced: string[] = [];
    const pricing: LoopOptions["pricing"] = ({ totalTokens }, { provider, model }) => {
      priced.push(`${provider}/${model} ${totalTokens}`);
      return totalTokens / 1_000;
    };
    const playing = play(script, {
      tools: [tool("give", () => "x")],
      middleware: [processResults(extracting(more))],
      pricing,
    });
    const result = await playing.result;
    expect([result.usage.totalTokens, result.costUSD]).toEqual([110, expect.closeTo(0.11, 9)]);
    expect(priced[1]).toBe(`${by} 100`);
  });

  it("makes the cost unknown if its price is unknown", async () => {
    const pricing: LoopOptions["pricing"] = ({ totalTokens }) => (totalTokens === 100 ? undefined : 1);
    const playing = play(script, {
      tools: [tool("give", () => "x")],
      middleware: [processResults(extracting())],
      pricing,
    });
    expect((await playing.result).costUSD).toBeUndefined();
  });

  it("counts toward maxTokens for the run and the outer run", async () => {
    const own = play([[toolCall("give"), turn]], {
      tools: [tool("give", () => "x")],
      middleware: [processResults(extracting())],
      limits: { maxTokens: 105 },
    });
    expect((await own.result).reason).toEqual({ kind: "max-tokens", limit: 105, spent: 105 });
    const inner = createMockProvider([[toolCall("give"), turn]]);
    const nested = tool("nested", async (_, context) => {
      const { reason } = await runNested(context, {
        provider: inner,
        messages: [{ role: "user", content: "Go." }],
        tools: [tool("give", () => "x")],
        middleware: [processResults(extracting())],
      });
      return reason.kind;
    });
    const outer = play([[toolCall("nested"), turn]], { tools: [nested], limits: { maxTokens: 110 } });
    const result = await outer.result;
    expect([answersOf(result)[0]?.result, result.reason]).toEqual(["max-tokens", { kind: "max-tokens", limit: 110, spent: 110 }]);
  });
});

describe("processed results in a journal", () => {
  const counting = (): { readonly results: ResultPipeline; readonly asked: string[] } => {
    const asked: string[] = [];
    return {
      asked,
      results: {
        processor: (_, output) => (asked.push("processor"), output.slice(0, 200)),
        extractor: {
          threshold: 10,
          extract: (output) => (
            asked.push("extractor"),
            { text: output.slice(0, 100), usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } }
          ),
        },
        cacher: { threshold: 10, store: () => (asked.push("store"), "stored") },
      },
    };
  };

  it("are replayed, reported and counted without calling a stage", async () => {
    const first = counting();
    const live = start(texts(100), first.results);
    const before = await live.result;
    const journal = memoryJournal(JSON.parse(JSON.stringify(before.journal)));
    const second = counting();
    const again = start("unused", second.results, { journal });
    const after = await again.result;
    expect([first.asked, second.asked]).toEqual([["processor", "extractor", "store"], []]);
    expect([after.messages, after.usage, after.functionHistory]).toEqual([before.messages, before.usage, before.functionHistory]);
    expect(again.recording.of("result-cached")).toEqual(
      live.recording.of("result-cached").map((event) => ({ ...event, runId: expect.anything(), replayed: true })),
    );
    expect(changesOf(again)).toEqual(changesOf(live));
  });

  it("are processed again if only their calls were recorded", async () => {
    const { results, asked } = counting();
    const first = start(texts(100), {});
    const { steps } = memoryJournal(JSON.parse(JSON.stringify((await first.result).journal))).toJSON();
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => /^begin|^i0\/(request|.*outcome$)/.test(key)));
    const again = play([text("Done.")], {
      tools: [tool("give", () => "unused")],
      middleware: [processResults(results)],
      journal: memoryJournal({ steps: kept }),
    });
    await again.result;
    expect(asked).toEqual(["processor", "extractor", "store"]);
    const { recording } = again;
    expect([recording.of("tool-end")[0]?.replayed, recording.of("result-cached")[0]?.replayed]).toEqual([true, undefined]);
    expect([recording.of("iteration-start")[0]?.replayed, recording.of("iteration-end")[0]?.replayed]).toEqual([true, true]);
  });

  const durable = async (fate: Parameters<ReturnType<typeof createDurableStore>["open"]>[0]): Promise<readonly string[]> => {
    const { results, asked } = counting();
    const store = createDurableStore();
    const options = (): LoopOptions => ({
      provider: createMockProvider((request) => (request.messages.length === 1 ? toolCall("give") : text("Done."))),
      messages: [{ role: "user", content: "Go." }],
      tools: [tool("give", () => texts(100))],
      middleware: [processResults(results)],
      runId: "crashing",
      journal: store.open(fate),
    });
    await expect(runToolLoop(options())).rejects.toThrow("The process died.");
    const result = await runToolLoop({ ...options(), journal: store.open() });
    expect([result.status, answersOf(result)[0]?.result]).toEqual(["completed", "stored"]);
    return asked;
  };

  it("are processed again after a crash during processing", async () => {
    expect(await durable({ within: "i0/call/0/give/@process-results/results" })).toEqual([
      "processor",
      "extractor",
      "store",
      "processor",
      "extractor",
      "store",
    ]);
  });

  it("are not processed again if recorded before a crash", async () => {
    // The process crashes after six records: run, begin, model, begun, outcome and results.
    expect(await durable({ afterRecords: 6 })).toEqual(["processor", "extractor", "store"]);
  });
});

it("processResults processes each call in a suspended batch once, when the call ends", async () => {
  const asked: string[] = [];
  const { journal, options } = await suspended(asked);
  expect(asked).toEqual(["plain"]);
  const result = await runToolLoop({ ...options, journal: memoryJournal(JSON.parse(JSON.stringify(journal))) });
  expect([result.status, asked, answersOf(result).map(({ result: reading }) => reading)]).toEqual([
    "completed",
    ["plain", "child"],
    ["plain!", "child!"],
  ]);
});

async function suspended(asked: string[]): Promise<{ readonly journal: unknown; readonly options: LoopOptions }> {
  const control = createLoopControl();
  const inner = createMockProvider((request) => (request.messages.length === 1 ? toolCall("pause") : text("child")));
  const child = defineAgentTool({
    name: "child",
    description: "child",
    inputSchema: { type: "object" },
    prepare: () => ({
      provider: inner,
      messages: [{ role: "user", content: "Go." }],
      tools: [tool("pause", () => void control.drain())],
      control,
    }),
  });
  const options: LoopOptions = {
    provider: createMockProvider((request) =>
      request.messages.length === 1 ? [toolCall("plain"), toolCall("child")] : text("Done."),
    ),
    messages: [{ role: "user", content: "Go." }],
    runId: "suspending",
    tools: [tool("plain", () => "plain"), child],
    middleware: [processResults({ processor: (_, output) => (asked.push(output), `${output}!`) })],
  };
  const { status, journal } = await runToolLoop(options);
  expect(status).toBe("suspended");
  return { journal, options };
}
