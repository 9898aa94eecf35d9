// A folder that a model may read. Paths from the model and links in the folder cannot lead to files outside of it.

import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { createIgnoreRules } from "./ignore-rules.ts";

/** A folder to explore. Paths are relative to the folder, and their parts are separated by "/". */
export interface Workspace {
  /** The absolute path of the folder, with links resolved. */
  readonly root: string;
  /**
   * Lists all files in a folder and its subfolders, nearest files first. Omits ignored files and links. Throws if the folder
   * does not exist.
   */
  listFiles(folder: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Returns the text of a file. Throws if the file is ignored, outside of the folder, too large, or not text. */
  readText(path: string): Promise<string>;
}

const maxFiles = 10_000;
const maxFileBytes = 1_000_000;

/** Opens a folder. Throws if it does not exist. */
export async function openWorkspace(at: string): Promise<Workspace> {
  const root = await realpath(at);
  const isIgnored = createIgnoreRules(await readFile(join(root, ".gitignore"), "utf8").catch(() => ""));

  /** Returns the real path for a path from the model. */
  async function locate(path: string): Promise<string> {
    const real = await realpath(resolve(root, path)).catch(() => undefined);
    const inside = real === undefined ? undefined : relative(root, real).replaceAll(sep, "/");
    // The message is the same for files that are outside, ignored or missing. Different messages would reveal which files
    // exist.
    if (real === undefined || inside === undefined || isOutside(inside) || isIgnored(inside))
      throw new Error(`There is no ${path} here.`);
    return real;
  }

  async function walk(folderPath: string, found: string[], signal: AbortSignal): Promise<void> {
    // A folder without read permission is omitted, like an ignored folder.
    for (const entry of await readdir(folderPath, { withFileTypes: true }).catch(() => [])) {
      signal.throwIfAborted();
      if (found.length >= maxFiles) return;
      const path = join(folderPath, entry.name);
      const inside = relative(root, path).replaceAll(sep, "/");
      if (isIgnored(inside)) continue;
      if (entry.isDirectory()) await walk(path, found, signal);
      else if (entry.isFile()) found.push(inside);
    }
  }

  return {
    root,
    async listFiles(folder, signal) {
      const found: string[] = [];
      const real = await locate(folder);
      if (!(await stat(real)).isDirectory()) throw new Error(`${folder} is not a folder.`);
      await walk(real, found, signal);
      return found.sort((one, other) => depthOf(one) - depthOf(other) || (one < other ? -1 : 1));
    },
    async readText(path) {
      const real = await locate(path);
      // The type is checked before the file is opened, because reading from something else, such as a pipe, may wait forever.
      const facts = await stat(real);
      if (!facts.isFile()) throw new Error(`${path} is not a file.`);
      if (facts.size > maxFileBytes) throw new Error(`${path} is larger than ${maxFileBytes} bytes.`);
      // The error message from the system would reveal the path of the parent folder.
      const bytes = await readFile(real).catch(() => undefined);
      if (bytes === undefined) throw new Error(`${path} cannot be read.`);
      if (bytes.includes(0)) throw new Error(`${path} is not a text file.`);
      return bytes.toString("utf8");
    },
  };
}

function depthOf(path: string): number {
  return path.split("/").length;
}

function isOutside(path: string): boolean {
  return path === ".." || path.startsWith("../") || isAbsolute(path);
}
