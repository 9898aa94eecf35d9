import { describe, expect, it } from "vitest";
import {
  approve,
  isLoopError,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type Middleware,
  onIteration,
  prepareIteration,
  type Provider,
  runToolLoop,
  type StandardSchema,
  stopWhen,
  structuredOutput,
  type Tool,
} from "turnwright";
import type { MemoryJournal } from "turnwright/kit";
import { createMockProvider, createTestClock, recordEvents, text } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";
import { scenarios } from "./scenarios/all.ts";
import { setUp, type Scenario, type Staged } from "./scenarios/scenario.ts";
import { hasStarted } from "./check-call-events.ts";

const byTitle = scenarios.map((scenario) => [scenario.title, scenario] as const);
const isSuspended = ([, { status }]: (typeof byTitle)[number]): boolean => status === "suspended";

async function play(scenario: Scenario, more: Partial<LoopOptions> = {}): Promise<{ staged: Staged; result: LoopResult }> {
  const staged = setUp(scenario);
  const running = runToolLoop({ ...staged.options, ...more });
  await scenario.meanwhile?.(staged.stage);
  return { staged, result: await running };
}

const fail = (): never => {
  throw new Error("touched on replay");
};
const untouched: StandardSchema = { "~standard": { version: 1, vendor: "test", validate: fail } };

/** Middleware with functions that throw, because a replay must call none of them. */
const untouchables: readonly Middleware[] = [
  onIteration(fail),
  prepareIteration(fail),
  structuredOutput(untouched, { jsonSchema: {} }),
  stopWhen(fail),
  approve(fail),
];

function untouchable({ provider: { id, model }, middleware = [] }: LoopOptions, tools: readonly Tool[]): Partial<LoopOptions> {
  return {
    provider: { id, model, stream: fail },
    tools: tools.map((tool) => ({ ...tool, execute: fail })),
    middleware: middleware.map((one) => untouchables.find(({ name }) => one && one.name === name) ?? one),
  };
}

interface Recalled {
  readonly again: LoopResult;
  readonly journal: MemoryJournal;
  readonly keys: readonly string[];
}

async function recall(scenario: Scenario, result: LoopResult, provider?: Provider): Promise<Recalled> {
  const staged = setUp({ ...scenario, script: [] });
  const journal = memoryJournal(JSON.parse(JSON.stringify(result.journal)));
  const keys = journal.keys();
  const options = {
    ...staged.options,
    ...untouchable(staged.options, staged.options.tools as readonly Tool[]),
    ...(provider && { provider }),
  };
  return { again: await runToolLoop({ ...options, journal }), journal, keys };
}

const withoutJournal = ({ journal: _, ...rest }: LoopResult): unknown => JSON.parse(JSON.stringify(rest));

