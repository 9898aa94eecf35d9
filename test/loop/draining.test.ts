import { describe, expect, it } from "vitest";
import { type Journal, type LoopOptions, type LoopResult, memoryJournal, onIteration } from "turnwright";
import { type MockMessage, stall, text, toolCall, wait } from "turnwright/testing";
import { createDurableStore, type DurableStore } from "./durable-store.ts";
import { never, play, type Playing, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const saved = ({ journal }: LoopResult): ReturnType<typeof memoryJournal> => memoryJournal(JSON.parse(JSON.stringify(journal)));
const plain = ({ journal: _, ...rest }: LoopResult): object => JSON.parse(JSON.stringify(rest));

interface Keeping {
  open(): Journal;
  keep(result: LoopResult): void;
  keys(): readonly string[];
}

function keepInMemory(hand: (result: LoopResult) => Journal): Keeping {
  let journal: Journal = memoryJournal();
  return {
    open: () => journal,
    keep: (result) => void (journal = hand(result)),
    keys: () => ("keys" in journal ? memoryJournal(JSON.parse(JSON.stringify(journal))).keys() : []),
  };
}

function keepInStore(store: DurableStore = createDurableStore()): Keeping {
  return { open: () => store.open(), keep: () => {}, keys: () => [...store.records.keys()] };
}

const keepings: readonly (readonly [where: string, make: () => Keeping])[] = [
  ["a saved journal", () => keepInMemory(saved)],
  ["the same journal object", () => keepInMemory(({ journal }) => journal)],
  ["a durable journal", () => keepInStore()],
];

const script: readonly MockMessage[] = [
  [text("On it. "), toolCall("work"), toolCall("alone")],
  [toolCall("work"), text("Hm. ")],
  text("Done."),
];

interface Life {
  readonly playing: Playing;
  readonly result: LoopResult;
}

function createLives(keeping: Keeping, ran: string[], more: Partial<LoopOptions> = {}) {
  return async (drains: (playing: Playing) => void): Promise<Life> => {
    const work =
      (name: string): Parameters<typeof tool>[1] =>
      (_, { callId }) =>
        void ran.push(`${name} ${callId}`);
    const playing: Playing = play(
      ({ iteration }) => (ran.push(`iteration ${iteration}`), script[iteration]),
      () => ({
        tools: [tool("work", work("work")), tool("alone", work("alone"), { sequential: true })],
        runId: "drained",
        journal: keeping.open(),
        ...more,
      }),
    );
    drains(playing);
    const result = await playing.result;
    keeping.keep(result);
    return { playing, result };
  };
}

const drainAtOnce = ({ control }: Playing): unknown => control.drain();
const drainIn =
  (at: number) =>
  ({ control, recording }: Playing): void =>
    void recording.emitter.on("iteration-start", ({ iteration }) => void (iteration === at && control.drain()));

const everything = ["iteration 0", "work call_i0_0", "alone call_i0_1", "iteration 1", "work call_i1_0", "iteration 2"];

describe("a drained run", () => {
  it("finishes the calls and the hook of its iteration, and sends no more requests", async () => {
    const asked: number[] = [];
    const turn = [toolCall("drains"), toolCall("slow"), toolCall("alone"), toolCall("alone")];
    const playing = play([[text("On it. "), ...turn]], ({ clock, control }) => ({
      tools: [
        tool("drains", () => control.drain()),
        tool("slow", () => new Promise((resolve) => clock.setTimeout(() => resolve(1), 100))),
        tool("alone", () => 2, { sequential: true }),
      ],
      middleware: [onIteration((count) => void asked.push(count))],
    }));
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.status, result.reason, playing.endedAt(), asked]).toEqual(["suspended", { kind: "drained" }, 100, [1]]);
    expect(linesOf(result.messages).at(-1)).toBe(
      "tool: call_i0_0 completed, call_i0_1 completed, call_i0_2 completed, call_i0_3 completed",
    );
    expect([result.functionHistory.length, result.text, result.undelivered]).toEqual([4, "On it.", []]);
    expect([playing.clock.pending, playing.control.stop(), playing.recording.types().at(-1)]).toEqual([0, "finished", "run-end"]);
  });

  it.for(keepings)("resumes with %s without repeating a request or a call", async ([, make]) => {
    const ran: string[] = [];
    const live = createLives(make(), ran);
    const first = await live(drainIn(0));
    expect([first.result.reason.kind, ran]).toEqual(["drained", everything.slice(0, 3)]);
    const second = await live(drainIn(1));
    expect([second.result.reason.kind, ran]).toEqual(["drained", everything.slice(0, 5)]);
    const third = await live(() => {});
    expect([third.result.reason.kind, third.result.text, ran]).toEqual(["answered", "Done.", everything]);

    const undisturbed = await createLives(keepInMemory(saved), [])(() => {});
    expect(plain(third.result)).toEqual(plain(undisturbed.result));
    const again = await live(() => {});
    expect([plain(again.result), ran]).toEqual([plain(third.result), everything]);
  });

  it.for(keepings)("can be drained several times at the same point with %s", async ([, make]) => {
    const ran: string[] = [];
    const keeping = make();
    const live = createLives(keeping, ran);
    for (let count = 0; count < 3; count += 1) {
      const { result, playing } = await live(drainAtOnce);
      expect([result.reason.kind, result.iterations, linesOf(result.messages), playing.provider.calls]).toEqual([
        "drained",
        0,
        ["user: Go."],
        0,
      ]);
    }
    await live(drainIn(0));
    await live(drainAtOnce);
    await live(drainAtOnce);
    expect((await live(() => {})).result.text).toBe("Done.");
    expect(ran).toEqual(everything);
    const looks = keeping.keys().filter((key) => /^begin|\/(?:next|answered)/.test(key));
    expect(looks).toEqual([
      ...["", "#2", "#3", "#4"].map((attempt) => `begin${attempt}`),
      ...["", "#2", "#3", "#4"].map((attempt) => `i0/next${attempt}`),
      "i1/next",
      "i2/answered",
    ]);
  });

  it("records the decision to suspend, and decides again when resumed", async () => {
    const keeping = keepInStore();
    const live = createLives(keeping, []);
    await live(drainIn(0));
    await live(() => {});
    expect(keeping.keys().join("\n")).toMatchInlineSnapshot(`
      "run
      begin
      i0/request/model
      i0/call/0/work/begun
      i0/call/0/work/outcome
      i0/call/1/alone/begun
      i0/call/1/alone/outcome
      i0/next
      i0/next#2
      i1/request/model
      i1/call/0/work/begun
      i1/call/0/work/outcome
      i1/next
      i2/request/model
      i2/answered"
    `);
  });

  it("does not count the time of the suspension toward wallClockMs", async () => {
    const limits = { wallClockMs: 1_000 };
    const turns = [
      [toolCall("none"), wait(400)],
      [wait(400), text("Done.")],
    ];
    const first = play(turns, { limits, runId: "slow" });
    await first.clock.advance(300);
    first.control.drain();
    await first.clock.runAll();
    const suspended = await first.result;
    expect([suspended.reason.kind, suspended.durationMs]).toEqual(["drained", 400]);
    const second = play((_, index) => turns[index + 1], { limits, runId: "slow", journal: saved(suspended) });
    await second.clock.advance(86_400_000);
    const result = await second.result;
    expect([result.reason.kind, result.durationMs, second.endedAt()]).toEqual(["answered", 800, 400]);
  });
});

