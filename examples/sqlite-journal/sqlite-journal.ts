// A journal in a SQLite database. One database can hold many runs, and several processes of one machine can use it. A run
// survives the crash of its process. Keep the file on a local disk, and protect it, because it contains the conversations.

import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, rmdirSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import sqlite from "node-sqlite3-wasm";
import { type Journal, LoopError } from "turnwright";

// Run ids and step keys may be any text. SQLite cuts a text at a NUL character, and changes lone surrogates. JSON text contains
// neither, so ids and keys are stored as JSON.
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS steps (
    seq INTEGER PRIMARY KEY, run TEXT NOT NULL, key TEXT NOT NULL, result TEXT NOT NULL, UNIQUE (run, key));
  CREATE TABLE IF NOT EXISTS owners (
    run TEXT PRIMARY KEY, owner TEXT NOT NULL, pid INTEGER NOT NULL, host TEXT NOT NULL, expires INTEGER NOT NULL);`;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
type Work<T> = (database: sqlite.Database) => T;

/**
 * Runs `work` in one transaction, with a connection of its own.
 *
 * This build of SQLite locks the database with the folder `<file>.lock`. It cannot tell if the process that made the folder is
 * still alive, so it does not undo the transaction of a dead process. With a write-ahead log (WAL), SQLite always recovers. But a
 * WAL needs exclusive locking in this build, and that lock lasts until the connection is closed. Each transaction therefore opens
 * and closes a connection.
 */
function transactNow<T>(file: string, work: Work<T>): T {
  const database = new sqlite.Database(file);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
    database.exec(SCHEMA); // does nothing if the tables exist
    const answer = work(database);
    database.exec("COMMIT"); // on disk when this returns
    return answer;
  } finally {
    database.close(); // undoes everything if there was no commit
  }
}

const DEAD_AFTER = 300; // attempts, about 10 s. A transaction takes some ms.
const GIVE_UP_AFTER = 1_000; // attempts, about 30 s, so that SQLite's error comes before the loop's `journalMs` (60 s)

/** Waits until no other process has a transaction. If a process died during a transaction, removes its lock. */
async function transact<T>(file: string, work: Work<T>): Promise<T> {
  let [seen, times] = ["", 0];
  for (let attempt = 1; ; attempt++) {
    const lock = identify(`${file}.lock`);
    // While there is a lock, a transaction fails. It takes a hundred times as long as this look at the lock.
    if (lock === "" || attempt === GIVE_UP_AFTER)
      try {
        return transactNow(file, work);
      } catch (error) {
        const isBusy = error instanceof sqlite.SQLite3Error && error.message === "database is locked";
        if (!isBusy || attempt === GIVE_UP_AFTER) throw error;
      }
    // Counts attempts instead of measuring the age of the lock, because that age also grows while the machine sleeps.
    [seen, times] = [lock, lock === seen ? times + 1 : 0];
    if (lock !== "" && times >= DEAD_AFTER) removeLock(file, lock);
    await sleep(20 + Math.random() * 20);
  }
}

function identify(folder: string): string {
  const found = statSync(folder, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? "" : `${found.ino}-${found.mtimeNs}`;
}

/** Only one process at a time may remove the lock. Otherwise a second process could remove the new lock of a live process. */
function removeLock(file: string, lock: string): void {
  const guard = `${file}.lock.removal`; // if a process dies here too, remove both folders by hand
  try {
    mkdirSync(guard);
  } catch {
    return; // another process is removing the lock
  }
  if (identify(`${file}.lock`) === lock) rmdirSync(`${file}.lock`);
  rmdirSync(guard);
}

type Run = { readonly file: string; readonly run: string; readonly leaseMs: number };

function take({ file, run, leaseMs }: Run, owner: string): Work<void> {
  return (database) => {
    const holder = database.get("SELECT pid, host, expires FROM owners WHERE run = ?", [run]);
    if (holder !== null && Number(holder["expires"]) > Date.now()) {
      const [pid, host] = [Number(holder["pid"]), textOf(holder["host"])];
      // The error message says "remove <lockPath>", so this must not be the path of the database.
      const lockPath = `the row of ${run} in its table "owners"`;
      throw new LoopError("journal-locked", { path: file, lockPath, pid, host, isVisible: true });
    }
    database.run("REPLACE INTO owners VALUES (?, ?, ?, ?, ?)", [run, owner, process.pid, hostname(), Date.now() + leaseMs]);
  };
}

/** Extends the lease of the run. Throws if another process has taken the run over. */
function renew(database: sqlite.Database, { file, run, leaseMs }: Run, owner: string): void {
  const sql = "UPDATE owners SET expires = ? WHERE run = ? AND owner = ?";
  const { changes } = database.run(sql, [Date.now() + leaseMs, run, owner]);
  if (changes === 0) throw new Error(`The run ${run} in ${file} was taken over or closed: nothing more is recorded.`);
}

/**
 * Makes the journal of the run `runId` in the database `file`, whose folder must exist. If the process dies, the run stays locked
 * for up to `leaseMs`. Choose a time that is longer than your code ever blocks the event loop.
 */
export function sqliteJournal(file: string, runId: string, leaseMs = 15_000): Journal {
  const id: Run = { file, run: JSON.stringify(runId), leaseMs };
  let current: string | undefined; // the owner, while the journal is open
  const find = (key: string): Promise<string | undefined> =>
    transact(file, (database) => {
      const row = database.get("SELECT result FROM steps WHERE run = ? AND key = ?", [id.run, JSON.stringify(key)]);
      return row === null ? undefined : textOf(row["result"]);
    });
  const read = async (key: string): Promise<unknown> => {
    if (!existsSync(file)) return undefined; // reading does not create the file
    const recorded = await find(key);
    return recorded === undefined ? undefined : JSON.parse(recorded);
  };
  const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
    const owner = current; // the owner when the step begins: a late step must not write into the next opening
    const recorded = await read(key);
    if (recorded !== undefined) return recorded as T;
    if (owner === undefined) throw new LoopError("journal-closed", { path: file });
    const answer = await body();
    const row = [id.run, JSON.stringify(key), JSON.stringify(answer)];
    await transact(file, (database) => {
      renew(database, id, owner); // in the same transaction: otherwise, another process could take the run in between
      database.run("INSERT INTO steps (run, key, result) VALUES (?, ?, ?)", row);
    });
    return answer;
  };
  const open: Journal["open"] = async (how) => {
    if (how?.readOnly === true) return async () => {}; // a replay takes no lock
    const owner = randomUUID();
    await transact(file, take(id, owner));
    current = owner;
    // Errors are ignored here. If another process has taken the run over, the next record fails.
    const beat = (): void => void transact(file, (database) => renew(database, id, owner)).catch(() => {});
    const heartbeat = setInterval(beat, leaseMs / 3).unref(); // does not keep the process alive
    return async () => {
      clearInterval(heartbeat);
      current = current === owner ? undefined : current;
      await transact(file, (database) => database.run("DELETE FROM owners WHERE run = ? AND owner = ?", [id.run, owner]));
    };
  };
  return { durable: true, step, read, open };
}
