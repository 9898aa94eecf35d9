import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  defineTool,
  type LoopOptions,
  memoryJournal,
  runToolLoop,
  type SavedJournal,
  eagerTools,
} from "turnwright";
import type { MemoryJournal } from "turnwright/kit";
import { guardrails, type InputCheck } from "turnwright/middleware";
import type { GuardrailRecord } from "../../src/core/types/guardrails.ts";
import { createMockProvider, createTestClock, recordEvents, stall, text, toolCall, usage } from "turnwright/testing";

const messages = [{ role: "user", content: "How do I pick a lock?" }] as const;
const pass: InputCheck = { name: "pass", check: () => ({ kind: "pass" }) };
const refuse: InputCheck = { name: "topic", check: () => ({ kind: "refuse", reason: "off topic", info: { score: 0.9 } }) };

function createHeldCheck(
  name: string,
  verdict: "pass" | "refuse",
): { readonly check: InputCheck; release(): void; calls(): number } {
  let calls = 0;
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const check: InputCheck = {
    name,
    check: async () => {
      calls += 1;
      await opened;
      return { kind: verdict };
    },
  };
  return { check, release: () => open(), calls: () => calls };
}

describe("guardrail input checks", () => {
  it("let a run continue if all checks pass", async () => {
    const provider = createMockProvider([text("Hello")]);
    const recording = recordEvents();
    const middleware = [guardrails({ input: [pass, { ...pass, name: "second" }] })];
    const result = await runToolLoop({ provider, messages, middleware, events: recording.emitter });
    expect(result).toMatchObject({ status: "completed", text: "Hello" });
    expect(recording.outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0
          guardrail input pass pass
          guardrail input second pass
          text-delta "Hello"
        iteration-end 0 completed
      run-end completed answered"
    `);
  });

  it("end the run with the refusing check's name and reason, and show no text", async () => {
    const provider = createMockProvider([text("First, you need")]);
    const recording = recordEvents();
    const middleware = [guardrails({ input: [pass, refuse] })];
    const result = await runToolLoop({ provider, messages, middleware, events: recording.emitter });
    expect(result.status).toBe("error");
    expect(result.reason).toEqual({ kind: "input-guardrail", guardrail: "topic", reason: "off topic", info: { score: 0.9 } });
    expect(result.messages).toEqual(messages);
    expect(result.error?.message).toBe('The run ended as input-guardrail: the guardrail "topic" refused the input: off topic.');
    expect(recording.outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0
          guardrail input pass pass
          guardrail input topic refuse
        iteration-end 0 error
      run-end error input-guardrail"
    `);
  });

  it("run during the request, and delay text and tools until all checks pass", async () => {
    const held = createHeldCheck("slow", "pass");
    let runs = 0;
    const search = defineTool({
      name: "search",
      description: "",
      inputSchema: { type: "object" },
      eager: true,
      execute: () => (runs += 1),
    });
    const provider = createMockProvider([[text("Let me look."), toolCall("search", {})], text("Done.")]);
    const recording = recordEvents();
    const middleware = [guardrails({ input: [held.check] }), eagerTools()];
    const running = runToolLoop({ provider, messages, tools: [search], middleware, events: recording.emitter });
    await expect.poll(() => provider.requests.length).toBe(1);
    await new Promise(setImmediate);
    expect({ runs, types: recording.types() }).toEqual({ runs: 0, types: ["run-start", "iteration-start"] });
    held.release();
    expect((await running).text).toBe("Done.");
    expect(runs).toBe(1);
  });

  it("stop the request as soon as one check refuses, and cancel the other checks", async () => {
    let aborted = "";
    const slow: InputCheck = {
      name: "slow",
      check: (_, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            aborted = "check";
            reject(new Error("aborted"));
          }),
        ),
    };
    const provider = createMockProvider([[text("No"), stall()]]);
    const middleware = [guardrails({ input: [slow, refuse] })];
    const { reason } = await runToolLoop({ provider, messages, middleware });
    expect(reason).toMatchObject({ kind: "input-guardrail", guardrail: "topic" });
    expect(aborted).toBe("check");
    expect(provider.active).toBe(0);
  });

  it.for<[title: string, check: InputCheck["check"], message: RegExp]>([
    [
      "throws",
      () => {
        throw new Error("no model");
      },
      /no model/,
    ],
    ["rejects", () => Promise.reject(new Error("no network")), /no network/],
    ["returns no verdict", () => ({ kind: "ok" }) as never, /must return an object whose "kind"/],
  ])('end the run with the reason "hook-failed" if a check %s', async ([, check, message]) => {
    const middleware = [guardrails({ input: [{ name: "broken", check }] })];
    const { reason, text: said } = await runToolLoop({ provider: createMockProvider([text("Hi")]), messages, middleware });
    expect(reason).toMatchObject({
      kind: "hook-failed",
      hook: "guardrails.broken",
      error: { message: expect.stringMatching(message) as string },
    });
    expect(said).toBe("");
  });

  it('end the run with the reason "hook-failed" if a check takes longer than timeouts.callbackMs', async () => {
    const clock = createTestClock();
    const middleware = [guardrails({ input: [{ name: "silent", check: () => new Promise<never>(() => {}) }] })];
    const provider = createMockProvider([[text("Hi"), stall()]]);
    // During the check, the stream is silent for longer than its timeouts, which must not apply.
    const timeouts = { callbackMs: 1_000, streamIdleMs: 300, firstChunkMs: 300 };
    const running = runToolLoop({ provider, messages, middleware, clock, timeouts });
    await clock.runAll();
    expect((await running).reason).toMatchObject({
      kind: "hook-failed",
      error: { message: "The check took longer than 1000 ms." },
    });
    expect(clock.pending).toBe(0);
  });

  it("check each message once, including messages sent with control.steer()", async () => {
    const seen: string[] = [];
    const control = createLoopControl();
    const check: InputCheck = {
      name: "words",
      check: ({ text: said }) => (seen.push(said), said.includes("bomb") ? { kind: "refuse" } : { kind: "pass" }),
    };
    const provider = createMockProvider([toolCall("go", {}), toolCall("go", {}), text("never")]);
    const steer = defineTool({
      name: "go",
      description: "",
      inputSchema: { type: "object" },
      execute: (_, { iteration }) => (iteration === 1 ? control.steer("Build a bomb.") : "ok"),
    });
    const { reason } = await runToolLoop({
      provider,
      messages,
      tools: [steer],
      control,
      middleware: [guardrails({ input: [check] })],
    });
    expect(seen).toEqual(["How do I pick a lock?", "Build a bomb."]);
    expect(reason).toMatchObject({ kind: "input-guardrail", guardrail: "words" });
  });

  it("have their token usage and cost counted", async () => {
    const spent = { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, costUSD: 0.25 };
    const provider = createMockProvider([[text("Hi"), usage({ inputTokens: 1, outputTokens: 1 })]]);
    const middleware = [guardrails({ input: [{ name: "judge", check: () => ({ kind: "pass", spent }) }] })];
    const result = await runToolLoop({ provider, messages, middleware, pricing: () => 0.5 });
    expect({ tokens: result.usage.totalTokens, cost: result.costUSD }).toEqual({ tokens: 17, cost: 0.75 });
  });
});

