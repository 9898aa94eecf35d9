// Middleware as a user writes it, with what the package exports.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createLoopControl,
  defineTool,
  eagerTools,
  type LoopResult,
  memoryJournal,
  type Middleware,
  runToolLoop,
  type ToolCall,
} from "turnwright";
import { inspectJournal } from "turnwright/journal";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";

const messages = [{ role: "user", content: "Go." }] as const;
type CallHook = NonNullable<Middleware["call"]>;
type CallNext = Parameters<CallHook>[1];
type CallAt = Parameters<CallHook>[2];

const never = (): Promise<never> => new Promise<never>(() => {});

interface Program {
  readonly middleware: readonly Middleware[];
  readonly calls?: number;
  readonly description?: string;
  readonly traits?: object;
}

/** A run whose model calls `pay`, and then says "Done.". */
function createProgram({ middleware, calls = 1, description = "Pays", traits = {} }: Program) {
  const paid: unknown[] = [];
  const clock = createTestClock();
  const journal = memoryJournal();
  const toolWith = (about: string, own: object = {}) =>
    defineTool({
      name: "pay",
      description: about,
      inputSchema: z.object({ amount: z.number().default(7) }),
      ...traits,
      ...own,
      execute: (args) => {
        paid.push(args);
        return "paid";
      },
    });
  const provider = createMockProvider(({ messages: said }) =>
    said.length === 1 ? Array.from({ length: calls }, () => toolCall("pay", {})) : text("Done."),
  );
  const run = (more: object = {}, about = description, own: object = {}): Promise<LoopResult> =>
    runToolLoop({ provider, tools: [toolWith(about, own)], messages, middleware, journal, clock, runId: "r", ...more });
  return { run, paid, provider, clock, journal };
}

