import { EventEmitter, once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pool } from "pg";
import { defineTool, runToolLoop } from "turnwright";
import { createConversation, postgresConversationStore } from "turnwright/conversation";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";
import { type Database, show, startDatabase } from "./stage.ts";

let database: Database;

beforeAll(async () => {
  database = await startDatabase();
}, 60_000);

afterAll(() => database.stop());

interface Row {
  readonly holder: string | null;
  readonly until_ms: number;
}

function open(id: string, leaseMs: number) {
  const pool = database.connect();
  const provider = createMockProvider((_request, index) => (index === 0 ? [text("Once"), stall()] : [text("Yes.")]));
  const store = postgresConversationStore(pool, { leaseMs });
  const conversation = createConversation({ id, store, options: { provider } });
  const readLease = async (): Promise<Row | undefined> => {
    const select = "SELECT holder, extract(epoch FROM held_until)::float8 * 1000 AS until_ms FROM turnwright.chats WHERE id = $1";
    return (await pool.query<Row>(select, [id])).rows[0];
  };
  return { pool, provider, conversation, readLease };
}

describe("postgresConversationStore", () => {
  it("renews a live run's lease, and frees the conversation when the run ends", async () => {
    const { conversation, readLease } = open("renewed", 900);
    const stream = conversation.stream("Is it on?");
    const reader = stream[Symbol.asyncIterator]();
    await reader.next();
    const held = await readLease();
    const renewed = async () => {
      const now = await readLease();
      return now?.holder === held?.holder ? (now?.until_ms ?? 0) - (held?.until_ms ?? 0) : "lost";
    };
    // Two renewals, because they are 300 ms apart.
    await expect.poll(renewed, { timeout: 20_000 }).toBeGreaterThan(400);
    await reader.return?.();
    await stream.result;
    expect((await readLease())?.holder).toBeNull();
  });

  it("stops a run that has lost its lease, without storing the run's end", async () => {
    const { pool, provider, conversation } = open("lost", 600);
    const stream = conversation.stream("Is it on?");
    const reader = stream[Symbol.asyncIterator]();
    await reader.next();
    await pool.query("UPDATE turnwright.chats SET holder = 'another', held_until = now() + interval '1 hour' WHERE id = 'lost'");
    await expect(stream.result).rejects.toMatchObject({ code: "conversation-busy" });
    expect([provider.active, show(await conversation.messages())]).toEqual([0, ["user: Is it on?"]]);
    const { rows } = await pool.query("SELECT holder FROM turnwright.chats WHERE id = 'lost'");
    expect(rows).toEqual([{ holder: "another" }]);
    expect(await conversation.status()).toMatchObject({ status: "running", isLive: true });
    await pool.query("UPDATE turnwright.chats SET held_until = now() - interval '1 millisecond' WHERE id = 'lost'");
    expect(await conversation.status()).toMatchObject({ status: "running", isLive: false });
  });

  it("creates its tables once for many stores", async () => {
    const pool = database.connect();
    const fresh = `fresh_${Math.random().toString(36).slice(2)}`;
    await pool.query("DROP SCHEMA IF EXISTS turnwright CASCADE");
    const locks = await Promise.all(
      [1, 2, 3, 4].map(async (index) => postgresConversationStore(database.connect()).lock(`${fresh}.${index}`)),
    );
    for (const lock of locks) await lock.release();
    expect((await pool.query("SELECT id FROM turnwright.chats")).rows).toEqual([]);
  });

  it("works with a driver that refuses several statements in one query", async () => {
    const pool = database.connect();
    await pool.query("DROP SCHEMA IF EXISTS turnwright CASCADE");
    const extended = {
      query: async (sql: string, values: unknown[] = []) =>
        pool.query<object>(Object.assign({ text: sql, values }, { queryMode: "extended" })),
    };
    const options = { provider: createMockProvider([text("Yes.")]) };
    const conversation = createConversation({ id: "extended", store: postgresConversationStore(extended), options });
    expect((await conversation.send("Is it on?")).text).toBe("Yes.");
  });

  it("works for a database user who may use another user's tables but not create any", async () => {
    const owner = database.connect();
    const pool = database.connect();
    const user: Parameters<typeof postgresConversationStore>[0] = {
      query: async (sql, values) => {
        const client = await pool.connect();
        await client.query("SET ROLE app");
        return client.query(sql, values).finally(() => client.release());
      },
    };
    await owner.query("DROP SCHEMA IF EXISTS turnwright CASCADE; CREATE ROLE app");
    const converse = async (own: typeof user): Promise<string> => {
      const options = { provider: createMockProvider([text("Yes.")]) };
      const conversation = createConversation({ id: "granted", store: postgresConversationStore(own), options });
      return (await conversation.send("Is it on?")).text;
    };
    await expect(converse(user)).rejects.toThrow("permission denied for database");
    expect(await converse(owner)).toBe("Yes.");
    await owner.query(
      "GRANT USAGE ON SCHEMA turnwright TO app; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA turnwright TO app",
    );
    expect(await converse(user)).toBe("Yes.");
  });

  it("stores calls whose ids contain characters that Postgres cannot store, and runs each once", async () => {
    const ran: unknown[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays",
      inputSchema: { type: "object" },
      needsApproval: true,
      execute: (args) => {
        ran.push(args);
        return "\u0000\ud800";
      },
    });
    const ids = ["a\u0000", "a\u0000b", "\ud800", "\ud801", 'a"\\'];
    const calls = ids.map((id, n) => toolCall("pay", { n, id }, { id }));
    const provider = createMockProvider(({ messages }) => (messages.at(-1)?.role === "tool" ? text("Paid.") : calls));
    const open = () => {
      const store = postgresConversationStore(database.connect());
      return createConversation({ id: "odd-ids", store, journal: store.journal, options: { provider, tools: [pay] } });
    };
    const first = await open().send("Pay \u0000\ud800.");
    expect(first.pendingCalls.map(({ callId }) => callId)).toEqual(ids);
    const answers = Object.fromEntries(ids.map((id) => [id, { kind: "approve" }] as const));
    expect(await open().resume({ answers })).toMatchObject({ text: "Paid." });
    expect(ran).toHaveLength(ids.length);
    expect(ran).toEqual(expect.arrayContaining(ids.map((id, n) => ({ n, id }))));
    expect(JSON.stringify(await open().messages())).toContain(JSON.stringify("\u0000\ud800"));
  });

  describe("if the database is away while a run writes to its journal", () => {
    const record = "INSERT INTO turnwright.chat_records";
    const converse = (
      id: string,
      fail: (pool: Pool, write: () => Promise<{ rows: object[] }>) => Promise<{ rows: object[] }>,
    ) => {
      const pool = database.connect();
      const failing = {
        get ending() {
          return pool.ending;
        },
        query: async (sql: string, values?: unknown[]) => {
          const ask = async () => pool.query<object>(sql, values);
          return sql.includes(record) ? fail(pool, ask) : ask();
        },
      };
      const ran: string[] = [];
      const pay = {
        name: "pay",
        description: "Pays",
        inputSchema: { type: "object" },
        execute: () => {
          ran.push("pay");
          return "paid";
        },
      };
      const provider = createMockProvider([toolCall("pay"), text("Paid.")]);
      const store = postgresConversationStore(failing);
      const conversation = createConversation({ id, store, journal: store.journal, options: { provider, tools: [pay] } });
      return { conversation, provider, ran };
    };

    it("repeats the write, and continues", async () => {
      let writes = 0;
      const { conversation, provider, ran } = converse("away", async (_pool, write) => {
        writes += 1;
        if (writes === 3) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
        const written = await write();
        if (writes === 4) throw new Error("Connection terminated unexpectedly"); // the record was written
        return written;
      });
      expect(await conversation.send("Pay.")).toMatchObject({ status: "completed", text: "Paid." });
      expect([provider.calls, ran]).toEqual([2, ["pay"]]);
    });

    it.each([
      ["Postgres refuses the record", (_pool: Pool) => Object.assign(new Error("no space"), { code: "23514" })],
      ["the program has ended the pool", (pool: Pool) => void pool.end()],
    ])("rejects at once if %s", async (title, end) => {
      let writes = 0;
      const { conversation } = converse(title, async (pool, write) => {
        writes += 1;
        const error = end(pool);
        if (error !== undefined) throw error;
        return write();
      });
      await expect(conversation.send("Pay.")).rejects.toThrow(/no space|after calling end/);
      expect(writes).toBe(1);
    });
  });

  it("rejects with the pool's error, and works again afterwards", async () => {
    const pool = database.connect();
    let isDown = true;
    const flaky = {
      query: async (query: string, values?: unknown[]) => {
        if (isDown) throw new Error("The database is down.");
        return pool.query(query, values);
      },
    };
    const options = { provider: createMockProvider([text("Yes.")]) };
    const conversation = createConversation({ id: "flaky", store: postgresConversationStore(flaky), options });
    await expect(conversation.send("Is it on?")).rejects.toThrow("The database is down.");
    isDown = false;
    await expect(conversation.send("Is it on?")).resolves.toMatchObject({ text: "Yes." });
    expect(show(await conversation.messages())).toEqual(["user: Is it on?", "model: Yes."]);
  });

  it.each([
    ["a missing pool", [undefined], "pool"],
    ["a lease that is too short", [{ query() {} }, { leaseMs: 10 }], "leaseMs"],
  ] as const)("throws for %s", (_title, args, option) => {
    expect(() => postgresConversationStore(...(args as unknown as Parameters<typeof postgresConversationStore>))).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ option }) }),
    );
  });

  it("lets another process continue a run with the same journal, and makes the run in the first process reject", async () => {
    const bank = new EventEmitter();
    const started = once(bank, "asked");
    const pay = defineTool({
      name: "pay",
      description: "Pays",
      inputSchema: { type: "object" },
      execute: async () => {
        const paid = once(bank, "paid");
        bank.emit("asked");
        await paid;
        return "Paid.";
      },
    });
    const runIn = (pool: Pool) =>
      runToolLoop({
        provider: createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay") : text("It may be paid."))),
        tools: [pay],
        messages: [{ role: "user", content: "Pay." }],
        runId: "bill-7",
        journal: postgresConversationStore(pool).journal("bill-7"),
      });
    const first = runIn(database.connect());
    await started;
    await postgresConversationStore(database.connect()).journal("bill-7").open?.(); // as in a second process
    bank.emit("paid");
    await expect(first).rejects.toThrow(
      expect.objectContaining({
        code: "journal-lost",
        message: 'Another process has taken over the run "bill-7". Leave the run to that process.',
      }),
    );
    await expect(first).rejects.toHaveProperty("details.partial.functionHistory");
    const second = await runIn(database.connect());
    expect([second.text, second.functionHistory]).toEqual(["It may be paid.", []]); // an interrupted call has no result
  });
});
