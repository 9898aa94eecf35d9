import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  type LoopControl,
  type LoopOptions,
  type LoopResult,
  onIteration,
  prepareIteration,
} from "turnwright";
import { stall, text, toolCall, wait } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { never, play, type Playing, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const verbs: readonly (readonly [verb: string, ask: (control: LoopControl) => string, kind: string])[] = [
  ["steer", (control) => control.steer("Hey."), "answered"],
  ["interrupt", (control) => control.interrupt("Hey."), "interrupted"],
  ["drain", (control) => control.drain(), "drained"],
  ["stop", (control) => control.stop(), "stopped"],
  ["kill", (control) => control.kill(), "killed"],
];

describe("a control from createLoopControl()", () => {
  it("queues a stop() that is called before the first run", async () => {
    const control = createLoopControl();
    expect([control.hasStopRequest(), control.isToolChainActive()]).toEqual([false, false]);
    expect([control.stop({ note: "early" }), control.hasStopRequest()]).toEqual(["accepted", true]);
    const first = play([], { control });
    expect((await first.result).reason).toMatchObject({ kind: "stopped", note: "early" });
    expect([control.stop(), control.kill(), control.hasStopRequest()]).toEqual(["finished", "finished", false]);
    const second = play([text("Hi.")], { control });
    expect((await second.result).text).toBe("Hi.");
  });

  it("obeys the strongest of several requests made before the run", async () => {
    const control = createLoopControl();
    control.stop();
    control.kill();
    expect((await play([], { control }).result).reason.kind).toBe("killed");
  });

  it("obeys a kill after a stop that has already ended the stream", async () => {
    const playing = play([[text("Let me "), stall()]]);
    await playing.clock.flush();
    playing.control.stop();
    playing.control.kill();
    const result = await playing.result;
    expect([result.reason.kind, result.text]).toEqual(["killed", "Let me"]);
  });

  it("does not report a stop request if limits.wallClockMs ends the run", async () => {
    const playing = play([toolCall("deaf")], { tools: [tool("deaf", () => never)], limits: { wallClockMs: 50 } });
    await playing.clock.advance(60);
    expect([playing.control.hasStopRequest(), playing.endedAt()]).toEqual([false, undefined]);
    await playing.clock.runAll();
    expect((await playing.result).reason.kind).toBe("wall-clock");
  });

  it("returns true from isToolChainActive() from the first tool call to the end of the run", async () => {
    const seen: boolean[] = [];
    const playing = play([toolCall("look"), [text("Hm."), toolCall("look")], text("Done.")], ({ control }) => ({
      tools: [tool("look", () => seen.push(control.isToolChainActive()))],
      middleware: [prepareIteration(() => void seen.push(control.isToolChainActive()))],
    }));
    await playing.result;
    expect([seen, playing.control.isToolChainActive()]).toEqual([[false, true, true, true, true], false]);
  });

  it.for(verbs)("applies %s(), called before two runs, only to the first run", async ([, ask, kind]) => {
    const control = createLoopControl();
    expect([ask(control), control.hasStopRequest()]).toEqual(["accepted", kind === "stopped" || kind === "killed"]);
    const first = await play([text("Hi.")], { control }).result;
    expect(first.reason.kind).toBe(kind);
    expect(ask(control)).toBe("finished");
    const second = await play([text("Hi.")], { control }).result;
    expect([second.reason.kind, linesOf(second.messages), second.undelivered]).toEqual([
      "answered",
      ["user: Go.", "assistant: Hi."],
      [],
    ]);
  });

  it.for(verbs)("ignores %s() after an abort", async ([, ask]) => {
    const control = createLoopControl();
    const first = play([stall()], { control });
    await first.clock.flush();
    first.abort.abort();
    expect(ask(control)).toBe("accepted");
    expect((await first.result).reason.kind).toBe("aborted");
    const second = await play([text("Hi."), text("Hi.")], { control }).result;
    expect([second.reason.kind, second.iterations, second.undelivered]).toEqual(["answered", 1, []]);
  });

  it.for(verbs)("applies %s() to a second run that a listener for run-end starts", async ([, ask, kind]) => {
    const control = createLoopControl();
    const first = play([text("Hi.")], { control });
    const heard: unknown[] = [];
    let second: Playing | undefined;
    first.recording.emitter.on("run-end", () => {
      heard.push(ask(control), control.isToolChainActive(), control.hasStopRequest());
      second = play([text("Hi."), text("Yes?")], { control });
      heard.push(ask(control));
    });
    expect([(await first.result).undelivered, heard]).toEqual([[], ["finished", false, false, "accepted"]]);
    expect((await second?.result)?.reason.kind).toBe(kind);
  });

  it.for<[why: string, start: (control: LoopControl) => Promise<unknown>, refusal: string]>([
    ["an invalid option", (control) => play([], { control, limits: { maxIterations: 0 } }).result, "limits.maxIterations"],
    [
      "a run id in use",
      async (control) => {
        const live = play([stall()]);
        try {
          await play([], { control, runId: live.options.runId }).result;
        } finally {
          live.abort.abort();
          await live.result;
        }
      },
      "already running",
    ],
    [
      "the journal of another run",
      async (control) => {
        const store = createDurableStore();
        await play([text("Hi.")], { runId: "a", journal: store.open() }).result;
        await play([], { control, runId: "b", journal: store.open() }).result;
      },
      "different run",
    ],
  ])("keeps steered messages for the next run if a run is rejected because of %s", async ([, start, refusal]) => {
    const control = createLoopControl();
    control.steer("Hey.");
    await expect(start(control)).rejects.toThrow(refusal);
    const result = await play([text("Hi.")], { control }).result;
    expect(linesOf(result.messages)).toEqual(["user: Go.", "user: Hey.", "assistant: Hi."]);
  });

  it("continues to steer its run after a second run with the same control is rejected", async () => {
    const first = play([[wait(10), text("Hi.")], text("Yes?")]);
    const { control } = first;
    await first.clock.flush();
    control.steer("a");
    await expect(play([], { control }).result).rejects.toThrow("control");
    expect(control.steer("b")).toBe("accepted");
    await first.clock.runAll();
    expect(linesOf((await first.result).messages).slice(2)).toEqual(["user: a", "user: b", "assistant: Yes?"]);
  });
});

describe("limits.maxInterrupts", () => {
  const interrupt = async (control: LoopControl, limits?: LoopOptions["limits"]): Promise<LoopResult> => {
    const playing = play([[wait(10), text("Hi.")]], { control, limits });
    await playing.clock.flush();
    expect(control.interrupt("Wait.")).toBe("accepted");
    await playing.clock.runAll();
    return playing.result;
  };

  it.for<[title: string, limits: LoopOptions["limits"], count: number]>([
    ["three interrupts by default and returns later messages as undelivered", undefined, 3],
    ["one interrupt if set to 1", { maxInterrupts: 1 }, 1],
    ["no interrupt if set to 0", { maxInterrupts: 0 }, 0],
  ])("allows %s", async ([, limits, count]) => {
    const control = createLoopControl();
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < count; index += 1) {
        expect((await interrupt(control, limits)).reason.kind).toBe("interrupted");
      }
      const past = await interrupt(control, limits);
      // If a run ends without an interrupt, the count of interrupts starts again at zero.
      expect([past.reason.kind, past.text, textsOf(past.undelivered)]).toEqual(["answered", "Hi.", ["Wait."]]);
    }
  });

  it("set to 0 returns a queued interrupt message in result.undelivered", async () => {
    const control = createLoopControl();
    control.interrupt("Wait.");
    const result = await play([text("Hi.")], { control, limits: { maxInterrupts: 0 } }).result;
    expect([result.reason.kind, textsOf(result.undelivered)]).toEqual(["answered", ["Wait."]]);
  });

  it("counts each control's interrupts separately", async () => {
    const [one, other] = [createLoopControl(), createLoopControl()];
    const limits = { maxInterrupts: 1 };
    for (const control of [one, other]) expect((await interrupt(control, limits)).reason.kind).toBe("interrupted");
    expect((await interrupt(one, limits)).reason.kind).toBe("answered");
  });

  it("set to Infinity allows any number of interrupts", async () => {
    const control = createLoopControl();
    const limits = { maxInterrupts: Number.POSITIVE_INFINITY };
    for (let index = 0; index < 10; index += 1) expect((await interrupt(control, limits)).reason.kind).toBe("interrupted");
  });
});

