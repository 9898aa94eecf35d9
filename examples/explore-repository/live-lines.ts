import type { Terminal } from "./terminal.ts";

/** Lines at the bottom of a terminal that change until they are final. */
export interface LiveLines {
  draw(): void;
  erase(): void;
  /** Stops redrawing, and leaves the lines on the screen. */
  keep(): void;
  close(): void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 80;

/** Draws the lines that `format` returns. Redraws them with a moving spinner until `erase` or `keep` is called. */
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
