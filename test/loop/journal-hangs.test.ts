import { describe, expect, it } from "vitest";
import { isLoopError, type Journal, memoryJournal } from "turnwright";
import { createTestClock, text } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";
import { never, play, type Playing, tool } from "./play.ts";

import { type Hang, hanging, places, start } from "./hanging-journal.ts";

const endings: readonly (readonly [how: string, end: (playing: Playing) => void, ended: string | undefined, ms: number])[] = [
  ["timeouts.journalMs expires", () => {}, undefined, 60_000],
  ["control.kill() is called", ({ control }) => control.kill(), "kill", 500],
  ["options.signal is aborted", ({ abort }) => abort.abort(), "abort", 500],
  ["control.stop() is called", ({ control }) => control.stop(), "stop", 5_000],
];

/** True if the journal hangs so late that control methods no longer have an effect. */
function isOver({ at, when }: Hang): boolean {
  return at === "close" || (at === "i1/answered" && when === "after");
}

const nameOf = ({ at, when }: Hang): string => (when === undefined ? `in ${at}()` : `${when} running the step "${at}"`);

describe("runToolLoop with a journal that hangs", () => {
  // A late stop returns "finished" and does not end the run.
  const rows = places.flatMap((place) => endings.map(([how, ...ending]) => [nameOf(place), how, place, ending] as const));
  it.for(rows.filter(([, how, place]) => how !== "control.stop() is called" || !isOver(place)))(
    '%s rejects with "journal-unresponsive" when %s',
    async ([, , place, [end, ended, ms]]) => {
      const listeners = countListeners();
      const playing = start(hanging(place));
      const failed = playing.result.catch((error: unknown) => error);
      await playing.clock.flush();
      end(playing);
      await playing.clock.advance(ms - 1);
      expect(playing.endedAt()).toBeUndefined();
      await playing.clock.advance(1);
      expect(playing.endedAt()).toBe(ms);
      const error = await failed;
      if (!isLoopError(error, "journal-unresponsive")) throw error;
      expect(error.details).toMatchObject({ ms, ended });
      expect([playing.clock.pending, playing.provider.active, listeners.total()]).toEqual([0, 0, 0]);
      expect(playing.control.stop()).toBe("finished");
      expect((await play([text("Hi.")], { runId: "hangs", control: playing.control }).result).text).toBe("Hi.");
      listeners.stop();
    },
  );

  it('ends a run as "wall-clock" if open() takes longer than limits.wallClockMs, and closes the journal later', async () => {
    let settle: (close: () => Promise<void>) => void = () => {};
    let closed = 0;
    const opening = new Promise<() => Promise<void>>((resolve) => (settle = resolve));
    const journal: Journal = { ...hanging({ at: "nowhere" }), open: () => opening };
    const playing = start(journal, { limits: { wallClockMs: 1_000 } });
    await playing.clock.advance(1_000);
    const { status, reason, messages, text: said } = await playing.result;
    expect([status, reason, said, messages.length]).toEqual(["timeout", { kind: "wall-clock", limitMs: 1_000 }, "", 1]);
    expect(playing.recording.types()).toEqual(["run-start", "run-end"]);
    expect([playing.endedAt(), playing.clock.pending, playing.provider.calls]).toEqual([1_000, 0, 0]);
    expect(playing.control.steer("Hello?")).toBe("finished");
    settle(async () => void (closed += 1));
    await playing.clock.flush();
    expect(closed).toBe(1);
    expect((await play([text("Hi.")], { runId: "hangs", control: playing.control }).result).text).toBe("Hi.");
  });

  it.for(places.filter(({ at }) => at !== "open").map((place) => [nameOf(place), place] as const))(
    "%s rejects at most 500 ms after limits.wallClockMs",
    async ([, place]) => {
      const playing = start(hanging(place), { limits: { wallClockMs: 1_000 } });
      const failed = playing.result.catch((error: unknown) => error);
      await playing.clock.advance(1_500);
      expect(isLoopError(await failed, "journal-unresponsive") && playing.endedAt()).toBeLessThanOrEqual(1_500);
      expect(playing.clock.pending).toBe(0);
    },
  );
});

/** Leaves the step with the key `at` to the test, which runs and resolves the step. */
function held(at: string): {
  readonly journal: Journal;
  readonly run: () => unknown;
  readonly answer: (answer: unknown) => void;
} {
  const inner = memoryJournal();
  let body: () => unknown = () => {};
  let settle: (answer: unknown) => void = () => {};
  const step = <T>(key: string, run: () => T | PromiseLike<T>): PromiseLike<T> | T => {
    if (key !== at) return inner.step(key, run);
    body = run;
    return new Promise((resolve) => (settle = resolve as typeof settle));
  };
  const journal: Journal = { ...inner, durable: true, step };
  return { journal, run: async () => body(), answer: (answer) => settle(answer) };
}

