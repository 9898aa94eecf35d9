import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  type Clock,
  defineTool,
  type LoopOptions,
  onIteration,
  prepareIteration,
  type StandardSchema,
  type Tool,
} from "turnwright";
import { createTestClock, finish, type MockScript, stall, text, toolCall } from "turnwright/testing";
import { answersOf, never, outcomesOf, play, tool, type Playing } from "./play.ts";
import { countListeners } from "./count-listeners.ts";

const call = [text("Hm. "), toolCall("work"), toolCall("work")];

const pondering: StandardSchema = { "~standard": { version: 1, vendor: "test", validate: () => never } };

/** The validation of edited arguments never settles. */
const wary = z.object({ edited: z.boolean().optional() }).refine(({ edited }) => (edited === true ? never : true));

const checked = (inputSchema: StandardSchema): Tool =>
  defineTool({ name: "work", description: "work", inputSchema, jsonSchema: { type: "object" }, execute: () => 1 });

/** Functions that ignore their abort signal. The run has to wait for them. */
const deaf: { readonly [where: string]: readonly [script: MockScript, options: Partial<LoopOptions>] } = {
  "a tool": [[call], { tools: [tool("work", () => never)] }],
  "a sequential tool": [[call], { tools: [tool("work", () => never, { sequential: true })] }],
  "a tool with retry": [[call], { tools: [tool("work", () => never, { idempotent: true, retry: { maxAttempts: 9 } })] }],
  "a stream": [[[text("Hm. "), stall({ ignoreSignal: true })]], {}],
  "a silent stream": [[stall({ ignoreSignal: true })], {}],
  "a prepareIteration hook": [[], { middleware: [prepareIteration(() => never)] }],
  "an onIteration hook": [[call], { tools: [tool("work", () => 1)], middleware: [onIteration(() => never)] }],
  "an approve policy": [[call], { tools: [tool("work", () => 1)], middleware: [approve(() => never)] }],
  "the validation of arguments": [[call], { tools: [checked(pondering)] }],
  "the validation of edited arguments": [
    [call],
    { tools: [checked(wary)], middleware: [approve(() => ({ kind: "modify", args: { edited: true } }))] },
  ],
};

const verbs: { readonly [verb: string]: readonly [kind: string, act: (playing: Playing) => unknown] } = {
  "a stop": ["stopped", ({ control }) => control.stop()],
  "a kill": ["killed", ({ control }) => control.kill()],
  "an abort": ["aborted", ({ abort }) => abort.abort()],
  "a wall-clock timeout": ["wall-clock", () => {}],
};

async function endAfter(
  where: string,
  verb: string,
  toolCleanupMs: number | undefined,
): Promise<readonly [afterMs: number | undefined, kind: string]> {
  const [script, options] = deaf[where] ?? [[], {}];
  const [, act] = verbs[verb] ?? ["", () => {}];
  const limits = verb === "a wall-clock timeout" ? { wallClockMs: 500 } : {};
  const listeners = countListeners();
  const playing = play(script, { ...options, limits, timeouts: { toolCleanupMs, callbackMs: 60_000 } });
  await playing.clock.advance(500);
  act(playing);
  await playing.clock.advance(20_000);
  const afterMs = playing.endedAt();
  const { reason } = await playing.result;
  expect([playing.clock.pending, listeners.on(playing.abort.signal)], "timers and listeners").toEqual([0, 0]);
  listeners.stop();
  return [afterMs === undefined ? undefined : afterMs - 500, reason.kind];
}

