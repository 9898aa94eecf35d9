// Shows texts from models and tools. Control characters become visible, so that they can neither hide nor reorder text.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { showControls } from "../page/show-controls.ts";

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
