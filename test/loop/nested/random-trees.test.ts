import fc from "fast-check";
import { expect, it } from "vitest";
import { type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import { createTestClock, recordEvents } from "turnwright/testing";
import { plain } from "./nesting.ts";
import { optionsOf, type Plan, plans, type Stage } from "./random-tree.ts";

async function run(
  tree: Plan,
  steps?: Record<string, unknown>,
): Promise<{ result: LoopResult; stage: Stage; ended: readonly number[]; steps: Record<string, unknown> }> {
  const stage: Stage = { clock: createTestClock(), counts: [], ran: 0 };
  const recording = recordEvents();
  const journal = memoryJournal(steps === undefined ? undefined : ({ steps } as never));
  const options = optionsOf(tree, stage);
  const running = runToolLoop({ ...options, clock: stage.clock, events: recording.emitter, journal, runId: "tree" });
  await stage.clock.runAll();
  const result = await running;
  expect(stage.clock.pending).toBe(0);
  const ended = recording.of("run-end").map(({ toolCallsExecuted }) => toolCallsExecuted);
  return { result, stage, ended, steps: JSON.parse(JSON.stringify(journal)).steps };
}

const ascending = (a: number, b: number): number => a - b;
const runs = Number(process.env["TREES"] ?? 45);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it("limits.maxToolCalls is never exceeded by a random tree of runs", { timeout: 600_000 }, async () => {
  const check = async (tree: Plan): Promise<void> => {
    const { result, stage, ended, steps } = await run(tree);
    for (const { begun, limit } of stage.counts) expect(begun).toBeLessThanOrEqual(limit);
    const [root] = stage.counts;
    expect([result.toolCallsExecuted, ended.at(-1)]).toEqual([root?.begun, root?.begun]);
    expect([...ended].sort(ascending)).toEqual(stage.counts.map(({ begun }) => begun).sort(ascending));
    const again = await run(tree, steps);
    expect([plain(again.result), again.stage.ran]).toEqual([plain(result), 0]);
  };
  await fc.assert(fc.asyncProperty(plans, check), { numRuns: runs, seed });
});

it(
  "limits.maxToolCalls is never exceeded by a random tree of runs that is resumed from part of its records",
  { timeout: 600_000 },
  async () => {
    const check = async (tree: Plan, share: number): Promise<void> => {
      const first = await run(tree);
      const entries = Object.entries(first.steps);
      const kept = Object.fromEntries(entries.slice(0, Math.floor(share * entries.length)));
      const { result, stage, steps } = await run(tree, kept);
      const [root] = stage.counts;
      expect(result.toolCallsExecuted).toBeLessThanOrEqual(root?.limit ?? 0);
      for (const [key, answer] of Object.entries(kept)) expect(steps[key]).toEqual(answer);
      const again = await run(tree, steps);
      expect([plain(again.result), again.stage.ran]).toEqual([plain(result), 0]);
    };
    await fc.assert(fc.asyncProperty(plans, fc.double({ min: 0, max: 1, noNaN: true }), check), { numRuns: runs, seed });
  },
);