describe("result.undelivered", () => {
  const nothing = (): void => {};
  it.for<[kind: string, act: (playing: Playing) => unknown, options?: Partial<LoopOptions>]>([
    ["stopped", ({ control }) => control.stop()],
    ["killed", ({ control }) => control.kill()],
    ["aborted", ({ abort }) => abort.abort()],
    ["drained", ({ control }) => control.drain()],
    ["wall-clock", nothing, { limits: { wallClockMs: 50 } }],
    ["tool-error-cap", nothing, { limits: { maxConsecutiveToolErrors: 1 } }],
    ["max-iterations", nothing, { limits: { maxIterations: 1 } }],
    ["iteration-abort", nothing, { middleware: [onIteration(() => ({ abort: true }))] }],
  ])('contains the unsent messages in order if the run ends with the reason "%s"', async ([kind, act, options]) => {
    const playing = play([toolCall("work")], { tools: [tool("work", () => never, { timeoutMs: 100 })], ...options });
    await playing.clock.flush();
    const { control, clock } = playing;
    control.steer("a");
    control.interrupt("b");
    control.steer("a");
    act(playing);
    control.interrupt("c");
    await clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, textsOf(result.undelivered)]).toEqual([kind, ["a", "b", "a", "c"]]);
    expect(linesOf(result.messages).filter((line) => line.startsWith("user"))).toEqual(["user: Go."]);
  });
});
