// The command `turnwright inspect`: writes the page of logs and opens it, or serves it while the logs grow.

import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { serveLogs, type ServedLog } from "../inspect/live/serve-logs.ts";
import { renderRunPage } from "../inspect/page/render-run-page.ts";
import { CliError, type CliIO, wrongUsage } from "./cli-io.ts";
import { findLogs, type FoundLog, type FoundLogs, readLogText } from "./find-logs.ts";
import { parseArguments, toNumber } from "./parse-arguments.ts";
import { nameWithoutEnding, writePrivate } from "./write-private.ts";

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
    const port = values.port === undefined ? undefined : toNumber("port", values.port, { min: 0, max: 65_535 });
    return serveLive(positionals, { found, port, io, show });
  }
  if (found.logs.length === 0) throw new CliError("The folder has no logs. Write one with withRunLog of turnwright/inspect.");
  show(pathToFileURL(await writePage(found, values.out, io)).href);
}

/** Writes the page next to its log, or into the folder of its logs. */
async function writePage({ logs, folder }: FoundLogs, out: string | undefined, io: CliIO): Promise<string> {
  const texts: { name: string; text: string }[] = [];
  for (const log of logs) texts.push({ name: log.name, text: await readLogText(log) });
  const page = await renderRunPage(texts);
  const [first] = logs;
  const besideFirst = join(folder ?? dirname(first?.path ?? io.cwd), logs.length === 1 ? toPageName(first) : "runs.html");
  const path = out === undefined ? besideFirst : resolve(io.cwd, out);
  await writePrivate(path, page);
  return path;
}

function toPageName(log: FoundLog | undefined): string {
  return `${nameWithoutEnding(log?.path ?? "run")}.html`;
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
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`The server cannot start: ${reason}. Choose another --port.`, 1, { cause: error });
  }
}
