import { EventEmitter } from "eventemitter3";
import { describe, expect, it } from "vitest";
import type { LoopEmitter, LoopEvent, LoopEvents } from "../core/types/loop-event.ts";
import { eventTypes } from "../shared/event-table.ts";
import { recordEvents } from "./record-events.ts";

const base = { runId: "r", iteration: 0 };
const call = { ...base, callId: "c1", name: "echo", index: 0 };
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

/** The payloads of the events whose lines in the outline the tests check. */
const samples = {
  "run-start": { ...base, provider: "mock", model: "m" },
  "run-end": {
    ...base,
    status: "completed",
    reason: { kind: "answered" },
    usage,
    costUSD: undefined,
    iterations: 1,
    toolCallsExecuted: 1,
    durationMs: 5,
  },
  "iteration-start": { ...base, continuation: 0 },
  "iteration-end": {
    ...base,
    continuation: 0,
    status: "completed",
    provider: "mock",
    model: "m",
    finish: "stop",
    usage,
    costUSD: undefined,
    calls: [{ callId: "c1", name: "echo", index: 0, outcome: "completed" }],
    durationMs: 1,
  },
  "text-delta": { ...base, text: "Hi" },
  "reasoning-delta": { ...base, text: "Hm" },
  "tool-args-delta": { ...call, text: "{}" },
  "replay-end": base,
  "tool-args-end": { ...call, args: { a: 1 } },
  "tool-start": { ...call, args: { a: 1 } },
  "tool-progress": { ...call, data: 0.5 },
  "tool-emit": { ...call, part: { type: "data", name: "chart", data: [1], id: "a" } },
  "tool-end": { ...call, outcome: "completed", result: { a: 1 }, durationMs: 1 },
  notice: { ...base, kind: "still-working" },
  "hidden-notice": { ...call, trigger: { trigger: "remind*", match: "remind me", source: "stem" }, args: { a: 1 } },
  handoff: { ...call, from: "triage", to: "billing" },
  guardrail: { ...base, stage: "output", guardrail: "tone", verdict: "rewrite", part: "text", durationMs: 2 },
  restart: { ...call, suffix: "with_memory", disableTools: [] },
  "approval-asked": { ...call, args: { a: 1 } },
  "approval-decided": { ...call, decision: "deny", reason: "no" },
  "question-asked": { ...call, id: "c1#a-1", question: { text: "Which?", schema: { type: "string" } } },
  "question-answered": { ...call, id: "c1#a-1", answer: "result" },
  "loop-detected": { ...base, toolName: "echo", count: 3, cycle: 2, action: "warn" },
  "result-processed": { ...call, tokensBefore: 30, tokensAfter: 20 },
  "result-extracted": { ...call, tokensBefore: 20, tokensAfter: 15 },
  "result-cached": { ...call, tokensBefore: 15, tokensAfter: 3 },
  masked: { ...base, calls: ["c1", "c2"], tokensBefore: 40, tokensAfter: 4 },
  "compaction-start": { ...base, cause: "due" },
  "compaction-end": {
    ...base,
    outcome: "compacted",
    tokensBefore: 900,
    tokensAfter: 90,
    provider: "mock",
    model: "mock-model",
    usage,
    costUSD: undefined,
  },
  "cache-break": {
    ...base,
    provider: "mock",
    model: "mock-model",
    cause: { kind: "tool-added", name: "search" },
    isIntended: false,
    keptBytes: 10,
    lostBytes: 90,
  },
  "request-adjusted": {
    ...base,
    provider: "mock",
    model: "mock-model",
    changes: [{ by: "adapter", field: "temperature", action: "removed", reason: "unsupported" }],
  },
  steered: { ...base, message: { role: "user", content: "In Celsius, please." } },
  "attempt-discarded": { ...base, attempt: 1, error: { name: "Error", code: "overloaded", message: "Busy.", retryable: true } },
  "late-result": { ...call, success: false },
  "listener-error": { ...base, event: "run-start", error: { name: "Error", message: "boom" } },
} satisfies Partial<LoopEvents>;

/** Emits events as the loop does, which passes an event's payload without its `type` field. */
function emit(emitter: LoopEmitter, ...events: readonly LoopEvent[]): void {
  for (const { type, ...event } of events) Reflect.apply(emitter.emit, emitter, [type, event]);
}

/** One event of each type. The recorder reads an event's fields only for its outline. */
const allEvents = eventTypes.map((type) => ({ type, ...base, ...samples[type as keyof typeof samples] }));

function emitAllOf(emitter: LoopEmitter): void {
  for (const { type, ...event } of allEvents) Reflect.apply(emitter.emit, emitter, [type, event]);
}

