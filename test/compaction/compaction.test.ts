import { describe, expect, it } from "vitest";
import { maskResults, runToolLoop } from "turnwright";
import { compactMessages, type CompactionOptions } from "turnwright/compaction";
import { createMockProvider, fail, finish, text, toolCall } from "turnwright/testing";
import { play, tool } from "../loop/play.ts";
import { outline, start, tooLong } from "./compaction-stage.ts";

describe("compactMessages: a nearly full context", () => {
  it("replaces old messages with a summary, and keeps the message of the user and the latest messages", async () => {
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

  it("computes shares from the context window of the provider and model", async () => {
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

  it("estimates a first request, which has no reported usage yet", async () => {
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

  it("summarizes again from the earlier summary, and only the messages after it", async () => {
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

  it("adds the usage and the cost of the summary to the run", async () => {
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

  it("sends the text of the summary to no listener", async () => {
    const { playing, result } = start({ calls: 5 }, { when: 3_500, keep: 1_500 });
    await result;
    const said = playing.recording.events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
    expect(said).toEqual(["Done."]);
  });

  it("uses another provider for the summary, and its prices", async () => {
    const writer = createMockProvider([text("Written elsewhere.")], { id: "other", model: "small" });
    const priced: string[] = [];
    const pricing = (_: unknown, { provider, model }: { provider: string; model: string }): number => {
      priced.push(`${provider} ${model}`);
      return 0.01;
    };
    const { requests, summaries, result } = start(
      { calls: 5 },
      { when: 3_500, keep: 1_500, summarise: { provider: writer, maxOutputTokens: 300, instructions: "Keep all prices." } },
      { pricing },
    );
    await result;
    expect([summaries.length, writer.requests.length, priced.filter((who) => who === "other small").length]).toEqual([0, 1, 1]);
    expect(writer.requests[0]).toMatchObject({ settings: { maxOutputTokens: 300 }, tools: [], purpose: "summary" });
    expect(writer.requests[0]?.system).toContain("Keep all prices.");
    expect(outline(requests.at(-1)?.messages ?? [])[1]).toBe("summary: Written elsewhere.");
  });

  it("works together with masking, whose placeholders stay in later requests", async () => {
    const { requests, result } = start(
      { calls: 9 },
      { when: 3_500, keep: 2_000 },
      { policies: { masking: maskResults({ keepIterations: 1 }), compaction: compactMessages({ when: 2_400, keep: 600 }) } },
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
});

describe("compactMessages: a request that the service refuses as too long", () => {
  it("summarizes once, and sends the request again in the next iteration", async () => {
    let refusals = 0;
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) =>
      messages.length > 7 && (refusals += 1) === 1 ? tooLong : undefined;
    const { requests, playing, result } = start({ calls: 5, refuse }, {});
    const { status, text: said, messages } = await result;
    expect([status, said, messages.length, refusals]).toEqual(["completed", "Done.", 12, 1]);
    expect(requests.map((request) => request.messages.length)).toEqual([1, 3, 5, 7, 9, 4, 6]);
    expect(
      playing.recording
        .types()
        .filter((type) => /^(compaction|iteration)-/.test(type))
        .slice(8, 14),
    ).toEqual(["iteration-start", "iteration-end", "compaction-start", "compaction-end", "iteration-start", "iteration-end"]);
  });

  it("ends the run with the refusal if the shortened request is refused too", async () => {
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 3 ? tooLong : undefined);
    const { requests, playing, result } = start({ calls: 5, refuse }, {});
    const { status, reason } = await result;
    const starts = playing.recording.types().filter((type) => type === "compaction-start");
    expect([status, reason.kind, starts.length, requests.length]).toEqual(["error", "provider-error", 1, 4]);
  });

  it("ends the run with the refusal if the summary fails", async () => {
    const script = {
      calls: 5,
      refuse: ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 3 ? tooLong : undefined),
      summary: () => fail({ status: 500, message: "Broken." }),
    };
    const { result, playing } = start(script, {});
    const { status, reason, error } = await result;
    expect([status, reason.kind, error?.message]).toEqual(["error", "provider-error", "The context is too long."]);
    expect(playing.recording.events.find(({ type }) => type === "compaction-end")).toMatchObject({
      outcome: "failed",
      error: { message: "Broken." },
    });
  });

  it("keeps only the last iteration if a summary was written directly before the refusal", async () => {
    let refusals = 0;
    const refuse = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
      messages.length === 6 && (refusals += 1) === 1 ? tooLong : undefined;
    const { requests, result } = start({ calls: 4, refuse }, { when: 3_500, keep: 2_300 });
    const { status } = await result;
    expect([status, refusals]).toEqual(["completed", 1]);
    expect(requests.map((request) => outline(request.messages)).slice(3)).toMatchInlineSnapshot(`
      [
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
          "call c2",
          "result c2",
          "call c3",
          "result c3",
        ],
        [
          "user Go.",
          "summary: The summary.",
          "call c3",
          "result c3",
        ],
      ]
    `);
  });

  it("sends the request again after a retry of a run that had no compaction", async () => {
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 5 ? tooLong : undefined);
    const first = start({ calls: 3, refuse }, {}, { runId: "retried", policies: { compaction: undefined } });
    const { reason, journal } = await first.result;
    const second = start({ calls: 3, refuse }, {}, { runId: "retried", journal, resume: "retry-last" });
    const { status, text: said } = await second.result;
    expect([reason.kind, status, said]).toEqual(["provider-error", "completed", "Done."]);
  });
});

describe("compactMessages: a summary that cannot be used", () => {
  it.for([
    ["the model fails", fail({ status: 500, message: "Broken." }), "Broken."],
    ["the model refuses", [text("I cannot."), finish("refusal")], 'The model wrote no summary. Its message ended as "refusal".'],
    ["the model writes nothing", text(""), 'The model wrote no summary. Its message ended as "empty".'],
    ["the model calls a tool", toolCall("search", {}), "The model wrote no summary."],
    ["the summary is longer", text("z".repeat(40_000)), "The summary is not shorter than the messages that it would replace."],
  ] as const)("leaves the requests as they were if %s, and says why", async ([, message, why]) => {
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

  it("is not requested again before the context has grown by a tenth", async () => {
    const { summaries, result } = start({ calls: 9, summary: () => text("") }, { when: 3_500, keep: 1_500 });
    await result;
    // The context grows by 1,000 tokens in each iteration: at 4,000, 5,000 and so on.
    expect(summaries.length).toBe(6);
    const slow = start({ calls: 30, summary: () => text("") }, { when: 20_000, keep: 1_500 });
    await slow.result;
    expect(slow.summaries.length).toBe(4);
  });
});

describe("compactMessages: limits", () => {
  it("writes no further part of a summary above maxCostUSD", async () => {
    const { summaries, playing, result } = start(
      { calls: 7 },
      { when: 7_000, keep: 500, contextWindow: 11_000, summarise: { maxCostUSD: 0.015 } },
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

  it("ends the run as max-cost if the summary reaches the limit of the run", async () => {
    const { requests, result } = start(
      { calls: 8 },
      { when: 3_500, keep: 1_500 },
      { pricing: () => 0.01, limits: { maxCostUSD: 0.05 } },
    );
    const { reason, costUSD } = await result;
    expect([reason.kind, costUSD, requests.length]).toEqual(["max-cost", 0.05, 4]);
  });

  it("stops a summary when the run is stopped", async () => {
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

describe("compactMessages: options", () => {
  it.for<[options: object, message: string]>([
    [{ when: 0 }, "policies.compaction.when"],
    [{ when: -1 }, "policies.compaction.when"],
    [{ keep: Number.NaN }, "policies.compaction.keep"],
    [{ when: 0.2, keep: 0.5 }, "policies.compaction.keep"],
    [{ when: 1_000, keep: 2_000 }, "policies.compaction.keep"],
    [{ contextWindow: "large" }, "policies.compaction.contextWindow"],
    [{ summarise: { provider: {} } }, "policies.compaction.summarise.provider"],
    [{ summarise: { maxOutputTokens: 0 } }, "policies.compaction.summarise.maxOutputTokens"],
    [{ summarise: { prompt: "x" } }, "prompt"],
    [{ when: 0.5, at: 3 }, "at"],
  ])("%j are rejected", ([options, message]) => {
    expect(() => compactMessages(options as CompactionOptions)).toThrow(message);
  });

  it("an object that compactMessages did not make is rejected before any request", async () => {
    const provider = createMockProvider([text("Hi.")]);
    const policies = { compaction: { kind: "compaction", startWith: () => undefined } } as never;
    await expect(runToolLoop({ provider, messages: [{ role: "user", content: "Go." }], policies })).rejects.toThrow(
      "compactMessages",
    );
    expect(provider.requests.length).toBe(0);
  });

  it("a contextWindow that throws is reported, and the run goes on", async () => {
    const contextWindow = (): number => {
      throw new Error("No catalogue.");
    };
    const { playing, result } = start({ calls: 1 }, { contextWindow });
    const { status } = await result;
    const reported = playing.recording.events.flatMap((event) => (event.type === "listener-error" ? [event.event] : []));
    expect([status, new Set(reported)]).toEqual(["completed", new Set(["compaction.contextWindow"])]);
  });
});

describe("compactMessages: a service that writes summaries itself", () => {
  const playNative = (native: boolean | undefined) => {
    const mock = createMockProvider([toolCall("search", {}), text("Done.")]);
    const provider = { ...mock, compacts: true, stream: mock.stream.bind(mock) };
    const compaction = compactMessages({ when: 0.5, contextWindow: 1_000, native });
    const tools = [tool("search", () => "x".repeat(40_000))];
    return { mock, playing: play([], { provider, tools, policies: { compaction } }) };
  };

  it("gets the size from which to summarize, and no summary is written here", async () => {
    const { mock, playing } = playNative(undefined);
    await playing.result;
    expect(mock.requests.map(({ compactAt, purpose }) => [compactAt, purpose])).toEqual([
      [500, undefined],
      [500, undefined],
    ]);
  });

  it("gets no size with `native: false`", async () => {
    const { mock, playing } = playNative(false);
    await playing.result;
    expect(mock.requests[0]?.compactAt).toBe(undefined);
  });
});
