import { spawn } from "node:child_process";
import type { CliIO } from "./cli-io.ts";

export function createProcessIO(): CliIO {
  return {
    cwd: process.cwd(),
    env: process.env,
    isTerminal: process.stdout.isTTY,
    out: (line) => void process.stdout.write(`${line}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
    open: openTarget,
    stopSignal: () => createStopSignal(),
  };
}

interface Opener {
  readonly program: string;
  readonly args: readonly string[];
}

/** Returns the program that opens a URL. The URL is an argument of its own, so that no shell interprets it. */
export function findOpener(platform: NodeJS.Platform, url: string): Opener {
  if (platform === "darwin") return { program: "open", args: [url] };
  if (platform === "win32") return { program: "rundll32", args: ["url.dll,FileProtocolHandler", url] };
  return { program: "xdg-open", args: [url] };
}

function openTarget(url: string): boolean {
  const { program, args } = findOpener(process.platform, url);
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  // If the program is missing, the child emits an error event. Without a listener, the event would end this process.
  child.on("error", () => {});
  child.unref();
  return child.pid !== undefined;
}

const names = ["SIGINT", "SIGTERM"] as const;

type Signals = Pick<NodeJS.Process, "on" | "off">;

/**
 * Returns a signal that the first SIGINT or SIGTERM aborts. The second SIGINT or SIGTERM ends the process, as without a handler.
 */
export function createStopSignal(from: Signals = process): AbortSignal {
  const stop = new AbortController();
  const abort = (): void => {
    for (const name of names) from.off(name, abort);
    stop.abort();
  };
  for (const name of names) from.on(name, abort);
  return stop.signal;
}
