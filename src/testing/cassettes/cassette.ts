// Reads and writes cassettes, in files or in memory. A cassette consists of a first line with the format and provider, and a JSON line for
// each request and each event of its stream.

import { openOwnFile } from "../../shared/file-trust.ts";
import { invalidOption, isRecord } from "../../core/kit.ts";
import { isProviderError, type ModelChunk, type Provider, type ProviderError } from "../../core/index.ts";
import { builtinLoader } from "../../shared/builtin-loader.ts";
import { parseJson } from "../../shared/json.ts";
import { toAbilities, toProviderFacts } from "../../shared/wrap-provider.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import { isPrint, type RequestPrint } from "./request-print.ts";

type Recorded = Omit<Provider, "stream">;

export type Happening =
  | { readonly type: "chunk"; readonly chunk: ModelChunk }
  | { readonly type: "heartbeat" }
  /** The call's signal fired. The provider still sent the chunks after this event. */
  | { readonly type: "aborted" }
  | { readonly type: "ended" }
  | { readonly type: "threw"; readonly error: ProviderError }
  /** The reader stopped reading the stream. `waiting` is true if the reader was waiting for a chunk. */
  | { readonly type: "left"; readonly waiting: boolean };

export type Moment = Happening & { readonly atMs: number };

export type Line =
  | { readonly type: "request"; readonly stream: number; readonly request: RequestPrint }
  | (Moment & { readonly stream: number });

/** A chunk, as passed to `redact` before it is recorded. */
export interface CassetteRecord {
  /** The 0-based number of the request. */
  readonly stream: number;
  /** A copy of the chunk, which `redact` may modify. An error that the stream threw is passed as an `error` chunk. */
  readonly chunk: ModelChunk;
}

/** An incomplete last line, left by a process that ended while writing it. */
export interface CutLine {
  /** The 1-based number of the line. */
  readonly line: number;
  /** The number of characters that were written before the line was cut off. */
  readonly characters: number;
}

export interface Recording {
  readonly request: RequestPrint;
  readonly moments: readonly Moment[];
}

interface ReadCassette {
  readonly provider: Recorded;
  readonly recordings: readonly Recording[];
  readonly torn: CutLine | undefined;
}

const format = "turnwright-cassette";
const version = 1;

export function toHead(provider: Recorded): string {
  const { id, ...facts } = toProviderFacts(provider);
  return `${JSON.stringify({ format, version, provider: id, ...facts })}\n`;
}

export function toLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

/**
 * Reads a cassette. Returns the place of an incomplete last line as `torn`, without reading it. If a line is invalid, throws an Error with
 * its line number.
 */
export function readCassette(text: string, name: string): ReadCassette {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  // Accepts a last line without a line break if it is complete, because an editor may have removed the line break.
  const isWhole = last !== "" && parseJson(last) !== undefined;
  if (isWhole) lines.push(last);
  const [head = "", ...rest] = lines;
  const provider = readHead(parseJson(head));
  if (provider === undefined)
    throw new Error(`The cassette${name} is not a version ${version} cassette. Record it again with recordTo().`);
  const recordings: { readonly request: RequestPrint; readonly moments: Moment[] }[] = [];
  rest.forEach((written, index) => {
    const line = readLine(parseJson(written));
    const moments = line === undefined ? undefined : recordings[line.stream]?.moments;
    // Request numbers must be consecutive. They repeat if two processes have written to the same cassette.
    const isKnown = line?.type === "request" ? line.stream === recordings.length : moments !== undefined && !isClosed(moments);
    if (line === undefined || !isKnown)
      throw new Error(`The cassette${name} is damaged: line ${index + 2} is invalid. Record it again with recordTo().`);
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

function isClosed(moments: readonly Moment[]): boolean {
  const last = moments[moments.length - 1]?.type;
  return last === "ended" || last === "threw" || last === "left";
}

export function isChunk(value: unknown): value is ModelChunk {
  return isRecord(value) && typeof value["type"] === "string";
}

function readHead(head: unknown): Recorded | undefined {
  if (!isRecord(head) || head["format"] !== format || head["version"] !== version) return undefined;
  const { provider: id, model, family } = head;
  if (typeof id !== "string" || typeof model !== "string") return undefined;
  return { id, model, ...(typeof family === "string" ? { family } : {}), ...toAbilities(head) };
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

/** A store for the text of recordings, for use instead of a file. Its methods must be synchronous. */
export interface Cassette {
  /** Returns the whole text. Empty if nothing was recorded. */
  read(): string;
  /** Appends text. */
  append(text: string): void;
  /** Removes all text. */
  clear(): void;
}

/**
 * Creates a cassette in memory, empty or with the text from an earlier recording. Use it on platforms without files.
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

export function toCassette(file: string | Cassette): Cassette {
  if (typeof file === "string" && file !== "") return fileCassette(file);
  if (isCassette(file)) return file;
  throw invalidOption("file", "a file path or a cassette", file);
}

export function nameOf(file: string | Cassette): string {
  return typeof file === "string" ? ` ${file}` : "";
}

function isCassette(value: unknown): value is Cassette {
  if (!isRecord(value)) return false;
  return [value["read"], value["append"], value["clear"]].every((method) => typeof method === "function");
}

/** Creates a cassette in a file. Writes synchronously, so that each chunk is in the file before the run receives it. */
function fileCassette(path: string): Cassette {
  const opener = { ...loader()("node:fs"), ...loader()("node:path") };
  const { closeSync, constants, ftruncateSync, readFileSync, writeFileSync } = opener;
  const refuse = (problem: string): Error => new Error(`The cassette ${path} cannot be written: ${problem}.`);
  const withFile = (flags: number, use: (file: number) => void): void => {
    const file = openOwnFile(path, constants.O_WRONLY | flags, { fs: opener, refuse });
    try {
      use(file);
    } finally {
      closeSync(file);
    }
  };
  return {
    read: () => readFileSync(path, "utf8"),
    append: (text) => withFile(constants.O_APPEND, (file) => writeFileSync(file, text)),
    clear: () => withFile(0, (file) => ftruncateSync(file)),
  };
}

function loader(): typeof process.getBuiltinModule {
  return builtinLoader(
    "A cassette file needs Node 20.16 or later. On other platforms pass an object with the methods read, append and clear.",
  );
}
