import { expect, inject, it, vi } from "vitest";
import { runFaults } from "./run-faults.ts";
import { defineTrips } from "./trips.ts";

// This test crashes its Postgres server, so it must not use the server of the other tests.
if (inject("isPostgresOurs")) vi.stubEnv("TURNWRIGHT_POSTGRES_URL", undefined);

// The long form is `npm run test:faults`. It also measures times.
it("durable runs complete without repeated calls while workers are killed and frozen and Postgres crashes", async () => {
  const report = await runFaults({ runs: 12, workers: 3, forMs: 4_000, everyMs: 400, leaseMs: 1_000 }, defineTrips(""));
  const { faults, tookMs: _, ...rest } = report;
  expect(rest).toEqual({ completed: 12, read: 12, repeated: 0, gaps: 0, missteered: 0, unended: 0 });
  expect(faults.kills).toBeGreaterThan(0);
  expect(faults.freezes).toBeGreaterThan(0);
}, 120_000);
