import fc from "fast-check";
import { expect, it } from "vitest";
import { createLoopControl, type Journal, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import { createTestClock, type EventRecording, recordEvents } from "turnwright/testing";
import { countListeners } from "../count-listeners.ts";
import { Crash, createDurableStore } from "../durable-store.ts";
import { outcomesOf } from "../play.ts";
import { plain } from "./nesting.ts";
import { optionsOf, type Plan, plans, type Stage } from "./random-tree.ts";
import { hasStarted } from "../check-call-events.ts";

interface End {
  readonly atMs: number;
  readonly verb: "stop" | "kill" | "abort" | "drain" | "wall clock";
}

const ends: fc.Arbitrary<End> = fc.record({
  atMs: fc.integer({ min: 1, max: 25 }),
  verb: fc.constantFrom("stop", "kill", "abort", "drain", "wall clock"),
});

interface Ended {
  readonly result: LoopResult;
  readonly stage: Stage;
  readonly recording: EventRecording;
  readonly signal: AbortSignal;
}

async function run(tree: Plan, journal: Journal, end?: End): Promise<Ended> {
  const stage: Stage = { clock: createTestClock(), counts: [], ran: 0 };
  const { clock } = stage;
  const recording = recordEvents();
  const control = createLoopControl();
  const abort = new AbortController();
  const limits = end?.verb === "wall clock" ? { wallClockMs: end.atMs } : {};
  const options = optionsOf(tree, stage);
  const running = runToolLoop({
    ...options,
    limits: { ...options.limits, ...limits },
    timeouts: { toolCleanupMs: 2 },
    clock,
    events: recording.emitter,
    journal,
    runId: "tree",
    control,
    signal: abort.signal,
  });
  const settled = running.catch(() => {});
  if (end !== undefined) {
    await clock.advance(end.atMs);
    if (end.verb === "abort") abort.abort();
    else if (end.verb !== "wall clock") control[end.verb]();
  }
  await clock.runAll();
  await settled;
  return { result: await running, stage, recording, signal: abort.signal };
}

function checkEvents({ recording, stage }: Ended): void {
  const names = (type: "run-start" | "run-end"): readonly string[] => [...recording.of(type)].map(({ runId }) => runId).sort();
  expect(names("run-end")).toEqual(names("run-start"));
  expect(recording.types().at(-1)).toBe("run-end");
  expect(recording.of("iteration-end")).toHaveLength(recording.of("iteration-start").length);
  expect(recording.of("tool-start")).toHaveLength(recording.of("tool-end").filter(hasStarted).length);
  expect(stage.clock.pending).toBe(0);
}

const runs = Number(process.env["TREES"] ?? 30);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it("a random tree of nested runs that is ended from outside releases all resources", { timeout: 600_000 }, async () => {
  const listeners = countListeners();
  const check = async (tree: Plan, end: End): Promise<void> => {
    const ended = await run(tree, memoryJournal(), end);
    checkEvents(ended);
    expect(listeners.on(ended.signal)).toBe(0);
    const { result } = ended;
    if (result.status === "suspended") return;
    const again = await run(tree, memoryJournal(JSON.parse(JSON.stringify(result.journal))), end);
    expect([plain(again.result), again.stage.ran]).toEqual([plain(result), 0]);
  };
  try {
    await fc.assert(fc.asyncProperty(plans, ends, check), { numRuns: runs, seed });
  } finally {
    listeners.stop();
  }
});

it("a random tree of nested runs resumes after crashes", { timeout: 600_000 }, async () => {
  const check = async (tree: Plan, lives: readonly number[]): Promise<void> => {
    const store = createDurableStore();
    const survive = async (journal: Journal): Promise<Ended | undefined> => {
      try {
        return await run(tree, journal);
      } catch (error) {
        if (error instanceof Crash) return undefined;
        throw error;
      }
    };
    for (const afterRecords of lives) await survive(store.open({ afterRecords }));
    const last = await survive(store.open());
    if (last === undefined) throw new Error("Nothing crashes any more.");
    checkEvents(last);
    expect(["completed", "error"]).toContain(last.result.status);
    expect(outcomesOf(last.result).filter((line) => line.endsWith("not-run"))).toEqual([]);
    const again = await survive(store.open());
    expect([plain(again?.result as LoopResult), again?.stage.ran]).toEqual([plain(last.result), 0]);
  };
  const lives = fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 4 });
  await fc.assert(fc.asyncProperty(plans, lives, check), { numRuns: runs, seed });
});
