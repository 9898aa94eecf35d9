// Stores cached results in files in one directory. Nothing outside this directory is read or changed: file names are made from
// valid ids only, and symbolic links are not followed. Other files in the directory are ignored.

import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type ResultStore, type StoredResult, unlessMissing } from "../core/entry-kit.ts";
import { storedAt } from "./shelf.ts";

const ending = ".txt";

/** 0 on Windows, which does not define O_NOFOLLOW. */
export const noFollow: number = typeof constants.O_NOFOLLOW === "number" ? constants.O_NOFOLLOW : 0;

/**
 * Makes a store for `createResultCache` that keeps each result in a file. The directory is created if it does not exist. Several
 * processes may use the same directory. Only the owner of a file can read it.
 *
 * The methods of the store reject if `path` is a symbolic link, if an id is invalid, or if the file system fails.
 *
 * @example const cache = createResultCache({ store: directoryStore("/var/cache/results") });
 */
export function directoryStore(path: string): ResultStore {
  const directory = resolve(path);
  return {
    async write(id, text) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = await fileOf(directory, id);
      // With the flag "wx", opening fails if anything with this name exists, including a symbolic link.
      const handle = await open(file, "wx", 0o600);
      try {
        await handle.writeFile(text, "utf8");
      } finally {
        await handle.close();
      }
    },
    read: async (id) => fileOf(directory, id).then(readText).catch(unlessMissing),
    remove: async (id) => fileOf(directory, id).then(unlink).catch(unlessMissing),
    list: async () => (await listFiles(directory).catch(unlessMissing)) ?? [],
  };
}

async function fileOf(directory: string, id: string): Promise<string> {
  if (storedAt(id) === undefined) throw new Error("This is not the id of a cached result. Use an id that the cache returned.");
  await checkDirectory(directory);
  return join(directory, id + ending);
}

async function checkDirectory(directory: string): Promise<void> {
  if (!(await lstat(directory)).isDirectory())
    throw new Error(
      "The path of the result cache is not a directory, or is a symbolic link. Use the path of the directory itself.",
    );
}

async function readText(file: string): Promise<string | undefined> {
  // Without O_NOFOLLOW, `open` would follow a symbolic link, so links are rejected here.
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
  // Another process may have removed a file after `readdir`.
  const sizes = await Promise.all(ids.map((id) => sizeOf(join(directory, id + ending)).catch(unlessMissing)));
  return ids.flatMap((id, index) => {
    const bytes = sizes[index];
    return bytes === undefined ? [] : [{ id, bytes }];
  });
}

async function sizeOf(file: string): Promise<number | undefined> {
  const stats = await lstat(file);
  return stats.isFile() ? stats.size : undefined;
}
