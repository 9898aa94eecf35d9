import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  defineAgentTool,
  isLoopError,
  type Journal,
  type LoopOptions,
  memoryJournal,
  runToolLoop,
  type Step,
  streamToolLoop,
} from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";
import { never, play, type Playing, tool } from "./play.ts";

/** Where a journal hangs: in a verb, or at a step, before its body or after it. */
interface Hang {
  readonly at: string;
  readonly when?: "before" | "after";
}

const open = (): Promise<() => Promise<void>> => Promise.resolve(() => Promise.resolve());

function hanging({ at, when = "before" }: Hang): Journal {
  const inner = memoryJournal();
  const step = async <T>(one: Step<T>): Promise<T> => {
    if (one.key !== at) return inner.step(one);
    if (when === "after") await one.run({});
    return never;
  };
  return {
    durable: true,
    step,
    all: (steps) => (at === "all" ? never : Promise.all(steps.map((one) => step(one)))),
    open: at === "open" ? () => never : at === "close" ? () => Promise.resolve(() => never) : open,
  };
}

const echo = tool("echo", (args) => args);

/** A run that comes by every kind of step. */
function start(journal: Journal, more: Partial<LoopOptions> = {}): Playing {
  return play([[text("Look: "), toolCall("echo"), toolCall("echo")], text("Done.")], {
    runId: "hangs",
    tools: [echo],
    journal,
    policies: { approve: () => ({ kind: "approve" }) },
    hooks: { onIteration: () => undefined },
    ...more,
  });
}

const places: readonly Hang[] = [
  { at: "open" },
  { at: "close" },
  { at: "all" },
  ...[
    "run",
    "p0/inbox",
    "p0/model",
    "p0/approval/0/echo",
    "p0/intent/0/echo",
    "p0/tool/0/echo",
    "p0/iteration",
    "p1/inbox-end",
  ].flatMap((at): readonly Hang[] => [
    { at, when: "before" },
    { at, when: "after" },
  ]),
];

/** How a run over such a journal is ended, and what the error says of it. */
const endings: readonly (readonly [how: string, end: (playing: Playing) => void, ended: string | undefined, ms: number])[] = [
  ["nobody ends it", () => {}, undefined, 60_000],
  ["it is killed", ({ control }) => control.kill(), "kill", 500],
  ["its signal fires", ({ abort }) => abort.abort(), "abort", 500],
  ["it is stopped", ({ control }) => control.stop(), "stop", 5_000],
];

describe("a journal that hangs", () => {
  it.for(places.flatMap((place) => endings.map((ending) => [place, ending] as const)))(
    "is left: %o, %s",
    async ([place, [, end, ended, ms]]) => {
      const listeners = countListeners();
      const playing = start(hanging(place));
      const failed = playing.result.catch((error: unknown) => error);
      await playing.clock.flush();
      end(playing);
      await playing.clock.advance(ms - 1);
      expect(playing.endedAt()).toBeUndefined();
      await playing.clock.advance(1);
      expect(playing.endedAt()).toBe(ms);
      const error = await failed;
      if (!isLoopError(error, "journal-unresponsive")) throw error;
      expect(error.details).toMatchObject({ ms, ended });
      expect([playing.clock.pending, playing.provider.active, listeners.total()]).toEqual([0, 0, 0]);
      expect(playing.control.stop()).toBe("finished");
      // The id and the control are free.
      expect((await play([text("Hi.")], { runId: "hangs", control: playing.control }).result).text).toBe("Hi.");
      listeners.stop();
    },
  );

  it.for(places)("is left at the wall clock: %o", async (place) => {
    const playing = start(hanging(place), { limits: { wallClockMs: 1_000 } });
    const failed = playing.result.catch((error: unknown) => error);
    await playing.clock.advance(1_500);
    expect(isLoopError(await failed, "journal-unresponsive") && playing.endedAt()).toBeLessThanOrEqual(1_500);
    expect(playing.clock.pending).toBe(0);
  });
});

/** A journal whose step at a key is answered by the test. */
function held(at: string): {
  readonly journal: Journal;
  readonly run: () => unknown;
  readonly answer: (answer: unknown) => void;
} {
  const inner = memoryJournal();
  let body: () => unknown = () => {};
  let settle: (answer: unknown) => void = () => {};
  const step = <T>(one: Step<T>): PromiseLike<T> | T => {
    if (one.key !== at) return inner.step(one);
    body = () => one.run({});
    return new Promise((resolve) => (settle = resolve as typeof settle));
  };
  const journal: Journal = { durable: true, step, all: (steps) => Promise.all(steps.map(step)) };
  return { journal, run: () => body(), answer: (answer) => settle(answer) };
}

