// The Postgres server that all tests of a file share, with a worker or a store on it.

import { Pool } from "pg";
import { afterAll, beforeAll } from "vitest";
import { launchWorker, type Worker } from "turnwright/dbos";
import type { WorkerOptions } from "../../src/dbos/worker.ts";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { PostgresStore } from "../../src/dbos/postgres-store.ts";
import { createOwners } from "./own-run.ts";

type OwnOptions = Omit<WorkerOptions, "databaseUrl">;

class TestDatabase {
  #postgres: Postgres | undefined;
  #worker: Worker | undefined;
  #pool: Pool | undefined;
  #store: PostgresStore | undefined;

  get url(): string {
    return given(this.#postgres).url;
  }

  /** The worker that was launched last. */
  get worker(): Worker {
    return given(this.#worker);
  }

  get pool(): Pool {
    if (this.#pool === undefined) {
      this.#pool = new Pool({ connectionString: this.url });
      // The pool emits an error when the server stops and closes its connections. Without a listener, that error ends the process.
      this.#pool.on("error", () => {});
    }
    return this.#pool;
  }

  /** The store of the worker "tester". */
  get store(): PostgresStore {
    return (this.#store ??= new PostgresStore(this.pool, "tester"));
  }

  async start(): Promise<void> {
    this.#postgres = await startPostgres();
  }

  async launch(options: OwnOptions = {}): Promise<void> {
    this.#worker = await launchWorker({ databaseUrl: this.url, ...options });
  }

  async relaunch(options: OwnOptions = {}): Promise<void> {
    await this.worker.stop();
    await this.launch(options);
  }

  async stop(): Promise<void> {
    await this.#pool?.end();
    await this.#worker?.stop();
    await this.#postgres?.stop();
  }
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("Use the database in a test or in a hook.");
  return value;
}

function useDatabase(prepare: (database: TestDatabase) => Promise<void>): TestDatabase {
  const database = new TestDatabase();
  beforeAll(async () => {
    await database.start();
    await prepare(database);
  }, 60_000);
  afterAll(() => database.stop());
  return database;
}

/** Starts a worker for all tests of the file. */
export function useWorker(options: OwnOptions = {}): TestDatabase {
  return useDatabase((database) => database.launch(options));
}

/** Creates the tables without a worker, for tests of the store. */
export function useStore(): TestDatabase {
  return useDatabase(async ({ pool, store }) => {
    await store.migrate();
    await createOwners(pool);
  });
}
