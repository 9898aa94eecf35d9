// Stores cached results in files, and removes results that are too old or take too much space.

import type { Clock } from "../core/index.ts";
import { countBytes } from "../shared/estimate-tokens.ts";
import { describeValue } from "../shared/texts.ts";
import type { ResultStore } from "../core/types/middleware-options.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";

type StoredResult = Awaited<ReturnType<ResultStore["list"]>>[number];

const ending = ".txt";

/** The flag that refuses symbolic links. 0 on Windows, which does not define it. */
export const noFollow: number = typeof constants.O_NOFOLLOW === "number" ? constants.O_NOFOLLOW : 0;

/**
 * Creates a store for `createResultCache` that keeps each result in a file. The directory is created if it does not exist. Several
 * processes may use the same directory. Only the owner of a file can read it. Nothing outside the directory is read or changed:
 * file names are made from valid ids only, and symbolic links are not followed. Other files in the directory are ignored.
 *
 * The store's methods reject if `path` is a symbolic link, if an id is invalid, or if the file system fails.
 *
 * @example const cache = createResultCache({ store: directoryStore("/var/cache/results") });
 */
export function directoryStore(path: string): ResultStore {
  const directory = resolve(path);
  return {
    async write(id, text) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = await fileOf(directory, id);
      // The "wx" flag makes opening fail if anything with this name exists, even a symbolic link.
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
      "The path of the result cache is not a directory, or is a symbolic link. Use the path to the directory itself.",
    );
}

async function readText(file: string): Promise<string | undefined> {
  // Rejects links here, because `open` follows them on systems without O_NOFOLLOW.
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
  // Skips files that another process removed after `readdir`.
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

const shape = /^([0-9a-z]{1,11})-[0-9a-f]{24}$/;
const randomBytes = 12;

function createCacheId(now: number): string {
  const random = [...crypto.getRandomValues(new Uint8Array(randomBytes))].map((byte) => byte.toString(16).padStart(2, "0"));
  return `${Math.max(0, Math.floor(now)).toString(36)}-${random.join("")}`;
}

/** Extracts a result's storage time, in milliseconds since 1970, from its id. Returns undefined if the id is invalid. */
function storedAt(id: string): number | undefined {
  const time = shape.exec(id)?.[1];
  return time === undefined ? undefined : Number.parseInt(time, 36);
}

interface LimitedStoreSettings {
  readonly store: ResultStore;
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly clock: Pick<Clock, "now">;
}

/**
 * The store is listed again only when the results written since the previous listing amount to a quarter of the known results, because
 * listing is slow.
 */
const listedShare = 4;

export class LimitedStore {
  readonly #settings: LimitedStoreSettings;
  #known = new Map<string, number>();
  #total = 0;
  readonly #writing = new Set<string>();
  /**
   * The number of results written since the store was last listed. Infinite at first, so that the first write lists the
   * store.
   */
  #written = Number.POSITIVE_INFINITY;

  constructor(settings: LimitedStoreSettings) {
    this.#settings = settings;
  }

  async keep(text: string): Promise<string> {
    const { store, maxBytes, clock } = this.#settings;
    const bytes = countBytes(text);
    if (bytes > maxBytes)
      throw new Error(
        `A result of ${bytes} bytes does not fit in the result cache. Increase "maxBytes", which is currently ${maxBytes}.`,
      );
    if (this.#written * listedShare >= this.#known.size) await this.#list();
    const id = createCacheId(clock.now());
    // Reserves the space before writing, so that two concurrent results cannot use the same free space.
    this.#add(id, bytes);
    this.#written += 1;
    this.#writing.add(id);
    try {
      await this.#makeRoom(id);
      await store.write(id, text);
    } catch (error) {
      this.#forget(id);
      throw error;
    } finally {
      this.#writing.delete(id);
    }
    // If a concurrent call dropped this result before its file was written, removes the file.
    if (!this.#known.has(id)) await store.remove(id);
    return id;
  }

  /**
   * Reads the text of a stored result. Returns undefined if the result is missing or too old. Passes only valid ids to the store, because
   * ids come from models.
   */
  async find(id: string): Promise<string | undefined> {
    if (!this.#isFresh(id)) return undefined;
    const text: unknown = await this.#settings.store.read(id);
    if (text === undefined || typeof text === "string") return text;
    const problem = `The read() method of the result store must return a string, or undefined if there is no text, but returned ${describeValue(text)}.`;
    throw new Error(problem);
  }

  async remove(id: string): Promise<boolean> {
    if ((await this.find(id)) === undefined) return false;
    await this.#settings.store.remove(id);
    this.#forget(id);
    return true;
  }

  #isFresh(id: string): boolean {
    const { ttlMs, clock } = this.#settings;
    const time = storedAt(id);
    return time !== undefined && clock.now() - time < ttlMs;
  }

  /** Drops expired results, then the oldest results until the rest fits. Never drops the result `id`, which is being written. */
  async #makeRoom(id: string): Promise<void> {
    for (const old of this.#known.keys()) {
      if (old === id || (this.#total <= this.#settings.maxBytes && this.#isFresh(old))) return;
      await this.#settings.store.remove(old);
      this.#forget(old);
    }
  }

  /** Lists the store's contents again, because other caches and processes may write to the same store. */
  async #list(): Promise<void> {
    this.#written = 0;
    const settled = new Set([...this.#known.keys()].filter((id) => !this.#writing.has(id)));
    const listed = await this.#settings.store.list();
    // Remembers results that were written while the store was listing its contents, because the list may not include them.
    const recent = [...this.#known].filter(([id]) => !settled.has(id));
    this.#known = new Map();
    this.#total = 0;
    const own = listed.filter(({ id }) => storedAt(id) !== undefined);
    for (const { id, bytes } of own.sort((a, b) => timeOf(a.id) - timeOf(b.id))) this.#add(id, bytes);
    for (const [id, bytes] of recent) this.#add(id, bytes);
  }

  #add(id: string, bytes: number): void {
    if (this.#known.has(id)) return;
    this.#known.set(id, bytes);
    this.#total += bytes;
  }

  #forget(id: string): void {
    this.#total -= this.#known.get(id) ?? 0;
    this.#known.delete(id);
  }
}

function timeOf(id: string): number {
  return storedAt(id) ?? 0;
}
