import { describe, expect, it } from "vitest";
import { createTestClock, type TestClock } from "../../testing/test-clock.ts";
import { IdleTimer } from "./deadline.ts";

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

describe("an alarm", () => {
  it("rings once, when it is due", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, ring);
    await clock.advance(1_000);
    expect([rung, clock.pending]).toEqual([[100], 0]);
  });

  it("can be put off any number of times for the price of one timer more", async () => {
    const { clock, alarm, rung, ring, made } = setUp();
    for (let dueAt = 100; dueAt <= 1_000; dueAt += 1) alarm.set(dueAt, ring);
    expect(made()).toBe(1);
    await clock.advance(2_000);
    expect([rung, made()]).toEqual([[1_000], 2]);
  });

  it("rings sooner where it is set to sooner", async () => {
    const { clock, alarm, rung, ring, made } = setUp();
    alarm.set(1_000, ring);
    alarm.set(100, ring);
    expect([made(), clock.pending]).toEqual([2, 1]);
    await clock.advance(2_000);
    expect([rung, clock.pending]).toEqual([[100], 0]);
  });

  it("rings for who set it last", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, () => rung.push(-1));
    alarm.set(100, ring);
    await clock.advance(100);
    expect(rung).toEqual([100]);
  });

  it("may be set again by what it rings", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, () => {
      ring();
      alarm.set(150, ring);
    });
    await clock.advance(1_000);
    expect([rung, clock.pending]).toEqual([[100, 150], 0]);
  });

  it("that is overdue rings soon, and never at once", async () => {
    const { clock, alarm, rung, ring } = setUp();
    await clock.advance(500);
    alarm.set(100, ring);
    expect(rung).toEqual([]);
    await clock.advance(1);
    expect(rung).toEqual([501]);
  });

  it("waits on where its timer fires too early, as those of a platform do", async () => {
    const { clock, rung, ring } = setUp();
    const hasty = new IdleTimer({ ...clock, now: clock.now, setTimeout: (fn, ms) => clock.setTimeout(fn, Math.max(1, ms - 1)) });
    hasty.set(100, ring);
    await clock.advance(1_000);
    expect(rung).toEqual([100]);
  });

  it("that was silenced does not ring, and can be set again with the timer that it has", async () => {
    const { clock, alarm, rung, ring, made } = setUp();
    alarm.set(100, ring);
    alarm.silence();
    expect(clock.pending).toBe(1);
    alarm.set(300, ring);
    expect(made()).toBe(1);
    await clock.advance(1_000);
    expect(rung).toEqual([300]);
  });

  it("that stays silent lets its timer run out", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, ring);
    alarm.silence();
    await clock.advance(1_000);
    expect([rung, clock.pending]).toEqual([[], 0]);
  });

  it("that was stopped holds no timer, and can be set again", async () => {
    const { clock, alarm, rung, ring } = setUp();
    alarm.set(100, ring);
    alarm.stop();
    expect(clock.pending).toBe(0);
    alarm.stop();
    alarm.set(200, ring);
    await clock.advance(1_000);
    expect([rung, clock.pending]).toEqual([[200], 0]);
  });

  it("of no time at all takes no timer, and takes back what was set", async () => {
    const { clock, alarm, rung, ring, made } = setUp();
    alarm.set(Number.POSITIVE_INFINITY, ring);
    expect(made()).toBe(0);
    alarm.set(100, ring);
    alarm.set(Number.POSITIVE_INFINITY, ring);
    await clock.advance(1_000);
    expect(rung).toEqual([]);
  });
});
