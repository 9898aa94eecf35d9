import type { Prepare } from "./measure.ts";

let made = 0;

/**
 * Repeats `piece` until the text has at least `size` UTF-16 units. Each returned text is different, because engines cache
 * results.
 */
export function textOf(piece: string, size: number): string {
  made += 1;
  return piece.repeat(Math.ceil(size / piece.length)).slice(0, size) + made;
}

function piecesOf(piece: string, size: number): readonly string[] {
  return Array.from({ length: size }, (_, index) => piece + (index % 7 === 0 ? "" : piece));
}

export const onText =
  (piece: string, work: (text: string) => unknown): Prepare =>
  (size) => {
    const text = textOf(piece, size);
    return () => work(text);
  };

export const onPieces =
  (piece: string, work: (pieces: readonly string[]) => unknown): Prepare =>
  (size) => {
    const pieces = piecesOf(piece, size);
    return () => work(pieces);
  };

export type Row = readonly [what: string, size: number, prepare: Prepare];
