// Lines at the foot of a terminal that are drawn over until they are final.

import type { Terminal } from "./terminal.ts";

/** The lines that are not final yet. */
export interface LiveLines {
  /** Draws them anew. */
  draw(): void;
  /** Takes them away. */
  erase(): void;
  /** Draws them a last time and leaves them in place. */
  keep(): void;
  /** Stops the spinner. */
  close(): void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 80;

/** Draws what `format` says, again and again while there is something to draw, with a spinner that turns. */
export function createLiveLines(terminal: Terminal, format: (spinner: string) => readonly string[]): LiveLines {
  let drawn = 0;
  let frame = 0;

  const replace = (lines: readonly string[]): void => {
    const back = drawn === 0 ? "" : `\u001B[${drawn}A\u001B[J`;
    drawn = lines.length;
    terminal.write(back + lines.map((line) => `${line}\n`).join(""));
  };
  const draw = (): void => replace(format(frames[frame % frames.length] ?? ""));
  const timer = setInterval(() => {
    frame += 1;
    if (drawn > 0) draw();
  }, frameMs);

  return {
    draw,
    erase: () => replace([]),
    keep() {
      draw();
      drawn = 0;
    },
    close: () => clearInterval(timer),
  };
}
