// Inputs and rows for the growth tables.

import type { Prepare } from "./measure.ts";

let made = 0;

/** A text of at least `size` units, different in each call. */
export function textOf(piece: string, size: number): string {
  made += 1;
  return piece.repeat(Math.ceil(size / piece.length)).slice(0, size) + made;
}

/** Returns `size` pieces, in order. */
function piecesOf(piece: string, size: number): readonly string[] {
  return Array.from({ length: size }, (_, index) => piece + (index % 7 === 0 ? "" : piece));
}

/** Work on one text. */
export const onText =
  (piece: string, work: (text: string) => unknown): Prepare =>
  (size) => {
    const text = textOf(piece, size);
    return () => work(text);
  };

/** Work on many pieces. */
export const onPieces =
  (piece: string, work: (pieces: readonly string[]) => unknown): Prepare =>
  (size) => {
    const pieces = piecesOf(piece, size);
    return () => work(pieces);
  };

/** One measurement: its title, the input size, and the work. */
export type Row = readonly [what: string, size: number, prepare: Prepare];
