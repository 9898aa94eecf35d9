import { describe, expect, it } from "vitest";
import { type LoopOptions } from "turnwright";
import { replayJournal } from "turnwright/journal";
import { both, savedOf, setUp } from "./asking-stage.ts";
import { createDurableStore } from "./durable-store.ts";
import { answersOf, outcomesOf, type Playing } from "./play.ts";

describe("a call waiting for approval", () => {
  it("suspends the run after the calls that need no decision have ended", async () => {
    const { ran, start } = setUp();
    const playing = start();
    const result = await playing.result;
    const calls = [
      { id: "call_i0_0", callId: "call_i0_0", name: "pay", args: { amount: 1 }, waitsFor: "approval" },
      { id: "call_i0_2", callId: "call_i0_2", name: "pay", args: { amount: 2 }, waitsFor: "approval" },
    ];
    expect([result.status, result.reason]).toEqual(["suspended", { kind: "approval-required", calls }]);
    expect(result.pendingCalls.map(({ callId }) => callId)).toEqual(["call_i0_0", "call_i0_2"]);
    expect([ran, result.toolCallsExecuted, playing.provider.calls]).toEqual([["call_i0_1"], 1, 1]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: awaiting-approval", "call_i0_1: completed", "call_i0_2: awaiting-approval"]);
    expect(answersOf(result)[0]?.result).toEqual({ status: "awaiting_approval" });
    expect(result.functionHistory.map(({ functionCall }) => functionCall.id)).toEqual(["call_i0_1"]);
    expect(playing.recording.of("tool-start").map(({ callId }) => callId)).toEqual(["call_i0_1"]);
    expect(playing.recording.of("approval-decided").map(({ callId }) => callId)).toEqual(["call_i0_1"]);
    expect(playing.clock.pending).toBe(0);
  });

  it.for<[what: string, answers: LoopOptions["answers"], ran: readonly string[], outcomes: readonly string[]]>([
    ["approved", both("approve"), ["call_i0_1", "call_i0_0 1", "call_i0_2 2"], ["completed", "completed", "completed"]],
    ["denied", both("deny"), ["call_i0_1"], ["denied", "completed", "denied"]],
    [
      "edited",
      { call_i0_0: { kind: "modify", args: { amount: 7 } }, call_i0_2: { kind: "modify", args: { amount: 700 } } },
      ["call_i0_1", "call_i0_0 7"],
      ["completed", "completed", "invalid-input"],
    ],
  ])("is %s in a resumed run, which does not run completed calls again", async ([, answers, did, outcomes]) => {
    const { ran, asked, start } = setUp();
    const journal = await savedOf(start());
    const second = start({ journal, answers });
    const result = await second.result;
    expect([result.reason.kind, result.text, result.pendingCalls]).toEqual(["answered", "Done.", []]);
    expect([ran, answersOf(result).map(({ outcome }) => outcome)]).toEqual([did, outcomes]);
    expect(asked).toEqual(["call_i0_0", "call_i0_1", "call_i0_2"]);
    expect(second.recording.of("approval-decided").map(({ callId, replayed, question }) => [callId, replayed, question])).toEqual(
      [
        ["call_i0_1", true, undefined],
        ["call_i0_0", undefined, "call_i0_0"],
        ["call_i0_2", undefined, "call_i0_2"],
      ],
    );
    // Passing the same decisions again is allowed. The replay sends no request and runs no tool.
    const third = start({ journal: await savedOf(second), answers });
    expect([(await third.result).messages, third.provider.calls, ran]).toEqual([result.messages, 0, did]);
  });

  it('has a "tool-end" event for its denial, marked as replayed only in a replay', async () => {
    const { start } = setUp();
    const second = start({ journal: await savedOf(start()), answers: both("deny") });
    const third = start({ journal: await savedOf(second) });
    await third.result;
    const told = ({ recording }: Playing): unknown => recording.of("tool-end").map(({ callId, replayed }) => [callId, replayed]);
    expect([second, third].map(told)).toEqual([
      expect.arrayContaining([
        ["call_i0_0", undefined],
        ["call_i0_1", true],
        ["call_i0_2", undefined],
      ]),
      expect.arrayContaining([
        ["call_i0_0", true],
        ["call_i0_1", true],
        ["call_i0_2", true],
      ]),
    ]);
  });

  it("keeps waiting through several resumed runs until a decision is given", async () => {
    const { ran, start } = setUp();
    const without = start({ journal: await savedOf(start()) });
    expect((await without.result).pendingCalls).toHaveLength(2);
    const one = start({
      journal: await savedOf(without),
      answers: { call_i0_2: { kind: "approve" }, call_i0_0: { kind: "ask" } },
    });
    expect((await one.result).pendingCalls.map(({ callId }) => callId)).toEqual(["call_i0_0"]);
    const last = start({ journal: await savedOf(one), answers: { call_i0_0: { kind: "approve" } } });
    expect((await last.result).text).toBe("Done.");
    expect(ran).toEqual(["call_i0_1", "call_i0_2 2", "call_i0_0 1"]);
  });

  it.for<[what: string, afterRecords: number]>(Array.from({ length: 12 }, (_, index) => ["journal record", index + 1]))(
    "lets the run resume after a crash at %s %d without running a tool twice",
    async ([, afterRecords]) => {
      const { ran, start } = setUp();
      const store = createDurableStore();
      expect((await start({ journal: store.open() }).result).status).toBe("suspended");
      const answers = both("approve");
      const crashed = start({ journal: store.open({ afterRecords }), answers });
      await crashed.result.catch(() => {});
      const result = await start({ journal: store.open(), answers }).result;
      expect(result.text).toBe("Done.");
      expect(new Set(ran).size).toBe(ran.length);
      expect(answersOf(result).map(({ outcome }) => outcome)).not.toContain("awaiting-approval");
    },
  );

  it("stays pending in a replay without decisions, and is decided in a replay with decisions", async () => {
    const { ran, start } = setUp();
    const first = start();
    const pending = await start({ journal: replayJournal(await savedOf(first)) }).result;
    expect([pending.reason, pending.messages]).toEqual([(await first.result).reason, (await first.result).messages]);
    const second = start({ journal: await savedOf(first), answers: both("approve") });
    const decided = start({ journal: replayJournal(await savedOf(second)) });
    expect([(await decided.result).text, decided.provider.calls, ran.length]).toEqual(["Done.", 0, 3]);
    expect(decided.recording.of("approval-decided").every(({ replayed }) => replayed)).toBe(true);
  });

  it("counts toward limits.maxToolCalls", async () => {
    const { ran, start } = setUp({ limits: { maxToolCalls: 2 } });
    const first = start();
    expect(outcomesOf(await first.result)).toEqual(["call_i0_0: awaiting-approval", "call_i0_1: completed", "call_i0_2: limit"]);
    const second = start({ journal: await savedOf(first), answers: { call_i0_0: { kind: "approve" } } });
    expect(outcomesOf(await second.result)).toEqual(["call_i0_0: completed", "call_i0_1: completed", "call_i0_2: limit"]);
    expect(ran).toEqual(["call_i0_1", "call_i0_0 1"]);
  });

  it("keeps its place within limits.maxToolCalls, so no later call can take it", async () => {
    const { ran, start } = setUp({ limits: { maxToolCalls: 1 } });
    const first = start();
    const result = await first.result;
    expect(result.pendingCalls.map(({ callId }) => callId)).toEqual(["call_i0_0"]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: awaiting-approval", "call_i0_1: limit", "call_i0_2: limit"]);
    const [end] = first.recording.of("iteration-end");
    expect(end?.calls.map(({ outcome }) => outcome)).toEqual(["waiting", "limit", "limit"]);
    const again = await start({ journal: replayJournal(await savedOf(first)) }).result;
    expect([again.reason, again.messages]).toEqual([result.reason, result.messages]);
    const second = start({ journal: await savedOf(first), answers: { call_i0_0: { kind: "approve" } } });
    expect(outcomesOf(await second.result)).toEqual(["call_i0_0: completed", "call_i0_1: limit", "call_i0_2: limit"]);
    expect(ran).toEqual(["call_i0_0 1"]);
  });

  it("does not accept a decision after limits.maxToolCalls has refused it", async () => {
    const { ran, start } = setUp({ limits: { maxToolCalls: 2 } });
    const late = start({ journal: await savedOf(start()), answers: { call_i0_2: { kind: "approve" } } });
    await expect(late.result).rejects.toMatchObject({ code: "unknown-decision", details: { call: "call_i0_2" } });
    expect(ran).toEqual(["call_i0_1"]);
  });
});
