// Stores conversations in two Postgres tables. A lock is a lease: a live process renews it, and a dead process's lock expires.

import { checkFields, invalidOption, isRecord } from "../core/kit.ts";
import { isFunction } from "../shared/errors/check-fields.ts";
import { mayRepeatQuery, toMigration } from "../shared/postgres.ts";
import { repeatFailed } from "../shared/repeat-failed.ts";
import { maxTimerMs } from "../shared/signals.ts";
import type { Message } from "../core/index.ts";
import { busy, checkId } from "./check-id.ts";
import { type Lines, shareLines } from "./lines.ts";
import { deleteRun, journalTables, postgresJournal, type Query } from "./postgres-journal.ts";
import type {
  BuiltInConversationStore,
  ConversationChange,
  ConversationLock,
  ConversationState,
  StoredListing,
} from "./conversation-store.ts";

/** The methods of a `pg` pool that the store uses. Pools of compatible drivers work too. */
export interface PostgresPool {
  /** True after `end()` was called. */
  readonly ending?: boolean;
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly object[] }>;
}

/** The options for `postgresConversationStore`. */
export interface PostgresConversationStoreOptions {
  /**
   * The time after which other processes may continue a conversation whose process has died, in milliseconds. A live process
   * renews its lock three times within this time. If the database cannot be reached, a run repeats a write to its journal for this time.
   * Default 30,000.
   */
  readonly leaseMs?: number | undefined;
}

const pageSize = 500;

const tables = toMigration(
  `CREATE TABLE IF NOT EXISTS turnwright.chats (
    id text PRIMARY KEY, state text, holder text, held_until timestamptz, changed_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE IF NOT EXISTS turnwright.chat_messages (
    chat_id text NOT NULL, position integer NOT NULL, body text NOT NULL, PRIMARY KEY (chat_id, position));
  ${journalTables}`,
  "to_regclass('turnwright.chat_records') IS NOT NULL",
);

const until = "now() + $3 * interval '1 ms'";

const lockChat = `
  INSERT INTO turnwright.chats AS chat (id, holder, held_until) VALUES ($1, $2, ${until})
  ON CONFLICT (id) DO UPDATE SET holder = EXCLUDED.holder, held_until = EXCLUDED.held_until
  WHERE chat.holder IS NULL OR chat.held_until < now() RETURNING id`;

const renewLock = `UPDATE turnwright.chats SET held_until = ${until} WHERE id = $1 AND holder = $2 RETURNING id`;

const unlockChat = `
  WITH unused AS (DELETE FROM turnwright.chats WHERE id = $1 AND holder = $2 AND state IS NULL)
  UPDATE turnwright.chats SET holder = NULL WHERE id = $1 AND holder = $2 AND state IS NOT NULL`;

/**
 * Reads the state and the messages in one statement, so that both are from the same moment. Returns the messages as one long string,
 * because drivers read it faster than many rows.
 */
const readChat = `
  SELECT state, (SELECT string_agg(body, ',' ORDER BY position) FROM turnwright.chat_messages WHERE chat_id = $1) AS messages
  FROM turnwright.chats WHERE id = $1 AND state IS NOT NULL`;

const findLock = "SELECT id FROM turnwright.chats WHERE id = $1 AND holder IS NOT NULL AND held_until >= now()";

const appendChange = `
  WITH own AS (UPDATE turnwright.chats SET state = $3, changed_at = now() WHERE id = $1 AND holder = $2 RETURNING id),
  dropped AS (
    DELETE FROM turnwright.chat_messages USING own
    WHERE chat_id = own.id AND position >= $4::integer + cardinality($5::text[])),
  added AS (
    INSERT INTO turnwright.chat_messages
    SELECT own.id, $4::integer + n - 1, body FROM own, unnest($5::text[]) WITH ORDINALITY AS t (body, n)
    ON CONFLICT (chat_id, position) DO UPDATE SET body = EXCLUDED.body)
  SELECT id FROM own`;

const listChats = `
  SELECT id, date_part('epoch', changed_at) * 1000 AS "changedAt" FROM turnwright.chats
  WHERE state IS NOT NULL AND id > $1 ORDER BY id LIMIT ${pageSize}`;

const deleteChat = `
  WITH free AS (DELETE FROM turnwright.chats WHERE id = $1 AND (holder IS NULL OR held_until < now()) RETURNING id),
  dropped AS (DELETE FROM turnwright.chat_messages USING free WHERE chat_id = free.id)
  SELECT id FROM turnwright.chats WHERE id = $1 AND id NOT IN (SELECT id FROM free)`;

/**
 * Creates a store in the `turnwright` schema of a Postgres database, for processes on any number of machines. The first call
 * creates the schema and its tables, whose names begin with `chat`. The pool remains yours: close it yourself.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid. The methods reject with the pool's errors.
 *
 * @example
 * const store = postgresConversationStore(new Pool({ connectionString: process.env.DATABASE_URL }));
 */
