import { describe, expect, it } from "vitest";
import { deferTools, finalAnswer, maskResults } from "turnwright";
import { compactMessages, withToolSearch } from "turnwright/middleware";
import type { CompactionOptions } from "../../src/middleware/compaction/compact-messages.ts";
import { createMockProvider, createTestClock, text } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { outline, start } from "./compaction-stage.ts";

describe("compactMessages with a nearly full context", () => {
  it("leaves no timer behind that would keep a process alive", async () => {
    const clock = createTestClock();
    const { summaries, result } = start({ calls: 5 }, { when: 3_500, keep: 1_500 }, { clock });
    await result;
    expect([summaries.length > 0, clock.pending]).toEqual([true, 0]);
  });

  it("replaces old messages with a summary, but keeps the last user message and the latest messages", async () => {
    const { requests, summaries, playing, result } = start({ calls: 5 }, { when: 3_500, keep: 1_500 });
    const { messages, compaction, status } = await result;
    expect(requests.map((request) => outline(request.messages))).toMatchInlineSnapshot(`
      [
        [
          "user Go.",
        ],
        [
          "user Go.",
          "call c0",
          "result c0",
        ],
        [
          "user Go.",
          "call c0",
          "result c0",
          "call c1",
          "result c1",
        ],
        [
          "user Go.",
          "call c0",
          "result c0",
          "call c1",
          "result c1",
          "call c2",
          "result c2",
        ],
        [
          "user Go.",
          "summary: The summary.",
          "call c3",
          "result c3",
        ],
        [
          "user Go.",
          "summary: The summary.",
          "call c3",
          "result c3",
          "call c4",
          "result c4",
        ],
      ]
    `);
    expect(summaries.map((request) => outline(request.messages)[0]?.includes("Call of search"))).toEqual([true]);
    expect(outline(messages)).toEqual([
      "user Go.",
      ...[0, 1, 2, 3, 4].flatMap((index) => [`call c${index}`, `result c${index}`]),
      "text Done.",
    ]);
    expect([status, compaction]).toEqual(["completed", { summary: "The summary.", count: 7, kept: [0] }]);
    expect(playing.recording.types().filter((type) => type.startsWith("compaction"))).toEqual([
      "compaction-start",
      "compaction-end",
    ]);
  });

  it("applies the shares in `when` and `keep` to the model's context window", async () => {
    const asked: string[] = [];
    const contextWindow: CompactionOptions["contextWindow"] = (provider, model) => {
      asked.push(`${provider} ${model}`);
      return 5_000;
    };
    const { requests, result } = start({ calls: 5 }, { when: 0.7, keep: 0.3, contextWindow });
    await result;
    expect(requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5, 7, 4, 6]);
    expect(new Set(asked)).toEqual(new Set(["mock mock-model"]));
  });

  it("estimates the size of the first request, for which no usage has been reported yet", async () => {
    const earlier = Array.from({ length: 6 }, (_, index) => [
      { role: "user" as const, content: `Question ${index} ${"y".repeat(2_000)}` },
      { role: "assistant" as const, content: [{ type: "text" as const, text: `Answer ${index}` }] },
    ]).flat();
    const messages = [...earlier, { role: "user" as const, content: "And now?" }];
    const { requests, result } = start({ calls: 6 }, { when: 2_500, keep: 600 }, { messages });
    await result;
    expect(outline(requests[0]?.messages ?? []).map((line) => line.slice(0, 21))).toEqual([
      "summary: The summary.",
      "text Answer 4",
      "user Question 5 yyyyy",
      "text Answer 5",
      "user And now?",
    ]);
  });

  it("bases a later summary on the earlier summary and all newer messages", async () => {
    const script = { calls: 9, summary: (_: unknown, index: number) => text(`Summary ${index}.`) };
    const { requests, summaries, result } = start(script, { when: 3_500, keep: 1_500 });
    const { compaction } = await result;
    expect(summaries.length).toBe(2);
    const second = outline(summaries[1]?.messages ?? []).join("");
    expect([second.includes("Summary 0."), second.includes('{"page":2}'), second.includes('{"page":3}')]).toEqual([
      true,
      false,
      true,
    ]);
    expect(outline(requests.at(-1)?.messages ?? []).slice(0, 2)).toEqual(["user Go.", "summary: Summary 1."]);
    expect(compaction?.summary).toBe("Summary 1.");
  });

  it("adds the usage and cost of the summary to the run", async () => {
    const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 };
    const report = { kind: "chunks" as const, chunks: [{ type: "usage" as const, usage, mode: "snapshot" as const }] };
    const { playing, result } = start(
      { calls: 5, summary: () => [text("The summary."), report] },
      { when: 3_500, keep: 1_500 },
      { pricing: ({ totalTokens }) => totalTokens / 1_000_000 },
    );
    const { usage: total, costUSD, streamResults } = await result;
    const streamed = streamResults.reduce((sum, { usage: one }) => sum + (one?.totalTokens ?? 0), 0);
    expect([total.totalTokens - streamed, costUSD]).toEqual([110, total.totalTokens / 1_000_000]);
    const end = playing.recording.events.find(({ type }) => type === "compaction-end");
    expect(end).toMatchObject({ outcome: "compacted", usage: { totalTokens: 110 }, costUSD: 0.00011 });
  });

  it("does not emit text-delta events for the summary's text", async () => {
    const { playing, result } = start({ calls: 5 }, { when: 3_500, keep: 1_500 });
    await result;
    const said = playing.recording.events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
    expect(said).toEqual(["Done."]);
  });

  it("requests the summary from `summarize.provider`, at that provider's prices", async () => {
    const writer = createMockProvider([text("Written elsewhere.")], { id: "other", model: "small" });
    const priced: string[] = [];
    const pricing = (_: unknown, { provider, model }: { provider: string; model: string }): number => {
      priced.push(`${provider} ${model}`);
      return 0.01;
    };
    const { requests, summaries, result } = start(
      { calls: 5 },
      { when: 3_500, keep: 1_500, summarize: { provider: writer, maxOutputTokens: 300, instructions: "Keep all prices." } },
      { pricing },
    );
    await result;
    expect([summaries.length, writer.requests.length, priced.filter((who) => who === "other small").length]).toEqual([0, 1, 1]);
    expect(writer.requests[0]).toMatchObject({ settings: { maxOutputTokens: 300 }, tools: [], purpose: "summary" });
    expect(writer.requests[0]?.system).toContain("Keep all prices.");
    expect(outline(requests.at(-1)?.messages ?? [])[1]).toBe("summary: Written elsewhere.");
  });

  it("keeps one result for each call in the requests if the run also masks results", async () => {
    const { requests, result } = start(
      { calls: 9 },
      { when: 3_500, keep: 2_000 },
      { middleware: [maskResults({ keepIterations: 1 }), compactMessages({ when: 2_400, keep: 600 })] },
    );
    const { messages } = await result;
    expect(messages.length).toBe(20);
    for (const { messages: sent } of requests) {
      const calls = sent.flatMap((message) =>
        message.role === "assistant" ? message.content.filter(({ type }) => type === "tool-call") : [],
      );
      const results = sent.flatMap((message) => (message.role === "tool" ? message.results : []));
      expect(results.length).toBe(calls.length);
    }
  });

  it("does not count deferred tools that the model has not loaded", async () => {
    const many = Array.from({ length: 200 }, (_, at) =>
      tool(`shop_${at}`, () => 1, { description: "d".repeat(200), deferred: true }),
    );
    const messages = Array.from({ length: 21 }, (_, at) => ({ role: "user" as const, content: `${at} ${"x".repeat(200)}` }));
    const { requests, summaries, result } = start(
      { calls: 0 },
      { when: 8_000, keep: 1_000 },
      { messages, tools: withToolSearch(many), middleware: [deferTools()] },
    );
    expect((await result).status).toBe("completed");
    expect([summaries.length, requests.length]).toEqual([0, 1]);
  });

  it("also shortens the request for a final answer", async () => {
    const { requests, result } = start(
      { calls: 9 },
      { when: 3_500, keep: 1_500 },
      {
        limits: { maxIterations: 4 },
        middleware: [compactMessages({ when: 3_500, keep: 1_500 }), finalAnswer()],
      },
    );
    const { reason, compaction, iterations } = await result;
    expect([reason.kind, iterations, compaction?.count]).toEqual(["max-iterations", 4, 7]);
    expect([requests.length, requests.at(-1)?.toolChoice, requests.at(-1)?.messages.length]).toEqual([5, "none", 4]);
  });
});
