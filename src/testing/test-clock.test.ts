import { describe, expect, it } from "vitest";
import { createTestClock } from "./test-clock.ts";

describe("createTestClock", () => {
  it("changes its time only in advance()", async () => {
    const clock = createTestClock(500);
    await clock.flush();
    expect(clock.now()).toBe(500);
    await clock.advance(20);
    expect(clock.now()).toBe(520);
  });

  it("fires timers in the order of their due times and then of their creation", async () => {
    const clock = createTestClock();
    const fired: string[] = [];
    const at = (name: string, ms: number) => clock.setTimeout(() => fired.push(`${name} at ${clock.now()}`), ms);
    at("late", 30);
    at("early", 10);
    at("late too", 30);
    at("never", 31);
    await clock.advance(30);
    expect(fired).toEqual(["early at 10", "late at 30", "late too at 30"]);
    expect(clock.pending).toBe(1);
  });

  it("fires timers that are set by other timers during the same advance", async () => {
    const clock = createTestClock();
    const fired: number[] = [];
    const again = (): void => {
      fired.push(clock.now());
      if (fired.length < 4) clock.setTimeout(again, 10);
    };
    clock.setTimeout(again, 10);
    await clock.advance(35);
    expect(fired).toEqual([10, 20, 30]);
    await clock.advance(5);
    expect(fired).toEqual([10, 20, 30, 40]);
  });

  it("runs pending promises and I/O callbacks between two timers", async () => {
    const clock = createTestClock();
    const seen: string[] = [];
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
    const chain = async (): Promise<void> => {
      await sleep(10);
      await new Promise((resolve) => setImmediate(resolve));
      await Promise.resolve();
      await sleep(5);
      seen.push(`chain at ${clock.now()}`);
    };
    const done = chain();
    clock.setTimeout(() => seen.push(`other at ${clock.now()}`), 20);
    await clock.advance(20);
    expect(seen).toEqual(["chain at 15", "other at 20"]);
    await done;
  });

  it("runs pending promises before it looks for due timers", async () => {
    const clock = createTestClock();
    let woken = false;
    void Promise.resolve().then(() => clock.setTimeout(() => (woken = true), 5));
    await clock.advance(5);
    expect(woken).toBe(true);
  });

  it("drops a cleared timer and ignores unknown handles", async () => {
    const clock = createTestClock();
    let fired = false;
    const handle = clock.setTimeout(() => (fired = true), 5);
    clock.clearTimeout(undefined);
    clock.clearTimeout({});
    expect(clock.pending).toBe(1);
    clock.clearTimeout(handle);
    await clock.advance(10);
    expect([fired, clock.pending]).toEqual([false, 0]);
  });

  it.for([0, -5, Number.NaN])("fires a timer of %d ms at the current time", async (ms) => {
    const clock = createTestClock();
    let firedAt: number | undefined;
    clock.setTimeout(() => (firedAt = clock.now()), ms);
    await clock.advance(0);
    expect(firedAt).toBe(0);
  });

  it("runAll() fires all timers except those set to Infinity ms", async () => {
    const clock = createTestClock();
    const fired: number[] = [];
    clock.setTimeout(() => clock.setTimeout(() => fired.push(clock.now()), 1_000), 86_400_000);
    clock.setTimeout(() => fired.push(-1), Number.POSITIVE_INFINITY);
    await clock.runAll();
    expect(fired).toEqual([86_401_000]);
    expect(clock.pending).toBe(1);
  });

  it("advance() rejects with the error that a timer throws", async () => {
    const clock = createTestClock();
    clock.setTimeout(() => {
      throw new Error("boom");
    }, 1);
    await expect(clock.advance(1)).rejects.toThrow("boom");
  });

  it("advance() throws if a timer reschedules itself endlessly", async () => {
    const clock = createTestClock();
    const again = (): void => void clock.setTimeout(again, 0);
    again();
    await expect(clock.advance(1)).rejects.toThrow("keeps restarting its timer");
  });

  it.for([-1, Number.NaN, Number.POSITIVE_INFINITY])("advance() rejects a duration of %d ms", async (ms) => {
    await expect(createTestClock().advance(ms)).rejects.toThrow(RangeError);
  });
});
