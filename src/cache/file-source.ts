// Opens files in one folder for a model. The model chooses the path, so ".." and symbolic links must not lead out of the folder.

import type { BigIntStats } from "node:fs";
import { constants } from "node:fs";
import { type FileHandle, open, opendir, realpath, stat } from "node:fs/promises";
import { basename, isAbsolute, join, relative, resolve, sep } from "node:path";
import { checkFields, type Checks, invalidOption, is, isRecord } from "../core/kit.ts";
import { isFilled } from "../shared/errors/check-fields.ts";
import { noFollow } from "./result-store.ts";
import type { RangedText, ReadSource, SourceText } from "./read-request.ts";

/** The options for `fileSource`. */
export interface FileSourceOptions {
  /**
   * The folder's name in ids: a file's id is this name, "/" and the path below the root. 1 to 64 letters, digits, ".",
   * "_" or "-". Default: the last part of the root's path.
   */
  readonly name?: string | undefined;
  /** The maximum size of a file in bytes. Larger files are refused. Default 2 GiB. */
  readonly maxBytes?: number | undefined;
  /**
   * Returns true for each file and folder that the model may read. Called with the path below the root, with "/" between its
   * parts. If a folder is refused, everything in it is refused too. Default: the model may read everything.
   */
  readonly accepts?: ((path: string) => boolean) | undefined;
}

export const sourceName: readonly [string, (value: unknown) => boolean] = [
  'a string of 1 to 64 letters, digits, ".", "_" or "-"',
  (value) => typeof value === "string" && /^[\w.-]{1,64}$/.test(value) && !/^\.+$/.test(value),
];

const checks: Checks<FileSourceOptions> = { name: sourceName, maxBytes: { min: 1 }, accepts: is.fn };

const fallbackBytes = 2 * 1_024 * 1_024 * 1_024;

const maxListed = 10_000;

/** The number of bytes at the beginning of a file that are searched for a NUL byte, which marks the file as binary. */
const inspectedBytes = 8_192;

/**
 * Creates a source for `createResultCache` that lets the model read the text files below the folder `root`. **The model can read
 * every file below the root**, including hidden files such as `.env`, unless `accepts` refuses them. Only regular files are read.
 * Symbolic links are followed if their target is below the root. Hard links are treated like ordinary files.
 *
 * A file's id is the name of the root and the path below it, for example "data/logs/app.log". Reading a folder's id lists its entries.
 * Files are read in ranges, and a range is kept in memory only while it is in use.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an option is invalid. If the root does not exist, each read fails with an error
 * that names the option.
 *
 * @example
 * const { tool } = createResultCache({ sources: [fileSource("./data", { accepts: (path) => !/(^|\/)\./.test(path) })] });
 */
export function fileSource(root: string, options: FileSourceOptions = {}): ReadSource {
  if (!isFilled(root)) throw invalidOption("root", "the path to a folder", root);
  checkFields("options", options, checks);
  const folder = resolve(root);
  const { name = basename(folder), maxBytes = fallbackBytes, accepts = (): boolean => true } = options;
  if (!sourceName[1](name)) throw invalidOption("name", sourceName[0], name);
  const place: Place = { folder, name, maxBytes, accepts };
  return {
    name,
    description: `files, whose ids are paths that begin with "${name}/". The id of a folder, such as "${name}", lists its entries`,
    open: async (id) => (id === name || id.startsWith(`${name}/`) ? openPath(place, id) : undefined),
  };
}

type Place = { readonly folder: string } & Required<{
  readonly [Key in keyof FileSourceOptions]: NonNullable<FileSourceOptions[Key]>;
}>;

