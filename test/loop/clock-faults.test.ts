import { expect, it } from "vitest";
import { createLoopControl, type LoopOptions, runToolLoop } from "turnwright";
import { createMockProvider, createTestClock, text } from "turnwright/testing";
import { fail } from "./faults.ts";
import { tool } from "./play.ts";
import { question, usualProvider } from "./ports/port.ts";

const rows = (["now", "setTimeout", "clearTimeout"] as const).flatMap((verb) =>
  [0, 1, 2, 3, 5, 9, 14].map((good) => [verb, good] as const),
);

it.for(rows)("runToolLoop ends and releases its runId if clock.%s() throws after %i calls", async ([verb, good]) => {
  for (const kills of [true, false]) {
    const clock = createTestClock();
    let asked = 0;
    const broken = (...given: readonly unknown[]): unknown => {
      asked += 1;
      return asked > good ? fail() : Reflect.apply(clock[verb], clock, given);
    };
    const control = createLoopControl();
    const { now, setTimeout, clearTimeout } = clock;
    const options: LoopOptions = {
      provider: usualProvider(),
      messages: question,
      tools: [tool("t", async () => 1, { idleTimeoutMs: 10 })],
      clock: { now, setTimeout, clearTimeout, [verb]: broken },
      limits: { wallClockMs: 900 },
      runId: "clock",
      control,
    };
    const over = runToolLoop(options).then(
      () => "over",
      () => "over",
    );
    await clock.advance(1);
    if (kills) control.kill();
    await clock.advance(30_000).catch(() => {});
    expect(await Promise.race([over, clock.flush().then(() => "still running")])).toBe("over");
    const again = { provider: createMockProvider([text("Hi.")]), messages: question, runId: "clock", control };
    expect((await runToolLoop(again)).text).toBe("Hi.");
  }
});
