// Workers in separate processes that tests can kill and freeze.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { programLoader } from "../../scripts/program-loader.ts";

export interface FleetOptions {
  readonly databaseUrl: string;
  readonly notesPath: string;
  readonly leaseMs: number;
}

export class Fleet {
  readonly #options: FleetOptions;
  readonly #workers = new Set<ChildProcess>();

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get workers(): readonly ChildProcess[] {
    return [...this.#workers];
  }

  /** Resolves when the worker is ready. */
  async start(): Promise<ChildProcess> {
    const { databaseUrl, notesPath, leaseMs } = this.#options;
    const script = fileURLToPath(new URL("worker-process.ts", import.meta.url));
    const args = ["--no-deprecation", "--import", programLoader(), script, databaseUrl, notesPath, String(leaseMs)];
    const worker = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#workers.add(worker);
    worker.once("exit", () => this.#workers.delete(worker));
    if (worker.stdout === null) throw new Error("The worker has no output.");
    await Promise.race([once(worker.stdout, "data"), once(worker, "exit")]);
    return worker;
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.workers.map(async (worker) => {
        const ended = once(worker, "exit");
        worker.kill("SIGKILL");
        await ended;
      }),
    );
  }
}
