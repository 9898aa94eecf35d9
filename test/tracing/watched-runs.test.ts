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
import { observeRun } from "../../src/observe/observe-run.ts";
import { createLog, look, messages } from "./observer-log.ts";

describe("observeRun: the observer", () => {
  it("receives events, wraps tools and streams, and is closed last", async () => {
    const { lines, observing } = createLog();
    const provider = createMockProvider([toolCall("look"), text("Seen.")]);
    const options = observeRun({ provider, messages, tools: [look], runId: "r" }, observing);
    const { text: said } = await runToolLoop(options);
    expect(options.events?.listenerCount("tool-end")).toBe(0);
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

  it("is started for each run with the same options, whether the runs are parallel or sequential", async () => {
    const { lines, observing } = createLog();
    const provider = createMockProvider(({ messages: sent }) => (sent.length === 1 ? toolCall("look") : text("Seen.")));
    const options = observeRun(
      { provider, messages, tools: [look], middleware: [prepareIteration(async () => ({ provider }))] },
      { ...observing, start: (run) => observing.start({ ...run, runId: run.runId.slice(-4) }) },
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
    const { lines, observing } = createLog();
    const provider = createMockProvider([text("Hi")]);
    const refused = observeRun({ provider, messages, limits: { maxIterations: 0 } }, observing);
    await expect(runToolLoop(refused)).rejects.toThrow("maxIterations");
    const journal = memoryJournal();
    const broken: LoopOptions["journal"] = {
      ...journal,
      step: (key, body) => {
        if (key.endsWith("/model")) throw new Error("full");
        return journal.step(key, body);
      },
    };
    const breaks = runToolLoop(observeRun({ provider, messages, journal: broken, runId: "b" }, observing));
    await expect(breaks).rejects.toThrow("full");
    expect(lines).toEqual(["b closed Error: full"]);
  });

  it("is closed last if the reader of streamToolLoop stops early", async () => {
    const { lines, observing } = createLog();
    const stream = streamToolLoop(observeRun({ provider: createMockProvider([text("Hi")]), messages, runId: "s" }, observing));
    for await (const event of stream) if (event.type === "text-delta") break;
    expect((await stream.result).status).toBe("stopped-by-user");
    expect(lines.at(-1)).toBe("s closed");
  });

  it("adds no listeners for a run if start returns undefined", async () => {
    const provider = createMockProvider([toolCall("look"), text("Seen.")]);
    const events = createLoopEvents();
    const options = observeRun({ provider, messages, tools: [look], events }, { hears: ["text-delta"], start: () => undefined });
    events.on("run-start", () => {
      expect(options.events?.listenerCount("text-delta")).toBe(0);
      expect(options.events?.listenerCount("run-start")).toBe(2);
    });
    expect((await runToolLoop(options)).text).toBe("Seen.");
  });
});

describe("observeRun: an observed run", () => {
  it("keeps the methods and definitions of a tool registry", async () => {
    const { observing } = createLog();
    const registry = createToolRegistry([look]);
    const { validate: _, validateResult: _result, ...plain } = registry;
    const watch = (tools: ToolRegistry): ToolRegistry =>
      observeRun({ provider: createMockProvider([]), messages, tools }, observing).tools as ToolRegistry;
    expect(watch(registry).definitions()).toBe(registry.definitions());
    expect(Object.keys(watch(registry)).sort()).toEqual(["definitions", "executeTool", "validate", "validateResult"]);
    expect(Object.keys(watch(plain)).sort()).toEqual(["definitions", "executeTool"]);
  });

  it.for<[what: string, options: object, message: string]>([
    ["missing options", undefined as unknown as object, "options"],
    ["a missing provider", { messages }, '"provider"'],
    ["an invalid provider", { provider: { id: "x" }, messages }, '"provider"'],
    ["invalid tools", { provider: createMockProvider([]), messages, tools: 7 }, '"tools"'],
    ["a duplicate tool", { provider: createMockProvider([]), messages, tools: [look, look] }, "look"],
    ["the events option process", { provider: createMockProvider([]), messages, events: process }, '"events"'],
    ["invalid middleware", { provider: createMockProvider([]), messages, middleware: 7 }, '"middleware"'],
  ])("throws the same error as an unobserved run for %s", async ([, options, message]) => {
    const { observing } = createLog();
    const plain = await runToolLoop(options as LoopOptions).catch((error: unknown) => String(error));
    const watched = await runToolLoop(observeRun(options as LoopOptions, observing)).catch((error: unknown) => String(error));
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
    const { observing } = createLog();
    const provider = { id: "p", model: "m", stream: () => stream } as unknown as LoopOptions["provider"];
    const plain = await runToolLoop({ provider, messages });
    const watched = await runToolLoop(observeRun({ provider, messages }, observing));
    expect(watched.reason).toEqual(plain.reason);
  });

  it("reports yielded chunks, but not the return value of a stream", async () => {
    const { lines, observing } = createLog();
    const end = { done: true, value: { type: "text-delta", text: "No." } };
    const stream = (): object => ({ [Symbol.asyncIterator]: () => ({ next: async () => end }) });
    const provider = { id: "p", model: "m", stream } as unknown as LoopOptions["provider"];
    await runToolLoop(observeRun({ provider, messages, runId: "d" }, observing));
    expect(lines).toEqual(["d iteration-start", "d run-end", "d closed"]);
  });

  it("gives a tool the same context as an unobserved run", async () => {
    const { observing } = createLog();
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
    for (const watch of [(options: LoopOptions) => options, (options: LoopOptions) => observeRun(options, observing)]) {
      const provider = createMockProvider([toolCall("look"), text("Seen.")]);
      await runToolLoop(watch({ provider, messages, tools: [reads], runId: "c", context: { own: true } }));
    }
    expect(read[1]).toEqual(read[0]);
  });

  it("also observes a provider that prepareIteration returns", async () => {
    const { lines, observing } = createLog();
    const other = createMockProvider([text("Other.")], { id: "other", model: "other-model" });
    const hooks = [prepareIteration(() => ({ provider: other }))];
    const result = await runToolLoop(
      observeRun({ provider: createMockProvider([]), messages, middleware: hooks, runId: "h" }, observing),
    );
    expect([result.text, result.streamResults[0]?.provider]).toEqual(["Other.", "other"]);
    expect(lines).toContain("h chunk text-delta");
  });
});