describe("a hook that awaits a promise of its own", () => {
  it.for<[hook: string, own: Omit<Middleware, "name">]>([
    ["call", { call: never }],
    ["execute", { execute: never }],
    ["request", { request: never }],
    ["beforeEnd", { beforeEnd: never }],
    ["afterCalls", { afterCalls: never }],
    ["call", { call: async (call, next) => (await next(call), never()) }],
    ["request", { request: async (request, next) => (await next(request), never()) }],
    ["call", { call: async (_call, _next, at) => (await at.step("one", () => 1), never()) }],
  ])("ends the run after callbackMs: %s", async ([hook, own]) => {
    const { run, clock } = createProgram({ middleware: [{ name: "own", ...own }] });
    const running = run({ timeouts: { callbackMs: 1_000 } });
    await clock.advance(999);
    let isOver = false;
    void running.then(() => (isOver = true));
    await clock.flush();
    expect(isOver).toBe(false);
    await clock.advance(1);
    const { reason } = await running;
    expect(reason).toMatchObject({ kind: "hook-failed", hook: `own.${hook}`, error: { name: "TimeoutError" } });
    expect(clock.pending).toBe(0);
  });

  it("is named in the error instead of the hook around it", async () => {
    const around = (name: string): Middleware => ({ name, call: (call, next) => next(call) });
    const { run, clock } = createProgram({ middleware: [around("outer"), { name: "own", call: never }, around("inner")] });
    const running = run();
    await clock.advance(30_000);
    expect((await running).reason).toMatchObject({ kind: "hook-failed", hook: "own.call" });
  });

  it.for(["call", "request", "beforeEnd"])("does not prevent a stopped run from ending: %s", async (hook) => {
    const { run, clock } = createProgram({ middleware: [{ name: "own", [hook]: never }] });
    const stopped = new AbortController();
    const running = run({ signal: stopped.signal });
    await clock.advance(10);
    stopped.abort();
    await clock.advance(5_000);
    expect((await running).reason.kind).toBe("aborted");
    expect(clock.pending).toBe(0);
  });

  it.for<[kind: string, watch: object, resumed: boolean]>([
    ["ended", { ended: never }, false],
    ["recorded", { recorded: never }, true],
  ])("ends the run after callbackMs (method of the `stream` hook: %s)", async ([, watch, isResumed]) => {
    const { run, clock } = createProgram({ middleware: [{ name: "own", stream: () => watch }] });
    if (isResumed) await run({ middleware: [{ name: "own", stream: () => ({}) }] });
    const running = run({ timeouts: { callbackMs: 1_000 } });
    await clock.advance(1_000);
    const { reason } = await running;
    expect(reason).toMatchObject({ kind: "hook-failed", hook: "own.stream", error: { name: "TimeoutError" } });
    expect(clock.pending).toBe(0);
  });

  it("may wait longer than callbackMs for eager calls (`stream` hook)", async () => {
    const clock = createTestClock();
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, ms));
    const slow = defineTool({ name: "pay", description: "Pays", inputSchema: {}, eager: true, execute: () => sleep(50_500) });
    const { run } = createProgram({ middleware: [eagerTools()] });
    const running = run({ clock, tools: [slow], timeouts: { callbackMs: 1_000 } });
    await clock.advance(60_000);
    const { status, calls } = await running;
    expect([status, calls.map(({ outcome }) => outcome), clock.pending]).toEqual(["completed", ["completed"], 0]);
  });

  it("does not prevent a stopped run from ending: stream", async () => {
    const { run, clock } = createProgram({ middleware: [{ name: "own", stream: () => ({ ended: never }) }] });
    const control = createLoopControl();
    const running = run({ control, timeouts: { callbackMs: 1_000_000, toolCleanupMs: 100 } });
    await clock.advance(10);
    control.stop();
    await clock.advance(100);
    expect((await running).reason.kind).toBe("stopped");
    expect(clock.pending).toBe(0);
  });

  it("ends the run if two calls wait for the same at.wait() promise", async () => {
    let asked: Promise<unknown> | undefined;
    const shared: Middleware = {
      name: "shared",
      async call(call, next, at) {
        await (asked ??= at.wait("permission", { name: call.name }));
        return next(call);
      },
    };
    const { run, clock, paid } = createProgram({ middleware: [shared], calls: 2 });
    const running = run();
    await clock.advance(30_000);
    expect([(await running).reason, paid]).toEqual([expect.objectContaining({ kind: "hook-failed", hook: "shared.call" }), []]);
  });

  it("may wait for another call in the message, and time spent in steps and tools does not count toward callbackMs", async () => {
    const clock = createTestClock();
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, ms));
    let first: ReturnType<CallNext> | undefined;
    const after: Middleware = {
      name: "after",
      async call(call, next, at) {
        if (first !== undefined) await first;
        await at.step(`sleep ${call.callId}`, () => sleep(50_000));
        return (first = next(call));
      },
    };
    const slow = defineTool({ name: "pay", description: "Pays", inputSchema: {}, execute: () => sleep(100_000) });
    const { run } = createProgram({ middleware: [after], calls: 2 });
    const running = run({ clock, tools: [slow] });
    await clock.advance(500_000);
    const { status, calls } = await running;
    expect([status, calls.map(({ outcome }) => outcome)]).toEqual(["completed", ["completed", "completed"]]);
    expect(clock.pending).toBe(0);
  });
});

describe("middleware around tools", () => {
  it.for(["call", "execute"])("sees only valid calls to known tools within the limits: %s", async (hook) => {
    const seen: unknown[] = [];
    const counts: Middleware = { name: "counts", [hook]: (call: ToolCall, next: CallNext) => (seen.push(call.args), next(call)) };
    const provider = createMockProvider(({ messages: said }) =>
      said.length === 1
        ? [{ amount: 1 }, { amount: "x" }, { amount: 2 }, { amount: 3 }]
            .map((args) => toolCall("pay", args))
            .concat(toolCall("other"))
        : text("Done."),
    );
    const { run, paid } = createProgram({ middleware: [counts] });
    const { calls } = await run({ provider, limits: { maxToolCalls: 2 } });
    expect(calls.map(({ outcome }) => outcome)).toEqual(["completed", "invalid-input", "completed", "limit", "unknown-tool"]);
    expect([seen, paid]).toEqual([
      [{ amount: 1 }, { amount: 2 }],
      [{ amount: 1 }, { amount: 2 }],
    ]);
  });
});

