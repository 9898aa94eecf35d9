import { expect, it } from "vitest";
import type { LoopEvent } from "turnwright";
import { toChunks } from "./check-chunks.ts";
import { check, versions } from "./mapping-stage.ts";
import { readMessage, textOf, vendors } from "./vendors.ts";

const base = { runId: "r", iteration: 0 };
const call = { ...base, callId: "c", name: "look", index: 0 };
const error = { name: "Error", message: "busy", code: "overloaded", retryable: true } as const;
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const start: LoopEvent = { type: "run-start", ...base, provider: "mock", model: "m" };
const step = (continuation: number): LoopEvent => ({ type: "iteration-start", ...base, continuation });
const end = { ...base, usage, costUSD: undefined, iterations: 1, toolCallsExecuted: 0, durationMs: 1 };
const answered: LoopEvent = { type: "run-end", ...end, status: "completed", reason: { kind: "answered" } };

it.each(vendors)(
  "createUIMessageMapper: a call that ends after a discarded attempt is not shown again in AI SDK $version",
  async (vendor) => {
    const { version } = vendor;
    const events: readonly LoopEvent[] = [
      start,
      step(0),
      { type: "tool-args-end", ...call, args: {} },
      { type: "tool-start", ...call, args: {} },
      { type: "attempt-discarded", ...base, attempt: 1, error },
      { type: "tool-progress", ...call, data: 1 },
      { type: "tool-end", ...call, outcome: "interrupted", result: "", durationMs: 1 },
      { type: "text-delta", ...base, text: "Hi.", attempt: 2 },
      answered,
    ];
    const chunks = toChunks(events, { version });
    await check(chunks, version);
    const message = await readMessage(vendor, chunks);
    const shown = message?.parts.filter(({ toolCallId }) => toolCallId !== undefined).map(({ state }) => state);
    expect(shown).toEqual(version === 7 ? [] : ["output-error"]);
  },
);

it("createUIMessageMapper: text from a second attempt has the same id as the discarded text", () => {
  const delta = (text: string, attempt: number): LoopEvent => ({ type: "text-delta", ...base, text, attempt });
  const events = [
    start,
    step(0),
    delta("a", 1),
    { type: "attempt-discarded", ...base, attempt: 1, error },
    delta("b", 2),
    answered,
  ] as const;
  for (const version of versions) {
    const starts = toChunks(events, { version }).flatMap((chunk) => (chunk.type === "text-start" ? [chunk.id] : []));
    // A reloaded page sees only the last attempt, so all attempts must use the same ids.
    expect(new Set(starts)).toEqual(new Set(["text-0-0"]));
  }
});

it.each(vendors)(
  "createUIMessageMapper: a call whose arguments continue in a second step is one part in AI SDK $version",
  async (vendor) => {
    const { version } = vendor;
    const events: readonly LoopEvent[] = [
      start,
      step(0),
      { type: "tool-args-delta", ...call, text: "{" },
      step(1),
      { type: "tool-args-end", ...call, args: "{", problem: "truncated" },
      { type: "tool-end", ...call, outcome: "truncated", result: "", durationMs: 0 },
      answered,
    ];
    const chunks = toChunks(events, { version });
    await check(chunks, version);
    const message = await readMessage(vendor, chunks);
    const shown = message?.parts.filter(({ toolCallId }) => toolCallId !== undefined).map(({ state }) => state);
    expect(shown).toEqual(["output-error"]);
  },
);

it("createUIMessageMapper: arguments that are not JSON are sent as tool-input-error", () => {
  const events: readonly LoopEvent[] = [
    start,
    step(0),
    { type: "tool-args-end", ...call, args: "{", problem: "malformed" },
    { type: "tool-start", ...call, args: "{" },
    { type: "tool-end", ...call, outcome: "malformed", result: "", durationMs: 0 },
    answered,
  ];
  const types = toChunks(events).map(({ type }) => type);
  expect(types).toContain("tool-input-error");
  expect(types).not.toContain("tool-input-available");
});

it("createUIMessageMapper: the request and the response for a repeated approval have the new approval id", () => {
  const pending = { id: "c#2", callId: "c", name: "look", args: {}, waitsFor: "approval" as const };
  const events: readonly LoopEvent[] = [
    start,
    step(0),
    { type: "tool-args-end", ...call, args: {} },
    { type: "run-end", ...end, status: "suspended", reason: { kind: "approval-required", calls: [pending] } },
  ];
  const request = { type: "tool-approval-request", approvalId: "r:c#2", toolCallId: "r:c" };
  expect(toChunks(events)).toContainEqual(request);
  const chunks = toChunks([...events, start, { type: "approval-decided", ...call, decision: "approve", question: "c#2" }], {
    version: 7,
  });
  expect(chunks.filter(({ type }) => type.startsWith("tool-approval"))).toEqual([
    request,
    { type: "tool-approval-response", approvalId: "r:c#2", approved: true },
  ]);
});

