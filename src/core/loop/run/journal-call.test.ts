import { expect, it } from "vitest";
import { createTestClock } from "turnwright/testing";
import { CancelScope } from "../../cancellation/cancel-scope.ts";
import { createLoopState } from "../state/loop-state.ts";
import { JournalCall, JournalTraffic } from "./journal-call.ts";

it.for([
  ["resolves", () => Promise.resolve(1)],
  ["rejects", () => Promise.reject(new Error("The disk is full."))],
] as const)("JournalCall: leaves no listener or timer after the journal %s", async ([, answer]) => {
  const clock = createTestClock();
  const scope = new CancelScope();
  const traffic = new JournalTraffic();
  const state = createLoopState({ messages: [], heldIds: new Set(), contextItems: [], priced: false });
  const timeouts = { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1, settleMs: 1, approvalMs: 1, hookMs: 1, journalMs: 1_000 };
  const bounds = { wallClockMs: Number.POSITIVE_INFINITY };
  const ports = {
    runId: "r",
    scope,
    clock,
    timeouts,
    bounds,
    state,
    failure: undefined,
    traffic,
    outer: undefined,
    sharesJournal: false,
  };
  const call = new JournalCall(ports, "step", "i0/model");
  const taken = Promise.resolve(call.take<number, number>(answer, (value) => value)).catch(() => 0);
  expect(scope.size).toBe(1);
  await taken;
  let told = 0;
  Object.assign(call, { pause: () => (told += 1), watch: () => (told += 1) });
  traffic.beginBody();
  traffic.endBody(call.expect({ key: "i0/tool/0/t", kind: "tool" }), 1);
  expect([scope.size, told, clock.pending]).toEqual([0, 0, 0]);
});
