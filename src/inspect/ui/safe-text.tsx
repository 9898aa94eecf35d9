// Displays text from models and tools. Makes control characters visible, so that they cannot hide or reorder text.

import { type Context, createContext, type JSX } from "preact";
import { useContext, useMemo, useState } from "preact/hooks";
import { showControls } from "../format.ts";
import { formatValue } from "./model/format-value.ts";
import { ShowMore } from "./shared-parts.tsx";
import type { Piece } from "./model/pieces.ts";

/** The part of a long string that is shown, in characters. */
export interface TextWindow {
  readonly start: number;
  readonly end: number;
}

/**
 * The shown parts of long strings, by id. An entry that scrolls out of view is removed from the page. When it comes back, it shows the same
 * parts again.
 */
export const TextWindows: Context<Map<string, TextWindow>> = createContext(new Map());

export const windowStep = 20_000;

const maxLines = 40;

/** Returns the part of `text` that is shown at first: at most `limit` characters and 40 lines. */
export function firstWindow(text: string, limit: number): TextWindow {
  let end = -1;
  for (let line = 0; line < maxLines; line++) {
    const next = text.indexOf("\n", end + 1);
    if (next === -1 || next > limit) return { start: 0, end: limit };
    end = next;
  }
  return { start: 0, end };
}

interface SafeTextProps {
  readonly text: string;
  /** The maximum number of characters that are shown at first. Default 20,000. */
  readonly limit?: number;
  /** Identifies the text, so that its shown part is remembered when the element is removed. */
  readonly id?: string;
}

export function SafeText({ text, limit = windowStep, id }: SafeTextProps): JSX.Element {
  const windows = useContext(TextWindows);
  const [own, setOwn] = useState<TextWindow>();
  const { start, end } = (id === undefined ? own : windows.get(id)) ?? firstWindow(text, limit);
  const show = (window: TextWindow): void => {
    if (id !== undefined) windows.set(id, window);
    setOwn(window);
  };
  const shown = useMemo(() => showControls(text.slice(start, end)), [text, start, end]);
  return (
    <div class="text">
      <ShowMore
        left={start}
        step={windowStep}
        things="characters before"
        show={() => show({ start: Math.max(0, start - windowStep), end })}
      />
      <pre dir="auto" data-text={id}>
        {shown}
      </pre>
      <ShowMore
        left={text.length - end}
        step={windowStep}
        things="more characters"
        show={() => show({ start, end: end + windowStep })}
      />
    </div>
  );
}

export function JsonText({ value, ...props }: { readonly value: unknown } & Omit<SafeTextProps, "text">): JSX.Element {
  const text = useMemo(() => formatValue(value) ?? "", [value]);
  return <SafeText text={text} {...props} />;
}

export const limits = { text: 6000, faint: 2000, data: 2000, error: 4000, request: 0, mark: 0 } as const;

interface PieceViewProps {
  readonly piece: Piece;
  /** The key of the entry that contains the piece. Undefined for a message in a request. */
  readonly entryKey?: string;
}

export function PieceView({ piece: { id, label, value, form }, entryKey }: PieceViewProps): JSX.Element | null {
  if (form === "request" || form === "mark") return null;
  return (
    <section class={`piece ${form}`}>
      {label !== "" && <h4>{showControls(label)}</h4>}
      <JsonText value={value} limit={limits[form]} {...(entryKey !== undefined && { id: `${entryKey} ${id}` })} />
    </section>
  );
}
