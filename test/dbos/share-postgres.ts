// Starts one Postgres server for all test files. Each file creates its own database on this server.

import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** False if the user named a server in TURNWRIGHT_POSTGRES_URL. */
    isPostgresOurs: boolean;
  }
}

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const isOurs = process.env["TURNWRIGHT_POSTGRES_URL"] === undefined;
  project.provide("isPostgresOurs", isOurs);
  return isOurs ? sharePostgres() : undefined;
}

/** Starts a server for all processes that this process starts. Returns a function that stops it. */
export async function sharePostgres(): Promise<() => Promise<void>> {
  const removeListeners = watchListeners();
  const { startPostgres } = await import("../../examples/workers/start-postgres.ts");
  const postgres = await startPostgres();
  process.env["TURNWRIGHT_POSTGRES_URL"] = postgres.url;
  return async () => {
    delete process.env["TURNWRIGHT_POSTGRES_URL"];
    await postgres.stop();
    removeListeners();
  };
}

/**
 * Returns a function that removes the process listeners that were added since. The package of the server adds listeners that end
 * the process with exit code 0, even after failed tests.
 */
function watchListeners(): () => void {
  const events = ["beforeExit", "exit"];
  const known = new Set(events.flatMap((event) => process.listeners(event as "exit")));
  return () => {
    for (const event of events)
      for (const listener of process.listeners(event as "exit")) if (!known.has(listener)) process.off(event, listener);
  };
}
