// Connects a command to this process: its terminal, environment and signals.

import { spawn } from "node:child_process";
import { createInterface as readLines } from "node:readline";
import { createInterface } from "node:readline/promises";
import type { CliIO, SelfRun } from "./cli-io.ts";

export function createProcessIO(packageFolder: string): CliIO {
  return {
    packageFolder,
    ask: process.stdin.isTTY && process.stdout.isTTY ? askInTerminal : undefined,
    cwd: process.cwd(),
    env: process.env,
    isTerminal: process.stdout.isTTY,
    out: (line) => void process.stdout.write(`${line}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
    open: openTarget,
    runSelf: (args, how) => startSelf(args, how),
    stopSignal: () => createStopSignal(),
    catchErrors(take) {
      for (const name of ["unhandledRejection", "uncaughtException"]) process.on(name, take);
      // A reader such as `head` may close the pipe. Reporting that error would cause the same error again and again, so it is ignored and
      // the trials continue.
      for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
    },
  };
}

async function askInTerminal(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // Answers with "" after Ctrl+C or Ctrl+D. Otherwise, the question would wait forever.
  const closed = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  const answer = await Promise.race([terminal.question(question), closed]);
  terminal.close();
  return answer;
}

interface Opener {
  readonly program: string;
  readonly args: readonly string[];
}

type Self = Pick<NodeJS.Process, "argv" | "execArgv" | "execPath">;

/** Runs this program again with the same Node options. */
export function startSelf(args: readonly string[], { cwd, env, note, signal }: SelfRun, from: Self = process): Promise<number> {
  const [, program = ""] = from.argv;
  const child = spawn(from.execPath, [...from.execArgv, program, ...args], {
    cwd,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const stop = (): void => void child.kill("SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  readLines({ input: child.stderr }).on("line", note);
  return new Promise((settle, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      signal.removeEventListener("abort", stop);
      settle(code ?? 1);
    });
  });
}

/** Returns the program that opens a URL. The URL is a separate argument, so that no shell interprets it. */
export function findOpener(platform: NodeJS.Platform, url: string): Opener {
  if (platform === "darwin") return { program: "open", args: [url] };
  if (platform === "win32") return { program: "rundll32", args: ["url.dll,FileProtocolHandler", url] };
  return { program: "xdg-open", args: [url] };
}

function openTarget(url: string): boolean {
  const { program, args } = findOpener(process.platform, url);
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  // If the program is missing, the child emits "error", which would end this process if nothing listened.
  child.on("error", () => {});
  child.unref();
  return child.pid !== undefined;
}

const names = ["SIGINT", "SIGTERM"] as const;

type Signals = Pick<NodeJS.Process, "on" | "off">;

/** Returns a signal that the first SIGINT or SIGTERM aborts. The second SIGINT or SIGTERM ends the process, as if there were no handler. */
export function createStopSignal(from: Signals = process): AbortSignal {
  const stop = new AbortController();
  const abort = (): void => {
    for (const name of names) from.off(name, abort);
    stop.abort();
  };
  for (const name of names) from.on(name, abort);
  return stop.signal;
}

/** Ends the process once its output is written, even if the user's modules keep servers or timers open. */
export async function endProcess(exitCode: number): Promise<void> {
  const written = (stream: NodeJS.WriteStream): Promise<void> => new Promise((settle) => void stream.write("", () => settle()));
  await Promise.all([written(process.stdout), written(process.stderr)]);
  process.exit(exitCode);
}
