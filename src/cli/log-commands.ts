// Implements `turnwright inspect`, which writes logs to a web page and opens it, or serves the page while the logs grow.

import { once } from "node:events";
import { realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type ServedLog, serveLogs } from "../inspect/live/serve-logs.ts";
import { renderRunPage } from "../inspect/page/render-run-page.ts";
import { CliError, type CliIO, messageOf, parseArguments, wrongUsage } from "./cli-io.ts";
import {
  besideLog,
  findLogs,
  type FoundLog,
  type FoundLogs,
  makePrivateLink,
  readLogText,
  type SkippedFile,
  writePrivate,
} from "./log-files.ts";
import { toChromeTrace } from "../inspect/exports/chrome-trace.ts";
import { toMarkdown } from "../inspect/exports/markdown.ts";
import { parseRunLog } from "../inspect/log/read-run-log.ts";
import type { RunLog } from "../shared/run-log.ts";

const options = {
  out: { type: "string", short: "o" },
  "no-open": { type: "boolean" },
  live: { type: "boolean" },
  port: { type: "string" },
} as const;

export async function inspectLogs(args: readonly string[], io: CliIO): Promise<void> {
  const { values, positionals } = parseArguments(args, options);
  if (positionals.length === 0) throw wrongUsage("`inspect` needs the path to a log.");
  if (values.port !== undefined && values.live !== true) throw wrongUsage("--port needs --live.");
  if (values.out !== undefined && values.live === true)
    throw wrongUsage("--live serves the page and writes no file. Leave out --out.");
  const found = await findLogs(positionals, { cwd: io.cwd, areAwaited: values.live });
  for (const file of found.skipped) noteSkipped(file, io);
  const isOpened = values["no-open"] !== true && io.isTerminal && io.env["CI"] === undefined;
  const show = (url: string): void => {
    if (!io.open(url)) io.note("No browser could be opened. Open the URL yourself.");
  };
  const openPage = isOpened ? show : undefined;
  if (values.live === true) {
    return serveLive(positionals, { found, port: readPort(values.port), io, openPage });
  }
  const { href } = pathToFileURL(await writePage(found, values.out, io));
  io.out(href);
  openPage?.(href);
}

function readPort(port: string | undefined): number | undefined {
  if (port === undefined) return undefined;
  if (/^\d+$/.test(port) && Number(port) <= 65_535) return Number(port);
  throw wrongUsage(`--port is "${port}", but must be a whole number from 0 to 65535.`);
}

function noteSkipped({ name, reason }: SkippedFile, io: CliIO): void {
  io.note(`Skipped ${name}: ${reason.replace(/\.$/, "")}.`);
}

/** Writes the HTML page that shows the logs. Returns its path: `out`, a path next to the log, or runs.html in the logs' folder. */
async function writePage(found: FoundLogs, out: string | undefined, io: CliIO): Promise<string> {
  const texts: { name: string; text: string }[] = [];
  for (const log of found.logs) {
    const text = await readFound(log, found, io);
    if (text !== undefined) texts.push({ name: log.name, text });
  }
  if (texts.length === 0) throw new CliError("The folder has no logs. Write one with runLog from turnwright/inspect.");
  const page = await renderRunPage(texts);
  const path = out === undefined ? choosePath(found.logs, found.folder, io.cwd) : resolve(io.cwd, out);
  await writePrivate(path, page);
  return path;
}

/** Returns a log's text. Skips an unreadable log in a folder, so that the other logs are still shown. */
async function readFound(log: FoundLog, { folder }: FoundLogs, io: CliIO): Promise<string | undefined> {
  try {
    return await readLogText(log);
  } catch (error) {
    if (folder === undefined || dirname(log.path) !== folder) throw error;
    const cause = error instanceof CliError ? error.cause : error;
    noteSkipped({ name: log.name, reason: messageOf(cause) }, io);
    return undefined;
  }
}

function choosePath([first, ...others]: readonly FoundLog[], folder: string | undefined, cwd: string): string {
  if (first !== undefined && others.length === 0) return besideLog(first.path, ".html");
  return join(folder ?? dirname(first?.path ?? cwd), "runs.html");
}

interface Serving {
  readonly found: FoundLogs;
  readonly port: number | undefined;
  readonly io: CliIO;
  readonly openPage: ((url: string) => void) | undefined;
}

async function serveLive(paths: readonly string[], { found, port, io, openPage }: Serving): Promise<void> {
  // Converts each journal only once, when it is found, so the page does not show lines that are appended later.
  const known = new Map<string, FoundLog>();
  const served = new Map<string, ServedLog>();
  const list = async (): Promise<readonly ServedLog[]> => {
    const now = await findLogs(paths, { cwd: io.cwd, known, areAwaited: true });
    for (const log of now.logs.filter(({ path }) => !known.has(path))) {
      const { path, name, kind } = log;
      const text = kind === "log" ? undefined : await readFound(log, now, io);
      known.set(path, log);
      // Resolves a symbolic link from the command line, because the server refuses links.
      if (kind === "log") served.set(path, { name, path: await realpath(path).catch(() => path) });
      else if (text !== undefined) served.set(path, { name, text });
    }
    return [...served.values()];
  };
  const server = await startServer({ list, folder: found.folder, port });
  const link = openPage && (await makePrivateLink(server.url));
  try {
    io.out(server.url);
    if (link !== undefined) openPage?.(link.url);
    io.note("The page follows the logs. Press Ctrl+C to stop.");
    const signal = io.stopSignal();
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    await link?.remove();
    await server.close();
  }
}

async function startServer(given: Parameters<typeof serveLogs>[0]): ReturnType<typeof serveLogs> {
  try {
    return await serveLogs(given);
  } catch (error) {
    throw new CliError(`The server cannot start: ${messageOf(error)}. Choose another --port.`, 1, { cause: error });
  }
}

const formats = {
  "chrome-trace": { ending: ".trace.json", write: (log: RunLog): string => toChromeTrace(log) },
  markdown: { ending: ".md", write: ({ runs }: RunLog): string => runs.map((run) => toMarkdown(run)).join("\n") },
} as const;

export async function exportLog(args: readonly string[], io: CliIO): Promise<void> {
  const { values, positionals } = parseArguments(args, {
    format: { type: "string", short: "f" },
    out: { type: "string", short: "o" },
  });
  if (positionals.length !== 1) throw wrongUsage("`export` needs the path to a log.");
  const { format } = values;
  if (!isFormat(format)) throw wrongUsage(`--format must be ${Object.keys(formats).join(" or ")}.`);
  const { logs, folder } = await findLogs(positionals, { cwd: io.cwd });
  const [log] = logs;
  if (log === undefined || folder !== undefined) throw wrongUsage("`export` needs a log, not a folder.");
  const { ending, write } = formats[format];
  const path = values.out === undefined ? besideLog(log.path, ending) : resolve(io.cwd, values.out);
  await writePrivate(path, write(parseRunLog(await readLogText(log))));
  io.out(path);
}

function isFormat(format: string | undefined): format is keyof typeof formats {
  return format !== undefined && Object.hasOwn(formats, format);
}
