import { describe, expect, it } from "vitest";
import { fail, finish, text, toolCall } from "turnwright/testing";
import { start } from "./compaction-stage.ts";

describe("compactMessages without a usable summary", () => {
  it.for([
    ["the model fails", fail({ status: 500, message: "Broken." }), "Broken."],
    ["the model refuses", [text("I cannot."), finish("refusal")], 'The model wrote no summary. Its message ended as "refusal".'],
    ["the model writes nothing", text(""), 'The model wrote no summary. Its message ended as "empty".'],
    ["the model calls a tool", toolCall("search", {}), "The model wrote no summary."],
    [
      "the summary is longer than the messages",
      text("z".repeat(40_000)),
      "The summary is not shorter than the messages it would replace.",
    ],
  ] as const)("leaves the requests unchanged and reports the cause if %s", async ([, message, why]) => {
    const { requests, playing, result } = start({ calls: 4, summary: () => message }, { when: 3_500, keep: 1_500 });
    const { status, compaction } = await result;
    expect([status, compaction, requests.map((request) => request.messages.length)]).toEqual([
      "completed",
      undefined,
      [1, 3, 5, 7, 9],
    ]);
    const end = playing.recording.events.find(({ type }) => type === "compaction-end");
    expect(end).toMatchObject({ outcome: "failed", error: { message: expect.stringContaining(why) as string } });
  });

  it("requests another summary only after the context has grown by a tenth", async () => {
    const { summaries, result } = start({ calls: 9, summary: () => text("") }, { when: 3_500, keep: 1_500 });
    await result;
    // The context grows by 1,000 tokens in each iteration, so a summary is tried at 4,000 tokens, at 5,000 tokens and so on.
    expect(summaries.length).toBe(6);
    const slow = start({ calls: 30, summary: () => text("") }, { when: 20_000, keep: 1_500 });
    await slow.result;
    expect(slow.summaries.length).toBe(4);
  });
});

describe("compactMessages in a run with limits", () => {
  it("stops requesting parts of a summary before the cost exceeds `summarize.maxCostUSD`", async () => {
    const { summaries, playing, result } = start(
      { calls: 7 },
      { when: 7_000, keep: 500, contextWindow: 11_000, summarize: { maxCostUSD: 0.015 } },
      { pricing: () => 0.01 },
    );
    const { compaction } = await result;
    expect([summaries.length, compaction]).toEqual([1, undefined]);
    expect(playing.recording.events.find(({ type }) => type === "compaction-end")).toMatchObject({
      outcome: "failed",
      costUSD: 0.01,
      error: { message: "The limits allow no further request for a summary." },
    });
  });

  it('ends the run with the reason "max-cost" if the summary reaches `limits.maxCostUSD`', async () => {
    const { requests, result } = start(
      { calls: 8 },
      { when: 3_500, keep: 1_500 },
      { pricing: () => 0.01, limits: { maxCostUSD: 0.05 } },
    );
    const { reason, costUSD } = await result;
    expect([reason.kind, costUSD, requests.length]).toEqual(["max-cost", 0.05, 4]);
  });

  it("stops waiting for a summary when control.stop() is called", async () => {
    const { playing, result } = start(
      { calls: 5, summary: () => ({ kind: "stall", ignoreSignal: false }) },
      { when: 3_500, keep: 1_500 },
    );
    await new Promise<void>((resolve) => void playing.recording.emitter.on("compaction-start", () => resolve()));
    playing.control.stop();
    const { reason, messages } = await result;
    expect([reason.kind, messages.length]).toEqual(["stopped", 9]);
  });
});
