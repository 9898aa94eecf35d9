import { describe, expect, it } from "vitest";
import { type LoopEvent, type Tool, type ToolContext, toolResult } from "turnwright";
import { createTestClock, runTool, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";

const script = [toolCall("work"), text("Done.")] as const;

function shownOf(events: readonly LoopEvent[]): readonly unknown[] {
  return events.flatMap((event) => (event.type === "tool-progress" && event.preliminary === true ? [event.data] : []));
}

describe("a tool that is a generator", () => {
  it("emits each yielded value as a preliminary result, and returns the result", async () => {
    const { recording, result } = play(script, {
      tools: [
        tool("work", async function* (_args, { progress }) {
          yield { found: 1 };
          progress("half");
          yield { found: 2 };
          return { found: 3 };
        }),
      ],
    });
    expect(answersOf(await result)[0]?.result).toEqual({ found: 3 });
    expect(recording.outline()).toContain(`
    tool-start work (call_i0_0) {}
    tool-progress work (call_i0_0) {"found":1} (preliminary)
    tool-progress work (call_i0_0) "half"
    tool-progress work (call_i0_0) {"found":2} (preliminary)
    tool-end work (call_i0_0) completed`);
  });

  const row = { name: "row" };
  it.for<[title: string, execute: () => unknown, result: unknown, shown: readonly unknown[]]>([
    [
      "the last yield if the generator returns nothing",
      async function* () {
        yield 1;
        yield 2;
      },
      2,
      [1, 2],
    ],
    [
      "null if the generator returns null",
      async function* () {
        yield 1;
        return null;
      },
      null,
      [1],
    ],
    ["null if the generator yields and returns nothing", async function* () {}, null, []],
    [
      "the awaited return value if the generator is synchronous",
      function* () {
        yield Promise.resolve(1);
        return Promise.resolve(2);
      },
      2,
      [1],
    ],
    [
      "the return value if execute returns a promise of the generator",
      async () =>
        (async function* () {
          yield 1;
          return 2;
        })(),
      2,
      [1],
    ],
    [
      "its return value, even if it yields values that are not JSON",
      async function* () {
        yield row;
        yield 1n;
        yield () => 1;
        yield undefined;
        return "ok";
      },
      "ok",
      [row],
    ],
    [
      "the data of the last yield if the generator yields tool results",
      async function* () {
        yield toolResult({ data: row, metadata: "hidden" });
      },
      row,
      [row],
    ],
    ["the array that execute returns instead of a generator", () => [1, 2], [1, 2], []],
    ["the string that execute returns instead of a generator", () => "ab", "ab", []],
    ["the returned data that contains a function named next", () => ({ next: () => 1, rows: [] }), { rows: [] }, []],
  ])("has the following result: %s", async ([, execute, expected, shown]) => {
    const { recording, result } = play(script, { tools: [tool("work", execute)] });
    expect(answersOf(await result)[0]).toMatchObject({ outcome: "completed", result: expected });
    expect(shownOf(recording.events)).toEqual(shown);
  });

  it.for<[what: string, made: () => unknown, message: string]>([
    ["an iterator that cannot be closed", () => [1].values(), "a generator"],
    ["a Map", () => new Map([[1, 2]]), "a Map"],
    ["a stream", () => new ReadableStream(), "a generator or a stream"],
    [
      "a generator that throws",
      async function* () {
        yield 1;
        throw new Error("cut off");
      },
      "cut off",
    ],
    [
      "a getter that throws",
      () => ({
        get next(): never {
          throw new Error("hostile");
        },
      }),
      "hostile",
    ],
  ])("fails if execute returns %s", async ([, made, message]) => {
    expect(await runTool(tool("work", made), {})).toMatchObject({
      kind: "failed",
      error: { message: expect.stringContaining(message) },
    });
  });

  it("is retried within one time limit if idempotent", async () => {
    let count = 0;
    const work = tool(
      "work",
      async function* () {
        yield (count += 1);
        if (count < 3) throw new Error("busy");
        return "ok";
      },
      { idempotent: true, retry: { maxAttempts: 3 } },
    );
    const { recording, result } = play(script, { tools: [work] });
    expect([answersOf(await result)[0]?.result, shownOf(recording.events)]).toEqual(["ok", [1, 2, 3]]);
  });

  function endless(notes: string[], wait: (context: ToolContext) => Promise<unknown>, traits: Partial<Tool> = {}): Tool {
    const execute = async function* (_args: unknown, context: ToolContext): AsyncGenerator {
      try {
        for (let count = 1; ; count += 1) {
          yield count;
          await wait(context);
        }
      } finally {
        notes.push("closed");
      }
    };
    return tool("work", execute, traits);
  }

  it("is closed once if the call times out between two yields", async () => {
    const notes: string[] = [];
    const wake: (() => void)[] = [];
    const work = endless(notes, () => new Promise<void>((resolve) => void wake.push(resolve)), { timeoutMs: 100 });
    const { clock, recording, result } = play(script, { tools: [work] });
    await clock.advance(100);
    expect(outcomesOf(await result)).toEqual(["call_i0_0: timed-out"]);
    expect([shownOf(recording.events), notes]).toEqual([[1], []]);
    wake[0]?.();
    await clock.advance(0);
    expect([shownOf(recording.events), notes, clock.pending]).toEqual([[1], ["closed"], 0]);
  });

  it("is closed by one call to return(), even if return() rejects", async () => {
    const calls: string[] = [];
    let wake: (step: object) => void = () => {};
    const steps = {
      next: () => (calls.push("next"), new Promise((resolve) => void (wake = resolve))),
      return: () => (calls.push("return"), Promise.reject(new Error("no"))),
      [Symbol.asyncIterator]: () => steps,
    };
    const { clock, control, recording, result } = play(script, { tools: [tool("work", () => steps)] });
    await clock.advance(1);
    control.stop();
    control.kill();
    expect((await result).reason.kind).toBe("killed");
    wake({ value: "late" });
    await clock.advance(1);
    expect([calls, shownOf(recording.events)]).toEqual([["next", "return"], []]);
  });

  it("sends a heartbeat with each yield", async () => {
    const work = endless(
      [],
      ({ signal }) =>
        new Promise((resolve) => {
          clock.setTimeout(() => resolve(undefined), 40);
          signal.addEventListener("abort", resolve);
        }),
      { idleTimeoutMs: 50, timeoutMs: 200 },
    );
    const clock = createTestClock();
    const { recording, result } = play(script, { tools: [work], clock });
    await clock.advance(300);
    expect(outcomesOf(await result)).toEqual(["call_i0_0: timed-out"]);
    expect(shownOf(recording.events)).toEqual([1, 2, 3, 4, 5]);
  });

  it("times out while yielding without waiting, even though no timer can fire", async () => {
    const clock = createTestClock();
    let now = 0;
    let isClosed = false;
    const work = tool(
      "work",
      function* () {
        try {
          for (;;) yield (now += 1);
        } finally {
          isClosed = true;
        }
      },
      { timeoutMs: 500 },
    );
    const outcome = await runTool(work, {}, { clock: { ...clock, now: () => now } });
    expect([outcome, isClosed]).toMatchObject([{ kind: "timed-out", limitMs: 500 }, true]);
  });

  it("lets other tasks run while yielding without waiting", async () => {
    const other = new AbortController();
    setTimeout(() => other.abort(), 0);
    const work = tool("work", function* () {
      while (!other.signal.aborted) yield 1;
      return "stopped";
    });
    expect(await runTool(work, {})).toMatchObject({ kind: "completed", data: "stopped" });
  });

  it("can kill the run itself, and is then closed", async () => {
    let isClosed = false;
    const { recording, result } = play(script, ({ control }) => ({
      tools: [
        tool("work", function* () {
          try {
            yield 1;
            control.kill();
            yield 2;
          } finally {
            isClosed = true;
          }
        }),
      ],
    }));
    expect((await result).reason.kind).toBe("killed");
    expect([shownOf(recording.events), isClosed]).toEqual([[1], true]);
  });
});
