import { describe, expect, it } from "vitest";
import {
  createLoopEvents,
  createToolRegistry,
  defineTool,
  type LoopOptions,
  memoryJournal,
  prepareIteration,
  runToolLoop,
  streamToolLoop,
  type ToolContext,
  type ToolRegistry,
} from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { observeRuns, type StartObserving } from "../../src/observe/run-observer.ts";
import { addWatchers } from "../add-watchers.ts";
import { createLog, look, messages } from "./observer-log.ts";

const observed = (options: LoopOptions, start: StartObserving): LoopOptions => addWatchers(options, observeRuns("log", start));

describe("observeRuns: the observer", () => {
  it("receives events, wraps tools and streams, and is closed last", async () => {
    const { lines, start } = createLog();
    const provider = createMockProvider([toolCall("look"), text("Seen.")]);
    const options = observed({ provider, messages, tools: [look], runId: "r" }, start);
    const { text: said } = await runToolLoop(options);
    expect([said, ...lines]).toEqual([
      "Seen.",
      "r iteration-start",
      "r chunk call-start",
      "r runs call_i0_0",
      "r tool-end",
      "r iteration-start",
      "r chunk text-delta",
      "r run-end",
      "r closed",
    ]);
  });

  it("is started once for each run with the same options, whether the runs are parallel or sequential", async () => {
    const { lines, start } = createLog();
    const provider = createMockProvider(({ messages: sent }) => (sent.length === 1 ? toolCall("look") : text("Seen.")));
    const options = observed(
      { provider, messages, tools: [look], middleware: [prepareIteration(async () => ({ provider }))] },
      (run) => start({ ...run, runId: run.runId.slice(-4) }),
    );
    const results = await Promise.all([runToolLoop(options), runToolLoop(options)]);
    results.push(await runToolLoop(options));
    for (const { runId } of results) {
      const own = lines.filter((line) => line.startsWith(runId.slice(-4))).map((line) => line.slice(5));
      expect(own).toEqual([
        "iteration-start",
        "chunk call-start",
        "runs call_i0_0",
        "tool-end",
        "iteration-start",
        "chunk text-delta",
        "run-end",
        "closed",
      ]);
    }
  });

  it("is not started if the options are rejected", async () => {
    const { lines, start } = createLog();
    const provider = createMockProvider([text("Hi")]);
    const refused = observed({ provider, messages, limits: { maxIterations: 0 } }, start);
    await expect(runToolLoop(refused)).rejects.toThrow("maxIterations");
    const journal = memoryJournal();
    const broken: LoopOptions["journal"] = {
      ...journal,
      step: (key, body) => {
        if (key.endsWith("/model")) throw new Error("full");
        return journal.step(key, body);
      },
    };
    const breaks = runToolLoop(observed({ provider, messages, journal: broken, runId: "b" }, start));
    await expect(breaks).rejects.toThrow("full");
    expect(lines).toEqual(["b closed Error: full"]);
  });

  it("is closed last if the reader of streamToolLoop stops early", async () => {
    const { lines, start } = createLog();
    const stream = streamToolLoop(observed({ provider: createMockProvider([text("Hi")]), messages, runId: "s" }, start));
    for await (const event of stream) if (event.type === "text-delta") break;
    expect((await stream.result).status).toBe("stopped-by-user");
    expect(lines.at(-1)).toBe("s closed");
  });

  it("changes nothing if start returns undefined", async () => {
    const provider = createMockProvider([toolCall("look"), text("Seen.")]);
    expect((await runToolLoop(observed({ provider, messages, tools: [look] }, () => undefined))).text).toBe("Seen.");
  });
});

