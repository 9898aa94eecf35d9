import { describe, expect, it } from "vitest";
import { createTestClock, type TestClock } from "../../testing/test-clock.ts";
import { Deadline, type DeadlineLimits, type Raced } from "./deadline.ts";
import { type CancelReason, CancelScope } from "./cancel-scope.ts";

const none = Number.POSITIVE_INFINITY;
const never = new Promise<never>(() => {});
const stop: CancelReason = { kind: "stop" };

interface Race {
  readonly clock: TestClock;
  readonly scope: CancelScope;
  readonly deadline: Deadline;
  readonly late: boolean[];
  readonly ended: (readonly [at: number, end: Raced<unknown>])[];
}

function start(limits: Partial<DeadlineLimits>, work: (clock: TestClock) => PromiseLike<unknown>): Race {
  const clock = createTestClock();
  const scope = new CancelScope();
  const deadline = new Deadline({ limitMs: 1_000, ...limits }, { clock, scope });
  const late: boolean[] = [];
  const ended: Race["ended"] = [];
  void deadline.race(work(clock), (success) => void late.push(success)).then((end) => ended.push([clock.now(), end]));
  return { clock, scope, deadline, late, ended };
}

const after =
  (ms: number, value: unknown, fails = false) =>
  (clock: TestClock) =>
    new Promise((resolve, reject) => void clock.setTimeout(() => (fails ? reject(value) : resolve(value)), ms));

describe("Deadline.race with limitMs", () => {
  it.for<[what: string, work: (clock: TestClock) => PromiseLike<unknown>, at: number, end: Raced<unknown>]>([
    ["the value if the work resolves immediately", () => Promise.resolve(7), 0, { kind: "value", value: 7 }],
    ["the error if the work rejects immediately", () => Promise.reject("no"), 0, { kind: "thrown", error: "no" }],
    ["the value if the work resolves just before limitMs", after(999, 7), 999, { kind: "value", value: 7 }],
    ["expiry if the work resolves after limitMs", after(1_001, 7), 1_000, { kind: "expired", limitMs: 1_000 }],
    ["expiry if the work rejects after limitMs", after(1_001, "no", true), 1_000, { kind: "expired", limitMs: 1_000 }],
    ["expiry if the work never settles", () => never, 1_000, { kind: "expired", limitMs: 1_000 }],
  ])("ends with %s", async ([, work, at, end]) => {
    const { clock, scope, ended, deadline } = start({}, work);
    await clock.advance(5_000);
    expect([ended, deadline.isOver, scope.size, clock.pending]).toEqual([[[at, end]], end.kind !== "value", 0, 0]);
  });

  it("starts no timer for work that is already done", async () => {
    const { clock, ended } = start({}, () => Promise.resolve(7));
    expect(clock.pending).toBe(0);
    await clock.flush();
    expect(ended).toHaveLength(1);
  });

  it("keeps waiting if limitMs is Infinity", async () => {
    const { clock, ended } = start({ limitMs: none }, () => never);
    await clock.advance(2 ** 40);
    expect(ended).toEqual([]);
  });

  it("counts limitMs from the creation of the deadline, even if the work starts later", async () => {
    const clock = createTestClock();
    const deadline = new Deadline({ limitMs: 1_000 }, { clock, scope: new CancelScope() });
    await clock.advance(700);
    let endedAt = 0;
    void deadline.race(never).then(() => (endedAt = clock.now()));
    await clock.advance(5_000);
    expect([endedAt, deadline.expired]).toEqual([1_000, true]);
  });

  it("expires after 1 ms if limitMs has already passed when the race starts", async () => {
    const clock = createTestClock();
    const deadline = new Deadline({ limitMs: 1_000 }, { clock, scope: new CancelScope() });
    await clock.advance(3_000);
    let end: unknown;
    void deadline.race(never).then((raced) => (end = raced));
    await clock.advance(1);
    expect(end).toEqual({ kind: "expired", limitMs: 1_000 });
  });

  it("calls onLate once when abandoned work ends", async () => {
    const { clock, late } = start({}, after(1_500, 7));
    const other = start({}, after(1_500, "no", true));
    await clock.advance(5_000);
    await other.clock.advance(5_000);
    expect([late, other.late]).toEqual([[true], [false]]);
  });

  it("does not call onLate for work that ended in time", async () => {
    const { clock, late } = start({}, after(10, 7));
    await clock.advance(5_000);
    expect(late).toEqual([]);
  });
});

describe("Deadline.race with idleMs", () => {
  it.for<[title: string, beats: readonly number[], at: number, limitMs: number]>([
    ["when idleMs has passed without a heartbeat", [], 100, 100],
    ["when idleMs has passed after the last heartbeat", [90, 180, 270], 370, 100],
    ["at limitMs in spite of regular heartbeats", [90, 180, 270, 360, 450, 540, 630, 720, 810, 900, 990], 1_000, 1_000],
  ])("expires %s", async ([, beats, at, limitMs]) => {
    const { clock, ended, deadline } = start({ idleMs: 100 }, () => never);
    for (const beat of beats) clock.setTimeout(() => deadline.heartbeat(), beat);
    await clock.advance(5_000);
    expect([ended, deadline.expired, clock.pending]).toEqual([[[at, { kind: "expired", limitMs }]], true, 0]);
  });

  it("starts no timer if idleMs and limitMs are Infinity", () => {
    const { clock } = start({ idleMs: none, limitMs: none }, () => never);
    expect(clock.pending).toBe(0);
  });

  it("stops the timers for idleMs and limitMs when the work ends", async () => {
    const { clock } = start({ idleMs: 100 }, after(50, 7));
    await clock.advance(50);
    expect(clock.pending).toBe(0);
  });
});