async function openPath(place: Place, id: string): Promise<SourceText> {
  const { folder, name, accepts } = place;
  const parts = safePartsOf(id.slice(name.length + 1));
  if (parts === undefined || !isAccepted(parts, accepts)) throw missing(name);
  try {
    const base = await realpath(folder).catch((error: unknown) => {
      throw toRootError(error, name);
    });
    const path = await realpath(join(base, ...parts));
    const below = relative(base, path);
    const isOutside = below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below);
    // Checks the resolved path, because a symbolic link may lead outside the folder or to a path that `accepts` refuses.
    if (isOutside || !isAccepted(below.split(sep), accepts)) throw missing(name);
    const facts = await stat(path, { bigint: true });
    if (facts.isDirectory()) return await listFolder(place, path, parts);
    if (!facts.isFile()) throw new ReadError("This is neither a file nor a folder. Read another file.");
    return await openFile(path, facts, place);
  } catch (error) {
    if (error instanceof ReadError) throw error;
    throw toReadError(error, name);
  }
}

/** An error whose message the model may read. File system error messages would reveal absolute paths. */
class ReadError extends Error {}

function missing(name: string): ReadError {
  return new ReadError(`There is no such file or folder below "${name}". Read "${name}" to list the files.`);
}

/** Creates the error for a missing root folder, which would otherwise look to the model like a missing file. */
function toRootError(error: unknown, name: string): unknown {
  if (!isRecord(error) || error["code"] !== "ENOENT") return error;
  return new ReadError(`The folder "${name}" does not exist. The program must pass an existing folder as "root" of fileSource.`);
}

function toReadError(error: unknown, name: string): ReadError {
  const code = isRecord(error) && typeof error["code"] === "string" ? error["code"] : "unknown error";
  return code === "ENOENT" || code === "ENOTDIR"
    ? missing(name)
    : new ReadError(`This file cannot be read (${code}). Read another file.`);
}

/** Matches characters that must not be part of a name. On Windows, "\" separates folders, and ":" separates a file from its streams. */
const separators = sep === "/" ? /\0/ : /[\0\\:]/;

function safePartsOf(path: string): readonly string[] | undefined {
  if (separators.test(path)) return undefined;
  const parts = path.replace(/\/$/, "").split("/");
  if (parts.length === 1 && parts[0] === "") return [];
  return parts.some((part) => part === "" || part === "." || part === "..") ? undefined : parts;
}

/** True only for `true`. If `accepts` is asynchronous by mistake, it returns a promise, which must not count as true. */
function isTrue(accepted: unknown): boolean {
  return accepted === true;
}

function isAccepted(parts: readonly string[], accepts: Place["accepts"]): boolean {
  return parts.every((part, index) => part === "" || isTrue(accepts(parts.slice(0, index + 1).join("/"))));
}

async function openFile(path: string, facts: BigIntStats, { maxBytes }: Place): Promise<RangedText> {
  // If a pipe has replaced the file, opening it without O_NONBLOCK would wait for a writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
  try {
    const opened = await handle.stat({ bigint: true });
    // Checks the file again, because another process may have replaced a folder in its path with a link.
    const isSame = opened.isFile() && opened.ino === facts.ino && opened.dev === facts.dev && (await realpath(path)) === path;
    if (!isSame) throw new ReadError("This file has just been replaced. Repeat the call.");
    if (opened.size > maxBytes)
      throw new ReadError(`The file has ${opened.size} bytes. Only files of at most ${maxBytes} bytes are read.`);
    if ((await readRange(handle, 0, inspectedBytes)).includes(0))
      throw new ReadError("This file is binary, so it cannot be read as text.");
    return {
      bytes: Number(opened.size),
      version: `${opened.dev}:${opened.ino}:${opened.size}:${opened.mtimeNs}`,
      read: (offset, length) => readRange(handle, offset, length),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readRange(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

async function listFolder({ name, accepts }: Place, path: string, parts: readonly string[]): Promise<string> {
  const lines: string[] = [];
  let count = 0;
  for await (const entry of await opendir(path)) {
    const inside = [...parts, entry.name];
    if (!isAccepted(inside, accepts)) continue;
    count += 1;
    if (count > maxListed) break;
    lines.push([name, ...inside].join("/") + (entry.isDirectory() ? "/" : ""));
  }
  const more = count > maxListed ? [`(The folder has more than ${maxListed} entries.)`] : [];
  // Replaces line breaks in file names, because a name with one would look like two entries.
  return [...lines.sort().map((line) => line.replace(/[\n\r]/g, "?")), ...more].join("\n") || "(The folder is empty.)";
}
