import { Component, type ComponentChildren, type JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, showControls } from "../format.ts";
import type { TextPiece } from "../analysis/diff-texts.ts";
import "./shared-parts.css";

interface BoundaryProps {
  /** The name of this part of the page, for the error message. */
  readonly part: string;
  readonly children: ComponentChildren;
}

/** Shows a message in place of children that throw, for example because a log was changed by hand. */
export class Boundary extends Component<BoundaryProps, { readonly message?: string }> {
  override state: { readonly message?: string } = {};

  static override getDerivedStateFromError(error: unknown): { readonly message: string } {
    return { message: error instanceof Error ? error.message : String(error) };
  }

  override render({ part, children }: BoundaryProps): ComponentChildren {
    const { message } = this.state;
    if (message === undefined) return children;
    return (
      <p class="problem" role="alert">
        {part} cannot be shown, because the log has unexpected values: {showControls(message)}
      </p>
    );
  }
}

interface LazyFoldProps {
  readonly title: ComponentChildren;
  /** Returns the content. Called when the block is unfolded for the first time. */
  readonly children: () => ComponentChildren;
  readonly isOpen?: boolean;
}

export function LazyFold({ title, children, isOpen = false }: LazyFoldProps): JSX.Element {
  const [wasOpened, setOpened] = useState(isOpen);
  return (
    <details class="lazy-fold" open={isOpen} onToggle={({ currentTarget }) => currentTarget.open && setOpened(true)}>
      <summary>{title}</summary>
      {wasOpened && <div class="lazy-content">{children()}</div>}
    </details>
  );
}

interface ShowMoreProps {
  /** The number of hidden items. */
  readonly left: number;
  /** The number of items that a click shows. Default: all. */
  readonly step?: number;
  readonly things: string;
  show(): void;
}

export function ShowMore({ left, step = left, things, show }: ShowMoreProps): JSX.Element | null {
  if (left <= 0) return null;
  return (
    <button type="button" class="more" onClick={show}>
      Show {left > step && `${formatCount(step)} of `}
      {formatCount(left)} {things}
    </button>
  );
}

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

/**
 * The number of unchanged characters that stay visible next to a change. `longest` is how many of a change's characters are shown at
 * first.
 */
const nearby = 160;
const longest = 20_000;

function Piece({ piece: { kind, text }, isFirst, isLast }: PieceProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [head, tail] = kind === "same" ? [isFirst ? 0 : nearby, isLast ? 0 : nearby] : [longest, 0];
  const left = text.length - head - tail;
  // Shows the rest if it has at most `nearby` characters, because a button in its place would save no space.
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
