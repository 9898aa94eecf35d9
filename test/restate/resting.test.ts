import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Json } from "turnwright";
import type { StepHooks } from "../../src/host/durable/durable-store.ts";
import { type Attempt, type RestPorts, restWhenWaiting } from "../../src/restate/run-workflow.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
afterEach(() => void vi.useRealTimers());

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("restWhenWaiting: marks a run as resting when it waits again, even if an earlier write of the store ends late", async () => {
  let isMarked = false;
  let isAbandoned = false;
  const held: (() => void)[] = [];
  const worker = {
    store: {
      rest: (_id, _execution, isResting) =>
        new Promise((resolve) => {
          held.push(() => {
            isMarked = isResting;
            resolve(true);
          });
        }),
      readMessages: async () => [],
    },
    settings: { suspendMs: 300 },
  } as RestPorts["worker"];
  const live = { abandon: () => void (isAbandoned = true) };
  let decide: (decision: Json) => void = () => {};
  const receive = (): Promise<Json> => new Promise((resolve) => (decide = resolve));
  const attempt: Attempt = { runId: "run", execution: 1, rests: false };
  const hooks = restWhenWaiting({ receive } as Partial<StepHooks> as StepHooks, { attempt, live, worker });

  const first = hooks.receive("first");
  await vi.advanceTimersByTimeAsync(300);
  decide({ kind: "approve" });
  await first;
  void hooks.receive("second");
  await vi.advanceTimersByTimeAsync(300);
  // Answers the last call first.
  for (let call = held.pop(); call !== undefined; call = held.pop()) {
    call();
    await settle();
  }
  expect({ rests: attempt.rests, isMarked, isAbandoned }).toEqual({ rests: true, isMarked: true, isAbandoned: true });
});
