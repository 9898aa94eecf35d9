import { describe, expect, it } from "vitest";
import {
  approve,
  createLoopControl,
  createToolRegistry,
  isLoopError,
  type Journal,
  type LoopOptions,
  memoryJournal,
  type Message,
  onIteration,
  prepareIteration,
  type Provider,
  runToolLoop,
} from "turnwright";
import { createMockProvider, createTestClock, stall, text, toolCall } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";
import { createDurableStore } from "./durable-store.ts";
import { answersOf, never, outcomesOf, play, tool } from "./play.ts";

const user = (content: string): Message => ({ role: "user", content });
const echo = tool("echo", (args) => args);

describe("runToolLoop with a saved journal", () => {
  async function recorded(options: Partial<LoopOptions> = {}): Promise<ReturnType<typeof createDurableStore>> {
    const store = createDurableStore();
    await play([toolCall("echo"), text("Done.")], { runId: "mine", tools: [echo], journal: store.open(), ...options }).result;
    return store;
  }
  const changed = { ...echo, inputSchema: { type: "object", required: ["say"] } };

  it.for<[what: string, options: Partial<LoopOptions>, code: string, details: object]>([
    ["a different runId", { runId: "yours" }, "journal-mismatch", { field: "runId", expected: "yours", received: "mine" }],
    ["different messages", { messages: [user("Stop.")] }, "journal-mismatch", { field: "messagesDigest" }],
    ["additional messages", { messages: [user("Go."), user("On.")] }, "journal-mismatch", { field: "messagesDigest" }],
  ])("rejects %s", async ([, options, code, details]) => {
    const store = await recorded();
    const before = [...store.records];
    const control = createLoopControl();
    const playing = play([text("Hi.")], { runId: "mine", tools: [echo], journal: store.open(), control, ...options });
    const thrown: unknown = await playing.result.catch((error: unknown) => error);
    expect(isLoopError(thrown) && [thrown.code, thrown.details]).toEqual([code, expect.objectContaining(details)]);
    expect([playing.provider.calls, playing.clock.pending, [...store.records]]).toEqual([0, 0, before]);
    const live = playing.recording.events.filter(({ type, replayed }) => type !== "run-start" && replayed !== true);
    expect([control.stop(), live]).toEqual(["finished", []]);
  });

  it("rejects different messages with a memory journal, but accepts any runId", async () => {
    const journal = memoryJournal();
    const first = await play([toolCall("echo"), text("Done.")], { tools: [echo], journal }).result;
    const keys = journal.keys();
    for (const [options, code] of [[{ messages: [user("Stop.")] }, "journal-mismatch"]] as const) {
      const thrown: unknown = await play([text("Hi.")], { tools: [echo], journal, ...options }).result.catch((error) => error);
      expect([isLoopError(thrown, code), journal.keys()]).toEqual([true, keys]);
    }
    for (const again of [journal, memoryJournal(JSON.parse(JSON.stringify(first.journal)))])
      expect((await play([], { tools: [echo], journal: again, runId: "another" }).result).text).toBe("Done.");
  });

  it("rejects a run with a durable journal and no runId, and writes nothing", async () => {
    const store = createDurableStore();
    const thrown: unknown = await play([text("Hi.")], { runId: undefined, journal: store.open() }).result.catch((error) => error);
    expect([isLoopError(thrown, "invalid-option") && thrown.details.option, store.records.size]).toEqual(["runId", 0]);
  });

  it("rejects a resumed run that lacks the tool of a call that has not run", async () => {
    const late = tool("late", () => 1, { needsApproval: true });
    const registry = createToolRegistry([tool("grow", () => registry.register(late))]);
    const first = await play([toolCall("grow"), toolCall("late"), text("Done.")], { tools: registry }).result;
    expect(outcomesOf(first)).toEqual(["call_i0_0: completed", "call_i1_0: awaiting-approval"]);
    const journal = memoryJournal(JSON.parse(JSON.stringify(first.journal)));
    const again = createToolRegistry([tool("grow", () => 1)]);
    const thrown: unknown = await play([], { tools: again, journal }).result.catch((error) => error);
    expect(isLoopError(thrown, "tools-changed") && thrown.details).toMatchObject({ changed: ["late"] });
  });

  it.for<[what: string, options: Partial<LoopOptions>]>([
    ["additional tools that were not called", { tools: [echo, tool("constructor", () => 1), tool("__proto__", () => 1)] }],
    ["a missing tool that was not called", { tools: [echo] }],
    ["a new optional field of a tool", { tools: [{ ...echo, inputSchema: { type: "object", properties: { say: {} } } }] }],
    ["a missing tool whose calls have ended", { tools: [] }],
    ["a new required field of a tool whose calls have ended", { tools: [changed] }],
    ["a change that allowToolChange allows", { tools: [changed], allowToolChange: ({ field }) => field === "say" }],
    ["a different order of tools", { tools: [tool("other", () => 1), echo] }],
    ["a different tool description", { tools: [{ ...echo, description: "Says it back" }, tool("other", () => 2)] }],
    [
      "a different key order in a tool's schema",
      { tools: [tool("other", () => 1), { ...echo, inputSchema: JSON.parse('{"type":"object"}') }] },
    ],
  ])("accepts %s", async ([, options]) => {
    const store = await recorded({ tools: [echo, tool("other", () => 1)] });
    const playing = play([], { runId: "mine", journal: store.open(), ...options });
    expect((await playing.result).text).toBe("Done.");
  });
});

