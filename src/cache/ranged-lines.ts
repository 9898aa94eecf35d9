// The lines of a large text that is read in ranges. The text is divided into blocks that end at a line break, and one block at a
// time is in memory.

import { findStarts, type LineStarts, linesFrom, type TextLines } from "./text-lines.ts";
import type { RangedText } from "./read-source.ts";

const blockBytes = 256 * 1_024;

interface Block {
  readonly offset: number;
  readonly bytes: number;
  readonly first: number;
  readonly count: number;
}

/** The blocks of a text that were read so far, in order. Further calls of the tool reuse the blocks. */
export interface BlockIndex {
  readonly blocks: Block[];
  isComplete: boolean;
}

interface LoadedBlock extends Block {
  readonly text: string;
  readonly starts: LineStarts;
}

export function linesOfRanges(
  text: RangedText,
  { known, signal }: { readonly known: BlockIndex; readonly signal: AbortSignal },
  mostBytes: number = blockBytes,
): TextLines {
  const { blocks } = known;

  const load = async (at: number): Promise<LoadedBlock | undefined> => {
    signal.throwIfAborted();
    const before = blocks[at - 1];
    const offset = before === undefined ? 0 : before.offset + before.bytes;
    const block = blocks[at];
    if (block === undefined && offset >= text.bytes && at > 0) return void (known.isComplete = true);
    const wanted = block?.bytes ?? Math.min(mostBytes, text.bytes - offset);
    const bytes = await text.read(offset, wanted);
    const loaded = cutBlock(bytes, offset + wanted >= text.bytes || bytes.length < wanted);
    const starts = findStarts(loaded.text);
    const first = before === undefined ? 1 : before.first + before.count;
    const made = { offset, bytes: loaded.bytes, first, count: starts.count };
    // Another call may have added the same block during the read.
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

const lineFeed = 10;
const carriageReturn = 13;

/**
 * Cuts a block after its last line break, and leaves the line break out of the text. Cuts a block without a line break between two
 * characters. Does not cut the final block of a text.
 */
function cutBlock(bytes: Uint8Array, isLast: boolean): { readonly text: string; readonly bytes: number } {
  // The methods of a Buffer are several times as fast as the methods of other arrays and of a TextDecoder.
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

const mostBytesOfCharacter = 4;

function lengthOfWholeCharacters(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (bytes.length - start < mostBytesOfCharacter && isInside(bytes[start])) start -= 1;
  // A block must not be empty, because an empty block would be read again without end.
  return start > 0 ? start : bytes.length;
}

function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