describe("control.drain()", () => {
  it.for<[what: string, turn: MockMessage, status: string]>([
    ["an answer", [text("Hi."), wait(10)], "completed"],
    ["an empty response", wait(10), "empty-response"],
    ["a timeout because the model is silent", stall(), "timeout"],
  ])("has no effect if the run itself ends with %s", async ([, turn, status]) => {
    const playing = play([turn]);
    await playing.clock.flush();
    expect(playing.control.drain()).toBe("accepted");
    await playing.clock.runAll();
    expect([(await playing.result).status, playing.control.drain()]).toEqual([status, "finished"]);
  });

  it("suspends the run even after the answer, and returns a steered message in result.undelivered", async () => {
    for (const [, make] of keepings) {
      const keeping = make();
      const live = createLives(keeping, []);
      const first = await live(({ control, recording }) => {
        recording.emitter.on(
          "iteration-start",
          ({ iteration }) => void (iteration === 2 && (control.steer("Hey."), control.drain())),
        );
      });
      expect([first.result.status, first.result.text, textsOf(first.result.undelivered)]).toEqual([
        "suspended",
        "Done.",
        ["Hey."],
      ]);
      const second = await live(() => {});
      expect([second.result.reason.kind, second.result.text, second.result.undelivered]).toEqual(["answered", "Done.", []]);
      expect([linesOf(second.result.messages).at(-1), second.playing.provider.calls]).toEqual(["assistant: Done.", 0]);
      expect(keeping.keys().at(-1)).toBe("i2/answered#2");
    }
  });

  it("puts the messages that were steered before and after it into result.undelivered", async () => {
    const live = createLives(keepInMemory(saved), []);
    const first = await live(({ control }) => {
      control.steer("a");
      control.drain();
      control.steer("b");
    });
    expect([first.result.reason.kind, textsOf(first.result.undelivered)]).toEqual(["drained", ["a", "b"]]);
    const second = await live(({ control }) => void control.steer("c"));
    expect(linesOf(second.result.messages).slice(0, 2)).toEqual(["user: Go.", "user: c"]);
    expect([second.result.text, second.result.undelivered]).toEqual(["Done.", []]);
  });

  it("has no effect after a stop, kill, abort or interrupt", async () => {
    const end = async (act: (playing: Playing) => unknown): Promise<string> => {
      const playing = play([]);
      playing.control.drain();
      act(playing);
      return (await playing.result).reason.kind;
    };
    expect(await end(({ control }) => control.stop())).toBe("stopped");
    expect(await end(({ control }) => control.kill())).toBe("killed");
    expect(await end(({ abort }) => abort.abort())).toBe("aborted");
    expect(await end(({ control }) => control.interrupt("Wait."))).toBe("interrupted");
    const limits = { maxIterations: 1 };
    const inTool = play([toolCall("work")], ({ control }) => ({ limits, tools: [tool("work", () => control.drain())] }));
    expect((await inTool.result).reason.kind).toBe("drained");
    const behind = play([], { ...inTool.options, control: undefined, journal: saved(await inTool.result) });
    expect((await behind.result).reason.kind).toBe("max-iterations");
  });

  it("has no effect if control.stop() follows in the same iteration", async () => {
    const playing = play([toolCall("deaf")], { tools: [tool("deaf", () => never)] });
    await playing.clock.flush();
    playing.control.drain();
    playing.control.stop();
    await playing.clock.runAll();
    expect((await playing.result).reason.kind).toBe("stopped");
  });
});
