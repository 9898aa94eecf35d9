// Opens a journal file. A lock file protects only one path of the journal, so a file is refused if it may have unknown paths.

import { constants, lstatSync, readlinkSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { followOwnLinks, isOwn, isRecord, LoopError, tightMode } from "../core/entry-kit.ts";
import { isAt, openGuards } from "./file-lock.ts";

export interface OpenFile {
  readonly file: FileHandle;
  readonly place: string;
  /** All paths of the file, sorted. Several if the file has hard links. */
  readonly names: readonly string[];
}

export async function openFile(path: string): Promise<OpenFile> {
  const place = await findPlace(path);
  const file = await open(place, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | openGuards, 0o600);
  try {
    await checkFile(path, { file, place });
    return { file, place, names: await findNames(path, { file, place }) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** A reader takes no lock and writes nothing, so the hard links and the mode of the file are not checked. */
export async function openForReading(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const facts = await file.stat();
    // A folder is accepted here, because reading the folder then fails with a clear error.
    if (!facts.isFile() && !facts.isDirectory()) throw refused(path, "it is not a regular file: choose another path");
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Follows symbolic links that belong to this user, and creates the folder. The returned path contains no more links. */
async function findPlace(path: string): Promise<string> {
  const end = followOwnLinks(path, {
    lstat: (link) => lstatSync(link, { throwIfNoEntry: false }),
    readLink: readlinkSync,
    resolve: (link, target) => resolve(dirname(link), target),
  });
  if ("refused" in end)
    throw refused(
      path,
      `${end.refused} is a symbolic link that belongs to another user: remove the link, or pass the path of the file itself`,
    );
  const folder = dirname(end.place);
  // EEXIST: the path of the folder is a file. Opening the journal then fails with a clear error.
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    if (!isRecord(error) || error["code"] !== "EEXIST") throw error;
  });
  return join(await realpath(folder), basename(end.place));
}

type Placed = Pick<OpenFile, "file" | "place">;

async function findNames(path: string, { file, place }: Placed): Promise<readonly string[]> {
  const { nlink } = await file.stat();
  if (nlink <= 1) return [place];
  // Only the hard links in this folder can be found.
  const folder = dirname(place);
  const names: string[] = [];
  for (const name of (await readdir(folder)).toSorted()) if (await isAt(join(folder, name), file)) names.push(join(folder, name));
  if (names.length >= nlink) return names;
  throw refused(
    path,
    "the file has hard links in other folders, where its lock file is not visible: remove these links, or copy the file",
  );
}

async function checkFile(path: string, { file, place }: Placed): Promise<void> {
  const facts = await file.stat();
  if (!facts.isFile()) throw refused(path, "it is not a regular file: choose another path");
  if (await isMountPoint(place)) {
    throw refused(path, "only the file itself is mounted, so other processes cannot see its lock file: mount its folder instead");
  }
  const mode = tightMode(facts);
  if (mode === undefined) return;
  // A file system without modes, such as FAT, shows the same mode for every file, and `chmod` fails. The failure is accepted if
  // this user owns the file.
  await file.chmod(mode).catch(() => {
    if (!isOwn(facts))
      throw refused(path, "the file belongs to another user, and other users can read it: use a file that you own");
  });
}

/** True if the file itself is a mount point. Containers can mount a single file. Always false outside Linux. */
async function isMountPoint(place: string): Promise<boolean> {
  const mounts = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  return mounts.split("\n").some((line) => readEscapes(line.split(" ")[4] ?? "") === place);
}

/** Decodes a path in `/proc/self/mountinfo`, where a space is written as `\040`. */
function readEscapes(name: string): string {
  return name.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/**
 * Throws LoopError "journal-refused" if another file is at the path now, because the lock belongs to the path and would no longer
 * protect the open file.
 */
export async function checkPlace(path: string, { file, place }: Placed): Promise<void> {
  if (await isAt(place, file)) return;
  throw refused(path, "the file was moved or removed while the run was writing it: restore the file, and repeat the call");
}

function refused(path: string, problem: string): LoopError<"journal-refused"> {
  return new LoopError("journal-refused", { path, problem });
}