function save(journal: MemoryJournal): SavedJournal {
  return JSON.parse(JSON.stringify(journal)) as SavedJournal;
}

describe("guardrail input checks in a resumed run", () => {
  type Options = LoopOptions & { readonly runId: string };
  const start = (options: Options, check: InputCheck): ReturnType<typeof runToolLoop> =>
    runToolLoop({ ...options, middleware: [guardrails({ input: [check] })] });

  it("are not repeated after a crash between the check and the answer", async () => {
    const journal = memoryJournal();
    let checks = 0;
    const check: InputCheck = { name: "counted", check: () => ((checks += 1), { kind: "pass" }) };
    const stop = new AbortController();
    const crashed = createMockProvider([[text("Half an"), stall()]]);
    const options = { messages, runId: "run-1" };
    const first = start({ ...options, provider: crashed, journal, signal: stop.signal }, check);
    await expect.poll(() => Object.keys(save(journal).steps).length).toBeGreaterThan(2);
    // A crash loses all records after this point.
    const saved = save(journal);
    stop.abort();
    await first;
    expect(Object.keys(saved.steps)).toEqual(["run", "begin", "i0/request/@guardrails/input"]);
    const again = createMockProvider([text("Whole.")]);
    const result = await start({ ...options, provider: again, journal: memoryJournal(saved) }, check);
    expect({ checks, requests: again.requests.length, text: result.text }).toEqual({ checks: 1, requests: 1, text: "Whole." });
  });

  it("end the run without a request if the recorded verdict is a refusal", async () => {
    const journal = memoryJournal();
    const options = { messages, runId: "run-2" };
    const first = await start({ ...options, provider: createMockProvider([text("Hi")]), journal }, refuse);
    const { steps, ...rest } = save(journal);
    const kept = Object.entries(steps).filter(([key]) => /^(?:run|begin|i0\/request\/@guardrails\/input)$/.test(key));
    const cut = { ...rest, steps: Object.fromEntries(kept) };
    const provider = createMockProvider([text("Hi")]);
    const second = await start({ ...options, provider, journal: memoryJournal(cut) }, pass);
    expect(second.reason).toEqual(first.reason);
    expect(second.text).toBe("");
  });

  it("are not called if the run is refused because it was recorded without guardrails", async () => {
    const journal = memoryJournal();
    const options = { messages, runId: "run-5", journal };
    await runToolLoop({ ...options, provider: createMockProvider([text("Hi")]) });
    let checks = 0;
    const counted: InputCheck = { name: "counted", check: () => ((checks += 1), { kind: "refuse" }) };
    const resumed = start({ ...options, provider: createMockProvider([]) }, counted);
    await expect(resumed).rejects.toMatchObject({ code: "journal-mismatch", details: { field: "middleware" } });
    expect(checks).toBe(0);
  });

  it("are replayed as events, and run again only in a retry", async () => {
    const journal = memoryJournal();
    const options = { messages, runId: "run-3", journal };
    await start({ ...options, provider: createMockProvider([text("Hi")]) }, refuse);
    const recording = recordEvents();
    await start({ ...options, provider: createMockProvider([]), events: recording.emitter }, pass);
    expect(recording.of("guardrail").map(({ verdict, replayed }) => ({ verdict, replayed }))).toEqual([
      { verdict: "refuse", replayed: true },
    ]);
    const retried = await start({ ...options, provider: createMockProvider([text("Hi")]), resume: "retry-last" }, refuse);
    expect(retried.reason).toMatchObject({ kind: "input-guardrail" });
  });
});

const record: GuardrailRecord = { guardrail: "x", verdict: "pass", durationMs: 0 };

it("a run with an edited record of its input checks is rejected", async () => {
  const journal = memoryJournal();
  const middleware = [guardrails({ input: [pass] })];
  await runToolLoop({ provider: createMockProvider([text("Hi")]), messages, middleware, journal, runId: "run-4" });
  const saved = save(journal);
  const steps = { ...saved.steps, "i0/request/@guardrails/input": { value: [{ ...record, verdict: 3 }] } };
  const resumed = runToolLoop({
    provider: createMockProvider([]),
    messages,
    middleware,
    journal: memoryJournal({ ...saved, steps } as SavedJournal),
    runId: "run-4",
  });
  await expect(resumed).rejects.toMatchObject({ code: "journal-damaged" });
});
