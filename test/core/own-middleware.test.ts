// Middleware as a user writes it, with what the package exports.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, type LoopResult, memoryJournal, type Middleware, runToolLoop } from "turnwright";
import { createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";

const messages = [{ role: "user", content: "Go." }] as const;
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

describe("a hook that waits for a promise of its own", () => {
  it.for<[hook: string, own: Omit<Middleware, "name">]>([
    ["call", { call: never }],
    ["execute", { execute: never }],
    ["request", { request: never }],
    ["beforeEnd", { beforeEnd: never }],
    ["afterCalls", { afterCalls: never }],
    ["call", { call: async (call, next) => (await next(call), never()) }],
    ["request", { request: async (request, next) => (await next(request), never()) }],
    ["call", { call: async (_call, _next, at) => (await at.step("one", () => 1), never()) }],
  ])("ends the run after hookMs: %s", async ([hook, own]) => {
    const { run, clock } = createProgram({ middleware: [{ name: "own", ...own }] });
    const running = run({ timeouts: { hookMs: 1_000 } });
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

  it("names the hook that waits, not the one around it", async () => {
    const around = (name: string): Middleware => ({ name, call: (call, next) => next(call) });
    const { run, clock } = createProgram({ middleware: [around("outer"), { name: "own", call: never }, around("inner")] });
    const running = run();
    await clock.advance(30_000);
    expect((await running).reason).toMatchObject({ kind: "hook-failed", hook: "own.call" });
  });

  it.for(["call", "request", "beforeEnd"])("does not keep a stopped run from ending: %s", async (hook) => {
    const { run, clock } = createProgram({ middleware: [{ name: "own", [hook]: never }] });
    const stopped = new AbortController();
    const running = run({ signal: stopped.signal });
    await clock.advance(10);
    stopped.abort();
    await clock.advance(5_000);
    expect((await running).reason.kind).toBe("aborted");
    expect(clock.pending).toBe(0);
  });

  it("ends the run if a second call shares the question of the first one", async () => {
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

  it("may wait for another call of the message, and does not count the time in steps and tools", async () => {
    const clock = createTestClock();
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, ms));
    let first: Promise<unknown> | undefined;
    const after: Middleware = {
      name: "after",
      async call(call, next, at) {
        if (first !== undefined) await first;
        await at.step(`sleep ${call.callId}`, () => sleep(50_000));
        return (first = next(call)) as ReturnType<typeof next>;
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
