// The connections of a worker to Postgres.

import { Socket } from "node:net";
import { Client, Pool } from "pg";

/** With these limits, a server that does not answer counts as a broken connection. */
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
   * Creates a pool that replaces broken connections. `hasTimeLimit` is false for the pool of DBOS, whose statements may take long.
   */
  createPool(max: number, { hasTimeLimit = true }: { readonly hasTimeLimit?: boolean } = {}): Pool {
    const pool = new Pool({ ...this.#options, max, ...(hasTimeLimit ? queryTimeout : {}) });
    // Without a listener for errors, a broken connection would end the process.
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

  /** Ends all pools. Waits for queries that are under way. */
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
