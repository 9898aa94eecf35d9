// Keeps cached results as files of one directory, and never touches anything outside it. File names are made from ids of the
// cache, links are not followed, and other files are ignored.

import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isRecord, type ResultStore, type StoredResult } from "../core/entry-kit.ts";
import { storedAt } from "./shelf.ts";

const ending = ".txt";

/** 0 on Windows, which has no such flag. */
const noFollow: number = typeof constants.O_NOFOLLOW === "number" ? constants.O_NOFOLLOW : 0;

/**
 * Makes a store for `createResultCache` in a directory, which is created if it does not exist. Several processes may share it.
 * Files are readable by their owner only.
 *
 * Its methods reject if the directory is a symbolic link or an id is not one of the cache, and with errors of the file system.
 *
 * @example const cache = createResultCache({ store: directoryStore("/var/cache/results") });
 */
export function directoryStore(path: string): ResultStore {
  const directory = resolve(path);
  return {
    async write(id, text) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = await fileOf(directory, id);
      // Fails if anything with that name exists, including a link.
      const handle = await open(file, "wx", 0o600);
      try {
        await handle.writeFile(text, "utf8");
      } finally {
        await handle.close();
      }
    },
    read: async (id) => unlessMissing(async () => readText(await fileOf(directory, id)), undefined),
    remove: async (id) => unlessMissing(async () => unlink(await fileOf(directory, id)), undefined),
    list: () => unlessMissing(() => listFiles(directory), []),
  };
}

/** Returns the file path of an id, after checking the directory. */
async function fileOf(directory: string, id: string): Promise<string> {
  if (storedAt(id) === undefined) throw new Error("This is no id of a cached result.");
  await checkDirectory(directory);
  return join(directory, id + ending);
}

async function checkDirectory(directory: string): Promise<void> {
  if (!(await lstat(directory)).isDirectory()) throw new Error("The path of the result cache is no directory, or a link to one.");
}

async function readText(file: string): Promise<string | undefined> {
  // Checked first, for systems without the flag.
  if (!(await lstat(file)).isFile()) return undefined;
  const handle = await open(file, constants.O_RDONLY | noFollow);
  try {
    return (await handle.stat()).isFile() ? await handle.readFile("utf8") : undefined;
  } finally {
    await handle.close();
  }
}

async function listFiles(directory: string): Promise<readonly StoredResult[]> {
  await checkDirectory(directory);
  const names = (await readdir(directory)).filter((name) => name.endsWith(ending));
  const ids = names.map((name) => name.slice(0, -ending.length)).filter((id) => storedAt(id) !== undefined);
  const sizes = await Promise.all(ids.map((id) => unlessMissing(() => sizeOf(join(directory, id + ending)), undefined)));
  return ids.flatMap((id, index) => {
    const bytes = sizes[index];
    return bytes === undefined ? [] : [{ id, bytes }];
  });
}

async function sizeOf(file: string): Promise<number | undefined> {
  const stats = await lstat(file);
  return stats.isFile() ? stats.size : undefined;
}

/** Ignores a missing file, because another process may have removed it. */
async function unlessMissing<T>(work: () => Promise<T>, fallback: T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isRecord(error) && error["code"] === "ENOENT") return fallback;
    throw error;
  }
}
