import { describe, expect, it } from "vitest";
import { approve, type Approve, FatalToolError, isLoopError, type LoopOptions } from "turnwright";
import { inspectJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { never, outcomesOf, play, type Playing, tool } from "./play.ts";

const policy: Approve = ({ name }) => ({ kind: name === "pay" ? "ask" : "approve" });
const answers = { call_i0_0: { kind: "approve" } } as const;

function setUp(other: () => unknown): { ran: string[]; start: (more: Partial<LoopOptions>) => Playing } {
  const ran: string[] = [];
  const tools = [tool("pay", () => void ran.push("pay")), tool("other", other)];
  const provider = createMockProvider(({ messages }) =>
    messages.length === 1 ? [toolCall("pay"), toolCall("other")] : text("Done."),
  );
  const start = (more: Partial<LoopOptions>): Playing =>
    play([], { runId: "r", provider, tools, middleware: [approve(policy)], timeouts: { toolCleanupMs: 0 }, ...more });
  return { ran, start };
}

describe("a call waiting for approval", () => {
  it.for<[verb: string, end: (playing: Playing) => void, kind: string]>([
    ["stopped", ({ control }) => control.stop(), "stopped"],
    ["killed", ({ control }) => control.kill(), "killed"],
    ["aborted", ({ abort }) => abort.abort(), "aborted"],
  ])("never runs if the run is %s during another call", async ([, end, kind]) => {
    const { ran, start } = setUp(() => never);
    const store = createDurableStore();
    const playing = start({ journal: store.open() });
    await playing.clock.flush();
    end(playing);
    const result = await playing.result;
    expect([result.status, result.reason.kind, result.pendingCalls]).toEqual(["stopped-by-user", kind, []]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: not-run", "call_i0_1: interrupted"]);
    expect(playing.recording.of("tool-end").map(({ callId, outcome }) => `${callId}: ${outcome}`)).toContain(
      "call_i0_0: not-run",
    );
    for (const journal of [store.open(), replayJournal(store.open())]) {
      const again = await start({ journal }).result;
      expect([again.reason.kind, again.messages]).toEqual([kind, result.messages]);
    }
    const late: unknown = await start({ journal: store.open(), answers, resume: "retry-last" }).result.catch((error) => error);
    expect([isLoopError(late, "unknown-decision"), ran]).toEqual([true, []]);
    expect((await start({ journal: store.open(), resume: "retry-last" }).result).text).toBe("Done.");
  });

  it('has the outcome "not-run" in the messages of a resumed run that is stopped immediately', async () => {
    const { ran, start } = setUp(() => "other");
    const store = createDurableStore();
    await start({ journal: store.open() }).result;
    const second = start({ journal: store.open(), answers });
    second.control.stop();
    const stopped = await second.result;
    expect([stopped.reason.kind, outcomesOf(stopped)]).toEqual(["stopped", ["call_i0_0: not-run", "call_i0_1: completed"]]);
    expect([(await start({ journal: store.open(), answers }).result).text, ran]).toEqual(["Done.", ["pay"]]);
  });

  it("still waits if a listener aborts the run at the last iteration-end event", async () => {
    const { ran, start } = setUp(() => "other");
    const store = createDurableStore();
    const playing = start({ journal: store.open() });
    playing.recording.emitter.on("iteration-end", () => playing.abort.abort());
    const { reason, pendingCalls } = await playing.result;
    expect([reason.kind, pendingCalls.map(({ name }) => name)]).toEqual(["approval-required", ["pay"]]);
    expect((await inspectJournal(store.open())).reason).toEqual(reason);
    expect([(await start({ journal: store.open(), answers }).result).text, ran]).toEqual(["Done.", ["pay"]]);
  });

  it("never runs after another call throws FatalToolError", async () => {
    const { ran, start } = setUp(() => {
      throw new FatalToolError("No.");
    });
    const store = createDurableStore();
    const result = await start({ journal: store.open() }).result;
    expect([result.reason.kind, outcomesOf(result)]).toEqual(["fatal-tool-error", ["call_i0_0: not-run", "call_i0_1: failed"]]);
    expect((await start({ journal: replayJournal(store.open()) }).result).messages).toEqual(result.messages);
    expect(ran).toEqual([]);
  });
});

it.for<[what: string, limits: LoopOptions["limits"], isDrained: boolean, endedAt: number]>([
  ["a drain", {}, true, 2_000],
  ["a wall-clock timeout", { wallClockMs: 1_000 }, false, 1_000],
  ["a drain and a wall-clock timeout", { wallClockMs: 1_000 }, true, 1_000],
])(
  "a call that waits for approval keeps waiting if %s ends the run during another call",
  async ([, limits, isDrained, endedAt]) => {
    const { ran, start } = setUp(() => never);
    const store = createDurableStore();
    const playing = start({ journal: store.open(), limits, timeouts: { toolMs: 2_000, toolCleanupMs: 0 } });
    await playing.clock.flush();
    if (isDrained) playing.control.drain();
    await playing.clock.advance(2_000);
    const { reason, pendingCalls } = await playing.result;
    expect([reason.kind, pendingCalls.map(({ name }) => name), playing.endedAt()]).toEqual([
      "approval-required",
      ["pay"],
      endedAt,
    ]);
    expect((await start({ journal: store.open(), answers }).result).text).toBe("Done.");
    expect(ran).toEqual(["pay"]);
  },
);

it("a call keeps waiting if limits.wallClockMs expires in a resumed run that receives the same decision about another call as a crashed run", async () => {
  const store = createDurableStore();
  const slow = tool("slow", () => never, { needsApproval: true });
  const tools = [slow, tool("other", () => 1, { needsApproval: true })];
  const script = [[toolCall("slow"), toolCall("other")]];
  const options: Partial<LoopOptions> = { runId: "r", tools, limits: { wallClockMs: 1_000 }, timeouts: { toolCleanupMs: 0 } };
  await play(script, { ...options, journal: store.open() }).result;
  const crashed = play([], { ...options, answers, journal: store.open({ after: "wait/call_i0_0/1/answer" }) });
  await expect(crashed.result).rejects.toThrow("died");
  const playing = play([], { ...options, answers, journal: store.open() });
  await playing.clock.runAll();
  const { reason, pendingCalls } = await playing.result;
  expect([reason.kind, pendingCalls.map(({ name }) => name)]).toEqual(["approval-required", ["other"]]);
  expect((await inspectJournal(store.open())).reason).toEqual(reason);
});
