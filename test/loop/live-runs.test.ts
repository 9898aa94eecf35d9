import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  createLoopEvents,
  createToolRegistry,
  isLoopError,
  memoryJournal,
  type Message,
  runToolLoop,
} from "turnwright";
import { createMockProvider, createTestClock, stall, text, toolCall } from "turnwright/testing";
import { play, tool } from "./play.ts";

const user = (content: string): Message => ({ role: "user", content });

describe("two concurrent runs", () => {
  it.for(["control", "runId", "journal"] as const)("cannot have the same %s", async (what) => {
    const clock = createTestClock();
    const journal = memoryJournal();
    const shared = { control: { control: createLoopControl() }, runId: { runId: "one of a kind" }, journal: { journal } }[what];
    const first = play([stall()], { clock, ...shared });
    const provider = createMockProvider([text("Hi.")]);
    const second = { provider, messages: [user("Go.")], clock, ...shared };
    const thrown: unknown = await runToolLoop(second).catch((error: unknown) => error);
    expect([isLoopError(thrown, "already-running") && thrown.details.what, provider.calls]).toEqual([what, 0]);
    expect(first.endedAt()).toBeUndefined();

    first.abort.abort();
    await first.result;
    // This run shares the journal of the first run, so it needs "retry-last" after the abort.
    expect((await runToolLoop({ ...second, resume: "retry-last" })).text).toBe("Hi.");
  });

  it("leave the second run's id free if the second run is rejected because of its control", async () => {
    const control = createLoopControl();
    const first = play([stall()], { control, runId: "first" });
    const refused = await runToolLoop({
      provider: createMockProvider([]),
      messages: [user("Go.")],
      control,
      runId: "second",
    }).catch((error: unknown) => error);
    expect(isLoopError(refused, "already-running")).toBe(true);
    expect((await play([text("Hi.")], { runId: "second" }).result).text).toBe("Hi.");
    first.abort.abort();
    await first.result;
  });

  it("can share a clock, events, a signal and tools", async () => {
    const clock = createTestClock();
    const events = createLoopEvents();
    const { signal } = new AbortController();
    const tools = createToolRegistry([tool("t", () => 1)]);
    const runs = Array.from({ length: 5 }, () => play([toolCall("t"), text("Hi.")], { clock, events, signal, tools }).result);
    expect((await Promise.all(runs)).map((result) => result.text)).toEqual(["Hi.", "Hi.", "Hi.", "Hi.", "Hi."]);
  });
});