describe("runToolLoop", () => {
  it.for(byTitle)("returns the expected status, reason and text: %s", async ([, scenario]) => {
    const { result } = await play(scenario);
    expect([result.status, result.reason.kind, result.text]).toEqual([scenario.status, scenario.reason, scenario.text]);
    expect(() => JSON.stringify(result)).not.toThrow();
  });

  it.for(byTitle.filter((row) => !isSuspended(row)))(
    "gives the same result in a replay, without calling the model or a tool: %s",
    async ([, scenario]) => {
      const first = await play(scenario);
      const { again, keys, journal } = await recall(scenario, first.result);
      expect(withoutJournal(again)).toEqual(withoutJournal(first.result));
      // A replay may add steps such as `retry1`. They record that no retry was requested.
      expect(journal.keys().filter((key) => !/^retry\d+$/.test(key))).toEqual(keys);
    },
  );

  // Runs that wait for a decision are tested in asking.test.ts.
  it.for(byTitle.filter(([, { reason }]) => reason === "drained"))(
    "resumes from the journal without repeating a step after %s",
    async ([, scenario]) => {
      const { result } = await play(scenario);
      const provider = createMockProvider([text("Going on.")]);
      const { again, keys, journal } = await recall(scenario, result, provider);
      expect([again.status, again.text]).toEqual(["completed", scenario.goesOnTo ?? "Going on."]);
      expect(again.messages.slice(0, result.messages.length)).toEqual(result.messages);
      expect([again.functionHistory, again.undelivered]).toEqual([result.functionHistory, []]);
      expect(journal.keys().slice(0, keys.length)).toEqual(keys);
      expect(withoutJournal((await recall(scenario, again)).again)).toEqual(withoutJournal(again));
    },
  );

  it.for(byTitle)("returns messages that the next run accepts: %s", async ([, scenario]) => {
    const { result } = await play(scenario);
    const provider = createMockProvider([text("Next.")]);
    const next = await runToolLoop({ provider, messages: [...result.messages, { role: "user", content: "And now?" }] });
    expect(next.text).toBe("Next.");
  });

  it.for(byTitle)("emits one end event for each start event, correctly nested: %s", async ([, scenario]) => {
    const recording = recordEvents();
    const { result } = await play(scenario, { events: recording.emitter });
    const open: string[] = [];
    for (const event of recording.events) {
      const id = "callId" in event ? event.callId : "continuation" in event ? `${event.iteration}.${event.continuation}` : "";
      const [noun, edge] = event.type.split("-");
      if (edge === "start") open.push(`${noun} ${id}`);
      // A refused call has no start. Parallel calls can end in any order.
      if (event.type === "tool-end" && !hasStarted(event)) expect(open).not.toContain(`tool ${id}`);
      else if (edge === "end" && noun === "tool") expect(open.splice(open.indexOf(`tool ${id}`), 1)).toEqual([`tool ${id}`]);
      else if (edge === "end") expect(open.pop()).toBe(`${noun} ${id}`);
    }
    expect(open).toEqual([]);
    expect(recording.of("run-end")).toMatchObject([{ status: result.status, reason: result.reason }]);
    expect(recording.events.at(-1)?.type).toBe("run-end");
  });

  it.for(byTitle)('returns the text of all "text-delta" events in result.streamResults: %s', async ([, scenario]) => {
    const recording = recordEvents();
    const { result } = await play(scenario, { events: recording.emitter });
    const seen = recording.of("text-delta").map((event) => event.text);
    expect(result.streamResults.map((each) => each.text).join("")).toBe(seen.join(""));
  });

  it.for(byTitle)("releases every timer, listener and stream: %s", async ([, scenario]) => {
    const counting = countListeners();
    try {
      const { staged, result } = await play(scenario);
      await staged.stage.clock.flush();
      expect(staged.stage.clock.pending, "timers").toBe(0);
      expect(counting.on(staged.stage.abort.signal), "listeners on the caller's signal").toBe(0);
      expect(staged.provider.active, "streams").toBe(scenario.deafProvider ? 1 : 0);
      expect(staged.stage.control.stop(), "the control is free").toBe("finished");
      expect(result.usage.totalTokens).toBe(result.streamResults.reduce((sum, each) => sum + (each.usage?.totalTokens ?? 0), 0));
    } finally {
      counting.stop();
    }
  });

  it.for(byTitle)("puts one result per call, in order, into the next message (scenario: %s)", async ([, scenario]) => {
    const { result } = await play(scenario);
    result.messages.forEach((message, index) => {
      if (message.role !== "assistant") return;
      const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
      const answers = result.messages[index + 1];
      if (calls.length > 0) expect(answers?.role === "tool" ? answers.results.map((part) => part.callId) : []).toEqual(calls);
    });
    const ids = result.messages.flatMap((message) => (message.role === "tool" ? message.results.map((part) => part.callId) : []));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("options.signal", () => {
  it("has no listeners left after a thousand runs", async () => {
    const counting = countListeners();
    const abort = new AbortController();
    const clock = createTestClock();
    for (let count = 0; count < 1_000; count += 1) {
      const provider = createMockProvider([text("Hi")]);
      await runToolLoop({ provider, messages: [{ role: "user", content: "Go." }], signal: abort.signal, clock });
    }
    expect([counting.on(abort.signal), clock.pending]).toEqual([0, 0]);
    counting.stop();
  });
});

describe("a runToolLoop call rejected for an invalid option", () => {
  it("releases its control and its runId for the next call", async () => {
    const staged = setUp({ title: "", status: "completed", reason: "answered", script: [text("Hi")], text: "Hi" });
    const refused = await runToolLoop({ ...staged.options, limits: { maxIterations: 0 } }).catch((error: unknown) => error);
    expect(isLoopError(refused, "invalid-option")).toBe(true);
    expect((await runToolLoop(staged.options)).text).toBe("Hi");
  });
});
