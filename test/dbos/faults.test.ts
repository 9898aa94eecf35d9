import { afterAll, expect, inject, it, vi } from "vitest";
import { trips } from "./known-trips.ts";
import { runFaults } from "./run-faults.ts";

// This test crashes its Postgres server, so it must not use the server of the other tests.
if (inject("isPostgresOurs")) vi.stubEnv("TURNWRIGHT_POSTGRES_URL", undefined);
afterAll(() => vi.unstubAllEnvs());

// The long form is `npm run test:faults`. It also measures times.
it("durable runs complete without repeated calls while workers are killed and frozen and Postgres crashes", async () => {
  const plan = { runs: 6, workers: 2, forMs: 0, everyMs: 250, leaseMs: 500, seed: 1, overlaps: true };
  const { faults, tookMs: _, ...rest } = await runFaults(plan, trips);
  expect(rest).toEqual({ completed: 6, read: 6, repeated: 0, gaps: 0, missteered: 0, unended: 0 });
  expect(faults.kills).toBeGreaterThan(0);
  expect(faults.freezes).toBeGreaterThan(0);
}, 120_000);
