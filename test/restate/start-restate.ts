// Starts a separate Restate server, on free ports and with its data in a temporary folder.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface RestateServer {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** Kills the server with SIGKILL, and starts it again after `downMs`. */
  crash(downMs?: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Finds a port that stays free while no process listens on it. The system uses ports from 32,768 on for outgoing connections, so
 * these ports are not used: a client that keeps connecting to a killed server could get the server's port for its own side of the
 * connection.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer();
    const isFree = new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!(await isFree)) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Returns undefined if there is no server for this platform. */
export function findServer(): string | undefined {
  try {
    const from = createRequire(import.meta.url).resolve("@restatedev/restate-server/package.json");
    return createRequire(from).resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
  } catch {
    return undefined;
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

function configOf(folder: string, ports: { readonly ingress: number; readonly admin: number; readonly node: number }): string {
  const settings = {
    "base-dir": join(folder, "data"),
    "bind-ip": "127.0.0.1",
    "advertised-host": "127.0.0.1",
    "listen-mode": "tcp",
    "bind-port": ports.node,
    "disable-telemetry": true,
    "default-num-partitions": 4,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return [...lines, "[ingress]", `bind-port = ${ports.ingress}`, "[admin]", `bind-port = ${ports.admin}`, ""].join("\n");
}

/** Needs the package `@restatedev/restate-server`, which exists for Linux and macOS. */
export async function startRestate(): Promise<RestateServer> {
  const path = findServer();
  if (path === undefined) throw new Error(`There is no Restate server for ${process.platform} ${process.arch}.`);
  const folder = await mkdtemp(join(tmpdir(), "turnwright-restate-"));
  const ports = { ingress: await findFreePort(), admin: await findFreePort(), node: await findFreePort() };
  const [ingressUrl, adminUrl] = [`http://127.0.0.1:${ports.ingress}`, `http://127.0.0.1:${ports.admin}`];
  const [configPath, logPath] = [join(folder, "restate.toml"), join(folder, "log")];
  await writeFile(configPath, configOf(folder, ports));
  let server: ChildProcess;
  const start = async (): Promise<void> => {
    // The server writes its log to a file. With a pipe, it could have to wait for this process.
    const command = `exec "${path}" -c "${configPath}" >> "${logPath}" 2>&1`;
    server = spawn("sh", ["-c", command], { stdio: "ignore", env: { ...process.env, NO_COLOR: "1" } });
    const until = performance.now() + 60_000;
    while (!(await isReady(`${adminUrl}/health`)) || !(await isReady(`${ingressUrl}/restate/health`))) {
      if (server.exitCode !== null || performance.now() > until)
        throw new Error(`Restate did not start:\n${(await readFile(logPath, "utf8")).slice(-4_000)}`);
      await sleep(20);
    }
  };
  const killNow = (): void => void server.kill("SIGKILL");
  process.once("exit", killNow);
  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
  };
  await start();
  return {
    ingressUrl,
    adminUrl,
    async crash(downMs = 500) {
      await kill();
      await sleep(downMs);
      await start();
    },
    async stop() {
      await kill();
      process.off("exit", killNow);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
