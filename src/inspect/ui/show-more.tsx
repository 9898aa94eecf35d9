import type { JSX } from "preact";
import { formatCount } from "../format.ts";

interface ShowMoreProps {
  /** The number of hidden things. */
  readonly left: number;
  /** The number of things that a click shows. Default: all. */
  readonly step?: number;
  /** The name of the hidden things, such as "more characters". */
  readonly things: string;
  show(): void;
}

/** A button that shows more of a long text or list. Renders nothing if all of it is shown. */
export function ShowMore({ left, step = left, things, show }: ShowMoreProps): JSX.Element | null {
  if (left <= 0) return null;
  return (
    <button type="button" class="more" onClick={show}>
      Show {left > step && `${formatCount(step)} of `}
      {formatCount(left)} {things}
    </button>
  );
}
