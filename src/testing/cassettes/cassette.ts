// Where recordings are kept: a file, or a text in memory. Node is asked for only where a path is given.

import type * as fs from "node:fs";
import type * as path from "node:path";
import { type FileFacts, followOwnLinks, invalidOption, isOwn, isRecord, tightMode } from "../../core/entry-kit.ts";

/** What keeps the text of recordings, where a path of a file does not do. Its methods answer at once. */
export interface Cassette {
  /** All of its text; empty where nothing was recorded. */
  read(): string;
  /** Adds to the end. */
  append(text: string): void;
  /** Forgets everything. */
  clear(): void;
}

/**
 * Makes a cassette in memory, or of a text that was read elsewhere: for platforms without files, and for tests of tests.
 *
 * @example
 * const cassette = memoryCassette();
 * await runToolLoop({ provider: recordTo(cassette, provider), messages });
 * await runToolLoop({ provider: replayFrom(cassette), messages });
 */
export function memoryCassette(text = ""): Cassette {
  let kept = text;
  return {
    read: () => kept,
    append(added) {
      kept += added;
    },
    clear() {
      kept = "";
    },
  };
}

/** The cassette that an argument is or names. Throws LoopError "invalid-option" where it is neither. */
export function toCassette(file: string | Cassette): Cassette {
  if (typeof file === "string" && file !== "") return fileCassette(file);
  if (isCassette(file)) return file;
  throw invalidOption("file", "the path of a file, or a cassette", file);
}

/** How messages name it. */
export function nameOf(file: string | Cassette): string {
  return typeof file === "string" ? `The cassette ${file}` : "The cassette";
}

function isCassette(value: unknown): value is Cassette {
  if (!isRecord(value)) return false;
  return [value["read"], value["append"], value["clear"]].every((method) => typeof method === "function");
}

/** At once, so that a line is in the file before the run reads its chunk, and a run on a test clock is not held up. */
function fileCassette(path: string): Cassette {
  const { dirname } = nodeModule("node:path");
  const { closeSync, constants, ftruncateSync, mkdirSync, readFileSync, writeFileSync } = nodeModule("node:fs");
  const withFile = (flags: number, use: (file: number) => void): void => {
    const file = openOwnFile(path, constants.O_WRONLY | constants.O_CREAT | flags);
    try {
      use(file);
    } finally {
      closeSync(file);
    }
  };
  return {
    read: () => readFileSync(path, "utf8"),
    append: (text) => withFile(constants.O_APPEND, (file) => writeFileSync(file, text)),
    clear() {
      mkdirSync(dirname(path), { recursive: true });
      withFile(0, (file) => ftruncateSync(file));
    },
  };
}

/** Recordings hold what was said: they are for the owner of the file only, and go to no file that somebody else chose. */
function openOwnFile(path: string, flags: number): number {
  const { dirname, resolve } = nodeModule("node:path");
  const { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync, readlinkSync } = nodeModule("node:fs");
  const end = followOwnLinks(path, {
    lstat: (link) => lstatSync(link, { throwIfNoEntry: false }),
    readLink: readlinkSync,
    resolve: (link, target) => resolve(dirname(link), target),
  });
  if ("refused" in end) throw new Error(`${end.refused} is a link of another user. Remove it, or name the file itself.`);
  // Windows has neither flag.
  const file = openSync(end.place, flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0), 0o600);
  try {
    const facts = fstatSync(file);
    if (!facts.isFile()) throw new Error(`${path} is not a plain file. A cassette needs a file of its own.`);
    if (facts.nlink > 1)
      throw new Error(`${path} has other names (hard links). Remove them, or remove the file: it is made anew.`);
    tighten(facts, (mode) => fchmodSync(file, mode));
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function tighten(facts: FileFacts, change: (mode: number) => void): void {
  const mode = tightMode(facts);
  if (mode === undefined) return;
  try {
    change(mode);
  } catch (error) {
    // A disk without modes keeps the mode that it shows for every file.
    if (!isOwn(facts)) throw error;
  }
}

interface NodeModules {
  readonly "node:fs": typeof fs;
  readonly "node:path": typeof path;
}

/** An import would keep the whole kit out of browsers. */
function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const host: Partial<typeof process> | undefined = globalThis.process;
  if (typeof host?.getBuiltinModule === "function") return host.getBuiltinModule(name);
  throw new Error(
    "A cassette in a file needs Node 20.16 or later. Elsewhere hand in a cassette: an object with read, append and clear.",
  );
}
