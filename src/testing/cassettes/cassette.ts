// Where recordings are kept: a file, or a text in memory. Node is asked for only where a path is given.

import type * as fs from "node:fs";
import type * as path from "node:path";
import { invalidOption } from "../../errors/check-fields.ts";
import { isRecord } from "../../kit/is-record.ts";

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
  const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = nodeModule("node:fs");
  return {
    read: () => readFileSync(path, "utf8"),
    append: (text) => appendFileSync(path, text),
    clear() {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "", { mode: 0o600 });
    },
  };
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