describe("a journal that was left", () => {
  it("runs no body any more, and what it answers is dropped", async () => {
    const { journal, run, answer } = held("p0/tool/0/echo");
    let ran = 0;
    const playing = start(journal, { tools: [tool("echo", () => (ran += 1), { sequential: true })] });
    const failed = playing.result.catch((error: unknown) => error);
    await playing.clock.advance(60_000);
    const error = await failed;
    await expect(run()).rejects.toBe(error);
    answer({ kind: "completed", data: 1 });
    await playing.clock.flush();
    expect([ran, playing.provider.calls, playing.clock.pending]).toEqual([0, 1, 0]);
  });

  it("takes the bodies of other steps of its wave along", async () => {
    const bodies: (() => unknown)[] = [];
    const inner = memoryJournal();
    const all: Journal["all"] = (steps) => {
      if (steps[0]?.kind !== "tool") return Promise.all(steps.map((one) => inner.step(one)));
      bodies.push(...steps.map((one) => () => one.run({})));
      return never;
    };
    let ran = 0;
    const playing = start({ durable: true, step: (one) => inner.step(one), all }, { tools: [tool("echo", () => (ran += 1))] });
    playing.result.catch(() => {});
    await playing.clock.advance(60_000);
    await expect(playing.result).rejects.toMatchObject({ details: { verb: "all", key: "p0/tool/0/echo" } });
    await Promise.allSettled(bodies.map((body) => body()));
    expect(ran).toBe(0);
  });

  it("is closed where it is opened too late", async () => {
    let settle: (close: () => Promise<void>) => void = () => {};
    let closed = 0;
    const opening = new Promise<() => Promise<void>>((resolve) => (settle = resolve));
    const playing = start({ ...memoryJournal(), open: () => opening });
    playing.control.kill();
    playing.result.catch(() => {});
    await playing.clock.advance(500);
    await expect(playing.result).rejects.toMatchObject({ details: { verb: "open", ended: "kill" } });
    settle(async () => void (closed += 1));
    await playing.clock.flush();
    expect(closed).toBe(1);
  });

  it("leaves what was paid for in the error, out of sight of a log", async () => {
    const playing = start(hanging({ at: "p0/tool/0/echo", when: "after" }), {
      tools: [tool("echo", () => "paid", { sequential: true })],
      timeouts: { journalMs: 10_000 },
    });
    const failed = playing.result.catch((error: unknown) => error);
    await playing.clock.advance(10_000);
    const error = await failed;
    if (!isLoopError(error, "journal-unresponsive")) throw error;
    expect(error.details.partial).toMatchObject({
      runId: "hangs",
      messages: [{ role: "user" }, { role: "assistant" }],
      streamResults: [{ text: "Look: " }],
      usage: { totalTokens: expect.any(Number) },
      unrecorded: [{ key: "p0/tool/0/echo", answer: { kind: "completed", data: "paid" } }],
    });
    expect(JSON.stringify(error)).not.toContain("Look");
    expect(error.message).toBe(
      'The journal did not answer "step" of "p0/tool/0/echo" within 10000 ms. See what holds up its storage, then make the same call again.',
    );
  });
});

describe("a journal that takes its time", () => {
  it("is not left while a body runs, however long", async () => {
    const journal = hanging({ at: "nowhere" });
    const finish: ((value: unknown) => void)[] = [];
    const slow = tool("echo", () => new Promise((resolve) => finish.push(resolve)), { timeoutMs: Infinity });
    const playing = start(journal, { tools: [slow], timeouts: { journalMs: 50 }, policies: {} });
    await playing.clock.advance(1_000_000);
    for (const end of finish) end(1);
    expect((await playing.result).text).toBe("Done.");
  });

  it("gets its whole time again behind a body", async () => {
    const clock = createTestClock();
    const wait = (): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, 900));
    const step = async <T>(one: Step<T>): Promise<T> => {
      await wait();
      const answer = await one.run({});
      await wait();
      return answer;
    };
    const journal: Journal = { durable: true, step, all: (steps) => Promise.all(steps.map((one) => step(one))) };
    const playing = start(journal, { clock, timeouts: { journalMs: 1_000 } });
    await clock.advance(100_000);
    expect((await playing.result).text).toBe("Done.");
  });

  it("has a moment to keep what a kill has cut off", async () => {
    const inner = memoryJournal();
    const step = async <T>(one: Step<T>): Promise<T> => {
      const answer = await inner.step(one);
      await new Promise<void>((resolve) => {
        playing.clock.setTimeout(resolve, 400);
      });
      return answer;
    };
    const playing = start(
      { durable: true, step, all: (steps) => Promise.all(steps.map((one) => step(one))) },
      { tools: [tool("echo", () => never)], timeouts: { settleMs: 0 }, policies: {} },
    );
    await playing.clock.advance(2_500);
    playing.control.kill();
    await playing.clock.advance(10_000);
    expect((await playing.result).reason).toEqual({ kind: "killed" });
  });
});

const inner = [{ role: "user" as const, content: "Inside." }];

