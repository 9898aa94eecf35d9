import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type NestedLoopOptions, type Tool, type ToolContext, runNested } from "turnwright";
import { createMockProvider, createTestClock, type MockMessage, stall, text, toolCall } from "turnwright/testing";
import { countListeners } from "../count-listeners.ts";
import { createHoldClock } from "../hold-clock.ts";
import { answersOf, never, outcomesOf, play, type Playing, tool } from "../play.ts";
import { type Kind, kinds, nesting, question, scripted } from "./nesting.ts";

let listeners: ReturnType<typeof countListeners>;
beforeEach(() => {
  listeners = countListeners();
});
afterEach(() => listeners.stop());

/** Work of the innermost run. `settlesAt` lists the endings for which the run waits the full `toolCleanupMs`. */
const busy: readonly (readonly [what: string, turn: MockMessage, settlesAt: readonly string[]])[] = [
  ["a silent stream", stall(), []],
  ["a stream that ignores its signal", stall({ ignoreSignal: true }), ["the wall clock"]],
  ["a tool that ignores its signal", toolCall("deaf"), ["a stop", "the wall clock"]],
  ["a tool that obeys its signal", toolCall("polite"), []],
];

const signals: AbortSignal[] = [];
const tools: readonly Tool[] = [
  tool("deaf", () => never),
  tool("polite", (_, { signal }) => {
    signals.push(signal);
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  }),
];

const ends: readonly (readonly [how: string, kind: string, act: (playing: Playing) => void])[] = [
  ["a stop", "stopped", ({ control }) => control.stop({ requester: "me" })],
  ["a kill", "killed", ({ control }) => control.kill()],
  ["an abort", "aborted", ({ abort }) => abort.abort("enough")],
  ["the wall clock", "wall-clock", () => {}],
];

interface Tower extends Playing {
  readonly asked: () => number;
  readonly active: () => number;
}

function busyTower(kind: Kind, turn: MockMessage, wallClockMs?: number): Tower {
  const grandchild = scripted([kind, "grandchild"], [turn, text("More.")], { tools });
  const child = scripted([kind, "child"], [toolCall("grandchild"), text("More.")], { tools: [grandchild.tool] });
  const playing = play([toolCall("child"), text("More.")], {
    tools: [child.tool],
    limits: { wallClockMs },
    timeouts: { toolCleanupMs: 40, toolMs: 1_000_000 },
  });
  const providers = [playing.provider, child.provider, grandchild.provider];
  const sum = (of: "calls" | "active") => () => providers.reduce((total, provider) => total + provider[of], 0);
  return { ...playing, asked: sum("calls"), active: sum("active") };
}

const cases = ends.flatMap((end) => busy.map((state) => [end[0], state[0], end, state] as const));

