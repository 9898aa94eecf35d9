// A Restate server, a load balancer, and workers in separate processes. Tests can kill and freeze the workers.

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Balancer, startBalancer } from "./balancer.ts";
import { startProgram } from "./checks.ts";
import { findFreePort, type RestateServer, startRestate } from "./start-restate.ts";

export class Fleet {
  readonly server: RestateServer;
  readonly notesPath: string;
  readonly #balancer: Balancer;
  readonly #folder: string;
  readonly #workers = new Set<ChildProcess>();

  private constructor(server: RestateServer, balancer: Balancer) {
    this.server = server;
    this.#balancer = balancer;
    this.#folder = mkdtempSync(join(tmpdir(), "turnwright-fleet-"));
    this.notesPath = join(this.#folder, "notes.jsonl");
    writeFileSync(this.notesPath, "");
  }

  /** If a worker is silent for `leaseMs`, it gets no more calls. */
  static async begin(leaseMs: number): Promise<Fleet> {
    return new Fleet(await startRestate(), await startBalancer(leaseMs));
  }

  get workers(): readonly ChildProcess[] {
    return [...this.#workers];
  }

  /** Resolves when the worker is ready. */
  async start(): Promise<ChildProcess> {
    const port = await findFreePort();
    const { ingressUrl, adminUrl } = this.server;
    const worker = startProgram("worker-process.ts", [ingressUrl, adminUrl, this.#balancer.url, String(port), this.notesPath]);
    this.#workers.add(worker);
    const remove = this.#balancer.add(port);
    worker.once("exit", () => {
      this.#workers.delete(worker);
      remove();
    });
    if (worker.stdout === null) throw new Error("The worker has no output.");
    await Promise.race([once(worker.stdout, "data"), once(worker, "exit")]);
    return worker;
  }

  async killAll(): Promise<void> {
    await Promise.all(
      this.workers.map(async (worker) => {
        const ended = once(worker, "exit");
        worker.kill("SIGKILL");
        await ended;
      }),
    );
  }

  async stop(): Promise<void> {
    await this.killAll();
    await this.#balancer.stop();
    await this.server.stop();
    rmSync(this.#folder, { recursive: true });
  }
}