describe("recordEvents", () => {
  it("records every kind of event in order, with its type", () => {
    const { emitter, events, types } = recordEvents();
    emitAllOf(emitter);
    expect(types()).toEqual(eventTypes);
    expect(events).toEqual(allEvents);
  });

  it("records from the given emitter without affecting the other listeners", () => {
    const emitter: LoopEmitter = new EventEmitter();
    const heard: string[] = [];
    emitter.on("notice", ({ kind }) => heard.push(kind));
    const recording = recordEvents(emitter);
    emit(emitter, { type: "notice", ...samples.notice });
    expect([recording.emitter, heard, recording.types()]).toEqual([emitter, ["still-working"], ["notice"]]);
  });

  it("listens only to the given types", () => {
    const { emitter, types } = recordEvents(undefined, ["tool-start", "tool-end"]);
    emitAllOf(emitter);
    expect(types()).toEqual(["tool-start", "tool-end"]);
    expect(emitter.listenerCount("text-delta")).toBe(0);
  });

  it("of() returns the events of one type", () => {
    const recording = recordEvents();
    emitAllOf(recording.emitter);
    expect(recording.of("tool-end").map(({ outcome, result }) => [outcome, result])).toEqual([["completed", { a: 1 }]]);
  });

  it("stop() removes only the recording's listeners", () => {
    const emitter: LoopEmitter = new EventEmitter();
    emitter.on("notice", () => {});
    const recording = recordEvents(emitter);
    emitAllOf(emitter);
    recording.stop();
    const before = recording.events.length;
    emitAllOf(emitter);
    expect(recording.events).toHaveLength(before);
    expect(emitter.eventNames()).toEqual(["notice"]);
    expect(emitter.listenerCount("notice")).toBe(1);
  });
});

describe("recordEvents: outline()", () => {
  it("shows runs, iterations and calls as a tree", () => {
    const { emitter, outline } = recordEvents();
    const { "run-start": runStart, "iteration-start": iterationStart, "iteration-end": iterationEnd } = samples;
    emit(
      emitter,
      { type: "run-start", ...runStart },
      { type: "iteration-start", ...iterationStart },
      { type: "text-delta", ...base, text: "Let me " },
      { type: "text-delta", ...base, text: "look." },
      { type: "tool-args-delta", ...samples["tool-args-delta"] },
      { type: "tool-args-end", ...samples["tool-args-end"] },
      { type: "tool-args-end", ...samples["tool-args-end"], problem: "truncated" },
      { type: "tool-start", ...samples["tool-start"] },
      { type: "tool-progress", ...samples["tool-progress"] },
      { type: "tool-end", ...samples["tool-end"] },
      { type: "iteration-end", ...iterationEnd, status: "tool-calls" },
      { type: "iteration-start", ...iterationStart, iteration: 1, continuation: 1 },
      { type: "text-delta", ...base, iteration: 1, text: "Done.", replayed: true },
      { type: "iteration-end", ...iterationEnd, iteration: 1, continuation: 1 },
      { type: "run-end", ...samples["run-end"] },
    );
    expect(outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0
          text-delta "Let me look."
          tool-args-delta echo (c1) "{}"
          tool-args-end echo (c1) {"a":1}
          tool-args-end echo (c1) truncated
          tool-start echo (c1) {"a":1}
          tool-progress echo (c1) 0.5
          tool-end echo (c1) completed
        iteration-end 0 tool-calls
        iteration-start 1 continuation 1
          text-delta "Done." (replayed)
        iteration-end 1 continuation 1 completed
      run-end completed answered"
    `);
  });

  it("has a line for each notice, approval, late result and error", () => {
    const { emitter, outline } = recordEvents(undefined, [
      "notice",
      "hidden-notice",
      "restart",
      "approval-asked",
      "approval-decided",
      "attempt-discarded",
      "late-result",
      "listener-error",
    ]);
    emitAllOf(emitter);
    expect(outline()).toMatchInlineSnapshot(`
      "notice still-working
      hidden-notice echo (c1) stem "remind me"
      restart echo (c1) with_memory
      approval-asked echo (c1) {"a":1}
      approval-decided echo (c1) deny
      attempt-discarded 1 overloaded
      late-result echo (c1) failure
      listener-error run-start "boom""
    `);
  });

  it.for<[what: string, first: LoopEvent, second: LoopEvent]>([
    ["types", { type: "text-delta", ...base, text: "a" }, { type: "reasoning-delta", ...base, text: "b" }],
    ["iterations", { type: "text-delta", ...base, text: "a" }, { type: "text-delta", ...base, iteration: 1, text: "b" }],
    ["runs", { type: "text-delta", ...base, text: "a" }, { type: "text-delta", ...base, runId: "other", text: "b" }],
    ["attempts", { type: "text-delta", ...base, text: "a", attempt: 1 }, { type: "text-delta", ...base, text: "b", attempt: 2 }],
    [
      "calls",
      { type: "tool-args-delta", ...call, text: "a" },
      { type: "tool-args-delta", ...call, callId: "c2", index: 1, text: "b" },
    ],
  ])("keeps deltas of different %s apart", ([, first, second]) => {
    const { emitter, outline } = recordEvents();
    emit(emitter, first, second);
    expect(outline().split("\n")).toHaveLength(2);
  });
});