describe.for(kinds)("nested runs in an %s", (kind) => {
  it.for(cases)("end if %s ends the outermost run during %s", async ([, , [how, reason, act], [what, turn, settlesAt]]) => {
    const wallClockMs = how === "the wall clock" ? 500 : undefined;
    const playing = busyTower(kind, turn, wallClockMs);
    await playing.clock.advance(500);
    act(playing);
    await playing.clock.advance(40);
    const isLeft = what === "a stream that ignores its signal";
    expect(playing.endedAt()).toBe(settlesAt.includes(how) ? 540 : 500);
    const result = await playing.result;
    expect([result.reason.kind, outcomesOf(result)]).toEqual([reason, ["call_i0_0: interrupted"]]);
    expect(playing.recording.of("run-end").map(({ reason: { kind: ended } }) => ended)).toEqual([reason, reason, reason]);
    expect(playing.recording.of("tool-end").map(({ outcome }) => outcome)).not.toContain("completed");
    expect([playing.asked(), playing.active()]).toEqual([3, isLeft ? 1 : 0]);
    await playing.clock.runAll();
    expect([playing.clock.pending, listeners.on(playing.abort.signal)]).toEqual([0, 0]);
    expect([playing.asked(), signals.every(({ aborted }) => aborted)]).toEqual([3, true]);
  });

  it("end immediately on all levels if a kill follows a stop", async () => {
    const playing = busyTower(kind, toolCall("deaf"));
    await playing.clock.flush();
    playing.control.stop();
    await playing.clock.advance(10);
    playing.control.kill();
    await playing.clock.flush();
    expect([playing.endedAt(), (await playing.result).reason.kind]).toEqual([10, "killed"]);
    expect(playing.recording.of("run-end").map(({ reason }) => reason.kind)).toEqual(["killed", "killed", "killed"]);
    expect(playing.clock.pending).toBe(0);
  });

  it("do not start if the outer run is stopped before the sequential call begins", async () => {
    let prepared = 0;
    const child = nesting(kind, "child", () => {
      prepared += 1;
      return { messages: question };
    });
    const alone = { ...child, sequential: true };
    const playing = play([[toolCall("polite"), toolCall("child")]], { tools: [...tools, alone] });
    await playing.clock.flush();
    playing.control.stop();
    const result = await playing.result;
    expect([outcomesOf(result), prepared]).toEqual([["call_i0_0: interrupted", "call_i0_1: not-run"], 0]);
    expect(result.toolCallsExecuted).toBe(1);
  });

  it('report `requester` and `note` of a control.stop() on the outermost run in "run-end"', async () => {
    const playing = busyTower(kind, stall());
    await playing.clock.flush();
    playing.control.stop({ requester: "me", note: "why" });
    await playing.result;
    const stopped = { kind: "stopped", requester: "me", note: "why" };
    expect(playing.recording.of("run-end").map(({ reason }) => reason)).toEqual([stopped, stopped, stopped]);
  });

  it(`report the outermost run's wallClockMs in the "run-end" event`, async () => {
    const playing = busyTower(kind, toolCall("deaf"), 500);
    await playing.clock.runAll();
    await playing.result;
    const struck = { kind: "wall-clock", limitMs: 500 };
    expect(playing.recording.of("run-end").map(({ reason }) => reason)).toEqual([struck, struck, struck]);
  });

  it("end when limits.wallClockMs has passed, even if a tool blocks the thread", async () => {
    const clock = createHoldClock();
    const provider = createMockProvider((_, index) => (index < 20 ? toolCall("hold") : text("At last.")));
    const hold = tool("hold", () => clock.hold(300));
    const child = nesting(kind, "child", () => ({ messages: question, provider, tools: [hold] }));
    const playing = play([toolCall("child"), text("More.")], { clock, tools: [child], limits: { wallClockMs: 1_000 } });
    await clock.runAll();
    expect([(await playing.result).reason.kind, provider.calls]).toEqual(["wall-clock", 4]);
  });
});

it("a nested run's longer toolCleanupMs does not delay the outer run's end", async () => {
  const child = scripted(["agent tool", "child"], [toolCall("deaf"), text("More.")], {
    tools,
    timeouts: { toolCleanupMs: 9_000 },
  });
  const playing = play([toolCall("child"), text("More.")], { tools: [child.tool], timeouts: { toolCleanupMs: 40 } });
  await playing.clock.flush();
  playing.control.stop();
  await playing.clock.advance(40);
  expect(playing.endedAt()).toBe(40);
  await playing.clock.runAll();
});