export function postgresConversationStore(
  pool: PostgresPool,
  options: PostgresConversationStoreOptions = {},
): BuiltInConversationStore {
  if (!isRecord(pool) || !isFunction(pool.query)) throw invalidOption("pool", 'a Pool from the "pg" package', pool);
  checkFields("options", options, { leaseMs: { min: 100, max: maxTimerMs, infinite: false } });
  const { leaseMs = 30_000 } = options;
  let migrated: Promise<unknown> | undefined;
  const query: Query = async (text, values) => {
    migrated ??= pool.query(tables).catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    await migrated;
    return (await pool.query(text, [...values])).rows;
  };
  // Repeats failed writes of a run, for example while the database restarts (github.com/langchain-ai/langgraph/pull/6107).
  const mayRepeat = (error: unknown): boolean => mayRepeatQuery(pool, error);
  const steady: Query = (text, values) => repeatFailed(() => query(text, values), { everyMs: 250, forMs: leaseMs, mayRepeat });
  const store: BuiltInConversationStore = {
    load: async (id) => {
      checkId(id);
      return load(query, id);
    },
    lock: async (id) => {
      checkId(id);
      const held = [id, globalThis.crypto.randomUUID()] as const;
      const [locked] = await query(lockChat, [...held, leaseMs]);
      if (locked === undefined) throw busy(id);
      return hold(query, held, leaseMs);
    },
    isLocked: async (id) => {
      checkId(id);
      return (await query(findLock, [id])).length > 0;
    },
    remove: async (id) => {
      checkId(id);
      const [held] = await query(deleteChat, [id]);
      if (held !== undefined) throw busy(id);
    },
    list: () => listAll(query),
    journal: (runId) => postgresJournal(steady, runId),
    removeJournal: async (runId) => void (await query(deleteRun, [runId])),
  };
  return shareLines(store, linesOfPools, pool);
}

/** The queues of callers, by pool. All stores in this process with the same pool share them. */
const linesOfPools = new WeakMap<PostgresPool, Lines>();

async function* listAll(query: Query): AsyncGenerator<StoredListing> {
  let rows: readonly StoredListing[] = [];
  do {
    rows = (await query(listChats, [rows.at(-1)?.id ?? ""])) as readonly StoredListing[];
    yield* rows;
  } while (rows.length === pageSize);
}

/** Identifies a lock: the id of the conversation and a random token. */
type Held = readonly [id: string, token: string];

async function load(query: Query, id: string): Promise<ConversationLock["stored"]> {
  const [row] = (await query(readChat, [id])) as readonly { readonly state: string; readonly messages: string | null }[];
  if (row === undefined) return undefined;
  return {
    messages: JSON.parse(`[${row.messages ?? ""}]`) as readonly Message[],
    state: JSON.parse(row.state) as ConversationState,
  };
}

async function hold(query: Query, held: Held, leaseMs: number): Promise<ConversationLock> {
  const { lost, stop } = renew(query, held, leaseMs);
  const release = async (): Promise<void> => {
    stop();
    await query(unlockChat, held);
  };
  try {
    return { stored: await load(query, held[0]), lost, append: (change) => append(query, held, change), release };
  } catch (error) {
    await release().catch(() => {});
    throw error;
  }
}

const triesPerLease = 3;

/** Renews a lease until `stop` is called. Aborts `lost` if another process has the lock, or if the lease expires without renewal. */
function renew(query: Query, held: Held, leaseMs: number): { readonly lost: AbortSignal; stop(): void } {
  const lost = new AbortController();
  let renewed = performance.now();
  const timer = setInterval(() => void renewOnce(), leaseMs / triesPerLease);
  timer.unref();
  const stop = (): void => clearInterval(timer);
  const lose = (): void => {
    stop();
    lost.abort(busy(held[0]));
  };
  let unanswered = 0;
  const renewOnce = async (): Promise<void> => {
    // After three renewals without an answer, the lease may have expired, so the lock counts as lost.
    if (unanswered >= triesPerLease) return lose();
    unanswered += 1;
    const begun = performance.now();
    try {
      const [row] = await query(renewLock, [...held, leaseMs]);
      if (row === undefined) lose();
      else renewed = begun;
    } catch {
      // A failed renewal loses the lock only after the lease ends, because no other process can take it until then. Before that, the next
      // renewal may succeed.
      if (performance.now() - renewed > leaseMs) lose();
    } finally {
      unanswered = 0;
    }
  };
  return { lost: lost.signal, stop };
}

async function append(query: Query, held: Held, { from, messages, state }: ConversationChange): Promise<void> {
  const bodies = messages.map((message) => JSON.stringify(message));
  const [row] = await query(appendChange, [...held, JSON.stringify(state), from, bodies]);
  if (row === undefined) throw busy(held[0]);
}
