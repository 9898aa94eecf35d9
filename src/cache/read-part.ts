import { describeValue, isFunction, isRecord } from "../core/entry-kit.ts";
import { lookUp } from "./look-up.ts";
import { mostJsonBytes, tooLarge } from "./parse-document.ts";
import { queryJson } from "./query-json.ts";
import { type BlockIndex, linesOfRanges } from "./ranged-lines.ts";
import type { ReadRequest } from "./read-request.ts";
import { rememberRecent } from "./remember-recent.ts";
import type { RangedText, ReadSource, SourceText } from "./read-source.ts";
import type { Shelf } from "./shelf.ts";
import { type LineIndex, linesOfText } from "./text-lines.ts";

type PartRequest = Exclude<ReadRequest, { readonly action: "release" }>;

interface Texts {
  readonly shelf: Shelf;
  /** Returns the line index of a stored result. */
  readonly indexOf: (id: string, text: string) => LineIndex;
  readonly sources: readonly ReadSource[];
}

/** Returns a function that finds the text of a request, and reads the requested part. */
export function createReader({ shelf, indexOf, sources }: Texts): (request: PartRequest, signal: AbortSignal) => Promise<string> {
  const blocksOf = rememberRecent((): BlockIndex => ({ blocks: [], isComplete: false }));

  const readRanges = async (text: RangedText, request: PartRequest, { key, signal }: Reading): Promise<string> => {
    try {
      if (request.action === "json") return await queryJson(await readWhole(text), request);
      return await lookUp(linesOfRanges(text, { known: blocksOf(`${key}\n${text.version}`, ""), signal }), request);
    } finally {
      await text.close();
    }
  };

  return async (request, signal) => {
    const stored = await shelf.find(request.id);
    if (stored !== undefined) {
      if (request.action === "json") return queryJson(stored, request);
      return lookUp(linesOfText(stored, indexOf(request.id, stored)), request);
    }
    for (const source of sources) {
      const text = await openIn(source, request.id, signal);
      if (text === undefined) continue;
      if (typeof text !== "string") return readRanges(text, request, { key: `${source.name}\n${request.id}`, signal });
      return request.action === "json" ? queryJson(text, request) : lookUp(linesOfText(text), request);
    }
    throw unknownId(sources);
  };
}

interface Reading {
  readonly key: string;
  readonly signal: AbortSignal;
}

async function openIn(source: ReadSource, id: string, signal: AbortSignal): Promise<SourceText | undefined> {
  const text: unknown = await source.open(id, signal);
  if (text === undefined || typeof text === "string" || isRanged(text)) return text;
  const expected = 'a string, undefined, or an object with "bytes", "version", "read" and "close"';
  throw new Error(`"open" of the source "${source.name}" must return ${expected}, but returned ${describeValue(text)}.`);
}

function isRanged(value: unknown): value is RangedText {
  if (!isRecord(value)) return false;
  const { bytes, version, read, close } = value;
  return Number.isSafeInteger(bytes) && typeof version === "string" && isFunction(read) && isFunction(close);
}

async function readWhole(text: RangedText): Promise<string> {
  if (text.bytes > mostJsonBytes) throw tooLarge(text.bytes);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await text.read(0, text.bytes));
}

function unknownId(sources: readonly ReadSource[]): Error {
  const expired = "There is no stored result with this id, or the result has expired. Repeat the call that returned the result.";
  const others = sources.map(({ description }) => description).join("; ");
  return new Error(others === "" ? expired : `${expired} Other texts: ${others}.`);
}
