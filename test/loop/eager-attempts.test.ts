// Calls that were started for an attempt that was taken back.

import { describe, expect, it } from "vitest";
import { providerError } from "turnwright";
import { type MockPart, text, toolCall, wait } from "turnwright/testing";
import { answersOf, outcomesOf } from "./play.ts";

import { finished, replayed, said, setUp } from "./eager-stage.ts";

describe("an eager call of an attempt that is taken back", () => {
  const busy = providerError("overloaded", "Busy.");
  const began = (attempt: number): readonly MockPart[] =>
    said({ type: "attempt-start", attempt, provider: "p", model: `m${attempt}` });
  const tookBack = said({ type: "attempt-discarded", attempt: 1, error: busy });

  it.for<[what: string, again: readonly MockPart[], ran: number, answers: number]>([
    ["is not run again where the next attempt asks for the same", [toolCall("look", { b: 2, a: 1 })], 1, 1],
    ["is left where the next one asks for something else", [toolCall("look", { a: 2 })], 2, 1],
    ["is left where the next one asks for nothing", [text("Hi.")], 1, 0],
    [
      "is run once more for each time more that the next one asks",
      [toolCall("look", { a: 1, b: 2 }), toolCall("look", { a: 1, b: 2 })],
      2,
      2,
    ],
  ])("%s", async ([, next, ranTimes, answers]) => {
    const { ran, start } = setUp();
    const turn = [...began(1), toolCall("look", { a: 1, b: 2 }), wait(20), ...tookBack, ...began(2), ...next];
    const playing = start([turn, text("Done.")]);
    const result = await finished(playing);
    expect([ran.length, answersOf(result).length]).toEqual([ranTimes, answers]);
    expect(answersOf(result).every(({ outcome }) => outcome === "completed")).toBe(true);
    const ids = playing.recording.of("tool-start").map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(playing.recording.of("tool-end").map(({ callId }) => callId)).toEqual(ids);
    for (const { callId } of answersOf(result)) expect(ids).toContain(callId);
    await replayed(playing, result);
    expect(ran).toHaveLength(ranTimes);
  });
});

describe("what an eager call has given is not given to a call whose arguments are broken", () => {
  it("before it", async () => {
    const { ran, start } = setUp();
    const playing = start([[toolCall("look", {}, { rawArgs: "{" }), toolCall("look")], text("Done.")]);
    const result = await finished(playing);
    expect(outcomesOf(result)).toEqual(["call_p0_0: malformed", "call_p0_1: completed"]);
    expect(ran).toEqual(["p0/tool/1/look {}"]);
    await replayed(playing, result);
  });

  it("in the next attempt", async () => {
    const { ran, start } = setUp();
    const began = (attempt: number): readonly MockPart[] =>
      said({ type: "attempt-start", attempt, provider: "p", model: `m${attempt}` });
    const tookBack = said({ type: "attempt-discarded", attempt: 1, error: providerError("overloaded", "Busy.") });
    const broken = toolCall("look", {}, { rawArgs: "{" });
    const turn = [...began(1), toolCall("look"), wait(20), ...tookBack, ...began(2), broken, toolCall("look")];
    const playing = start([turn, text("Done.")]);
    const result = await finished(playing);
    expect(answersOf(result).map(({ outcome }) => outcome)).toEqual(["malformed", "completed"]);
    expect(ran).toEqual(["p0/tool/0/look {}"]);
    await replayed(playing, result);
  });
});
