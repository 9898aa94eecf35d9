// Shows texts from models and tools. Control characters become visible, so that they can neither hide nor reorder text.

import type { JSX } from "preact";
import { useState } from "preact/hooks";

/** Control characters other than tab and line break, which include the ANSI escape, and characters that reorder or hide text. */
const controls = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u200b\u2060-\u2064\ufeff]/gu;

/** Returns the text with each control character as its code point, such as ‹U+202E›. */
export function showControls(text: string): string {
  return text.replace(controls, (control) => `‹U+${control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

interface SafeTextProps {
  readonly text: string;
  /** The number of characters that are shown at first, and that each click adds. Default 20,000. */
  readonly limit?: number;
}

export function SafeText({ text, limit = 20_000 }: SafeTextProps): JSX.Element {
  const [shown, setShown] = useState(limit);
  const left = text.length - shown;
  return (
    <pre class="text" dir="auto">
      {showControls(text.slice(0, shown))}
      {left > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + limit)}>
          Show {Math.min(limit, left).toLocaleString("en")} of {left.toLocaleString("en")} more characters
        </button>
      )}
    </pre>
  );
}

/** Shows plain data as indented JSON. */
export function JsonText({ value }: { readonly value: unknown }): JSX.Element {
  return <SafeText text={typeof value === "string" ? value : JSON.stringify(value, undefined, 2)} />;
}
