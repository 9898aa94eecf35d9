// Shows the difference between two texts. Folds common text that is far from a change.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TextPiece } from "../analysis/diff-texts.ts";
import { showControls } from "../format.ts";
import { ShowMore } from "./shared-parts.tsx";
import "./text-pieces.css";

export function TextPieces({ pieces }: { readonly pieces: readonly TextPiece[] }): JSX.Element {
  return (
    <pre class="pieces" dir="auto">
      {pieces.map((piece, at) => (
        <Piece key={at} piece={piece} isFirst={at === 0} isLast={at === pieces.length - 1} />
      ))}
    </pre>
  );
}

interface PieceProps {
  readonly piece: TextPiece;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** `nearby` characters of common text stay visible beside a change. Of a change, `longest` characters are shown at first. */
const nearby = 160;
const longest = 20_000;

function Piece({ piece: { kind, text }, isFirst, isLast }: PieceProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [head, tail] = kind === "same" ? [isFirst ? 0 : nearby, isLast ? 0 : nearby] : [longest, 0];
  const left = text.length - head - tail;
  // A button in place of a few characters would save no space.
  if (isOpen || left <= nearby) return wrapPiece(kind, showControls(text));
  return (
    <>
      {wrapPiece(kind, showControls(text.slice(0, head)))}
      <ShowMore left={left} things={`more characters${kind === "same" ? " that are the same" : ""}`} show={() => setOpen(true)} />
      {wrapPiece(kind, showControls(text.slice(text.length - tail)))}
    </>
  );
}

function wrapPiece(kind: TextPiece["kind"], text: string): JSX.Element {
  if (kind === "added") return <ins>{text}</ins>;
  return kind === "removed" ? <del>{text}</del> : <span>{text}</span>;
}
