// Starts one Postgres server for all test files. Each file creates a database of its own on it.

import type { TestProject } from "vitest/node";
import { startPostgres } from "../../examples/workers/start-postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** False if the server is one that the user named. */
    isPostgresOurs: boolean;
  }
}

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const isOurs = process.env["TURNWRIGHT_POSTGRES_URL"] === undefined;
  project.provide("isPostgresOurs", isOurs);
  if (!isOurs) return undefined;
  const postgres = await startPostgres();
  process.env["TURNWRIGHT_POSTGRES_URL"] = postgres.url;
  return async () => {
    delete process.env["TURNWRIGHT_POSTGRES_URL"];
    await postgres.stop();
  };
}
