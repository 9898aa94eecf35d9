// A worker: a process that executes durable loops. It takes over runs from workers that died or froze, and notifies all processes when a
// run ends.

import { AsyncLocalStorage } from "node:async_hooks";
import { DBOS, type DBOSConfig } from "@dbos-inc/dbos-sdk";
import { Client, Pool } from "pg";
import { checkFields, type Checks, is } from "../core/kit.ts";
import { isFilled } from "../shared/errors/check-fields.ts";
import type { RunSite } from "../host/durable/execute-durable-run.ts";
import { ProcessLoops } from "../host/durable/process-loops.ts";
import { WorkerSite } from "../host/durable/worker-site.ts";
import { answerWithin, withinTime } from "../shared/repeat-failed.ts";
import { type DeleteFilter, deleteRuns, type DurableRun, listRuns, queueOf, type RunFilter } from "./list-runs.ts";
import { whileLaunching } from "./locks.ts";
import { Takeovers } from "./takeovers.ts";
import { endChannel, eventChannel, messageChannel, PostgresStore } from "./postgres-store.ts";
import { Socket } from "node:net";

/** Connection options that determine when a connection to an unresponsive server counts as broken. */
const patience = { connectionTimeoutMillis: 10_000, keepAlive: true, keepAliveInitialDelayMillis: 5_000 };
const queryTimeout = { query_timeout: 20_000 };

export class Connections {
  readonly #url: string;
  readonly #pools: Pool[] = [];
  readonly #sockets = new Set<Socket>();

  constructor(url: string) {
    this.#url = url;
  }

  /**
   * Creates a pool that replaces broken connections. `hasTimeLimit` is false for the DBOS pool, whose statements may take a long time.
   */
  createPool(max: number, { hasTimeLimit = true }: { readonly hasTimeLimit?: boolean } = {}): Pool {
    const pool = new Pool({ ...this.#options, max, ...(hasTimeLimit ? queryTimeout : {}) });
    // Without this listener, a broken connection would end the process.
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {}));
    this.#pools.push(pool);
    return pool;
  }