describe("Deadline.race of a canceled run", () => {
  const at = async (
    toolCleanupMs: number | undefined,
    ...causes: readonly (readonly [at: number, cause: CancelReason])[]
  ): Promise<readonly unknown[]> => {
    const { clock, scope, ended } = start({ toolCleanupMs, limitMs: 9_000 }, () => never);
    for (const [ms, cause] of causes) clock.setTimeout(() => scope.cancel(cause), ms);
    await clock.advance(20_000);
    expect(clock.pending).toBe(0);
    return ended.map(([when, end]) => [when, end.kind]);
  };

  it.for<[title: string, cause: CancelReason, toolCleanupMs: number | undefined, endedAt: number]>([
    ["after toolCleanupMs if the run is stopped", stop, 500, 600],
    ["after toolCleanupMs if the wall-clock limit has passed", { kind: "wall-clock", limitMs: 100 }, 500, 600],
    ["immediately if the run is killed", { kind: "kill" }, 500, 100],
    ["immediately if the run is aborted", { kind: "abort", reason: "gone" }, 500, 100],
    ["immediately if the run is stopped and toolCleanupMs is 0", stop, 0, 100],
    ["immediately if the run is stopped and toolCleanupMs is undefined", stop, undefined, 100],
  ])("ends %s", async ([, cause, toolCleanupMs, endedAt]) => {
    expect(await at(toolCleanupMs, [100, cause])).toEqual([[endedAt, "cancelled"]]);
  });

  it("counts toolCleanupMs from the first of two cancellations", async () => {
    expect(await at(500, [100, { kind: "wall-clock", limitMs: 100 }], [400, stop])).toEqual([[600, "cancelled"]]);
    expect(await at(500, [100, stop], [400, { kind: "kill" }])).toEqual([[400, "cancelled"]]);
  });

  it("stops the timer for toolCleanupMs when the work ends after two cancellations", async () => {
    const { clock, scope, ended } = start({ toolCleanupMs: 5_000, limitMs: none }, after(300, 7));
    await clock.advance(100);
    scope.cancel({ kind: "wall-clock", limitMs: 100 });
    await clock.advance(100);
    scope.cancel(stop);
    await clock.advance(100);
    expect([ended.length, clock.pending]).toEqual([1, 0]);
  });

  it("expires at limitMs even if toolCleanupMs has not passed", async () => {
    const { clock, scope, ended } = start({ toolCleanupMs: 5_000 }, () => never);
    await clock.advance(900);
    scope.cancel(stop);
    await clock.advance(10_000);
    expect(ended).toEqual([[1_000, { kind: "expired", limitMs: 1_000 }]]);
  });

  it("discards a value that arrives within toolCleanupMs, and calls onLate", async () => {
    const { clock, scope, ended, late } = start({ toolCleanupMs: 500 }, after(300, 7));
    await clock.advance(100);
    scope.cancel(stop);
    await clock.advance(5_000);
    expect([ended, late]).toEqual([[[300, { kind: "cancelled", cause: stop }]], [true]]);
  });

  it("ends immediately if the race starts after a kill", async () => {
    const clock = createTestClock();
    const scope = new CancelScope();
    scope.cancel({ kind: "kill" });
    const deadline = new Deadline({ limitMs: 1_000 }, { clock, scope });
    expect(await deadline.race(never)).toEqual({ kind: "cancelled", cause: { kind: "kill" } });
    expect([deadline.signal.aborted, scope.size, clock.pending]).toEqual([true, 0, 0]);
  });
});

describe("Deadline.signal", () => {
  it.for<[what: string, act: (race: Race) => unknown, reason: unknown]>([
    ["limitMs has passed", ({ clock }) => clock.advance(1_000), { name: "TimeoutError", message: "Took longer than 1000 ms." }],
    ["the run is stopped", ({ scope }) => scope.cancel(stop), { name: "AbortError", message: "The run was stopped." }],
    [
      "the run is aborted",
      ({ scope }) => scope.cancel({ kind: "abort", reason: { name: "mine", message: "gone" } }),
      { name: "mine", message: "gone" },
    ],
  ])("is aborted when %s", async ([, act, expected]) => {
    const race = start({ toolCleanupMs: 500 }, () => never);
    const { signal } = race.deadline;
    expect(signal.aborted).toBe(false);
    await act(race);
    const { name, message } = signal.reason;
    expect([signal.aborted, { name, message }]).toEqual([true, expected]);
  });

  it("is not aborted when the work ends", async () => {
    const { clock, deadline } = start({}, after(10, 7));
    await clock.advance(5_000);
    expect(deadline.signal.aborted).toBe(false);
  });
});

describe("Deadline without a race", () => {
  it.for<[title: string, elapsedMs: number, expired: boolean]>([
    ["has not expired before limitMs", 999, false],
    ["has expired after limitMs", 1_000, true],
  ])("%s", async ([, elapsedMs, expired]) => {
    const clock = createTestClock(50);
    const deadline = new Deadline({ limitMs: 1_000 }, { clock, scope: new CancelScope() });
    await clock.advance(elapsedMs);
    expect([deadline.expired, deadline.isOver]).toEqual([expired, false]);
    expect([deadline.end(), deadline.isOver]).toEqual([elapsedMs, true]);
  });
});