describe("a journal step whose function never settles", () => {
  const stuck: readonly (readonly [where: string, own: Omit<Middleware, "name">])[] = [
    ["call", { call: (_call, _next, at) => at.step("stuck", never) }],
    ["execute", { execute: (_call, _next, at) => at.step("stuck", never) }],
    ["request", { request: (_request, _next, at) => at.step("stuck", never) }],
    ["afterCalls", { afterCalls: (_planned, at) => at.step("stuck", never) }],
    ["beforeEnd", { beforeEnd: (_ending, at) => at.step("stuck", never) }],
    ["a durable tool", { tools: [] }],
  ];
  const tools = [
    defineTool({
      name: "pay",
      description: "Pays",
      inputSchema: z.object({}),
      durable: true,
      execute: (_, { step }) => step("stuck", never),
    }),
  ];

  it.for(stuck)("ends when the run is stopped or times out: %s", async ([where, own]) => {
    const more = where === "a durable tool" ? { tools } : {};
    for (const [kind, limits] of [
      ["stopped", {}],
      ["wall-clock", { wallClockMs: 60_000 }],
    ] as const) {
      const { run, clock } = createProgram({ middleware: [{ name: "own", ...own }] });
      const control = createLoopControl();
      const running = run({ control, limits, ...more });
      await clock.advance(50_000);
      if (kind === "stopped") control.stop();
      await clock.advance(15_000);
      expect([kind, (await running).reason.kind, clock.pending]).toEqual([kind, kind, 0]);
    }
  });
});

/** Asks about each call, with facts of its own. */
const ask = (hook: "call" | "execute", options: object = {}): Middleware => ({
  name: "asks",
  [hook]: async (call: ToolCall, next: CallNext, at: CallAt) => {
    const said = await at.wait("permission", { risk: "high" }, options);
    return said === "yes" ? next(call) : { call, durationMs: 0, kind: "denied", reason: "No." };
  },
});

describe.each(["call", "execute"] as const)("a middleware wait in the `%s` hook", (hook) => {
  it("is listed in the result with its kind, its details and its call", async () => {
    const { run, journal } = createProgram({ middleware: [ask(hook, { schema: z.enum(["yes", "no"]) })] });
    const { reason } = await run();
    const shown = {
      id: "call_i0_0",
      callId: "call_i0_0",
      name: "pay",
      waitsFor: "answer",
      what: "permission",
      facts: { risk: "high" },
    };
    const schema = { type: "string", enum: ["yes", "no"] };
    expect(reason).toEqual({ kind: "result-required", calls: [{ ...shown, args: expect.anything(), schema }] });
    const { pendingCalls } = await inspectJournal(journal);
    const pending = { state: "awaiting-answer", what: "permission", facts: { risk: "high" }, schema, name: "pay" };
    expect(pendingCalls).toMatchObject([pending]);
  });

  it("accepts an answer object whose `kind` is defined by the wait's schema", async () => {
    const schema = z.object({ kind: z.literal("once") }).transform(() => "yes");
    const { run } = createProgram({ middleware: [ask(hook, { schema })] });
    await run();
    expect((await run({ answers: { call_i0_0: { kind: "once" } } })).text).toBe("Done.");
  });

  it("does not use an answer if the tool has changed", async () => {
    const { run, paid } = createProgram({ middleware: [ask(hook)] });
    await run();
    const second = await run({ answers: { call_i0_0: "yes" } }, "DELETES EVERYTHING");
    const toolChanges = [{ toolName: "pay", kind: "description-changed" }];
    const calls = [expect.objectContaining({ id: "call_i0_0~2", name: "pay", what: "permission", toolChanges })];
    expect([second.reason, paid]).toEqual([{ kind: "result-required", calls }, []]);
    const third = await run({ answers: { "call_i0_0~2": "yes" } }, "DELETES EVERYTHING");
    expect([third.text, paid]).toEqual(["Done.", [{ amount: 7 }]]);
  });

  it("rejects an answer that does not match the wait's schema, and keeps waiting", async () => {
    const { run, paid } = createProgram({ middleware: [ask(hook, { schema: z.enum(["yes", "no"]) })] });
    await run();
    for (const wrong of ["nonsense", null, { kind: "approve" }]) {
      const details = {
        call: "call_i0_0",
        waitsFor: "answer",
        issues: [expect.objectContaining({ message: expect.any(String) })],
      };
      await expect(run({ answers: { call_i0_0: wrong } })).rejects.toMatchObject({ code: "invalid-decision", details });
    }
    const last = await run({ answers: { call_i0_0: "yes" } });
    expect([last.text, paid.length]).toEqual(["Done.", 1]);
  });

  it.each(["approval", "result", "question"])("cannot have the reserved name %s", async (what) => {
    const own: Middleware = { name: "own", [hook]: async (_call: ToolCall, _next: CallNext, at: CallAt) => at.wait(what, {}) };
    const { reason } = await createProgram({ middleware: [own] }).run();
    expect(reason).toMatchObject({ kind: "hook-failed", error: { message: expect.stringContaining("reserved") } });
  });
});

