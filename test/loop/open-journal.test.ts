import { describe, expect, it } from "vitest";
import { createLoopControl, type Journal, type LoopControl, memoryJournal, runToolLoop, streamToolLoop } from "turnwright";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";
import { nesting, question } from "./nested/nesting.ts";
import { never, play, tool } from "./play.ts";
import { linesOf } from "./transcript-lines.ts";

interface Faults {
  readonly open?: Error;
  readonly close?: Error;
  readonly at?: string;
}

function openable(faults: Faults = {}): { readonly journal: Journal; readonly log: string[] } {
  const log: string[] = [];
  const inner = memoryJournal();
  const step = <T>(key: string, body: () => T | PromiseLike<T>): PromiseLike<T> | T => {
    log.push(key);
    if (key === faults.at) throw new Error(`no ${key}`);
    return inner.step(key, body);
  };
  const journal: Journal = {
    durable: false,
    step,
    read: (key) => inner.read(key),
    open: async () => {
      log.push("open");
      if (faults.open !== undefined) throw faults.open;
      return async () => {
        log.push("close");
        if (faults.close !== undefined) throw faults.close;
      };
    },
  };
  return { journal, log };
}

describe("journal.open()", () => {
  it("is called before the first step, and its close function after the last step", async () => {
    const { journal, log } = openable();
    const { result } = play([text("Done.")], { journal });
    void result.then(() => log.push("over"));
    await result;
    expect(log).toEqual(["open", "run", "begin", "i0/request/model", "i0/answered", "close", "over"]);
  });

  it("is called once for a run with a nested run", async () => {
    const { journal, log } = openable();
    const child = nesting("agent tool", "child", () => ({ messages: question, provider: createMockProvider([text("c")]) }));
    await play([toolCall("child"), text("Done.")], { journal, tools: [child] }).result;
    expect(log.filter((line) => line === "open" || line === "close")).toEqual(["open", "close"]);
    expect(log).toContain("i0/call/0/child/tool/run/i0/request/model");
  });

  it.for<[what: string, end: (control: LoopControl) => void]>([
    ["stopped", (control) => void control.stop()],
    ["killed", (control) => void control.kill()],
  ])("returns a close function that is called if the run is %s", async ([kind, end]) => {
    const { journal, log } = openable();
    const playing = play([stall()], { journal });
    await playing.clock.flush();
    end(playing.control);
    await playing.clock.runAll();
    expect([(await playing.result).reason.kind, log.at(-1)]).toEqual([kind, "close"]);
  });

  it("returns a close function that is called when the reader of the stream stops", async () => {
    const { journal, log } = openable();
    const stream = streamToolLoop({ provider: createMockProvider([[text("a"), stall()]]), messages: question, journal });
    for await (const { type } of stream) if (type === "text-delta") break;
    await stream.result;
    expect(log.at(-1)).toBe("close");
  });

  it.for<[what: string, faults: Faults, message: string, log: readonly string[]]>([
    ["open fails", { open: new Error("locked") }, "locked", ["open"]],
    ["a step fails", { at: "i0/request/model" }, "no i0/request/model", ["open", "run", "begin", "i0/request/model", "close"]],
    ["close fails", { close: new Error("stuck") }, "stuck", ["open", "run", "begin", "i0/request/model", "i0/answered", "close"]],
    [
      "a step fails and then close fails",
      { at: "i0/request/model", close: new Error("stuck") },
      "no i0/request/model",
      ["open", "run", "begin", "i0/request/model", "close"],
    ],
  ])("leaves nothing open in a run that rejects because %s", async ([, faults, message, expected]) => {
    const { journal, log } = openable(faults);
    const { result, options, control, clock } = play([text("Done.")], { journal, tools: [tool("t", () => 1)] });
    await expect(result).rejects.toThrow(message);
    expect([log, control.stop(), clock.pending]).toEqual([expected, "finished", 0]);
    const again = { ...options, journal: undefined, provider: createMockProvider([text("Done.")]) };
    expect((await runToolLoop(again)).text).toBe("Done.");
  });

  it('makes control.steer() return "finished" while the journal is being closed', async () => {
    const control = createLoopControl();
    const { journal } = openable();
    const answers: string[] = [];
    const stuck: Journal = {
      ...journal,
      open: async () => () => {
        answers.push(control.steer("Wait!"));
        return Promise.reject(new Error("stuck"));
      },
    };
    const { result, recording } = play([text("Done.")], { journal: stuck, control });
    await expect(result).rejects.toThrow("stuck");
    expect(recording.types()).not.toContain("run-end");
    const again = await play([text("Waiting.")], { control }).result;
    expect([answers, linesOf(again.messages)]).toEqual([["finished"], ["user: Go.", "assistant: Waiting."]]);
  });

  it("does not hide the error from a step, even if closing the journal never finishes", async () => {
    const { journal } = openable({ at: "i0/request/model" });
    const { result, clock } = play([text("Done.")], { journal: { ...journal, open: async () => () => never } });
    result.catch(() => {});
    await clock.advance(500);
    await expect(result).rejects.toThrow("no i0/request/model");
    expect(clock.pending).toBe(0);
  });
});
