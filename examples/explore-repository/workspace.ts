// A folder that a model may read. A path from the model cannot lead out of the folder, even through a symbolic link.

import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { createIgnoreRules } from "./ignore-rules.ts";

/** A folder to explore. All paths are relative to this folder, and use "/" as the separator. */
export interface Workspace {
  /** The absolute path of the folder, without symbolic links. */
  readonly root: string;
  /**
   * Lists all files in a folder and its subfolders. Files near the root come first. Ignored files and symbolic links are omitted.
   * Throws if the folder does not exist.
   */
  listFiles(folder: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Returns the text of a file. Throws if the file is ignored, outside of the workspace, too large, or not text. */
  readText(path: string): Promise<string>;
}

const maxFiles = 10_000;
const maxFileBytes = 1_000_000;

/** Throws if the folder does not exist. */
export async function openWorkspace(at: string): Promise<Workspace> {
  const root = await realpath(at);
  const isIgnored = createIgnoreRules(await readFile(join(root, ".gitignore"), "utf8").catch(() => ""));

  /** Throws if the path is ignored or outside of the workspace. */
  async function locate(path: string): Promise<string> {
    const real = await realpath(resolve(root, path)).catch(() => undefined);
    const inside = real === undefined ? undefined : relative(root, real).replaceAll(sep, "/");
    // One message for paths that are outside, ignored or missing. Different messages would tell the model which files exist.
    if (real === undefined || inside === undefined || isOutside(inside) || isIgnored(inside))
      throw new Error(`There is no ${path} here.`);
    return real;
  }

  async function walk(folderPath: string, found: string[], signal: AbortSignal): Promise<void> {
    // A folder that cannot be read is left out, as if it were ignored.
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
      // A pipe or a device may block a read forever, so only regular files are opened.
      const facts = await stat(real);
      if (!facts.isFile()) throw new Error(`${path} is not a file.`);
      if (facts.size > maxFileBytes) throw new Error(`${path} is larger than ${maxFileBytes} bytes.`);
      // The original error message contains the absolute path of the folder, which the model should not see.
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