describe("the answer to a wait with a schema", () => {
  it("is the schema's output, even when the run is executed again", async () => {
    const seen: unknown[] = [];
    const schema = z.object({ allowed: z.boolean(), note: z.string().default("none") }).transform((one) => ({ ...one, at: 1 }));
    const asks: Middleware = {
      name: "asks",
      async call(call, next, at) {
        const { allowed, note, at: time } = await at.wait("permission", {}, { schema });
        seen.push([allowed, note, time]);
        return next(call);
      },
    };
    const { run } = createProgram({ middleware: [asks] });
    await run();
    await run({ answers: { call_i0_0: { allowed: true } } });
    await run();
    expect(seen).toEqual([
      [true, "none", 1],
      [true, "none", 1],
    ]);
  });

  it("is null after the wait times out", async () => {
    const schema = z.string();
    const seen: unknown[] = [];
    const asks: Middleware = {
      name: "asks",
      async call(call, next, at) {
        const said = await at.wait("permission", {}, { schema, until: 1_000 });
        seen.push(said?.length ?? said);
        return next(call);
      },
    };
    const { run } = createProgram({ middleware: [asks] });
    expect((await run({ now: 999 })).status).toBe("suspended");
    expect([(await run({ now: 1_000 })).text, seen]).toEqual(["Done.", [null]]);
  });
});

describe("a middleware step that fails once", () => {
  const asksStore = (read: () => string, options?: { readonly recordErrors?: boolean }): Middleware => ({
    name: "quota",
    async call(call, next, at) {
      await at.step("count", read, options);
      return next(call);
    },
  });
  const createStore = (): { isDown: boolean; read(): string } => ({
    isDown: true,
    read() {
      if (this.isDown) throw new Error("ENOTDIR /srv/secret");
      return "free";
    },
  });

  it.each([true, false])(
    "makes the run reject with recordErrors: false, and lets the next execution complete the run (journal: %s)",
    async (isKept) => {
      const store = createStore();
      const { run, paid, journal } = createProgram({
        middleware: [asksStore(() => store.read(), { recordErrors: false })],
        calls: 2,
      });
      const more = isKept ? {} : { journal: undefined };
      await expect(run(more)).rejects.toThrow("ENOTDIR");
      expect([paid, journal.keys().filter((key) => key.includes("quota"))]).toEqual([[], []]);
      store.isDown = false;
      expect([(await run(more)).text, paid.length]).toEqual(["Done.", 2]);
    },
  );

  it("ends the run by default, without showing the error to the model", async () => {
    const store = createStore();
    const { run } = createProgram({ middleware: [asksStore(() => store.read())] });
    const { reason, messages: all } = await run();
    expect(reason).toMatchObject({ kind: "hook-failed", hook: "quota.call", error: { message: "ENOTDIR /srv/secret" } });
    expect(JSON.stringify(all)).not.toMatch(/ENOTDIR|secret|quota/);
    expect(all.at(-1)).toMatchObject({ role: "tool", results: [{ outcome: "failed" }] });
    store.isDown = false;
    expect((await run()).reason.kind).toBe("hook-failed");
  });
});

describe("a middleware with approves: true", () => {
  it.each([true, false])("decides about tools with needsApproval, so a person is asked only once (%s)", async (approves) => {
    const { run, paid } = createProgram({ middleware: [{ ...ask("call"), approves }], traits: { needsApproval: true } });
    const { pendingCalls } = await run();
    expect(pendingCalls).toMatchObject([{ id: "call_i0_0", waitsFor: "answer" }]);
    const second = await run({ answers: { call_i0_0: "yes" } });
    expect([second.status, paid.length]).toEqual(approves ? ["completed", 1] : ["suspended", 0]);
  });
});