it("createUIMessageMapper: ignores events from a nested run before the outer run starts", () => {
  const nested: LoopEvent = { type: "text-delta", ...base, runId: "r/inner", path: ["c"], text: "in" };
  expect(toChunks([nested, start, step(0), { type: "text-delta", ...base, text: "out" }, answered])[0]).toEqual({
    type: "start",
    messageId: "r",
  });
});

it.each(vendors)("createUIMessageMapper: an AI SDK $version UI that joins late shows the remaining events", async (vendor) => {
  const { version } = vendor;
  const chunks = toChunks(
    [
      { type: "text-delta", ...base, text: "rest" },
      { type: "tool-end", ...call, outcome: "completed", result: 1, durationMs: 1 },
      answered,
    ],
    { version },
  );
  expect(textOf(await readMessage(vendor, chunks))).toBe("rest");
});

it.each(vendors)(
  "createUIMessageMapper: emitted parts become parts of the message in AI SDK $version, next to the model's text",
  async (vendor) => {
    const { version } = vendor;
    const other = { ...call, callId: "d", index: 1 };
    const emit = (of: typeof call, part: Extract<LoopEvent, { readonly type: "tool-emit" }>["part"]): LoopEvent => ({
      type: "tool-emit",
      ...of,
      part,
    });
    const chart = (data: number): LoopEvent => emit(call, { type: "data", name: "chart", data, id: "a" });
    const chunks = toChunks(
      [
        start,
        step(0),
        { type: "text-delta", ...base, text: "I look." },
        { type: "tool-args-end", ...call, args: {} },
        { type: "tool-args-end", ...other, args: {} },
        emit(call, { type: "text", text: "Read" }),
        emit(other, { type: "text", text: "Other." }),
        { type: "tool-progress", ...call, data: { rows: 1 }, preliminary: true },
        emit(call, { type: "text", text: "ing." }),
        chart(1),
        emit(call, { type: "text", text: "Still." }),
        emit(call, { type: "text", text: "" }),
        chart(2),
        emit(call, { type: "data", name: "note", data: "n" }),
        { type: "tool-emit", ...call, runId: "r/in", path: ["c"], callId: "e", part: { type: "text", text: "Inner." } },
        { type: "tool-end", ...call, outcome: "completed", result: { rows: 2 }, durationMs: 1 },
        { type: "iteration-start", ...base, iteration: 1, continuation: 0 },
        { type: "text-delta", ...base, iteration: 1, text: "Done." },
        answered,
      ],
      { version },
    );
    await check(chunks, version);
    expect(chunks).toContainEqual(
      expect.objectContaining({ type: "tool-output-available", output: { rows: 1 }, preliminary: true }),
    );
    const { parts = [] } = (await readMessage(vendor, chunks)) ?? {};
    const shown = parts.flatMap(({ type, text, data, state }) =>
      type === "text" ? [[text, state]] : type.startsWith("data-") && type !== "data-attempt-discarded" ? [[type, data]] : [],
    );
    expect(shown).toEqual([
      ["I look.", "done"],
      ["Reading.", "done"],
      ["Other.", "done"],
      ["data-chart", 2],
      ["Still.", "done"],
      ["data-note", "n"],
      ["Done.", "done"],
    ]);
    const marks = chunks.flatMap((chunk) => (chunk.type === "text-start" ? [chunk.providerMetadata?.turnwright.toolCallId] : []));
    expect(marks).toEqual([undefined, "r:c", "r:d", "r:c", undefined]);
  },
);

it.each(vendors)(
  'createUIMessageMapper: an AI SDK $version UI with from: "live" receives a call with invalid JSON arguments, even without an existing part for the call',
  async (vendor) => {
    const { version } = vendor;
    const replayed = { replayed: true } as const;
    const events: readonly LoopEvent[] = [
      start,
      { ...step(0), ...replayed },
      { type: "tool-args-end", ...call, ...replayed, args: "{", problem: "malformed" },
      { type: "run-end", ...end, status: "error", reason: { kind: "loop-detected", toolName: "look", count: 2 } },
    ];
    const chunks = toChunks(events, { version, from: "live" });
    await check(chunks, version);
    const message = await readMessage(vendor, chunks);
    expect(message?.parts.map(({ toolCallId, state }) => [toolCallId, state])).toEqual([["r:c", "output-error"]]);
  },
);