describe("a journal that hangs elsewhere", () => {
  const agent = defineAgentTool({
    name: "agent",
    description: "",
    inputSchema: { type: "object" },
    prepare: () => ({ messages: inner }),
    toResult: ({ text: said }) => said,
  });

  it("under a nested run ends both", async () => {
    const script = [toolCall("agent"), text("Inside."), text("Done.")];
    for (const at of ["p0/agent/0/agent", "p0/tool/0/agent/p0/inbox", "p0/tool/0/agent/p0/model", "p0/tool/0/agent"]) {
      const playing = play(script, { runId: "outer", tools: [agent], journal: hanging({ at }) });
      playing.result.catch(() => {});
      await playing.clock.advance(10);
      playing.control.kill();
      await playing.clock.advance(500);
      await expect(playing.result).rejects.toMatchObject({
        code: "journal-unresponsive",
        details: { ended: "kill", partial: { runId: "outer" } },
      });
      expect([playing.clock.pending, playing.provider.active]).toEqual([0, 0]);
    }
  });

  it("inside a tool fails its call, not the run", async () => {
    const nest = tool("nest", async (_, context) => {
      const { text: said } = await context.runToolLoop({
        messages: inner,
        runId: "inside",
        journal: hanging({ at: "p0/model" }),
      });
      return said;
    });
    const playing = play([toolCall("nest"), text("Done.")], { tools: [nest] });
    await playing.clock.advance(60_000);
    const result = await playing.result;
    expect(result.text).toBe("Done.");
    expect(JSON.stringify(result.messages)).toContain("The journal did not answer");
    expect(playing.clock.pending).toBe(0);
  });

  it("is told to the reader of a stream, who may leave before", async () => {
    for (const leaves of [false, true]) {
      const clock = createTestClock();
      const journal = hanging({ at: "p0/model", when: "after" });
      const provider = createMockProvider([[text("Look: "), toolCall("echo")], text("Done.")]);
      const messages = [{ role: "user" as const, content: "Go." }];
      const stream = streamToolLoop({ provider, messages, tools: [echo], journal, clock, runId: "read" });
      const read = async (): Promise<void> => {
        for await (const { type } of stream) if (leaves && type === "text-delta") return;
      };
      const reading = read().then(
        () => "left",
        (error: unknown) => error,
      );
      await clock.advance(leaves ? 5_000 : 60_000);
      const said: unknown = await stream.result.catch((error: unknown) => error);
      expect(isLoopError(said, "journal-unresponsive") && said.details.ended).toBe(leaves ? "stop" : undefined);
      expect(await reading).toBe(leaves ? "left" : said);
      expect(clock.pending).toBe(0);
    }
  });

  it("under a replay is left as well", async () => {
    const failed = await play([]).result;
    const journal = memoryJournal(JSON.parse(JSON.stringify(failed.journal)));
    const asked: string[] = [];
    const replays = (key: string): Promise<boolean> => (asked.push(key), never);
    const playing = play([], { journal: { ...replayJournal(journal), replays }, resume: "retry-last" });
    playing.result.catch(() => {});
    await playing.clock.advance(60_000);
    await expect(playing.result).rejects.toMatchObject({ details: { verb: "replays", key: asked[0] } });
  });

  it("in a wait for days ends with the run, and has no limit", async () => {
    const journal: Journal = { ...hanging({ at: "nowhere" }), wait: () => never };
    const playing = start(journal, { policies: { approve: () => ({ kind: "ask" }) } });
    await playing.clock.advance(86_400_000);
    expect(playing.endedAt()).toBeUndefined();
    playing.control.kill();
    expect((await playing.result).reason).toEqual({ kind: "killed" });
    expect(playing.clock.pending).toBe(0);
  });
});

describe("a journal that answers nonsense", () => {
  it.for<[what: string, journal: Partial<Journal>, message: string]>([
    ["to open", { open: () => Promise.resolve(undefined as never) }, 'Option "journal.open()" must be a promise of the function'],
    ["to step", { step: () => undefined as never }, 'kept for step "run", but gave undefined'],
    ["to step, later", { step: () => Promise.resolve(7 as never) }, 'kept for step "run", but gave 7'],
    ["to all", { all: () => ({}) as never }, 'kept for "all" of 2 steps, but gave an object'],
    ["to all, in part", { all: (steps) => steps.map(() => null as never) }, "but gave null"],
    [
      "by a then that throws",
      {
        step: () => ({
          then: () => {
            throw new Error("no then");
          },
        }),
      },
      "no then",
    ],
  ])("%s is told, and nothing is held", async ([, more, message]) => {
    const { clock, result, provider, control } = start({ ...hanging({ at: "nowhere" }), ...more });
    await expect(result).rejects.toThrow(message);
    expect([clock.pending, provider.active, control.stop()]).toEqual([0, 0, "finished"]);
    const options = { provider: createMockProvider([text("Hi.")]), messages: inner, runId: "hangs" };
    expect((await runToolLoop({ ...options, control: createLoopControl() })).text).toBe("Hi.");
  });
});
