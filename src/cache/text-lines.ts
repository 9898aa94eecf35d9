import { countBytes } from "../shared/estimate-tokens.ts";
import type { RangedText } from "./read-request.ts";

/**
 * The maximum length of a line in UTF-16 code units. Longer lines are broken. Must be less than `maxSearchedLength` in look-up.ts,
 * so that a search covers whole lines.
 */
const maxLineLength = 1_000;

const slack = 200;

const stride = 256;

/** The number of lines, and the offset of every 256th line, starting with the first. */
interface LineStarts {
  readonly count: number;
  readonly starts: readonly number[];
}

export interface LineIndex extends LineStarts {
  readonly bytes: number;
}

export interface TextLines {
  readonly bytes: number;
  /** The number of lines found so far. The number grows while a large text is read. */
  readonly count: number;
  readonly isCounted: boolean;
  countAll(): Promise<number>;
  from(first: number): AsyncIterable<string> | Iterable<string>;
}

export function linesOfText(text: string, index: LineIndex = indexLines(text)): TextLines {
  const { bytes, count } = index;
  return { bytes, count, isCounted: true, countAll: async () => count, from: (first) => linesFrom(text, index, first) };
}

export function indexLines(text: string): LineIndex {
  return { ...findStarts(text), bytes: countBytes(text) };
}

/**
 * Counts the lines, and finds where every 256th line begins. Breaks lines of more than 1,000 UTF-16 code units, after a comma or a
 * space if there is one near the end. Creates no string for each line, because there may be as many lines as characters.
 */
function findStarts(text: string): LineStarts {
  const starts: number[] = [];
  const nextFeed = createFinder(text, "\n");
  const nextReturn = createFinder(text, "\r");
  let count = 0;
  for (let start: number | undefined = 0; start !== undefined; count += 1) {
    if (count % stride === 0) starts.push(start);
    const end = Math.min(nextFeed(start), nextReturn(start));
    const last = Math.min(text.length, start + maxLineLength);
    start = startAfter(text, end <= last ? end : lastOf(text, start));
  }
  return { count, starts };
}

/**
 * Returns a function that finds the first occurrence of the character at or after a position. Each call must pass a higher position than
 * the previous one.
 */
function createFinder(text: string, character: string): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found < from) {
      const next = text.indexOf(character, from);
      found = next === -1 ? Number.POSITIVE_INFINITY : next;
    }
    return found;
  };
}

export function* linesFrom(text: string, { starts }: LineStarts, first: number): Generator<string> {
  let start: number | undefined = starts[Math.floor((first - 1) / stride)];
  for (let ahead = (first - 1) % stride; start !== undefined; ahead--) {
    const end = endOf(text, start);
    if (ahead <= 0) yield text.slice(start, end);
    start = startAfter(text, end);
  }
}

const lineFeed = 10;
const carriageReturn = 13;

function endOf(text: string, start: number): number {
  const last = Math.min(text.length, start + maxLineLength);
  for (let index = start; index <= last; index++) {
    const unit = text.charCodeAt(index);
    if (unit === lineFeed || unit === carriageReturn) return index;
  }
  return lastOf(text, start);
}

function lastOf(text: string, start: number): number {
  return text.length - start <= maxLineLength ? text.length : findBreak(text, start);
}

function startAfter(text: string, end: number): number | undefined {
  if (end === text.length) return undefined;
  const unit = text.charCodeAt(end);
  if (unit === lineFeed) return end + 1;
  if (unit !== carriageReturn) return end;
  return text.charCodeAt(end + 1) === lineFeed ? end + 2 : end + 1;
}

function findBreak(text: string, start: number): number {
  const end = start + maxLineLength;
  const tail = text.slice(end - slack, end);
  const near = Math.max(tail.lastIndexOf(","), tail.lastIndexOf(" ")) + 1;
  if (near > 0) return end - slack + near;
  // Moves the break if it would separate the two halves of a surrogate pair.
  return (text.codePointAt(end - 1) ?? 0) > 0xffff ? end - 1 : end;
}

const blockBytes = 256 * 1_024;

interface Block {
  readonly offset: number;
  readonly bytes: number;
  readonly first: number;
  readonly count: number;
}

/** The blocks of text that have been read so far, in order. Later calls to the tool reuse them. */
export interface BlockIndex {
  readonly blocks: Block[];
  isComplete: boolean;
}

interface LoadedBlock extends Block {
  readonly text: string;
  readonly starts: LineStarts;
}

/** Reads the text in blocks that end at a line break. Only one block is in memory at a time. */
export function linesOfRanges(
  text: RangedText,
  { known, signal }: { readonly known: BlockIndex; readonly signal: AbortSignal },
  maxBytes: number = blockBytes,
): TextLines {
  const { blocks } = known;

  const load = async (at: number): Promise<LoadedBlock | undefined> => {
    signal.throwIfAborted();
    const before = blocks[at - 1];
    const offset = before === undefined ? 0 : before.offset + before.bytes;
    const block = blocks[at];
    if (block === undefined && offset >= text.bytes && at > 0) return void (known.isComplete = true);
    const wanted = block?.bytes ?? Math.min(maxBytes, text.bytes - offset);
    const bytes = await text.read(offset, wanted);
    const loaded = cutBlock(bytes, offset + wanted >= text.bytes || bytes.length < wanted);
    const starts = findStarts(loaded.text);
    const first = before === undefined ? 1 : before.first + before.count;
    const made = { offset, bytes: loaded.bytes, first, count: starts.count };
    // Another call may have added this block during the read.
    if (blocks.length === at) blocks.push(made);
    if (bytes.length < wanted || offset + loaded.bytes >= text.bytes) known.isComplete = true;
    return { ...made, text: loaded.text, starts };
  };

  const total = (): number => {
    const last = blocks.at(-1);
    return last === undefined ? 0 : last.first + last.count - 1;
  };

  return {
    bytes: text.bytes,
    get count() {
      return total();
    },
    get isCounted() {
      return known.isComplete;
    },
    async countAll() {
      while (!known.isComplete) await load(blocks.length);
      return total();
    },
    async *from(first) {
      const found = blocks.findLastIndex((block) => block.first <= first);
      for (let at = Math.max(found, 0); ; at += 1) {
        const block = await load(at);
        if (block === undefined) return;
        if (block.first + block.count > first) yield* linesFrom(block.text, block.starts, Math.max(1, first - block.first + 1));
        if (known.isComplete && at === blocks.length - 1) return;
      }
    },
  };
}

/**
 * Cuts a block after its last line break, and leaves that line break out of the returned text. If the block has no line break, cuts it
 * between two characters. Does not cut a text's final block.
 */
function cutBlock(bytes: Uint8Array, isLast: boolean): { readonly text: string; readonly bytes: number } {
  // Converts to a Buffer, because its methods are several times faster than those of Uint8Array and TextDecoder.
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (isLast) return { text: buffer.toString("utf8"), bytes: buffer.length };
  const end = buffer.lastIndexOf(lineFeed);
  if (end >= 0) {
    const length = buffer[end - 1] === carriageReturn ? end - 1 : end;
    return { text: buffer.toString("utf8", 0, length), bytes: end + 1 };
  }
  const length = lengthOfWholeCharacters(buffer);
  return { text: buffer.toString("utf8", 0, length), bytes: length };
}

const maxBytesOfCharacter = 4;

function lengthOfWholeCharacters(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (bytes.length - start < maxBytesOfCharacter && isInside(bytes[start])) start -= 1;
  // Never returns 0, because an empty block would be read over and over.
  return start > 0 ? start : bytes.length;
}

function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
