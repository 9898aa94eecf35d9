import { expect, it, onTestFinished } from "vitest";
import { type LoopResult, runToolLoop } from "turnwright";
import { createMockProvider, createTestClock, stall, text, wait } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";

const messages = [{ role: "user" as const, content: "Go." }];

function startAll(signal: AbortSignal, part: ReturnType<typeof wait>) {
  const clock = createTestClock();
  const runs = Array.from({ length: 20 }, (): Promise<LoopResult> => {
    const provider = createMockProvider([[text("Hi."), part]]);
    return runToolLoop({ provider, messages, clock, signal });
  });
  return { clock, runs };
}

it("a signal shared by many runs has one listener while any of the runs is live, and none afterwards", async () => {
  const listeners = countListeners();
  onTestFinished(() => listeners.stop());
  const { signal } = new AbortController();
  const held: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    const { clock, runs } = startAll(signal, wait(20));
    held.push(listeners.on(signal));
    await clock.advance(20);
    expect((await Promise.all(runs)).every(({ status }) => status === "completed")).toBe(true);
    held.push(listeners.on(signal));
  }
  expect(held).toEqual([1, 0, 1, 0]);
});

it("a signal shared by many runs aborts all runs with its reason and does not keep a listener", async () => {
  const listeners = countListeners();
  onTestFinished(() => listeners.stop());
  const abort = new AbortController();
  const { clock, runs } = startAll(abort.signal, stall());
  await clock.flush();
  abort.abort("shutdown");
  const reasons = (await Promise.all(runs)).map(({ reason }) => reason);
  expect(reasons).toEqual(Array.from({ length: 20 }, () => ({ kind: "aborted", reason: "shutdown" })));
  expect([listeners.on(abort.signal), clock.pending]).toEqual([0, 0]);
});
