// Finds the logs that a command shows, in files and in a folder, and writes files beside them.

import { open, readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isLoopError, isRecord } from "../core/entry-kit.ts";
import { journalToRunLog } from "../inspect/journal/journal-to-log.ts";
import { findStart } from "../inspect/log/find-start.ts";
import { CliError, messageOf } from "./cli-io.ts";

/** A file that can be shown. */
export interface FoundLog {
  readonly path: string;
  /** The name on the page: the path of the file, relative to the working directory or to its folder. */
  readonly name: string;
  readonly kind: "log" | "journal";
}

export interface FoundLogs {
  readonly logs: readonly FoundLog[];
  /** The files of the folder that are neither logs nor journals. */
  readonly skipped: readonly string[];
  /** The folder, if the paths name a folder. */
  readonly folder?: string | undefined;
}

type KnownLogs = ReadonlyMap<string, FoundLog>;

/** Finds logs by the paths of files and of one folder. The files of `known`, by path, are not read again. */
export async function findLogs(paths: readonly string[], cwd: string, known: KnownLogs = new Map()): Promise<FoundLogs> {
  const logs: FoundLog[] = [];
  const skipped: string[] = [];
  let folder: string | undefined;
  for (const given of paths) {
    const path = resolve(cwd, given);
    if (!(await readStat(path, given)).isDirectory()) {
      logs.push(known.get(path) ?? (await toNamedLog(path, given)));
      continue;
    }
    if (folder !== undefined) throw new CliError("There are two folders. Pass one folder, or the files themselves.", 2);
    folder = path;
    for (const name of await listFolder(path)) {
      const log = known.get(join(path, name)) ?? (await toLog(join(path, name), name));
      if (log === undefined) skipped.push(name);
      else logs.push(log);
    }
  }
  return { logs: withoutRepeats(logs, cwd), skipped, folder };
}

async function listFolder(path: string): Promise<readonly string[]> {
  const files = await readdir(path, { withFileTypes: true });
  return files.flatMap((file) => (file.isFile() && file.name.endsWith(".jsonl") ? [file.name] : [])).sort();
}

async function readStat(path: string, given: string): Promise<{ isDirectory(): boolean }> {
  try {
    return await stat(path);
  } catch (error) {
    const isMissing = isRecord(error) && error["code"] === "ENOENT";
    if (isMissing) throw new CliError(`There is no file ${given}. Check the path.`);
    throw new CliError(`${given} cannot be read: ${messageOf(error)}.`, 1, { cause: error });
  }
}

async function toLog(path: string, name: string): Promise<FoundLog | undefined> {
  const kind = await findStart(path);
  return kind && { path, name, kind };
}

async function toNamedLog(path: string, given: string): Promise<FoundLog> {
  const log = await toLog(path, basename(given));
  if (log !== undefined) return log;
  throw new CliError(`${given} is neither a run log nor a journal file. Pass a file of withRunLog or fileJournal.`);
}

function withoutRepeats(logs: readonly FoundLog[], cwd: string): readonly FoundLog[] {
  const byPath = new Map(logs.map((log) => [log.path, log]));
  const names = new Set<string>();
  return [...byPath.values()].map((log) => {
    const name = names.has(log.name) ? relative(cwd, log.path) : log.name;
    names.add(name);
    return { ...log, name };
  });
}

/** Returns the text of a log. A journal is converted. */
export async function readLogText({ path, name, kind }: FoundLog): Promise<string> {
  try {
    return kind === "log" ? await readFile(path, "utf8") : await journalToRunLog(path);
  } catch (error) {
    if (!isLoopError(error)) throw error;
    throw new CliError(`${name}: ${error.message}`, 1, { cause: error });
  }
}

const ownerOnly = 0o600;

/** Writes a file that only its owner can read, because a log holds private texts. */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    const file = await open(path, "w", ownerOnly);
    try {
      // The mode above only applies to a new file.
      if ((await file.stat()).isFile()) await file.chmod(ownerOnly);
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new CliError(`The file cannot be written: ${messageOf(error)}. Choose another path with -o.`, 1, { cause: error });
  }
}

/** Returns the path of a file beside a log. Its name is that of the log, with another ending. */
export function besideLog(path: string, ending: string): string {
  return join(dirname(path), `${basename(path).replace(/\.jsonl?$/, "")}${ending}`);
}
