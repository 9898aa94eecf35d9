import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type BuiltInConversationStore,
  createConversation,
  fileConversationStore,
  memoryConversationStore,
  postgresConversationStore,
} from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { inspectJournal } from "turnwright/journal";
import { createMockProvider, text } from "turnwright/testing";
import { type Database, makeFolder, removeFolders, startDatabase } from "./stage.ts";

let database: Database;

beforeAll(async () => {
  database = await startDatabase();
}, 60_000);

afterAll(async () => {
  removeFolders();
  await database.stop();
});

const options = { provider: createMockProvider(() => [text("Yes.")], { record: false }) };

const stores: readonly (readonly [string, () => BuiltInConversationStore])[] = [
  ["memoryConversationStore", () => memoryConversationStore()],
  ["fileConversationStore", () => fileConversationStore(makeFolder(), { fsync: false })],
  ["postgresConversationStore", () => postgresConversationStore(database.connect())],
];

/** Finds out which of the runs have a journal in the store. */
async function findRecorded(store: BuiltInConversationStore, runIds: readonly string[]): Promise<readonly string[]> {
  const recorded: string[] = [];
  for (const runId of runIds) {
    const isRecorded = await inspectJournal(store.journal(runId)).then(
      ({ status }) => status !== "not-started",
      () => false, // the file does not exist
    );
    if (isRecorded) recorded.push(runId);
  }
  return recorded;
}

it.each(stores)("conversation.remove() without the journal option removes the journals in a %s", async (_name, open) => {
  const store = open();
  const told = createConversation({ id: "chat-17", store, journal: store.journal, keepRuns: 9, options });
  const runIds = [(await told.send("Is it on?")).runId, (await told.send("And now?")).runId];
  const host = createRunHost({ store, keepRuns: 9 });
  const started = await host.start("chat-17", { ...options, message: "Still?" });
  if (started.kind === "started") runIds.push((await started.result).runId);
  const untold = createConversation({ id: "chat-17", store, options });
  await untold.send("And later?");
  expect(await findRecorded(store, runIds)).toEqual(runIds);

  expect(await untold.remove()).toBe("removed");
  expect(await findRecorded(store, runIds)).toEqual([]);
  expect([await untold.messages(), await untold.remove()]).toEqual([[], "unknown"]);
});

it("conversation.remove() with removeJournal removes journals outside the store as well as those in the store", async () => {
  const store = memoryConversationStore();
  const { runId } = await createConversation({ id: "chat-17", store, journal: store.journal, options }).send("Is it on?");
  const removed: string[] = [];
  const removeJournal = (id: string) => void removed.push(id);
  await createConversation({ id: "chat-17", store, removeJournal, options }).remove();
  expect([removed, await findRecorded(store, [runId])]).toEqual([[runId], []]);
});

it("a conversation removes the store's journals even if its `journal` option wraps them", async () => {
  const store = memoryConversationStore();
  const journal = (runId: string) => ({ ...store.journal(runId) });
  const conversation = createConversation({ id: "chat-17", store, journal, options });
  const runIds: string[] = [];
  for (const message of ["Is it on?", "And now?", "Still?"]) runIds.push((await conversation.send(message)).runId);
  expect(await findRecorded(store, runIds)).toEqual(runIds.slice(2));
  await conversation.remove();
  expect(await findRecorded(store, runIds)).toEqual([]);
});
