// Cassettes: a file or a text in memory, with a head, then one line of JSON for each event of a stream.

import type * as fs from "node:fs";
import type * as path from "node:path";
import {
  type FileFacts,
  followOwnLinks,
  invalidOption,
  isOwn,
  isProviderError,
  isRecord,
  type ModelChunk,
  parseJson,
  type Provider,
  type ProviderError,
  tightMode,
  type UnknownRecord,
} from "../../core/entry-kit.ts";
import { isPrint, type RequestPrint } from "./request-print.ts";

/** The provider and model that were recorded. */
type Recorded = Pick<Provider, "id" | "model" | "family">;

/** An event of a stream, without its time. */
export type Happening =
  | { readonly type: "chunk"; readonly chunk: ModelChunk }
  | { readonly type: "heartbeat" }
  /** The signal of the call fired. Later events were still sent by the stream. */
  | { readonly type: "aborted" }
  | { readonly type: "ended" }
  | { readonly type: "threw"; readonly error: ProviderError }
  /** The reader left the stream. `waiting` is true if it left while waiting for a chunk. */
  | { readonly type: "left"; readonly waiting: boolean };

/** An event of a stream, and its time after the request, in whole milliseconds. */
export type Moment = Happening & { readonly atMs: number };

/** A line after the head. `stream` is the 0-based number of a request. */
export type Line =
  | { readonly type: "request"; readonly stream: number; readonly request: RequestPrint }
  | (Moment & { readonly stream: number });

/** A chunk before it is recorded. */
export interface CassetteRecord {
  /** The 0-based number of the request. */
  readonly stream: number;
  /** A copy that may be changed. A thrown error comes as an `error` chunk. */
  readonly chunk: ModelChunk;
}

/** A last line that was being written when its process died. */
export interface CutLine {
  /** 1-based. */
  readonly line: number;
  /** The number of its characters. */
  readonly characters: number;
}

/** One request, and the events of its stream. */
export interface Recording {
  readonly request: RequestPrint;
  readonly moments: readonly Moment[];
}

/** The content of a cassette. */
interface ReadCassette {
  readonly provider: Recorded;
  readonly recordings: readonly Recording[];
  readonly torn: CutLine | undefined;
}

const format = "turnwright-cassette";
const version = 1;

/** Writes the first line. */
export function toHead({ id, model, family }: Recorded): string {
  return `${JSON.stringify({ format, version, provider: id, model, family })}\n`;
}

/** Writes a line. */
export function toLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

/** Reads a cassette. A last line that was cut off is ignored and reported. Throws an Error with the number of an invalid line. */
export function readCassette(text: string, name: string): ReadCassette {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  // A complete line without a line end, as editors may leave it.
  const isWhole = last !== "" && parseJson(last) !== undefined;
  if (isWhole) lines.push(last);
  const [head = "", ...rest] = lines;
  const provider = readHead(parseJson(head));
  if (provider === undefined)
    throw new Error(`${name} is none: its first line is not the one of a cassette of version ${version}.`);
  const recordings: { readonly request: RequestPrint; readonly moments: Moment[] }[] = [];
  rest.forEach((written, index) => {
    const line = readLine(parseJson(written));
    const moments = line === undefined ? undefined : recordings[line.stream]?.moments;
    // A second writer would repeat the numbers of streams.
    const isKnown = line?.type === "request" ? line.stream === recordings.length : moments !== undefined && !isClosed(moments);
    if (line === undefined || !isKnown) throw new Error(`${name} is damaged: line ${index + 2} is no line of one.`);
    if (line.type === "request") recordings.push({ request: line.request, moments: [] });
    else moments?.push(line);
  });
  const isTorn = last !== "" && !isWhole;
  return {
    provider,
    recordings,
    torn: isTorn ? { line: lines.length + 1, characters: last.length } : undefined,
  };
}

/** True if a stream has ended, so that no more events can follow. */
function isClosed(moments: readonly Moment[]): boolean {
  const last = moments[moments.length - 1]?.type;
  return last === "ended" || last === "threw" || last === "left";
}

/** True if an untrusted value can be identified as a chunk. */
export function isChunk(value: unknown): value is ModelChunk {
  return isRecord(value) && typeof value["type"] === "string";
}

function readHead(head: unknown): Recorded | undefined {
  if (!isRecord(head) || head["format"] !== format || head["version"] !== version) return undefined;
  const { provider: id, model, family } = head;
  if (typeof id !== "string" || typeof model !== "string") return undefined;
  return typeof family === "string" ? { id, model, family } : { id, model };
}

function readLine(line: unknown): Line | undefined {
  if (!isRecord(line)) return undefined;
  const { type, stream, atMs, request } = line;
  if (typeof stream !== "number") return undefined;
  if (type === "request") return isPrint(request) ? { type, stream, request } : undefined;
  const happening = readHappening(line);
  return happening === undefined || typeof atMs !== "number" ? undefined : { ...happening, stream, atMs };
}

function readHappening({ type, chunk, error, waiting }: UnknownRecord): Happening | undefined {
  switch (type) {
    case "chunk":
      return isChunk(chunk) ? { type, chunk } : undefined;
    case "heartbeat":
    case "aborted":
    case "ended":
      return { type };
    case "threw":
      return isProviderError(error) ? { type, error: { ...error, name: "ProviderError" } } : undefined;
    case "left":
      return typeof waiting === "boolean" ? { type, waiting } : undefined;
    default:
      return undefined;
  }
}

/** Stores the text of recordings, for cases other than a file. Its methods are synchronous. */
export interface Cassette {
  /** Returns all of its text; empty if nothing was recorded. */
  read(): string;
  /** Appends a text. */
  append(text: string): void;
  /** Removes all text. */
  clear(): void;
}

/**
 * Makes a cassette in memory, or from a text that was read elsewhere: for platforms without files, and for tests of tests.
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

/** Returns the given cassette, or makes one from a path. Throws LoopError "invalid-option" for anything else. */
export function toCassette(file: string | Cassette): Cassette {
  if (typeof file === "string" && file !== "") return fileCassette(file);
  if (isCassette(file)) return file;
  throw invalidOption("file", "the path of a file, or a cassette", file);
}

/** Returns the name of a cassette for messages. */
export function nameOf(file: string | Cassette): string {
  return typeof file === "string" ? `The cassette ${file}` : "The cassette";
}

function isCassette(value: unknown): value is Cassette {
  if (!isRecord(value)) return false;
  return [value["read"], value["append"], value["clear"]].every((method) => typeof method === "function");
}

/** Synchronous, so that a line is in the file before the run reads its chunk, and a run on a test clock does not wait. */
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

/** Opens a file for recordings, which may be private. Only its owner may read it, and links of other users are not followed. */
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
    // A file system without modes shows the same mode for every file.
    if (!isOwn(facts)) throw error;
  }
}

interface NodeModules {
  readonly "node:fs": typeof fs;
  readonly "node:path": typeof path;
}

/** Not an import, which would make the whole kit unusable in browsers. */
function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const host: Partial<typeof process> | undefined = globalThis.process;
  if (typeof host?.getBuiltinModule === "function") return host.getBuiltinModule(name);
  throw new Error(
    "A cassette in a file needs Node 20.16 or later. Elsewhere hand in a cassette: an object with read, append and clear.",
  );
}
