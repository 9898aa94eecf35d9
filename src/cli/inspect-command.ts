// The command `turnwright inspect`: writes the page of logs and opens it, or serves it while the logs grow.

import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { serveLogs, type ServedLog } from "../inspect/live/serve-logs.ts";
import { renderRunPage } from "../inspect/page/render-run-page.ts";
import { CliError, type CliIO, messageOf, wrongUsage } from "./cli-io.ts";
import { besideLog, findLogs, type FoundLog, type FoundLogs, readLogText, writePrivate } from "./log-files.ts";
import { parseArguments } from "./parse-arguments.ts";

const options = {
  out: { type: "string", short: "o" },
  "no-open": { type: "boolean" },
  live: { type: "boolean" },
  port: { type: "string" },
} as const;

export async function inspectLogs(args: readonly string[], io: CliIO): Promise<void> {
  const { values, positionals } = parseArguments(args, options);
  if (positionals.length === 0) throw wrongUsage("`inspect` needs the path of a log.");
  if (values.port !== undefined && values.live !== true) throw wrongUsage("--port needs --live.");
  if (values.out !== undefined && values.live === true) throw wrongUsage("--live serves the page, so it does not take --out.");
  const found = await findLogs(positionals, io.cwd);
  for (const name of found.skipped) io.note(`Skipped ${name}: it is neither a run log nor a journal file.`);
  const isOpened = values["no-open"] !== true && io.isTerminal && io.env["CI"] === undefined;
  const show = (url: string): void => {
    io.out(url);
    if (isOpened && !io.open(url)) io.note("No browser could be opened. Open the URL yourself.");
  };
  if (values.live === true) {
    return serveLive(positionals, { found, port: readPort(values.port), io, show });
  }
  if (found.logs.length === 0) throw new CliError("The folder has no logs. Write one with withRunLog of turnwright/inspect.");
  show(pathToFileURL(await writePage(found, values.out, io)).href);
}

function readPort(port: string | undefined): number | undefined {
  if (port === undefined) return undefined;
  if (/^\d+$/.test(port) && Number(port) <= 65_535) return Number(port);
  throw wrongUsage(`--port must be a whole number from 0 to 65535, but is "${port}".`);
}

/** Writes the page next to its log, or into the folder of its logs. */
async function writePage({ logs, folder }: FoundLogs, out: string | undefined, io: CliIO): Promise<string> {
  const texts: { name: string; text: string }[] = [];
  for (const log of logs) texts.push({ name: log.name, text: await readLogText(log) });
  const page = await renderRunPage(texts);
  const path = out === undefined ? choosePath(logs, folder, io.cwd) : resolve(io.cwd, out);
  await writePrivate(path, page);
  return path;
}

function choosePath([first, ...others]: readonly FoundLog[], folder: string | undefined, cwd: string): string {
  if (first !== undefined && others.length === 0) return besideLog(first.path, ".html");
  return join(folder ?? dirname(first?.path ?? cwd), "runs.html");
}

interface Serving {
  readonly found: FoundLogs;
  readonly port: number | undefined;
  readonly io: CliIO;
  readonly show: (url: string) => void;
}

async function serveLive(paths: readonly string[], { found, port, io, show }: Serving): Promise<void> {
  // A journal is converted once, because its log cannot be continued.
  const served = new Map<string, FoundLog & ServedLog>();
  const list = async (): Promise<readonly ServedLog[]> => {
    const { logs } = await findLogs(paths, io.cwd, served);
    for (const log of logs) if (!served.has(log.path)) served.set(log.path, await toServed(log));
    return [...served.values()];
  };
  const server = await startServer({ list, folder: found.folder, port });
  try {
    show(server.url);
    io.note("The page follows the logs. Stop with Ctrl+C.");
    if (!io.signal.aborted) await new Promise<void>((stop) => io.signal.addEventListener("abort", () => stop(), { once: true }));
  } finally {
    await server.close();
  }
}

async function toServed(log: FoundLog): Promise<FoundLog & ServedLog> {
  return log.kind === "log" ? log : { ...log, text: await readLogText(log) };
}

async function startServer(given: Parameters<typeof serveLogs>[0]): ReturnType<typeof serveLogs> {
  try {
    return await serveLogs(given);
  } catch (error) {
    throw new CliError(`The server cannot start: ${messageOf(error)}. Choose another --port.`, 1, { cause: error });
  }
}