  createClient(): Client {
    return new Client({ ...this.#options, ...queryTimeout });
  }

  get #options() {
    return { connectionString: this.#url, ...patience, stream: () => this.#createSocket() };
  }

  #createSocket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return socket;
  }

  /** Ends all pools when the queries in progress have finished. */
  async end(): Promise<void> {
    await Promise.all(this.#pools.map(async (pool) => (pool.ending ? undefined : pool.end())));
  }

  /**
   * Closes all connections immediately. A server that does not answer would otherwise keep its connections open, and these
   * connections would keep the process alive.
   */
  destroy(): void {
    void this.end().catch(() => {});
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** The shortest and the longest time between two checks, in milliseconds. The time grows as long as no run ends. */
const firstWaitMs = 10;
const maxWaitMs = 1_000;

export interface RunEndsPorts {
  readonly workerId: string;
  readonly stopping: AbortSignal;
  notify(runIds: readonly string[]): Promise<void>;
}

export class RunEnds {
  readonly #ports: RunEndsPorts;
  /** Runs whose end DBOS has not stored yet. */
  readonly #runs = new Set<string>();
  #waitMs = firstWaitMs;
  #isWatching = false;

  constructor(ports: RunEndsPorts) {
    this.#ports = ports;
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** Adds a run to check. All runs are checked together, so that many runs that end at the same time do not keep Postgres busy. */
  add(runId: string): void {
    this.#runs.add(runId);
    this.#waitMs = firstWaitMs;
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#watch().finally(() => (this.#isWatching = false));
  }

  async #watch(): Promise<void> {
    while (this.#runs.size > 0) {
      const waitMs = this.#waitMs;
      this.#waitMs = Math.min(2 * waitMs, maxWaitMs);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (this.#ports.stopping.aborted) return;
      // Ignores a failed check, for example while Postgres restarts, because the next check follows soon.
      await this.#check().catch(() => {});
    }
  }

  async #check(): Promise<void> {
    const ids = [...this.#runs];
    const found = await DBOS.listWorkflows({ workflowIDs: ids, status: "PENDING", loadInput: false, loadOutput: false });
    // Counts only this worker's runs as live, because a worker that took over a run announces its end itself.
    const live = new Set(
      found.filter(({ executorId }) => executorId === this.#ports.workerId).map(({ workflowID }) => workflowID),
    );
    const ended = ids.filter((id) => !live.has(id));
    if (ended.length === 0) return;
    this.#waitMs = firstWaitMs;
    await this.#ports.notify(ended);
    for (const id of ended) this.#runs.delete(id);
  }
}

/** The options of `launchWorker`. */
export interface WorkerOptions {
  /** The URL of the Postgres database, such as `postgresql://user:password@host:5432/app`. */
  readonly databaseUrl: string;
  /** The name of the application. Processes with the same name share their runs. Default "turnwright". */
  readonly name?: string | undefined;
  /**
   * How long a worker may be silent, in milliseconds. After that, other workers take over its runs, even if its process still
   * exists. The runs of a killed process are taken over without this delay. Default 10,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How long a call such as `status`, `start` or `stop` waits for Postgres to answer, in milliseconds. After that, the call rejects.
   * `result` and `events` keep waiting. Default 30,000.
   */
  readonly answerMs?: number | undefined;
  /** False for a process that only starts, reads and stops runs, such as a web server. Default true. */
  readonly runsLoops?: boolean | undefined;
}

/** A launched worker. */
export interface Worker {
  /** The id of this worker, which is new for each process. */
  readonly id: string;
  /** Stops the worker. Its runs continue in other workers, or when a worker is launched again. */
  stop(): Promise<void>;
  /** Lists runs of all durable loops and all workers, newest first. Throws LoopError "invalid-option" or "unknown-option". */
  listRuns(filter?: RunFilter): Promise<readonly DurableRun[]>;
  /**
   * Deletes all stored data about runs that have ended or failed: inputs, records, events, results. Pass their `ids`, or
   * `endedBefore` for all runs that ended before this time. Live runs are not deleted. Returns how many runs were deleted. If the last run
   * of a conversation is deleted, the conversation loses its history. Deletes up to 200 runs at a time, and waits at most `answerMs` for
   * each batch. Throws LoopError "invalid-option" or "unknown-option".
   */
  deleteRuns(filter: DeleteFilter): Promise<number>;
}

const checks: Checks<WorkerOptions> = {
  databaseUrl: [
    "a URL that begins with postgres:// or postgresql://",
    (value) => /^postgres(ql)?:\/\//.test(String(value)),
    undefined,
    true,
  ],
  name: ["a non-empty string", isFilled],
  leaseMs: { min: 100, infinite: false },
  answerMs: { min: 1, infinite: false },
  runsLoops: is.flag,
};

/** How often a worker looks for runs of dead workers, in milliseconds. */
const sweepMs = 500;

/** How often, in milliseconds, readers and runs check for changes in case a notification was lost. */
const lostNotificationMs = 10_000;

/** How long a launching worker waits for a notification, in milliseconds. If `answerMs` is shorter, the worker waits for `answerMs`. */
const notificationMs = 5_000;

const noNotifications =
  'The Postgres server at "databaseUrl" delivers no notifications. Connect directly, or through a pooler in session mode. A worker cannot use PgBouncer in transaction mode, such as port 6543 of Supabase.';

/** How long a stopping worker waits for Postgres, in milliseconds. If `answerMs` is shorter, the worker waits for `answerMs`. */
const stopMs = 10_000;

/**
 * The loops of this process. All must be defined before launch, because DBOS takes runs only from the queues that it knows at that point.
 */
export const here: ProcessLoops<WorkerProcess> = new ProcessLoops({ definesFirst: true });

/**
 * Launches DBOS and makes this process a worker, which executes runs of durable loops. Define all durable loops first. Every
 * process that starts, reads or stops runs must be a worker. A process can launch one worker at a time.
 *
 * Throws LoopError "invalid-option" or "unknown-option". Rejects with errors from Postgres, for example if the database cannot be
 * reached.
 *
 * @example
 * const worker = await launchWorker({ databaseUrl: process.env.DATABASE_URL });
 */
export async function launchWorker(options: WorkerOptions): Promise<Worker> {
  checkFields("options", options, checks);
  const worker = await here.launch(() => new WorkerProcess(options)).catch(explain);
  return {
    id: worker.id,
    stop: () => worker.stop(),
    listRuns: async (filter) =>
      worker.outside(() => answerWithin(() => listRuns(worker.application, filter), "listRuns", worker.answerMs)),
    deleteRuns: (filter) => worker.outside(() => deleteRuns(worker, filter)),
  };
}

function explain(error: unknown): never {
  if (!isUnreachable(error)) throw error;
  throw new Error(`The Postgres server at "databaseUrl" cannot be reached. Check the URL and the server: ${error.message}`, {
    cause: error,
  });
}

function isUnreachable(error: unknown): error is Error {
  return error instanceof Error && "code" in error && /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT)/.test(String(error.code));
}

type Settings = { readonly [Name in keyof WorkerOptions]-?: NonNullable<WorkerOptions[Name]> };

export class WorkerProcess extends WorkerSite implements RunSite {
  readonly store: PostgresStore;
  readonly application: string;
  /**
   * Calls a function outside the current workflow and step. Inside, DBOS would record or refuse the calls that the function
   * makes.
   */
  readonly outside: <T>(work: () => T) => T = AsyncLocalStorage.snapshot();
  readonly #options: Settings;
  readonly #connections: Connections;
  /** The connections for heartbeats and takeovers. They are separate from those for writes, which may wait for locks in the database. */
  readonly #control: Pool;
  readonly #dbosPool: Pool;
  /**
   * The connection that holds this worker's lock and receives notifications. Undefined while the worker opens a new connection.
   */
  #session: Client | undefined;
  #timers: ReturnType<typeof setInterval>[] = [];
  #isBeating = false;
  readonly #ended: RunEnds;
  readonly #takeovers: Takeovers;

  constructor({ databaseUrl, name = "turnwright", leaseMs = 10_000, answerMs = 30_000, runsLoops = true }: WorkerOptions) {
    super();
    this.application = name;
    this.#options = { databaseUrl, name, leaseMs, answerMs, runsLoops };
    this.#connections = new Connections(databaseUrl);
    this.#control = this.#connections.createPool(3);
    this.#dbosPool = this.#connections.createPool(20, { hasTimeLimit: false });
    this.store = new PostgresStore(this.#connections.createPool(6), this.id, this.#connections.createPool(6));
    const { signal: stopping } = this.stopping;
    this.#ended = new RunEnds({ workerId: this.id, stopping, notify: (runIds) => this.store.notifyEnds(runIds) });
    const isBusyWith = (runId: string): boolean => this.live.has(runId) || this.#ended.has(runId);
    this.#takeovers = new Takeovers(this.#control, { id: this.id, application: name, isBusyWith });
  }

  get answerMs(): number {
    return this.#options.answerMs;
  }

  /** Returns a logger that shows only errors, except those from runs that this worker gave up on when it stopped. */
  get #logger(): NonNullable<DBOSConfig["logger"]> {
    const drop = (): void => {};
    const show = (error: unknown, { stack }: { readonly stack?: string | undefined } = {}): void => {
      if (this.stopping.signal.aborted) return;
      console.error(error, ...(error instanceof Error || stack === undefined ? [] : ["\n", stack]));
    };
    return { info: drop, debug: drop, warn: drop, error: show };
  }

  async launch(): Promise<void> {
    const { databaseUrl, name, leaseMs, runsLoops } = this.#options;
    // Uses a fixed version, so that workers with new code continue runs that older code started.
    const applicationVersion = `${name}-turnwright-1`;
    const queues = [...here.loops.keys()].map((loop) => queueOf(name, loop));
    DBOS.setConfig({
      name,
      systemDatabaseUrl: databaseUrl,
      systemDatabasePool: this.#dbosPool,
      executorID: this.id,
      applicationVersion,
      logger: this.#logger,
      listenQueues: runsLoops && queues.length > 0 ? queues : ["no-queue"],
    });
    await whileLaunching(this.#control, async () => {
      await this.store.migrate();
      await this.#connect();
      await this.#checkNotifications();
      await this.#beat();
      await DBOS.launch();
    });
    // Polls less often if there are many queues, because DBOS polls each queue separately.
    const minPollingIntervalMs = Math.min(500, 50 * queues.length);
    for (const queue of queues) await DBOS.registerQueue(queue, { minPollingIntervalMs });
    const every = (ms: number, work: () => Promise<void>): void => {
      // Ignores an error, for example while Postgres restarts, because `work` is called again after the interval.
      this.#timers.push(setInterval(() => void work().catch(() => {}), ms));
    };
    every(Math.min(1_000, leaseMs / 4), () => this.#beat());
    every(sweepMs, async () => this.#session && this.#takeovers.sweep(this.#session));
    every(lostNotificationMs, async () => this.#wakeAll());
  }

  /**
   * Checks that this worker's session receives notifications. A pooler in transaction mode drops them, and leaves the session's lock to other
   * clients (github.com/pgbouncer/pgbouncer/issues/655).
   */
  async #checkNotifications(): Promise<void> {
    const heard = new Promise<void>((resolve) => {
      this.#session?.on("notification", ({ payload }) => payload === this.id && resolve());
    });
    await this.store.wake(this.id);
    await withinTime(heard, { ms: Math.min(notificationMs, this.answerMs), toError: () => new Error(noNotifications) });
  }

  protected async end(): Promise<void> {
    here.leave(this);
    this.stopping.abort(new Error("The worker in this process was stopped."));
    for (const timer of this.#timers) clearInterval(timer);
    const left = this.abandonAll().then(() => this.#disconnect());
    // Limits how long stopping may take, because the database server may not answer.
    const waitMs = Math.min(stopMs, this.answerMs);
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await Promise.race([left, new Promise((resolve) => (timer = setTimeout(resolve, waitMs)))]);
    } finally {
      clearTimeout(timer);
      this.#connections.destroy();
      this.#takeovers.release();
    }
  }

  async #disconnect(): Promise<void> {
    if (DBOS.isInitialized()) await DBOS.shutdown();
    // Makes this worker's heartbeat overdue, so that other workers take over its runs immediately.
    await this.#control.query("UPDATE turnwright.workers SET beat = '-infinity' WHERE id = $1", [this.id]).catch(() => {});
    await this.#session?.end().catch(() => {});
    await this.#connections.end();
  }

  /** Opens the session that holds the lock. If the session breaks, opens a new session. */
  async #connect(): Promise<void> {
    const session = this.#connections.createClient();
    let isLost = false;
    const reconnect = (): void => {
      if (isLost) return;
      isLost = true;
      if (this.#session === session) this.#session = undefined;
      if (!this.stopping.signal.aborted)
        setTimeout(() => this.stopping.signal.aborted || void this.#connect().catch(() => {}), 200);
    };
    session.on("error", reconnect);
    session.on("end", reconnect);
    session.on("notification", ({ channel, payload = "" }) => {
      this.waits.wake(payload);
      if (channel === messageChannel) this.obeySoon(payload);
      if (channel !== endChannel) return;
      this.ends.wake(payload);
      this.#takeovers.release(payload);
    });
    try {
      await session.connect();
      await session.query("SELECT pg_advisory_lock(hashtextextended($1, 0))", [this.id]);
      await session.query(`LISTEN ${eventChannel}; LISTEN ${messageChannel}; LISTEN ${endChannel}`);
    } catch (error) {
      reconnect();
      // Ends this connection, because it could otherwise still get the lock and keep it from a new session.
      void session.end().catch(() => {});
      throw error;
    }
    if (this.stopping.signal.aborted) await session.end();
    if (this.stopping.signal.aborted || isLost) return;
    this.#session = session;
    // Wakes everything that is waiting, because notifications may have been lost while there was no session.
    this.#wakeAll();
  }

  async #beat(): Promise<void> {
    if (this.#isBeating) return;
    this.#isBeating = true;
    const { leaseMs } = this.#options;
    const text = "INSERT INTO turnwright.workers VALUES ($1, $2, $3, now()) ON CONFLICT (id) DO UPDATE SET beat = EXCLUDED.beat";
    // Limits the query time, so that a heartbeat on a broken connection fails quickly and the next one uses a new connection.
    const limit = { query_timeout: Math.max(1_000, leaseMs / 3) };
    try {
      await this.#control.query({ text, values: [this.id, this.application, leaseMs], ...limit });
    } finally {
      this.#isBeating = false;
    }
  }

  #wakeAll(): void {
    this.waits.wakeAll();
    this.ends.wakeAll();
    for (const runId of this.live.keys()) this.obeySoon(runId);
  }

  /** Notifies all processes that a run has ended, as soon as DBOS has stored the end of the run. */
  noteEnd(runId: string): void {
    this.#ended.add(runId);
  }

  /**
   * Waits until a run that another execution has taken over has ended, or until this worker has stopped. If no other execution has taken it
   * over, puts the run back into its queue.
   */
  untilEnded(runId: string): Promise<void> {
    return this.#takeovers.untilEnded(runId);
  }
}
