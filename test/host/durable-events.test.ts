import { describe, expect, it } from "vitest";
import { defineTool, type Journal, type Json, type LoopEvent, type LoopOptions, type Step } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import type { StoredEvent } from "../../src/host/durable/durable-records.ts";
import type { DurableStore, LiveRun, Row, RunMessage, StepHooks } from "../../src/host/durable/durable-store.ts";
import { type DurableExecution, executeDurableRun, type RunSite } from "../../src/host/durable/execute-durable-run.ts";

const runId = "run";

/** Waits until all promises have settled that do not depend on timers or I/O. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const untilAborted = (signal?: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("It is over."))));

/** A workflow engine in memory, with one run. It records steps itself, after `beforeRecord`. */
function createEngine() {
  const records = new Map<string, string>();
  const bodies: string[] = [];
  const messages: Row<RunMessage>[] = [];
  const waits: string[] = [];
  let execution = 0;
  const store = {
    mayRepeat: () => false,
    begin: async () => ({ execution: ++execution, events: bodies.length, stalls: 0 }),
    append: async (_id, from, { first, events }) => {
      if (from !== execution) return false;
      if (first === bodies.length) bodies.push(...events);
      return true;
    },
    readEvents: async (_id, from) => bodies.map((body, seq) => ({ seq, body })).slice(from),
    readMessages: async (_id, after) => messages.filter(({ seq }) => seq > after),
    readBlobs: async () => new Map(),
    resetStalls: async () => {},
    wake: async () => {},
  } as Partial<DurableStore> as DurableStore;
  const createJournal = (hooks: StepHooks): Journal => {
    const step = async <T>({ key, kind, run }: Step<T>): Promise<T> => {
      const known = records.get(key);
      if (known !== undefined) return JSON.parse(known) as T;
      if (kind === "inbox") await hooks.beforeInbox();
      const body = JSON.stringify(await run({}));
      await hooks.beforeRecord();
      records.set(key, body);
      return JSON.parse(body) as T;
    };
    const wait = (key: string): Promise<Json> => {
      waits.push(key);
      return hooks.receive(key);
    };
    return { durable: true, step, all: (steps) => Promise.all(steps.map(step)), wait };
  };
  return {
    records,
    store,
    waits,
    decide: (key: string) => messages.push({ seq: 1, body: { verb: "decide", key, decision: { kind: "approve" } } }),
    createProcess(live = new Map<string, LiveRun>()) {
      const site: RunSite = { store, live, waitFor: async (_id, look, signal) => (await look()) ?? untilAborted(signal) };
      return (given: Partial<LoopOptions>, more: Partial<DurableExecution> = {}) => {
        const all = { provider: createMockProvider([text("Hello.")]), messages: [{ role: "user" as const, content: "Hi" }] };
        const fields = { options: () => ({ ...all, ...given }) };
        return executeDurableRun(site, { runId, fields, createJournal, ...more });
      };
    },
    events: (): readonly LoopEvent[] => bodies.map((body) => (JSON.parse(body) as StoredEvent).event),
  };
}

function textOf(events: readonly LoopEvent[]): string {
  let said = "";
  for (const event of events) {
    if (event.type === "text-delta") said += event.text;
    else if (event.type === "attempt-discarded") said = "";
  }
  return said;
}

describe("a durable run with several executions", () => {
  it("emits the events of the current execution even if an aborted execution starts later", async () => {
    const engine = createEngine();
    const execute = engine.createProcess();
    const current = execute({});
    const lost = new AbortController();
    lost.abort(new Error("The connection was lost."));
    expect(await execute({}, { signal: lost.signal })).toBeUndefined();
    expect(JSON.parse((await current) ?? "{}")).toMatchObject({ status: "completed", text: "Hello." });
    expect(textOf(engine.events())).toBe("Hello.");
  });

  it("emits the text of a model request once if a later execution starts during the request", async () => {
    const engine = createEngine();
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const provider = createMockProvider([text("Hello.")]);
    const slow: LoopOptions["provider"] = {
      ...provider,
      async *stream(...given) {
        await released;
        yield* provider.stream(...given);
      },
    };
    const first = engine.createProcess()({ provider: slow });
    await settle();
    await engine.store.begin(runId);
    release();
    expect(await first).toBeUndefined();
    expect([...engine.records.keys()]).not.toContain("i0/model");
    await engine.createProcess()({});
    expect(textOf(engine.events())).toBe("Hello.");
  });

  it("keeps the events of a recorded call that waited in an earlier execution", async () => {
    const engine = createEngine();
    const book = defineTool({
      name: "book",
      description: "Books a room",
      inputSchema: { type: "object" },
      needsApproval: true,
      execute: () => "Room 7",
    });
    const options = {
      provider: createMockProvider(({ iteration }) => [iteration === 0 ? toolCall("book", {}) : text("Booked.")]),
      tools: [book],
    };
    const live = new Map<string, LiveRun>();
    const first = engine.createProcess(live)(options);
    await settle();
    live.get(runId)?.abandon();
    expect(await first).toBeUndefined();
    for (const key of engine.waits) engine.decide(key);
    await engine.createProcess()(options);
    const call = ["tool-args-delta", "tool-args-end", "approval-asked", "approval-decided", "tool-start", "tool-end"];
    const answer = ["iteration-start", "text-delta", "iteration-end"];
    expect(engine.events().map(({ type }) => type)).toEqual([
      "run-start",
      "iteration-start",
      ...call,
      "iteration-end",
      ...answer,
      "run-end",
    ]);
  });
});
