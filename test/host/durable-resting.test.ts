import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { defineTool } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import type { LiveRun } from "../../src/host/durable/durable-store.ts";
import { createEngine, settle } from "./durable-engine.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

it("a durable run is marked as suspended when it waits again, even if an earlier write to the store finishes late", async () => {
  let isMarked = false;
  const held: (() => void)[] = [];
  const note = (_execution: number, isResting: boolean): Promise<boolean> =>
    new Promise((resolve) => {
      held.push(() => {
        isMarked = isResting;
        resolve(true);
      });
    });
  const book = defineTool({
    name: "book",
    description: "Books",
    inputSchema: { type: "object" },
    needsApproval: true,
    execute: () => 7,
  });
  const provider = createMockProvider(({ iteration }) => [iteration < 2 ? toolCall("book") : text("Done.")]);
  const engine = createEngine();
  const live = new Map<string, LiveRun>();
  const running = engine.createProcess(live)({ provider, tools: [book] }, { resting: { afterMs: 300, note } });
  await settle();
  await vi.advanceTimersByTimeAsync(300);
  const [first = ""] = engine.waits();
  engine.send({ verb: "answer", id: first, answer: { kind: "approve" } });
  await settle();
  await vi.advanceTimersByTimeAsync(300);
  expect(engine.waits()).toHaveLength(2);
  for (let call = held.pop(); call !== undefined; call = held.pop()) {
    call();
    await settle();
  }
  expect([await running, isMarked, live.size]).toEqual([undefined, true, 0]);
});
