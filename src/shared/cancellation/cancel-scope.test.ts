import { describe, expect, it } from "vitest";
import { createTestClock } from "../../testing/test-clock.ts";
import { abortReasonOf, type CancelReason, CancelScope } from "./cancel-scope.ts";

const wallClock: CancelReason = { kind: "wall-clock", limitMs: 5 };
const stop: CancelReason = { kind: "stop", note: "enough" };
const kill: CancelReason = { kind: "kill" };
const abort: CancelReason = { kind: "abort", reason: "gone" };

describe("CancelScope", () => {
  it.for<[title: string, causes: readonly CancelReason[], heard: readonly CancelReason[]]>([
    ["a stop", [stop], [stop]],
    ["the first of two stops", [stop, { kind: "stop", note: "again" }], [stop]],
    ["the wall-clock limit, then a stop, then a kill", [wallClock, stop, kill], [wallClock, stop, kill]],
    ["a stop, but not again because of a later wall-clock limit", [stop, wallClock], [stop]],
    ["a stop, then an abort", [stop, abort], [stop, abort]],
    ["a kill, but not again because of a later abort", [kill, abort], [kill]],
    ["an abort, but not again because of any later reason", [abort, kill, stop, wallClock], [abort]],
  ])("cancels its members because of %s", ([, causes, heard]) => {
    const scope = new CancelScope();
    const told: CancelReason[] = [];
    scope.join({ cancel: (cause) => told.push(cause) });
    for (const cause of causes) scope.cancel(cause);
    expect([told, scope.cause]).toEqual([heard, heard.at(-1)]);
  });

  it("cancels every member, even a member that leaves during the cancellation", () => {
    const scope = new CancelScope();
    const told: string[] = [];
    const second = { cancel: () => void told.push("second") };
    const first = {
      cancel: () => {
        told.push("first");
        scope.leave(first);
        scope.leave(second);
        scope.join({ cancel: () => void told.push("third") });
      },
    };
    scope.join(first);
    scope.join(second);
    expect(scope.size).toBe(2);
    scope.cancel(stop);
    expect([told, scope.size]).toEqual([["first", "second"], 1]);
  });

  it("cancels the run at the wall-clock limit, counted from the start of the run", async () => {
    const clock = createTestClock(10_000);
    const scope = new CancelScope();
    scope.startWallClock(1_000, 9_600, clock);
    await clock.advance(599);
    expect(scope.cause).toBeUndefined();
    await clock.advance(1);
    expect(scope.cause).toEqual({ kind: "wall-clock", limitMs: 1_000 });
    expect(clock.pending).toBe(0);
  });

  it("ignores a second wall-clock limit", async () => {
    const clock = createTestClock();
    const scope = new CancelScope();
    scope.startWallClock(1_000, 0, clock);
    scope.startWallClock(10, 0, clock);
    await clock.advance(999);
    expect([scope.cause, clock.pending]).toEqual([undefined, 1]);
  });

  it("starts no timer if the wall-clock limit is Infinity", () => {
    const clock = createTestClock();
    const scope = new CancelScope();
    scope.startWallClock(Number.POSITIVE_INFINITY, 0, clock);
    scope.checkDeadline(2 ** 50);
    expect([scope.cause, clock.pending]).toEqual([undefined, 0]);
  });

  it.for<[title: string, now: number, over: boolean]>([
    ["does not cancel before the wall-clock limit", 999, false],
    ["cancels at the wall-clock limit", 1_000, true],
    ["cancels after the wall-clock limit", 5_000, true],
  ])("checkDeadline() %s", ([, now, over]) => {
    const scope = new CancelScope();
    scope.startWallClock(1_000, 0, createTestClock());
    scope.checkDeadline(now);
    expect(scope.cause !== undefined).toBe(over);
  });

  it("cancels the run after 1 ms if the wall-clock limit has already passed", async () => {
    const clock = createTestClock(5_000);
    const scope = new CancelScope();
    scope.startWallClock(1_000, 0, clock);
    expect(scope.cause).toBeUndefined();
    await clock.advance(1);
    expect(scope.cause?.kind).toBe("wall-clock");
  });

  it("release() stops the wall-clock timer", () => {
    const clock = createTestClock();
    const scope = new CancelScope();
    scope.release();
    scope.startWallClock(1_000, 0, clock);
    scope.release();
    expect(clock.pending).toBe(0);
  });
});

it.for<[title: string, cause: CancelReason, reason: unknown]>([
  ["the caller's reason for an abort", abort, "gone"],
  ["an AbortError for a kill", kill, { name: "AbortError", message: "The run was killed." }],
  ["an AbortError for a stop", stop, { name: "AbortError", message: "The run was stopped." }],
  ["a TimeoutError for the wall-clock limit", wallClock, { name: "TimeoutError", message: "The run took longer than 5 ms." }],
])("abortReasonOf: returns %s", ([, cause, reason]) => {
  const told = abortReasonOf(cause);
  expect(told instanceof DOMException ? { name: told.name, message: told.message } : told).toEqual(reason);
});