describe("timeouts.toolCleanupMs", () => {
  const tools = ["a tool", "a sequential tool", "a tool with retry"];
  const streams = ["a stream", "a silent stream"];
  const graceOf = (where: string, verb: string): boolean =>
    (tools.includes(where) && (verb === "a stop" || verb === "a wall-clock timeout")) ||
    (streams.includes(where) && verb === "a wall-clock timeout");
  const doesOf = (where: string, verb: string): string => (graceOf(where, verb) ? "can delay" : "does not delay");
  const rows = Object.keys(deaf).flatMap((where) =>
    Object.keys(verbs).map((verb) => [doesOf(where, verb), verb, where] as const),
  );

  it.for(rows)("%s the end of the run after %s while a call ignores its signal (%s)", async ([, verb, where]) => {
    const kind = verbs[verb]?.[0];
    const grace = graceOf(where, verb) ? 1 : 0;
    expect(await endAfter(where, verb, undefined)).toEqual([5_000 * grace, kind]);
    expect(await endAfter(where, verb, 700)).toEqual([700 * grace, kind]);
    expect(await endAfter(where, verb, 0)).toEqual([0, kind]);
  });

  it("applies only once, no matter how many times the run is told to end", async () => {
    const twice = async (...acts: readonly ((playing: Playing) => unknown)[]): Promise<readonly unknown[]> => {
      const playing = play([call], { tools: [tool("work", () => never)], limits: { wallClockMs: 1_000 } });
      await playing.clock.advance(1_000 - 300 * acts.length);
      for (const act of acts) {
        act(playing);
        await playing.clock.advance(300);
      }
      await playing.clock.advance(4_000);
      if (playing.endedAt() === undefined) playing.control.stop();
      await playing.clock.advance(9_000);
      return [playing.endedAt(), (await playing.result).reason.kind];
    };
    const stop = ({ control }: Playing): unknown => control.stop();
    // The wall-clock limit ends the run at 1,000 ms. A stop at 5,000 ms changes the reason, but not the time of the end.
    expect(await twice()).toEqual([6_000, "stopped"]);
    // Only the first stop, at 400 ms, starts the wait of 5 seconds. The stop at 700 ms and the limit at 1,000 ms do not extend the
    // wait.
    expect(await twice(stop, stop)).toEqual([5_400, "stopped"]);
    // A kill or an abort after a stop ends the wait immediately.
    expect(await twice(stop, ({ control }) => control.kill())).toEqual([700, "killed"]);
    expect(await twice(stop, ({ abort }) => abort.abort())).toEqual([700, "aborted"]);
  });

  it("set to Infinity, makes a stop wait indefinitely for a tool", async () => {
    const clock = createTestClock();
    // Like setTimeout in Node, this clock fires after 1 ms if the delay exceeds 2^31 - 1.
    const platform: Clock = { ...clock, now: clock.now, setTimeout: (fn, ms) => clock.setTimeout(fn, ms > 2 ** 31 - 1 ? 1 : ms) };
    const tools = [tool("work", () => new Promise((resolve) => clock.setTimeout(() => resolve("saved"), 50_000)))];
    const playing = play([toolCall("work")], { clock: platform, tools, timeouts: { toolCleanupMs: Number.POSITIVE_INFINITY } });
    await clock.advance(100);
    playing.control.stop();
    await clock.advance(60_000);
    expect([playing.endedAt(), outcomesOf(await playing.result)]).toEqual([50_000, ["call_i0_0: interrupted"]]);
  });
});

describe("a tool that settles after the run is told to end", () => {
  it("lets the run end as soon as it settles", async () => {
    const clock = createTestClock();
    const tidy = tool(
      "work",
      (_, { signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => clock.setTimeout(() => resolve("tidy"), 1_200))),
    );
    const playing = play([toolCall("work")], { clock, tools: [tidy] });
    await clock.advance(100);
    playing.control.stop();
    await clock.advance(10_000);
    expect(playing.endedAt()).toBe(1_300);
    expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: interrupted"]);
  });

  it("is reported in a late-result event", async () => {
    const clock = createTestClock();
    const ends = (
      ms: number,
      end: (resolve: (value: unknown) => void, reject: (error: Error) => void) => void,
    ): Promise<unknown> => new Promise((resolve, reject) => clock.setTimeout(() => end(resolve, reject), ms));
    const tools = [
      tool("quick", () => "kept"),
      tool("saves", () => ends(200, (resolve) => resolve("dropped"))),
      tool("fails", () => ends(300, (_, reject) => reject(new Error("dropped")))),
    ];
    const playing = play([[toolCall("saves"), toolCall("quick"), toolCall("fails")]], { clock, tools });
    await clock.advance(100);
    playing.control.stop();
    await clock.advance(5_000);
    const result = await playing.result;
    const reason = "the call was cut off before it ended, so it may have run";
    expect(answersOf(result).map((part) => [part.outcome, part.result])).toEqual([
      ["interrupted", { status: "interrupted", reason, tool_name: "saves" }],
      ["completed", "kept"],
      ["interrupted", { status: "interrupted", reason, tool_name: "fails" }],
    ]);
    expect(result.functionHistory.map((entry) => entry.functionCall.name)).toEqual(["quick"]);
    expect(playing.recording.of("late-result").map(({ name, success }) => [name, success])).toEqual([
      ["saves", true],
      ["fails", false],
    ]);
    expect(JSON.stringify(result)).not.toContain("dropped");
  });

  it("is not retried by tool.retry", async () => {
    const clock = createTestClock();
    const ran: number[] = [];
    const work = (): Promise<never> => {
      ran.push(clock.now());
      return new Promise((_, reject) => clock.setTimeout(() => reject(new Error("busy")), 100));
    };
    const tools = [tool("work", work, { idempotent: true, retry: { maxAttempts: 5 } })];
    const playing = play([toolCall("work")], { clock, tools });
    await clock.advance(150);
    playing.control.stop();
    await clock.advance(10_000);
    expect([ran, playing.endedAt()]).toEqual([[0, 100], 200]);
  });

  it("does not emit any events after run-end", async () => {
    const clock = createTestClock();
    const tools = [tool("work", () => new Promise((resolve) => clock.setTimeout(() => resolve("late"), 100)))];
    const playing = play([[toolCall("work"), finish("tool-calls")]], { clock, tools });
    await clock.flush();
    playing.control.kill();
    await playing.result;
    const heard = playing.recording.events.length;
    await clock.advance(1_000);
    expect(playing.recording.events.length).toBe(heard);
    expect(playing.recording.events.at(-1)?.type).toBe("run-end");
  });
});