describe("a journal that fails", () => {
  const broken = new Error("The disk is full.");
  /** "rejects late": the journal rejects after it has run the step. */
  const failing = (key: string, how: "rejects" | "rejects late" | "throws at once" | "runs and then throws"): Journal => {
    const inner = memoryJournal();
    const step = <T>(asked: string, body: () => T | PromiseLike<T>): PromiseLike<T> | T => {
      if (asked !== key) return inner.step(asked, body);
      if (how === "runs and then throws") void body();
      if (how === "throws at once" || how === "runs and then throws") throw broken;
      return how === "rejects" ? Promise.reject(broken) : Promise.resolve(body()).then(() => Promise.reject(broken));
    };
    return { ...inner, durable: true, step };
  };
  const keys = [
    "run",
    "begin",
    "i0/request/model",
    "i0/call/0/echo/@approve/decision",
    "i0/call/0/echo/begun",
    "i0/call/0/echo/outcome",
    "i0/after/@on-iteration/said",
    "i0/next",
    "i1/request/model",
    "i1/answered",
  ];
  const rows = keys.flatMap((key) => (["rejects", "rejects late", "throws at once"] as const).map((how) => [key, how] as const));

  it.for([
    ["i0/call/0/echo/outcome", "rejects late", [{ key: "i0/call/0/echo/outcome", answer: { kind: "completed" } }]],
    ["i0/next", "rejects", []],
    ["i1/request/model", "throws at once", []],
    ["i1/request/model", "rejects late", [{ key: "i1/request/model", answer: { text: "Done." } }]],
    ["i1/answered", "rejects", []],
  ] as const)('makes the run reject with the partial result if the step "%s" %s', async ([key, how, unrecorded]) => {
    const playing = play([[text("Look: "), toolCall("echo")], text("Done.")], {
      runId: "mine",
      tools: [tool("echo", (args) => args, { sequential: true })],
      journal: failing(key, how),
    });
    const error: unknown = await playing.result.catch((thrown: unknown) => thrown);
    expect(error).toBe(broken);
    expect(broken).toMatchObject({ details: { partial: expect.anything() } });
    expect((broken as { details?: { partial?: unknown } }).details?.partial).toMatchObject({
      runId: "mine",
      streamResults: [{ text: "Look: " }, ...(key === "i1/answered" ? [{ text: "Done." }] : [])],
      usage: { totalTokens: expect.any(Number) },
      unrecorded,
    });
    expect(JSON.stringify(error)).not.toContain("Look");
  });

  it("makes the run reject with journal-failed and the partial result, even if the thrown error is frozen", async () => {
    for (const thrown of ["The disk is full", Object.freeze(new Error("The disk is full."))]) {
      const inner = memoryJournal();
      const step: Journal["step"] = (key, body) => (key === "i0/next" ? Promise.reject(thrown) : inner.step(key, body));
      const journal: Journal = { ...inner, step };
      const error: unknown = await play([toolCall("echo"), text("Done.")], { tools: [echo], journal }).result.catch((it) => it);
      if (!isLoopError(error, "journal-failed")) throw error;
      expect([error.cause, error.details.partial?.streamResults.length]).toEqual([thrown, 1]);
      expect(error.message).toBe(
        'The journal failed in "step" for "i0/next": The disk is full. Repair the journal\'s storage, then repeat the same call.',
      );
    }
  });

  it("makes the run reject with the unchanged error if a workflow engine is the journal, or if open() throws", async () => {
    const engine: Journal = { ...failing("i0/request/model", "rejects"), engine: true };
    await expect(play([text("Hi.")], { journal: engine, runId: "engine" }).result).rejects.toBe(broken);
    const locked: Journal = { ...memoryJournal(), open: () => Promise.reject(broken) };
    await expect(play([text("Hi.")], { journal: locked }).result).rejects.toBe(broken);
  });

  it.for([
    ["begin", "rejects"],
    ["begin", "rejects late"],
    ["begin", "throws at once"],
    ["i0/next", "rejects late"],
    ["i0/next", "runs and then throws"],
    ["i1/answered", "rejects late"],
  ] as const)('keeps an unrecorded steered message for the next run if the step "%s" %s', async ([key, how]) => {
    const control = createLoopControl();
    const speak = (): void => void control.steer("Later.");
    if (key === "begin") speak();
    const tools = [tool("speak", () => (key === "i0/next" ? speak() : undefined))];
    const hooks = [
      onIteration(() => undefined),
      prepareIteration(({ iteration }: { iteration: number }) =>
        iteration === 1 && key === "i1/answered" ? speak() : undefined,
      ),
    ];
    const first = play([toolCall("speak"), text("Done.")], { control, tools, middleware: hooks, journal: failing(key, how) });
    await expect(first.result).rejects.toBe(broken);
    const again = play([toolCall("speak"), text("Done.")], { control, tools });
    const said = (await again.result).messages.filter((message) => message.role === "user" && message.content === "Later.");
    expect(said).toHaveLength(key === "i0/next" ? 2 : 1);
  });

  it.for(rows)(
    'makes the run reject with the journal\'s error, and releases everything, if the step "%s" %s',
    async ([key, how]) => {
      const listeners = countListeners();
      const control = createLoopControl();
      const playing = play([[toolCall("echo"), toolCall("deaf")], text("Done.")], {
        runId: "failing",
        control,
        tools: [echo, tool("deaf", () => (/^i1|^i0\/(?:after|next)/.test(key) ? 1 : never), { timeoutMs: 1_000 })],
        journal: failing(key, how),
        limits: { wallClockMs: 60_000 },
        middleware: [onIteration(() => undefined), approve(() => ({ kind: "approve" }))],
      });
      await expect(playing.result).rejects.toBe(broken);
      await playing.clock.flush();
      expect([playing.clock.pending, playing.provider.active, listeners.total()]).toEqual([0, 0, 0]);
      expect([control.stop(), control.isToolChainActive()]).toEqual(["finished", false]);
      expect((await play([text("Hi.")], { runId: "failing" }).result).text).toBe("Hi.");
      listeners.stop();
    },
  );

  it("aborts the signals of running tools", async () => {
    const signals: AbortSignal[] = [];
    const keep = tool("keep", (_, { signal }) => (signals.push(signal), never));
    const playing = play([[toolCall("echo"), toolCall("keep")]], {
      tools: [echo, keep],
      journal: failing("i0/call/0/echo/outcome", "rejects late"),
    });
    await expect(playing.result).rejects.toBe(broken);
    expect(signals.map(({ aborted, reason }) => [aborted, reason])).toEqual([[true, broken]]);
  });
});

