// A folder that a model may read, and nothing outside of it. Paths come from the model, and links from the authors of the files.

import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { createIgnoreRules } from "./ignore-rules.ts";

/** A folder to look into. Paths are relative to it, with "/" between their parts. */
export interface Workspace {
  /** Its absolute path, links resolved. */
  readonly root: string;
  /** Lists every file under a folder that is not ignored, nearest files first. Leaves out links. Throws if there is no such folder. */
  listFiles(folder: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Returns the text of a file. Throws if the file is ignored, outside, too large, or not text. */
  readText(path: string): Promise<string>;
}

const maxFiles = 10_000;
const maxFileBytes = 1_000_000;

/** Opens a folder. Throws if it does not exist. */
export async function openWorkspace(at: string): Promise<Workspace> {
  const root = await realpath(at);
  const isIgnored = createIgnoreRules(await readFile(join(root, ".gitignore"), "utf8").catch(() => ""));

  /** The real place of a path that a model wrote. */
  async function locate(path: string): Promise<string> {
    const real = await realpath(resolve(root, path)).catch(() => undefined);
    const inside = real === undefined ? undefined : relative(root, real).replaceAll(sep, "/");
    // The message is the same for files that are outside, ignored or absent, so that it does not reveal which files exist.
    if (real === undefined || inside === undefined || isOutside(inside) || isIgnored(inside))
      throw new Error(`There is no ${path} here.`);
    return real;
  }

  async function walk(folderPath: string, found: string[], signal: AbortSignal): Promise<void> {
    // A folder that may not be read is left out, as one that is ignored.
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
      // Asked before anything is opened: what is no plain file may keep a reader waiting for ever.
      const facts = await stat(real);
      if (!facts.isFile()) throw new Error(`${path} is not a file.`);
      if (facts.size > maxFileBytes) throw new Error(`${path} is larger than ${maxFileBytes} bytes.`);
      // The system's own words would name the folder above, too.
      const bytes = await readFile(real).catch(() => undefined);
      if (bytes === undefined) throw new Error(`${path} cannot be read.`);
      if (bytes.includes(0)) throw new Error(`${path} is not a text.`);
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
