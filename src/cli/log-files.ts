import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { isLoopError } from "../core/index.ts";
import { isRecord } from "../core/kit.ts";
import { journalToRunLog } from "../inspect/journal/journal-to-log.ts";
import { findStart } from "../inspect/log/log-file.ts";
import { writeWhole } from "../journal/named-files.ts";
import { CliError, messageOf } from "./cli-io.ts";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";

export interface FoundLog {
  readonly path: string;
  /**
   * The log's name on the page: its file name. If two logs have the same file name, the second one is named by its path relative to the
   * working directory.
   */
  readonly name: string;
  readonly kind: "log" | "journal";
}

export interface SkippedFile {
  readonly name: string;
  readonly reason: string;
}

export interface FoundLogs {
  readonly logs: readonly FoundLog[];
  readonly skipped: readonly SkippedFile[];
  readonly folder?: string | undefined;
}

interface Finding {
  readonly cwd: string;
  /** The logs that an earlier call to `findLogs` returned, by path. Their files are not read again. */
  readonly known?: ReadonlyMap<string, FoundLog> | undefined;
  /** True if a file that does not exist yet, or is still empty, counts as a log. Default: false. */
  readonly areAwaited?: boolean | undefined;
}

export async function findLogs(paths: readonly string[], finding: Finding): Promise<FoundLogs> {
  const logs: FoundLog[] = [];
  const skipped: SkippedFile[] = [];
  let folder: string | undefined;
  for (const given of paths) {
    const path = resolve(finding.cwd, given);
    const log = finding.known?.get(path) ?? (await findNamed(path, given, finding));
    if (log !== undefined) {
      logs.push(log);
      continue;
    }
    if (folder !== undefined) throw new CliError("Two folders were given. Pass one folder, or pass the files themselves.", 2);
    folder = path;
    for (const name of await listFolder(path)) {
      const found = finding.known?.get(join(path, name)) ?? (await findInFolder(join(path, name), name));
      if ("kind" in found) logs.push(found);
      else skipped.push(found);
    }
  }
  return { logs: withoutRepeats(logs, finding.cwd), skipped, folder };
}

/** Returns the log at a path, or undefined for a folder. */
async function findNamed(path: string, given: string, { areAwaited = false }: Finding): Promise<FoundLog | undefined> {
  const { isFolder, size } = await readSize(path, given, areAwaited);
  if (isFolder) return undefined;
  const kind = size === 0 && areAwaited ? "log" : await findStart(path);
  if (kind !== undefined) return { path, name: basename(given), kind };
  throw notALog(given);
}

export function notALog(given: string): CliError {
  return new CliError(`${given} is neither a run log nor a journal file. Pass a file written by runLog or fileJournal.`);
}

async function findInFolder(path: string, name: string): Promise<FoundLog | SkippedFile> {
  try {
    const kind = await findStart(path);
    return kind === undefined ? { name, reason: "it is neither a run log nor a journal file" } : { path, name, kind };
  } catch (error) {
    return { name, reason: messageOf(error) };
  }
}

async function listFolder(path: string): Promise<readonly string[]> {
  const files = await readdir(path, { withFileTypes: true });
  return files.flatMap((file) => (file.isFile() && file.name.endsWith(".jsonl") ? [file.name] : [])).sort();
}

interface FileSize {
  readonly isFolder: boolean;
  readonly size: number;
}

async function readSize(path: string, given: string, areAwaited: boolean): Promise<FileSize> {
  try {
    const found = await stat(path);
    return { isFolder: found.isDirectory(), size: found.size };
  } catch (error) {
    const isMissing = isRecord(error) && error["code"] === "ENOENT";
    if (!isMissing) throw new CliError(`${given} cannot be read: ${messageOf(error)}.`, 1, { cause: error });
    if (!areAwaited) throw new CliError(`There is no file ${given}. Check the path.`);
    // A path without a file extension probably means a folder, and a folder must exist.
    if (extname(path) === "") throw new CliError(`There is no folder ${given}. Create it first, or pass the path to a log.`);
    return { isFolder: false, size: 0 };
  }
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

export async function readLogText({ path, name, kind }: FoundLog): Promise<string> {
  try {
    return kind === "log" ? await readFile(path, "utf8") : await journalToRunLog(path);
  } catch (error) {
    if (!isLoopError(error)) throw error;
    throw new CliError(`${name}: ${error.message}`, 1, { cause: error });
  }
}

export function besideLog(path: string, ending: string): string {
  return join(dirname(path), `${basename(path).replace(/\.jsonl?$/, "")}${ending}`);
}

/**
 * Writes a file that only its owner can read, because a log contains private text. Replaces the file at the path. If the path is a
 * symbolic link, replaces the link, because another user with access to the folder could have created the link.
 */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    // Appends to a device such as /dev/stdout, because it cannot be replaced and may be redirected to a file that contains other text.
    if (/^\/(?:dev|proc)\//.test(path)) await writeFile(path, text, { flag: "a" });
    else await writeWhole(path, text);
  } catch (error) {
    throw new CliError(`The file cannot be written: ${messageOf(error)}. Choose another path.`, 1, { cause: error });
  }
}

interface PrivateLink {
  readonly url: string;
  remove(): Promise<void>;
}

/**
 * Writes a file that redirects a browser to `url`, and that only its owner can read. The browser gets the path of this file as
 * its argument. It must not get the secret `url`, because all users of the machine can read the arguments of a process.
 */
export async function makePrivateLink(url: string): Promise<PrivateLink> {
  const folder = await mkdtemp(join(tmpdir(), "turnwright-"));
  const path = join(folder, "open.html");
  await writeFile(
    path,
    `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${url}">
<title>Runs</title>
<a href="${url}">Open the page</a>
`,
    { mode: 0o600, flag: "wx" },
  );
  return { url: pathToFileURL(path).href, remove: () => rm(folder, { recursive: true, force: true }) };
}