describe("a workflow engine that cancels a run through its signal", () => {
  const journalOf = (): Journal => ({ ...createDurableStore().open(), engine: true });

  it.for<[where: string, script: Parameters<typeof play>[0], outcomes: readonly string[]]>([
    ["a stream", [stall()], []],
    ["a stream that ignores its signal", [stall({ ignoreSignal: true })], []],
    ["a tool", [toolCall("deaf")], ["call_i0_0: interrupted"]],
    ["a step of a durable tool", [toolCall("steps")], ["call_i0_0: interrupted"]],
    ["a function supplied by the caller", [toolCall("asked")], ["call_i0_0: not-run"]],
  ])("ends %s, which learns the reason from its own signal", async ([, script, outcomes]) => {
    const listeners = countListeners();
    const engine = new AbortController();
    const seen: AbortSignal[] = [];
    const wait = (signal: AbortSignal): Promise<never> => (seen.push(signal), never);
    const provider = createMockProvider(script);
    const watched: Provider = {
      ...provider,
      stream: (request, call) => (seen.push(call.signal), provider.stream(request, call)),
    };
    const tools = [
      tool("deaf", (_, { signal }) => wait(signal)),
      tool("steps", (_, { step, signal }) => step("slow", () => wait(signal)), { durable: true }),
      tool("asked", () => 1),
    ];
    const playing = play([], {
      provider: watched,
      tools,
      journal: journalOf(),
      signal: engine.signal,
      middleware: [approve(({ name }, { signal }) => (name === "asked" ? wait(signal) : { kind: "approve" }))],
    });
    await playing.clock.advance(10);
    const reason = new Error("shutting down");
    engine.abort(reason);
    const result = await playing.result;
    expect(result.reason).toEqual({ kind: "aborted", reason: { name: "Error", message: "shutting down" } });
    expect(seen.at(-1)?.reason).toBe(reason);
    expect([outcomesOf(result), listeners.on(engine.signal), playing.clock.pending]).toEqual([outcomes, 0, 0]);
    listeners.stop();
  });

  it("ends the run before any request if the signal is already aborted", async () => {
    const playing = play([text("Hi.")], { journal: journalOf(), signal: AbortSignal.abort("too late") });
    expect([(await playing.result).reason, playing.provider.calls]).toEqual([{ kind: "aborted", reason: "too late" }, 0]);
  });
});

