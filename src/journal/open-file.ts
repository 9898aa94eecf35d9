// Opens a journal file. A lock file only protects one name, so all names of the file must be found, or the file is rejected.

import { constants, lstatSync, readlinkSync } from "node:fs";
import { type FileHandle, open, readdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { followOwnLinks, isOwn, LoopError, tightMode } from "../core/entry-kit.ts";
import { isAt } from "./file-lock.ts";

/** An open file, and its canonical path. */
export interface OpenFile {
  readonly file: FileHandle;
  /** The absolute path, without links. */
  readonly place: string;
  /** All paths of the file, in the same order for each of them. More than one if it has hard links. */
  readonly names: readonly string[];
}

/** Windows has neither flag. Without O_NONBLOCK, a pipe could block the process. */
const guards = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a file for reading and appending, and creates it if needed. Rejects with LoopError "journal-refused", or with errors of
 * the disk.
 */
export async function openFile(path: string): Promise<OpenFile> {
  const place = await findPlace(path);
  const file = await open(place, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | guards, 0o600);
  try {
    await checkFile(path, { file, place });
    return { file, place, names: await findNames(path, { file, place }) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Opens a file for reading. It is not written, so its names and mode do not matter. */
export async function openForReading(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const facts = await file.stat();
    // For a folder, the first read fails.
    if (!facts.isFile() && !facts.isDirectory()) throw refused(path, "it is not a plain file");
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Follows the caller's own links here. Opening the file then follows none. */
async function findPlace(path: string): Promise<string> {
  const end = followOwnLinks(path, {
    lstat: (link) => lstatSync(link, { throwIfNoEntry: false }),
    readLink: readlinkSync,
    resolve: (link, target) => resolve(dirname(link), target),
  });
  if ("refused" in end) throw refused(path, `${end.refused} is a link of another user: remove it, or name the file itself`);
  return join(await realpath(dirname(end.place)), basename(end.place));
}

type Placed = Pick<OpenFile, "file" | "place">;

/** Finds the hard links in the folder of the file. Others cannot be found. */
async function findNames(path: string, { file, place }: Placed): Promise<readonly string[]> {
  const { nlink } = await file.stat();
  if (nlink <= 1) return [place];
  const folder = dirname(place);
  const names: string[] = [];
  for (const name of (await readdir(folder)).toSorted()) if (await isAt(join(folder, name), file)) names.push(join(folder, name));
  if (names.length >= nlink) return names;
  throw refused(
    path,
    "the file has names (hard links) in other folders, and its lock is not seen there: remove these names, or make a copy",
  );
}

async function checkFile(path: string, { file, place }: Placed): Promise<void> {
  const facts = await file.stat();
  if (!facts.isFile()) throw refused(path, "it is not a plain file");
  if (await isMountPoint(place)) {
    throw refused(path, "it is mounted as a single file, so that its lock is not seen elsewhere: mount its folder");
  }
  const mode = tightMode(facts);
  if (mode === undefined) return;
  // A file system without modes, such as FAT, shows the same mode for every file.
  await file.chmod(mode).catch(() => {
    if (!isOwn(facts)) throw refused(path, "it belongs to another user, and others can read it: make a file of your own");
  });
}

/** True if the file itself is a mount point, as containers do with single files. Linux only. */
async function isMountPoint(place: string): Promise<boolean> {
  const mounts = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  return mounts.split("\n").some((line) => readEscapes(line.split(" ")[4] ?? "") === place);
}

/** Decodes mount paths, in which a space is `\040`. */
function readEscapes(name: string): string {
  return name.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** Throws LoopError "journal-refused" if a path no longer refers to the open file, because its lock does not protect that file then. */
export async function checkPlace(path: string, { file, place }: Placed): Promise<void> {
  if (await isAt(place, file)) return;
  throw refused(path, "the file was moved or removed while its run was writing it: put it back, and make the same call again");
}

function refused(path: string, problem: string): LoopError<"journal-refused"> {
  return new LoopError("journal-refused", { path, problem });
}
