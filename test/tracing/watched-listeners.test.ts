import { describe, expect, it } from "vitest";
import { createLoopEvents, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { observeRun } from "../../src/observe/observe-run.ts";
import { createLog, look, messages } from "./observer-log.ts";

describe("observeRun: listeners of the caller", () => {
  it("are called with the caller's emitter as `this`", async () => {
    const { observing } = createLog();
    const events = createLoopEvents();
    const heard: unknown[] = [];
    function note(this: unknown): void {
      heard.push(this === events ? "own" : "foreign");
      events.off("iteration-start", note);
    }
    const options = observeRun(
      { provider: createMockProvider([toolCall("look"), text("Hi")]), messages, tools: [look], events },
      observing,
    );
    events.on("iteration-start", note);
    events.once("tool-end", () => heard.push("once"));
    events.once("text-delta", ({ text: said }) => heard.push(said));
    await runToolLoop(options);
    expect(heard).toEqual(["own", "once", "Hi"]);
    expect(events.eventNames()).toEqual([]);
  });

  it("can be added to the emitter in the returned options and removed again", async () => {
    const { observing } = createLog();
    for (const given of [undefined, createLoopEvents()]) {
      const { events, ...rest } = observeRun({ provider: createMockProvider([text("Hi")]), messages, events: given }, observing);
      const heard: string[] = [];
      const never = (): void => void heard.push("taken off");
      events?.on("run-end", () => heard.push("on"));
      events?.addListener("run-end", never).off("run-end", never);
      events?.once("run-end", never).removeListener("run-end", never);
      events?.on("run-start", never).removeAllListeners("run-start");
      expect(events?.eventNames()).toEqual(["run-end"]);
      await runToolLoop({ ...rest, events });
      expect(heard).toEqual(["on"]);
      expect(events?.emit("run-end", undefined as never)).toBe(true);
      expect(heard).toEqual(["on", "on"]);
    }
  });

  it('are each reported once as "listener-error" if they throw', async () => {
    const { lines, observing } = createLog();
    const events = createLoopEvents();
    const told: string[] = [];
    events.on("iteration-start", () => {
      throw new Error("first");
    });
    events.on("iteration-start", () => Promise.reject(new Error("second")) as unknown as void);
    events.on("listener-error", ({ event, error }) => told.push(`${event} ${error.message}`));
    const provider = createMockProvider([toolCall("look"), text("Hi")]);
    await runToolLoop(observeRun({ provider, messages, tools: [look], events }, observing));
    expect(told).toEqual(["iteration-start first", "iteration-start second"]);
    expect(lines.at(-1)).toMatch(/closed$/);
  });
});