describe("observeRuns: an observed run", () => {
  it("keeps a tool registry's methods and definitions", async () => {
    const { start } = createLog();
    const registry = createToolRegistry([look]);
    const { validate: _, validateResult: _result, ...plain } = registry;
    const hooks = observeRuns("log", start).begin?.({} as never);
    const watch = (tools: ToolRegistry): ToolRegistry => hooks?.registry?.(tools) ?? tools;
    expect(watch(registry).definitions()).toBe(registry.definitions());
    expect(Object.keys(watch(registry))).toEqual(Object.keys(registry));
    expect(Object.keys(watch(plain))).toEqual(Object.keys(plain));
  });

  it.for<[what: string, options: object, message: string]>([
    ["a missing provider", { messages }, '"provider"'],
    ["an invalid provider", { provider: { id: "x" }, messages }, '"provider"'],
    ["invalid tools", { provider: createMockProvider([]), messages, tools: 7 }, '"tools"'],
    ["a duplicate tool", { provider: createMockProvider([]), messages, tools: [look, look] }, "look"],
    ["an events option that is the process object", { provider: createMockProvider([]), messages, events: process }, '"events"'],
  ])("throws the same error as an unobserved run for %s", async ([, options, message]) => {
    const { start } = createLog();
    const plain = await runToolLoop(options as LoopOptions).catch((error: unknown) => String(error));
    const watched = await runToolLoop(observed(options as LoopOptions, start)).catch((error: unknown) => String(error));
    expect(watched).toBe(plain);
    expect(plain).toContain(message);
  });

  it.for<[what: string, stream: unknown]>([
    ["a promise", Promise.resolve()],
    ["undefined", undefined],
    ["an iterable without an iterator", { [Symbol.asyncIterator]: () => undefined }],
    ["an iterator that returns plain values", { [Symbol.asyncIterator]: () => ({ next: () => ({ done: true }) }) }],
    ["an iterable of invalid chunks", { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 7 }) }) }],
  ])("ends with the same reason as an unobserved run if stream() returns %s", async ([, stream]) => {
    const { start } = createLog();
    const provider = { id: "p", model: "m", stream: () => stream } as unknown as LoopOptions["provider"];
    const plain = await runToolLoop({ provider, messages });
    const watched = await runToolLoop(observed({ provider, messages }, start));
    expect(watched.reason).toEqual(plain.reason);
  });

  it("reports yielded chunks, but not a stream's return value", async () => {
    const { lines, start } = createLog();
    const end = { done: true, value: { type: "text-delta", text: "No." } };
    const stream = (): object => ({ [Symbol.asyncIterator]: () => ({ next: async () => end }) });
    const provider = { id: "p", model: "m", stream } as unknown as LoopOptions["provider"];
    await runToolLoop(observed({ provider, messages, runId: "d" }, start));
    expect(lines).toEqual(["d iteration-start", "d run-end", "d closed"]);
  });

  it("gives a tool the same context as an unobserved run", async () => {
    const { start } = createLog();
    const read: Record<string, unknown>[] = [];
    const reads = defineTool({
      name: "look",
      description: "",
      inputSchema: { type: "object" },
      execute: (_: unknown, given: ToolContext) => {
        const { callId, messages: sent, budget, depth, session, context, provider: by, idempotencyKey, signal } = given;
        given.heartbeat();
        given.progress(1);
        read.push({ callId, sent: sent.length, budget, depth, session, context, by, idempotencyKey, aborted: signal.aborted });
      },
    });
    for (const watch of [(options: LoopOptions) => options, (options: LoopOptions) => observed(options, start)]) {
      const provider = createMockProvider([toolCall("look"), text("Seen.")]);
      await runToolLoop(watch({ provider, messages, tools: [reads], runId: "c", context: { own: true } }));
    }
    expect(read[1]).toEqual(read[0]);
  });

  it("also observes a provider that prepareIteration returns", async () => {
    const { lines, start } = createLog();
    const other = createMockProvider([text("Other.")], { id: "other", model: "other-model" });
    const hooks = [prepareIteration(() => ({ provider: other }))];
    const result = await runToolLoop(
      observed({ provider: createMockProvider([]), messages, middleware: hooks, runId: "h" }, start),
    );
    expect([result.text, result.streamResults[0]?.provider]).toEqual(["Other.", "other"]);
    expect(lines).toContain("h chunk text-delta");
  });
});

describe("observeRuns: the caller's listeners", () => {
  it("are called with the caller's emitter as `this`", async () => {
    const { start } = createLog();
    const events = createLoopEvents();
    const heard: unknown[] = [];
    function note(this: unknown): void {
      heard.push(this === events ? "own" : "foreign");
      events.off("iteration-start", note);
    }
    const options = observed(
      { provider: createMockProvider([toolCall("look"), text("Hi")]), messages, tools: [look], events },
      start,
    );
    events.on("iteration-start", note);
    events.once("tool-end", () => heard.push("once"));
    events.once("text-delta", ({ text: said }) => heard.push(said));
    await runToolLoop(options);
    expect(heard).toEqual(["own", "once", "Hi"]);
    expect(events.eventNames()).toEqual([]);
  });

  it('are each reported once as "listener-error" if they throw', async () => {
    const { lines, start } = createLog();
    const events = createLoopEvents();
    const told: string[] = [];
    events.on("iteration-start", () => {
      throw new Error("first");
    });
    events.on("iteration-start", () => Promise.reject(new Error("second")) as unknown as void);
    events.on("listener-error", ({ event, error }) => told.push(`${event} ${error.message}`));
    const provider = createMockProvider([toolCall("look"), text("Hi")]);
    await runToolLoop(observed({ provider, messages, tools: [look], events }, start));
    expect(told).toEqual(["iteration-start first", "iteration-start second"]);
    expect(lines.at(-1)).toMatch(/closed$/);
  });
});
