// The page of a run's life is complete: every event with all that it carries, and a tree as a run gives it.

import { expect, it } from "vitest";
import { defineTool, runToolLoop, type EventBase, type LoopEvents, type LoopEventType } from "turnwright";
import { createMockProvider, reasoning, recordEvents, text, toolCall } from "turnwright/testing";
import { readNames, readPage, readRows, readSection } from "./read-page.ts";

type Fields<Type extends LoopEventType> = Record<Exclude<keyof LoopEvents[Type], keyof EventBase>, true>;

/** What each event carries. A field without a line does not compile, nor does one that is not there. */
const fields: { readonly [Type in LoopEventType]: Fields<Type> } = {
  "run-start": { provider: true, model: true },
  "run-end": {
    status: true,
    reason: true,
    usage: true,
    costUSD: true,
    iterations: true,
    toolCallsExecuted: true,
    durationMs: true,
  },
  "pass-start": { hop: true },
  "pass-end": {
    hop: true,
    status: true,
    provider: true,
    model: true,
    finish: true,
    usage: true,
    costUSD: true,
    calls: true,
    durationMs: true,
  },
  "text-delta": { text: true, attempt: true },
  "reasoning-delta": { text: true, attempt: true },
  "tool-args-delta": { key: true, name: true, text: true },
  "approval-asked": { callId: true, name: true, args: true },
  "approval-decided": { callId: true, name: true, decision: true, reason: true },
  "tool-start": { callId: true, name: true, args: true },
  "tool-progress": { callId: true, name: true, data: true },
  "tool-end": { callId: true, name: true, outcome: true, result: true, durationMs: true, metadata: true },
  "hidden-notice": { callId: true, name: true, trigger: true },
  restart: { callId: true, name: true, suffix: true, disableTools: true },
  notice: { kind: true },
  "attempt-discarded": { attempt: true, error: true },
  "late-result": { callId: true, name: true, success: true },
  "listener-error": { event: true, error: true },
};

const page = readPage("docs/concepts/life-of-a-run.md");

it("lists every event once, with all that it carries", () => {
  const listed = readRows(readSection(page, "Events")).map(
    ([event = "", , carried = ""]) => [readNames(event)[0] ?? "", readNames(carried)] as const,
  );
  expect(Object.fromEntries(listed)).toEqual(
    Object.fromEntries(Object.entries(fields).map(([type, names]) => [type, Object.keys(names)])),
  );
  expect(listed.length).toBe(Object.keys(fields).length);
});

it("shows a tree of events as a run gives it", async () => {
  const recording = recordEvents();
  const { promise: moonIsFound, resolve } = deferred();
  const search = defineTool<{ query: string }>({
    name: "search",
    description: "Finds pages",
    inputSchema: { type: "object" },
    async execute({ query }, { progress }) {
      if (query === "tides") return moonIsFound;
      progress("half");
      resolve();
    },
  });
  const calls = [
    toolCall("search", { query: "tides" }, { id: "call_a" }),
    toolCall("search", { query: "moon" }, { id: "call_b" }),
  ];
  await runToolLoop({
    provider: createMockProvider([
      [reasoning("Two searches should do."), text("One moment."), ...calls],
      text("It is the moon."),
    ]),
    tools: [search],
    messages: [{ role: "user", content: "What makes the tides?" }],
    events: recording.emitter,
    policies: { approve: () => ({ kind: "approve" }) },
  });
  const [, shown] = /```text\n(.*?)\n```/s.exec(readSection(page, "Events")) ?? [];
  expect(shown).toBe(recording.outline());
});

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