describe("nested runs that a tool call has started", () => {
  it.for(busy)("end if the outer call times out during %s", async ([what, turn]) => {
    const child = scripted(["ordinary tool", "child"], [turn, text("More.")], { tools });
    const [{ execute, ...traits }] = [child.tool];
    const playing = play([toolCall("child"), text("Moving on.")], {
      tools: [tool("child", execute as never, { ...traits, timeoutMs: 70 })],
    });
    await playing.clock.advance(70);
    const result = await playing.result;
    expect([outcomesOf(result), result.text, playing.endedAt()]).toEqual([["call_i0_0: timed-out"], "Moving on.", 70]);
    expect(playing.recording.of("run-end").map(({ status, reason }) => [status, reason.kind])).toEqual([
      ["stopped-by-user", "aborted"],
      ["completed", "answered"],
    ]);
    expect([child.provider.calls, child.provider.active]).toEqual([1, what === "a stream that ignores its signal" ? 1 : 0]);
    await playing.clock.runAll();
    expect([playing.clock.pending, listeners.on(playing.abort.signal)]).toEqual([0, 0]);
  });

  it.for<[how: string, execute: (start: () => Promise<unknown>) => unknown, outcome: string, asked: number]>([
    ["returns", (start) => void start(), "completed", 0],
    ["returns asynchronously", async (start) => [void start(), await Promise.resolve()], "completed", 2],
    [
      "throws",
      (start) => {
        void start();
        throw new Error("no");
      },
      "failed",
      0,
    ],
  ])("end if the tool %s without awaiting the runs", async ([, execute, outcome, asked]) => {
    const provider = createMockProvider(() => stall());
    const options: NestedLoopOptions = { messages: question, provider };
    const loses = tool("loses", (_, ctx) => execute(() => Promise.all([runNested(ctx, options), runNested(ctx, options)])));
    const playing = play([toolCall("loses"), text("Done.")], { tools: [loses] });
    const result = await playing.result;
    expect([outcomesOf(result), result.text]).toEqual([[`call_i0_0: ${outcome}`], "Done."]);
    expect([provider.calls, provider.active, playing.clock.pending]).toEqual([asked, 0, 0]);
    expect(playing.recording.of("run-end").map(({ reason }) => reason.kind)).toEqual(["aborted", "aborted", "answered"]);
  });

  it("cannot be started after the call has ended", async () => {
    const clock = createTestClock();
    let context: ToolContext | undefined;
    const provider = createMockProvider(() => text("x"));
    const keeps = tool("keeps", (_, ctx) => {
      context = ctx;
      return "gone";
    });
    const slow = tool("slow", (_, ctx) => {
      context = ctx;
      return never;
    });
    for (const name of ["keeps", "slow"]) {
      const playing = play([toolCall(name), text("Done.")], { tools: [keeps, slow], clock, timeouts: { toolMs: 10 } });
      await clock.runAll();
      expect((await playing.result).text).toBe("Done.");
      await expect(runNested(context as unknown as ToolContext, { messages: question, provider })).rejects.toThrow(
        "The tool call has ended, so it cannot start a nested run.",
      );
    }
    expect(provider.calls).toBe(0);
  });

  it("do not affect a second attempt by the tool", async () => {
    const provider = createMockProvider((_, index) => (index === 0 ? stall() : text("Second.")));
    let attempts = 0;
    const tries = tool(
      "tries",
      async (_, ctx) => {
        attempts += 1;
        const running = runNested(ctx, { messages: question, provider });
        if (attempts > 1) return (await running).text;
        // Waits until the nested run has called its model.
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        throw new Error("no");
      },
      { idempotent: true, retry: { maxAttempts: 2 } },
    );
    const playing = play([toolCall("tries"), text("Done.")], { tools: [tries] });
    await playing.clock.flush();
    const result = await playing.result;
    expect([answersOf(result)[0]?.result, provider.calls, provider.active]).toEqual(["Second.", 2, 0]);
  });

  it("do not cause an unhandled rejection if rejected and not awaited", async () => {
    const loses = tool("loses", (_, ctx) => void runNested(ctx, { messages: question }));
    const playing = play([toolCall("loses"), text("Done.")], { tools: [loses], limits: { maxDepth: 1 } });
    expect((await playing.result).text).toBe("Done.");
    await playing.clock.flush();
  });
});