describe("a rejected run's journal", () => {
  it("no longer accepts steps", async () => {
    const { journal, run, answer } = held("i0/call/0/echo/outcome");
    let ran = 0;
    const playing = start(journal, { tools: [tool("echo", () => (ran += 1), { sequential: true })] });
    const failed = playing.result.catch((error: unknown) => error);
    await playing.clock.advance(60_000);
    const error = await failed;
    await expect(run()).rejects.toBe(error);
    answer({ kind: "completed", data: 1 });
    await playing.clock.flush();
    expect([ran, playing.provider.calls, playing.clock.pending]).toEqual([0, 1, 0]);
  });

  it("cannot run a step at the moment when timeouts.journalMs expires", async () => {
    const { journal, run } = held("i0/call/0/echo/outcome");
    let ran = 0;
    const timers = new Map<object, () => void>();
    let now = 0;
    const clock = {
      now: () => now,
      setTimeout: (fire: () => void) => {
        const timer = {};
        timers.set(timer, fire);
        return timer;
      },
      clearTimeout: (timer: unknown) => void timers.delete(timer as object),
    };
    const playing = start(journal, { clock, tools: [tool("echo", () => (ran += 1), { sequential: true })] });
    playing.result.catch(() => {});
    await playing.clock.flush();
    now = 60_000;
    for (const fire of [...timers.values()]) fire();
    await expect(run()).rejects.toMatchObject({ code: "journal-unresponsive" });
    expect(ran).toBe(0);
  });

  it("cannot run a step after the journal has thrown", async () => {
    const { journal, run } = held("i0/call/0/echo/outcome");
    let ran = 0;
    const step = <T>(key: string, body: () => T | PromiseLike<T>): PromiseLike<T> | T => {
      const answer = journal.step(key, body);
      if (key === "i0/call/0/echo/outcome") throw new Error("The disk is full.");
      return answer;
    };
    const { result } = start({ ...journal, step }, { tools: [tool("echo", () => (ran += 1), { sequential: true })] });
    await expect(result).rejects.toThrow("The disk is full.");
    await expect(run()).rejects.toThrow("The disk is full.");
    expect(ran).toBe(0);
  });

  it("is closed if open() resolves after the rejection", async () => {
    let settle: (close: () => Promise<void>) => void = () => {};
    let closed = 0;
    const opening = new Promise<() => Promise<void>>((resolve) => (settle = resolve));
    const playing = start({ ...memoryJournal(), open: () => opening });
    playing.control.kill();
    playing.result.catch(() => {});
    await playing.clock.advance(500);
    await expect(playing.result).rejects.toMatchObject({ details: { verb: "open", ended: "kill" } });
    settle(async () => void (closed += 1));
    await playing.clock.flush();
    expect(closed).toBe(1);
  });

  it("leads to an error whose details contain the partial result, but whose JSON does not", async () => {
    const playing = start(hanging({ at: "i0/call/0/echo/outcome", when: "after" }), {
      tools: [tool("echo", () => "paid", { sequential: true })],
      timeouts: { journalMs: 10_000 },
    });
    const failed = playing.result.catch((error: unknown) => error);
    await playing.clock.advance(10_000);
    const error = await failed;
    if (!isLoopError(error, "journal-unresponsive")) throw error;
    expect(error.details.partial).toMatchObject({
      runId: "hangs",
      messages: [{ role: "user" }, { role: "assistant" }],
      streamResults: [{ text: "Look: " }],
      usage: { totalTokens: expect.any(Number) },
      unrecorded: [{ key: "i0/call/0/echo/outcome", answer: { kind: "completed", data: "paid" } }],
    });
    expect(JSON.stringify(error)).not.toContain("Look");
    expect(error.message).toBe(
      'The journal did not answer "step" for "i0/call/0/echo/outcome" within 10000 ms. Check the journal\'s storage, then repeat the same call.',
    );
  });
});

describe("timeouts.journalMs", () => {
  it("does not count the time during which a step runs", async () => {
    const journal = hanging({ at: "nowhere" });
    const finish: ((value: unknown) => void)[] = [];
    const slow = tool("echo", () => new Promise((resolve) => finish.push(resolve)), { timeoutMs: Infinity });
    const playing = start(journal, { tools: [slow], timeouts: { journalMs: 50 }, middleware: [] });
    await playing.clock.advance(1_000_000);
    for (const end of finish) end(1);
    expect((await playing.result).text).toBe("Done.");
  });

  it("starts again after a step has run", async () => {
    const clock = createTestClock();
    const wait = (): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, 900));
    const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
      await wait();
      const answer = await body();
      await wait();
      return answer;
    };
    const journal: Journal = { durable: true, step, read: () => undefined };
    const playing = start(journal, { clock, timeouts: { journalMs: 1_000 } });
    await clock.advance(100_000);
    expect((await playing.result).text).toBe("Done.");
  });

  it("lets a slow journal record its steps after a kill", async () => {
    const inner = memoryJournal();
    const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
      const answer = await inner.step(key, body);
      await new Promise<void>((resolve) => {
        playing.clock.setTimeout(resolve, 400);
      });
      return answer;
    };
    const playing = start(
      { ...inner, durable: true, step },
      { tools: [tool("echo", () => never)], timeouts: { toolCleanupMs: 0 }, middleware: [] },
    );
    await playing.clock.advance(2_500);
    playing.control.kill();
    await playing.clock.advance(10_000);
    expect((await playing.result).reason).toEqual({ kind: "killed" });
  });
});