describe("a journal engine that retries a step", () => {
  function stubborn(): Journal {
    const inner = createDurableStore().open();
    const step: Journal["step"] = (key, body) =>
      inner.step(key, async () => {
        if (key.endsWith("/outcome")) await body();
        return body();
      });
    return { ...inner, step };
  }

  it.for<[replay: "safe" | "never", outcome: string, runs: number]>([
    ["never", "interrupted", 1],
    ["safe", "completed", 2],
  ])('gives a tool with replay: "%s" the outcome "%s"', async ([replay, outcome, runs]) => {
    let ran = 0;
    const count = tool("count", () => (ran += 1), { replay });
    const playing = play([[toolCall("count"), toolCall("count")], text("Done.")], { tools: [count], journal: stubborn() });
    expect(answersOf(await playing.result).map((part) => part.outcome)).toEqual([outcome, outcome]);
    expect(ran).toBe(2 * runs);
  });
});

describe("the default journal in memory", () => {
  it("is not shared between two runs", async () => {
    const clock = createTestClock();
    const options = { messages: [user("Go.")], clock, tools: [echo] };
    const first = await runToolLoop({ ...options, provider: createMockProvider([toolCall("echo", { n: 1 }), text("One.")]) });
    const second = await runToolLoop({ ...options, provider: createMockProvider([text("Two.")]) });
    expect([first.text, second.text, first.runId === second.runId]).toEqual(["One.", "Two.", false]);
  });
});

describe("a journal that throws", () => {
  it("leaves unread messages for the next run with the same control", async () => {
    const control = createLoopControl();
    const journal: Journal = {
      durable: false,
      read: () => undefined,
      step: (key, body) => {
        if (key !== "i0/request/model") return body();
        control.steer("In Celsius.");
        control.interrupt("And in Bergen?");
        throw new Error("The disk is full.");
      },
    };
    await expect(play([text("7.")], { control, journal }).result).rejects.toThrow("full");
    const { reason, undelivered } = await play([text("7.")], { control }).result;
    expect([reason, undelivered]).toEqual([{ kind: "interrupted", message: user("And in Bergen?") }, [user("In Celsius.")]]);
  });
});
