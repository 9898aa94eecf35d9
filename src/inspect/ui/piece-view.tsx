import type { JSX } from "preact";
import { showControls } from "../show-controls.ts";
import type { Piece } from "./model/pieces.ts";
import { JsonText } from "./safe-text.tsx";

/** The number of characters of a text that are shown at first. */
export const limits = { text: 6000, faint: 2000, data: 2000, error: 4000, request: 0, mark: 0 } as const;

interface PieceViewProps {
  readonly piece: Piece;
  /** The key of the entry that has the piece. Undefined for a message of a request. */
  readonly entryKey?: string;
}

/** Shows a text of an entry or of a message. */
export function PieceView({ piece: { id, label, value, form }, entryKey }: PieceViewProps): JSX.Element | null {
  if (form === "request" || form === "mark") return null;
  return (
    <section class={`piece ${form}`}>
      {label !== "" && <h4>{showControls(label)}</h4>}
      <JsonText value={value} limit={limits[form]} {...(entryKey !== undefined && { id: `${entryKey} ${id}` })} />
    </section>
  );
}
