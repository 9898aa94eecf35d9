import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import type { Message } from "turnwright";
import { startPostgres } from "../../examples/workers/start-postgres.ts";

const folders: string[] = [];

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "turnwright-conversation-"));
  folders.push(folder);
  return folder;
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export interface Database {
  connect(): Pool;
  stop(): Promise<void>;
}

export async function startDatabase(): Promise<Database> {
  const postgres = await startPostgres();
  const pools: Pool[] = [];
  return {
    connect: () => {
      const pool = new Pool({ connectionString: postgres.url, max: 2 });
      // The pool emits an error when the server stops and closes its connections. Without a listener, that error ends the process.
      pool.on("error", () => {});
      pool.on("connect", (client) => client.on("error", () => {}));
      pools.push(pool);
      return pool;
    },
    stop: async () => {
      for (const pool of pools) if (!pool.ending) await pool.end();
      await postgres.stop();
    },
  };
}

/** Shows messages as texts such as "user: Hello" and "tool: dig completed". */
export function show(messages: readonly Message[]): readonly string[] {
  return messages.map((message) => {
    if (message.role === "user") return `user: ${typeof message.content === "string" ? message.content : "parts"}`;
    if (message.role === "tool") return `tool: ${message.results.map(({ name, outcome }) => `${name} ${outcome}`).join(", ")}`;
    return `model: ${message.content.map((part) => (part.type === "tool-call" ? `${part.name}()` : part.text)).join(" ")}`;
  });
}
