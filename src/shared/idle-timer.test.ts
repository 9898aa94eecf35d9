import { describe, expect, it } from "vitest";
import { createTestClock, type TestClock } from "../testing/test-clock.ts";
import { IdleTimer } from "./signals.ts";

function setUp(): {
  readonly clock: TestClock;
  readonly alarm: IdleTimer;
  readonly rung: number[];
  ring(): void;
  made(): number;
} {
  const clock = createTestClock();
  let made = 0;
  const counting = {
    ...clock,
    now: clock.now,
    setTimeout: (fn: () => void, ms: number) => ((made += 1), clock.setTimeout(fn, ms)),
  };
  const rung: number[] = [];
  return { clock, alarm: new IdleTimer(counting), rung, ring: () => void rung.push(clock.now()), made: () => made };
}

describe("IdleTimer", () => {
  it("fires once at the due time", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, ring);
    await clock.advance(1_000);
    expect([rung, clock.pending]).toEqual([[100], 0]);
  });

  it("starts only one more timer for any number of postponements", async () => {
    const { clock, alarm, rung, ring, made } = setUp();
    for (let dueAt = 100; dueAt <= 1_000; dueAt += 1) alarm.set(dueAt, ring);
    expect(made()).toBe(1);
    await clock.advance(2_000);
    expect([rung, made()]).toEqual([[1_000], 2]);
  });

  it("fires earlier if set to an earlier time", async () => {
    const { clock, alarm, rung, ring, made } = setUp();
    alarm.set(1_000, ring);
    alarm.set(100, ring);
    expect([made(), clock.pending]).toEqual([2, 1]);
    await clock.advance(2_000);
    expect([rung, clock.pending]).toEqual([[100], 0]);
  });

  it("calls only the callback that was set last", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, () => rung.push(-1));
    alarm.set(100, ring);
    await clock.advance(100);
    expect(rung).toEqual([100]);
  });

  it("can be set again by its callback", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, () => {
      ring();
      alarm.set(150, ring);
    });
    await clock.advance(1_000);
    expect([rung, clock.pending]).toEqual([[100, 150], 0]);
  });

  it("fires after 1 ms if already due", async () => {
    const { clock, alarm, rung, ring } = setUp();
    await clock.advance(500);
    alarm.set(100, ring);
    expect(rung).toEqual([]);
    await clock.advance(1);
    expect(rung).toEqual([501]);
  });

  it("waits for the due time if the platform's timer fires too early", async () => {
    const { clock, rung, ring } = setUp();
    const hasty = new IdleTimer({ ...clock, now: clock.now, setTimeout: (fn, ms) => clock.setTimeout(fn, Math.max(1, ms - 1)) });
    hasty.set(100, ring);
    await clock.advance(1_000);
    expect(rung).toEqual([100]);
  });

  it("reuses its platform timer if set again after silence()", async () => {
    const { clock, alarm, rung, ring, made } = setUp();
    alarm.set(100, ring);
    alarm.silence();
    expect(clock.pending).toBe(1);
    alarm.set(300, ring);
    expect(made()).toBe(1);
    await clock.advance(1_000);
    expect(rung).toEqual([300]);
  });

  it("does not fire when its timer expires after silence()", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, ring);
    alarm.silence();
    await clock.advance(1_000);
    expect([rung, clock.pending]).toEqual([[], 0]);
  });

  it("holds no timer after stop()", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, ring);
    alarm.stop();
    expect(clock.pending).toBe(0);
    alarm.stop();
    alarm.set(200, ring);
    await clock.advance(1_000);
    expect([rung, clock.pending]).toEqual([[200], 0]);
  });

  it("cancels an earlier due time if set to Infinity", async () => {
    const { clock, alarm, rung, ring, made } = setUp();
    alarm.set(Number.POSITIVE_INFINITY, ring);
    expect(made()).toBe(0);
    alarm.set(100, ring);
    alarm.set(Number.POSITIVE_INFINITY, ring);
    await clock.advance(1_000);
    expect(rung).toEqual([]);
  });
});
