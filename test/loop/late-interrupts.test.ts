import { describe, expect, it } from "vitest";
import { approve, type Journal } from "turnwright";
import { createTestClock, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { never, outcomesOf, play, tool } from "./play.ts";
import { textsOf } from "./transcript-lines.ts";

const quick = tool("quick", () => "done");

function slowJournal(clock: ReturnType<typeof createTestClock>): Journal {
  const journal = createDurableStore().open();
  const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
    const answer = await journal.step(key, body);
    if (key === "i0/request/model") await new Promise<void>((resolve) => clock.setTimeout(resolve, 1_000));
    return answer;
  };
  return { ...journal, step };
}

describe("control.interrupt() between the end of a stream and the first call", () => {
  it("returns its message as undelivered", async () => {
    const clock = createTestClock();
    const playing = play([toolCall("quick"), text("Done.")], { clock, journal: slowJournal(clock), tools: [quick] });
    await clock.advance(500);
    const { control } = playing;
    expect([control.interrupt("Wait."), control.isToolChainActive(), control.hasStopRequest()]).toEqual([
      "accepted",
      false,
      false,
    ]);
    await clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, outcomesOf(result), textsOf(result.undelivered)]).toEqual([
      "answered",
      ["call_i0_0: completed"],
      ["Wait."],
    ]);
  });

  it.for<[order: string, interruptAt: number]>([
    ["before the limit", 300],
    ["after the limit", 550],
  ])("lets limits.wallClockMs end the run even if the interrupt comes %s", async ([, interruptAt]) => {
    const clock = createTestClock();
    const playing = play([toolCall("quick")], {
      clock,
      journal: slowJournal(clock),
      tools: [quick],
      limits: { wallClockMs: 500 },
      middleware: [approve(() => never)],
    });
    await clock.advance(interruptAt);
    playing.control.interrupt("Wait.");
    await clock.advance(600 - interruptAt);
    expect(playing.control.hasStopRequest()).toBe(false);
    await clock.runAll();
    expect(playing.endedAt()).toBe(1_000);
    const result = await playing.result;
    expect([result.reason.kind, outcomesOf(result), textsOf(result.undelivered)]).toEqual([
      "wall-clock",
      ["call_i0_0: not-run"],
      ["Wait."],
    ]);
  });
});
