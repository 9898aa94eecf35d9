// Random programs through the real SDKs: no service refuses a request, and every transcript can be continued.

import fc from "fast-check";
import { expect, it } from "vitest";
import { playProgram } from "./play-program.ts";
import { programs } from "./random-program.ts";

// A hundred programs with a fixed seed, and a few others in each run. To run more cases: PROGRAMS=2000 SEED=7 npx vitest run test/services/random-programs.test.ts
const numRuns = Number(process.env["PROGRAMS"] ?? 200);
const seed = Number(process.env["SEED"] ?? 20_261_128);

async function expectAccepted(seeds: { readonly numRuns: number; readonly seed?: number }): Promise<number> {
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      const played = await playProgram(program);
      requests += played.requests;
      expect([played.refused, played.errors]).toEqual([[], []]);
    }),
    seeds,
  );
  return requests;
}

it("random programs: no strict service refuses a request, also after each ending", { timeout: 600_000 }, async () => {
  expect(await expectAccepted({ numRuns, seed })).toBeGreaterThan(2 * numRuns);
});

it("random programs with a new seed: no strict service refuses a request", { timeout: 600_000 }, async () => {
  expect(await expectAccepted({ numRuns: 20 })).toBeGreaterThan(20);
});
