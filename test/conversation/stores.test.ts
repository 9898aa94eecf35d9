// Each store passes the conformance suite. A store with a fault fails the check for this fault.

import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileConversationStore, memoryConversationStore, postgresConversationStore } from "turnwright/conversation";
import { conversationStoreSuite } from "turnwright/testing";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { makeFolder, removeFolders } from "./stage.ts";

describe("conversationStoreSuite with memoryConversationStore", () => {
  const store = memoryConversationStore();
  for (const { title, run } of conversationStoreSuite({ open: () => store })) it(title, run);
});

describe("conversationStoreSuite with fileConversationStore", () => {
  const folder = makeFolder();
  afterAll(removeFolders);
  const open = () => fileConversationStore(folder, { fsync: false });
  for (const { title, run } of conversationStoreSuite({ open })) it(title, run);
});

describe("conversationStoreSuite with postgresConversationStore", () => {
  let postgres: Postgres;
  const pools: Pool[] = [];
  beforeAll(async () => {
    postgres = await startPostgres();
    pools.push(...[1, 2].map(() => new Pool({ connectionString: postgres.url })));
  });
  afterAll(async () => {
    for (const pool of pools) await pool.end();
    await postgres.stop();
  });
  let count = 0;
  const open = () => {
    const pool = pools[count++ % 2];
    if (pool === undefined) throw new Error("Postgres has not started.");
    return postgresConversationStore(pool);
  };
  for (const { title, run } of conversationStoreSuite({ open })) it(title, run);
});
