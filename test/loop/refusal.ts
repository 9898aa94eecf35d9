import { expect } from "vitest";
import { createLoopControl, isLoopError, type LoopError, type LoopOptions, runToolLoop, streamToolLoop } from "turnwright";
import { createMockProvider, createTestClock, text } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";

/**
 * Starts a run with the invalid options `bad`, and returns the error. Checks that the run called no model, and that another run can
 * use the same `runId`.
 */
export async function refusal(bad: object): Promise<Pick<LoopError, "code" | "details" | "message">> {
  const listeners = countListeners();
  const { signal } = new AbortController();
  const good = {
    provider: createMockProvider([text("Hi.")]),
    messages: [{ role: "user" as const, content: "Go." }],
    control: createLoopControl(),
    runId: "refused",
    signal,
    clock: createTestClock(),
  };
  const options = { ...good, ...bad } as LoopOptions;
  const thrown: unknown = await runToolLoop(options).catch((error: unknown) => error);
  expect(() => streamToolLoop(options)).toThrow(isLoopError(thrown) ? thrown.message : "");
  expect([good.provider.calls, good.clock.pending, listeners.on(signal)], "requests, timers, listeners").toEqual([0, 0, 0]);
  listeners.stop();
  expect((await runToolLoop(good)).text).toBe("Hi.");
  if (!isLoopError(thrown)) throw thrown;
  return thrown;
}
