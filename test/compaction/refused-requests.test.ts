import { describe, expect, it } from "vitest";
import { createLoopControl, memoryJournal } from "turnwright";
import { fail, text } from "turnwright/testing";
import { outline, start, tooLong } from "./compaction-stage.ts";

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

  const refuseLong = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 3 ? tooLong : undefined);

  it.for(["abort", "stop"] as const)("ends as stopped if the run is stopped during the summary: %s", async (verb) => {
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
  });

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

  it.for([false, true])(
    "ends with the refusal if maxIterations allows no other request, with finalAnswer %s",
    async (finalAnswer) => {
      const { requests, result } = start(
        { calls: 5, refuse: refuseLong },
        {},
        { limits: { maxIterations: 3 }, policies: { finalAnswer } },
      );
      const { status, error } = await result;
      expect([status, error?.message, requests.length]).toEqual(["error", "The context is too long.", 3]);
    },
  );

  it.for([
    ["a share of a window that is too large", { contextWindow: 100_000 }],
    ["more tokens than the request had", { when: 90_000, keep: 30_000 }],
  ] as const)("summarizes even if `keep` is %s", async ([, compaction]) => {
    const refuse = ({ messages }: { readonly messages: readonly unknown[] }) => (messages.length > 5 ? tooLong : undefined);
    const { result } = start({ calls: 4, refuse }, compaction);
    expect(await result).toMatchObject({ status: "completed", text: "Done." });
  });
});
