// Starts and kills worker processes.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export class WorkerProcesses {
  readonly #databaseUrl: string;
  readonly #processes = new Map<number, ChildProcess>();

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  get ids(): readonly number[] {
    return [...this.#processes.keys()];
  }

  /** Resolves with the process id when the worker is ready. */
  async start(): Promise<number> {
    const script = fileURLToPath(new URL("worker.ts", import.meta.url));
    // The options of this process make Node load TypeScript.
    const args = [...process.execArgv, "--no-deprecation", script, this.#databaseUrl];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const { pid = 0, stdout } = child;
    child.once("exit", () => this.#processes.delete(pid));
    await Promise.race([once(stdout, "data"), once(child, "exit")]);
    if (child.exitCode !== null) throw new Error("The worker process ended before it was ready. Its errors are above.");
    this.#processes.set(pid, child);
    return pid;
  }

  /** SIGKILL leaves the worker no time to end its runs. Returns false if there is no such worker. */
  kill(pid: number): boolean {
    const child = this.#processes.get(pid);
    this.#processes.delete(pid);
    return child?.kill("SIGKILL") ?? false;
  }

  async stop(): Promise<void> {
    await Promise.all(
      [...this.#processes.values()].map(async (child) => {
        child.kill("SIGKILL");
        await once(child, "exit");
      }),
    );
  }
}
