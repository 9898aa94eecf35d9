// A run that is recorded in Postgres: when the program starts again after a crash, the run goes on. Starts a Postgres server. The import of
// the stand-in replaces api.openai.com with a local server, so no key is needed.

import assert from "node:assert/strict";
import { stopStandIn } from "../support/openai-stand-in.ts";
import { startPostgres } from "../workers/start-postgres.ts";
import { createConversation } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { createMockProvider, text } from "turnwright/testing";

const postgres = await startPostgres();
process.env["DATABASE_URL"] = postgres.url;

// #region program
import OpenAI from "openai";
import { Pool } from "pg";
import { z } from "zod";
import { defineTool, runToolLoop } from "turnwright";
import { postgresConversationStore } from "turnwright/conversation";
import { openaiChat } from "turnwright/openai";

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
pool.on("error", console.error); // without a listener, a closed connection ends the process
const store = postgresConversationStore(pool); // creates its tables in the schema "turnwright"
const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});

const result = await runToolLoop({
  provider: openaiChat({ client: new OpenAI(), model: "gpt-5-mini" }),
  tools: [getTime],
  messages: [{ role: "user", content: "Is it too late to call Tokyo?" }],
  runId: "call-12",
  journal: store.journal("call-12"), // start the program again after a crash, and the run goes on
});
console.log(result.status, result.text);
await pool.end();
// #endregion program
assert.equal(result.reason.kind, "answered");
await stopStandIn();

// A second process gets the recorded answer. The service of the model is no longer reachable.
const other = new Pool({ connectionString: postgres.url });
other.on("error", () => {});
const { journal, removeJournal } = postgresConversationStore(other);
const again = {
  provider: openaiChat({ client: new OpenAI({ maxRetries: 0 }), model: "gpt-5-mini" }),
  tools: [getTime],
  messages: [{ role: "user", content: "Is it too late to call Tokyo?" }],
  runId: "call-12",
} as const;
assert.equal((await runToolLoop({ ...again, journal: journal("call-12") })).text, result.text);
await removeJournal("call-12");
assert.equal((await runToolLoop({ ...again, journal: journal("call-12") })).status, "error");
await erase(other);
await countSpending();
await other.end();
await postgres.stop();

async function own(): Promise<void> {
  // #region owner
  const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
  pool.on("error", console.error);
  await pool.query("CREATE TABLE IF NOT EXISTS chat_owners (chat text PRIMARY KEY, owner text NOT NULL)");

  /** True if this user may use the chat. A new chat becomes theirs. */
  async function mayUse(user: string, chat: string): Promise<boolean> {
    await pool.query("INSERT INTO chat_owners (chat, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING", [chat, user]);
    const { rows } = await pool.query<{ owner: string }>("SELECT owner FROM chat_owners WHERE chat = $1", [chat]);
    return rows[0]?.owner === user;
  }
  // #endregion owner
  assert.deepEqual(
    [await mayUse("ada", "chat-1"), await mayUse("kim", "chat-1"), await mayUse("ada", "chat-1")],
    [true, false, true],
  );
  await pool.end();
}

async function erase(other: Pool): Promise<void> {
  await own();
  const store = postgresConversationStore(other);
  const options = { provider: createMockProvider([text("Hello.")]) };
  const chat = createConversation({ id: "chat-1", store, journal: store.journal, options });
  const { runId } = await chat.send("Hi.");
  // #region erase
  const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
  pool.on("error", console.error);
  const host = createRunHost({ store: postgresConversationStore(pool) });
  const { rows } = await pool.query<{ chat: string }>("SELECT chat FROM chat_owners WHERE owner = $1", ["ada"]);
  for (const { chat } of rows) {
    const answer = await host.remove(chat); // also removes conversations of `createConversation`
    if (answer !== "busy") await pool.query("DELETE FROM chat_owners WHERE chat = $1", [chat]);
  }
  await pool.end();
  // #endregion erase
  assert.deepEqual(await chat.messages(), []);
  assert.deepEqual((await other.query("SELECT chat FROM chat_owners")).rows, []);
  assert.deepEqual((await other.query("SELECT key FROM turnwright.chat_records WHERE run_id = $1", [runId])).rows, []);
}

async function countSpending(): Promise<void> {
  // #region spending
  const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
  pool.on("error", console.error);
  await pool.query(
    "CREATE TABLE IF NOT EXISTS spending (run_id text PRIMARY KEY, user_id text, day date DEFAULT current_date, usd numeric)",
  );

  /** Returns what a user has spent today, in USD, without one run. */
  async function spentToday(user: string, exceptRun = ""): Promise<number> {
    const sum = "SELECT coalesce(sum(usd), 0) AS usd FROM spending WHERE user_id = $1 AND day = current_date AND run_id <> $2";
    const { rows } = await pool.query<{ usd: string }>(sum, [user, exceptRun]);
    return Number(rows[0]?.usd);
  }

  async function setSpending(user: string, runId: string, usd: number): Promise<void> {
    const set = "INSERT INTO spending (user_id, run_id, usd) VALUES ($1, $2, $3) ON CONFLICT (run_id) DO UPDATE SET usd = $3";
    await pool.query(set, [user, runId, usd]);
  }
  // #endregion spending
  await setSpending("ada", "run-1", 0.1);
  await setSpending("ada", "run-1", 0.2);
  await setSpending("ada", "run-2", 0.03);
  await setSpending("kim", "run-3", 1);
  assert.deepEqual([await spentToday("ada"), await spentToday("ada", "run-2"), await spentToday("joe")], [0.23, 0.2, 0]);
  await pool.end();
}
