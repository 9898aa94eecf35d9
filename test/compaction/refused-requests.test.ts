import { describe, expect, it } from "vitest";
import { createLoopControl, finalAnswer, memoryJournal } from "turnwright";
import { fail, text } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { outline, start, tooLong } from "./compaction-stage.ts";

describe("compactMessages after a request is refused as too long", () => {
  it("summarizes once and sends the request again in the next iteration", async () => {
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

  it("ends the run with the refusal's error if the shortened request is refused too", async () => {
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 3 ? tooLong : undefined);
    const { requests, playing, result } = start({ calls: 5, refuse }, {});
    const { status, reason } = await result;
    const starts = playing.recording.types().filter((type) => type === "compaction-start");
    expect([status, reason.kind, starts.length, requests.length]).toEqual(["error", "provider-error", 1, 4]);
  });

  it("ends the run with the refusal's error if the summary fails", async () => {
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

  it("keeps only the last iteration if the refused request already had a summary", async () => {
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

  it("shortens the request in a retry of a run that failed because the summary failed", async () => {
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 5 ? tooLong : undefined);
    const first = start({ calls: 3, refuse, summary: () => fail({ status: 500 }) }, {}, { runId: "retried" });
    const { reason, journal } = await first.result;
    const second = start({ calls: 3, refuse }, {}, { runId: "retried", journal, resume: "retry-last" });
    const { status, text: said } = await second.result;
    expect([reason.kind, status, said]).toEqual(["provider-error", "completed", "Done."]);
  });

  it("does not count the refused request's cost toward limits.maxCostUSD", async () => {
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 7 ? tooLong : undefined);
    const limits = { maxCostUSD: 5 };
    const { requests, result } = start({ calls: 5, refuse }, {}, { pricing: () => 0.01, limits });
    const { status, costUSD } = await result;
    expect([status, requests.length, costUSD]).toEqual(["completed", 7, 0.09]);
  });

  it("keeps at most a quarter of the request, even if `keep` is larger", async () => {
    const messages = Array.from({ length: 12 }, (_, at) => ({ role: "user" as const, content: `${at} ${"x".repeat(2_000)}` }));
    const refuse = (request: { readonly messages: readonly unknown[] }) => (request.messages.length > 6 ? tooLong : undefined);
    const { result } = start({ calls: 0, refuse }, { when: 50_000, keep: 10_000 }, { messages });
    const { status, compaction } = await result;
    expect([status, compaction?.count]).toEqual(["completed", 9]);
  });

  it("also summarizes the last result if it is more than half of the request", async () => {
    const large = tool("search", (args) => `${JSON.stringify(args)} ${"x".repeat(40_000)}`);
    const refuse = (request: { readonly messages: readonly unknown[] }) =>
      JSON.stringify(request.messages).length > 30_000 ? tooLong : undefined;
    const { requests, result } = start({ calls: 1, refuse }, {}, { tools: [large] });
    const { status, messages } = await result;
    expect([status, messages.length]).toEqual(["completed", 4]);
    expect(outline(requests.at(-1)?.messages ?? [])).toEqual(["user Go.", "summary: The summary."]);
  });

  it.for([400, 413])("continues the run if the refusal has the HTTP status %i", async (status) => {
    const refusal = fail({ status, message: status === 413 ? "Request exceeds the maximum size" : "prompt is too long" });
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 7 ? refusal : undefined);
    const { result } = start({ calls: 5, refuse }, {});
    expect((await result).status).toBe("completed");
  });

  const refuseLong = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 3 ? tooLong : undefined);

  it.for(["abort", "stop"] as const)(
    'ends the run with the status "stopped-by-user" after %s() during the summary',
    async (verb) => {
      const control = createLoopControl();
      const abort = new AbortController();
      const summary = () => {
        if (verb === "abort") abort.abort(new Error("The user left."));
        else control.stop();
        return text("The summary.");
      };
      const script = { calls: 5, refuse: refuseLong, summary };
      const { requests, result } = start(script, {}, { control, signal: abort.signal });
      const { status, reason } = await result;
      expect([status, reason.kind, requests.length]).toEqual(["stopped-by-user", verb === "abort" ? "aborted" : "stopped", 3]);
    },
  );

  it("summarizes in a retry of a run that was stopped during the summary", async () => {
    const journal = memoryJournal();
    const control = createLoopControl();
    const summary = () => {
      control.stop();
      return text("The summary.");
    };
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 5 ? tooLong : undefined);
    await start({ calls: 3, refuse, summary }, {}, { runId: "stopped", journal, control }).result;
    const again = start({ calls: 3, refuse }, {}, { runId: "stopped", journal, resume: "retry-last" });
    const { status, text: said, compaction } = await again.result;
    expect([status, said, compaction?.summary]).toEqual(["completed", "Done.", "The summary."]);
  });

  it.for([false, true])("ends the run with the refusal's error at limits.maxIterations (finalAnswer: %s)", async (isGranted) => {
    const { requests, result } = start(
      { calls: 5, refuse: refuseLong },
      {},
      { limits: { maxIterations: 3 }, middleware: [isGranted && finalAnswer()] },
    );
    const { status, error } = await result;
    expect([status, error?.message, requests.length]).toEqual(["error", "The context is too long.", 3]);
  });

  it.for([
    ["contextWindow is larger than the model's window", { contextWindow: 100_000 }],
    ["`keep` is larger than the request", { when: 90_000, keep: 30_000 }],
  ] as const)("summarizes even if %s", async ([, compaction]) => {
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 5 ? tooLong : undefined);
    const { result } = start({ calls: 4, refuse }, compaction);
    expect(await result).toMatchObject({ status: "completed", text: "Done." });
  });
});
