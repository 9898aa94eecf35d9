import { afterAll, beforeAll, describe, it } from "vitest";
import { fileConversationStore, memoryConversationStore, postgresConversationStore } from "turnwright/conversation";
import { conversationStoreSuite } from "turnwright/testing";
import { type Database, makeFolder, removeFolders, startDatabase } from "./stage.ts";

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
  let database: Database;
  beforeAll(async () => {
    database = await startDatabase();
  }, 60_000);
  afterAll(() => database.stop());
  // Each store has its own pool, as if it were in another process.
  const open = () => postgresConversationStore(database.connect());
  for (const { title, run } of conversationStoreSuite({ open })) it(title, run);
});
