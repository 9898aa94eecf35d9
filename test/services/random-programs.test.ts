// Random programs through the real SDKs: no service refuses a request, and every transcript can be continued.

import fc from "fast-check";
import { expect, it } from "vitest";
import { playProgram } from "./play-program.ts";
import { programs } from "./random-program.ts";
import { allMoves, type MoveCounts } from "./watch-moves.ts";

// Programs with a fixed seed, and a few others in each run. To run more: PROGRAMS=2000 SEED=7 npx vitest run test/services/random-programs.test.ts
const numRuns = Number(process.env["PROGRAMS"] ?? 160);
const seed = Number(process.env["SEED"] ?? 20_261_128);

interface Seen {
  readonly requests: number;
  readonly moves: MoveCounts;
}

async function expectAccepted(seeds: { readonly numRuns: number; readonly seed?: number }): Promise<Seen> {
  const moves = new Map<string, number>();
  let requests = 0;
  const property = fc.asyncProperty(programs, async (program) => {
    const played = await playProgram(program, moves);
    requests += played.requests;
    expect([played.refused, played.errors]).toEqual([[], []]);
  });
  throwIfFailed(await fc.check(property, seeds));
  return { requests, moves };
}

/** Throws an error with the command that plays the failed program again. */
function throwIfFailed<Values>(details: fc.RunDetails<Values>): void {
  if (!details.failed) return;
  const command = `SEED=${details.seed} PROGRAMS=${details.numRuns} npx vitest run test/services/random-programs.test.ts`;
  const { errorInstance: cause } = details;
  throw new Error(`${fc.defaultReportMessage(details) ?? ""}\n\nTo repeat it: ${command}`, { cause });
}

it(
  "random programs: no strict service refuses a request, even after earlier runs with any kind of ending",
  { timeout: 600_000 },
  async () => {
    const { requests, moves } = await expectAccepted({ numRuns, seed });
    expect(requests).toBeGreaterThan(2 * numRuns);
    if (process.env["PROGRAMS"] === undefined) expect(allMoves.filter((move) => !moves.has(move))).toEqual([]);
  },
);

it("random programs with a new seed: no strict service refuses a request", { timeout: 600_000 }, async () => {
  const { requests } = await expectAccepted({ numRuns: 12 });
  expect(requests).toBeGreaterThan(12);
});
