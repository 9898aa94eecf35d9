// Writes to a terminal with colours. Fits lines to its width, and removes control characters from the text.

import { toPrintable } from "../support/to-printable.ts";

export interface Terminal {
  /** True if lines can be redrawn, because the output is a terminal that a person watches. */
  readonly isLive: boolean;
  /** Returns the number of columns, or 80 if it is unknown. Call this before each use, because users resize windows. */
  width(): number;
  write(text: string): void;
  paint(style: Style, text: string): string;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const codes: { readonly [Name in Style]: readonly [on: number, off: number] } = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/**
 * Makes a terminal for a stream. NO_COLOR (https://no-color.org) disables colours. If the output is a pipe, colours and
 * redrawing are disabled too.
 */
export function createTerminal(out: NodeJS.WriteStream, env: NodeJS.ProcessEnv = process.env): Terminal {
  const isLive = out.isTTY && env["TERM"] !== "dumb" && !isOn(env["CI"]);
  const isColoured = isLive && (env["NO_COLOR"] ?? "") === "";
  return {
    isLive,
    width: () => (isLive ? Math.max(20, out.columns || 80) : 100),
    write: (text) => void out.write(text),
    paint: (style, text) => (isColoured && text !== "" ? `\u001B[${codes[style][0]}m${text}\u001B[${codes[style][1]}m` : text),
  };
}

/** True if an environment variable such as CI is set, unless its value means "no". */
export function isOn(variable: string | undefined): boolean {
  return variable !== undefined && variable !== "" && variable !== "0" && variable !== "false";
}

/** Returns a text in one line, not longer than `width`. */
export function fitLine(text: string, width: number): string {
  const line = toPrintable(text).replace(/\s+/g, " ");
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** Writes streamed text word by word, so that no word is broken at the end of a line. */
export interface TextFlow {
  add(text: string): void;
  /** Ends the current line, if there is one. */
  end(): void;
}

/** Makes a text flow. Indents wrapped lines in list items. */
export function createTextFlow(terminal: Terminal, style?: Style): TextFlow {
  let column = 0;
  let indent = "";
  let gap = "";
  let word = "";

  const placeWord = (): void => {
    if (word === "") return;
    if (column === 0) indent = word === "-" ? "  " : "";
    const isFull = column > 0 && column + gap.length + word.length >= terminal.width();
    const before = isFull ? `\n${indent}` : gap;
    terminal.write(before + (style === undefined ? word : terminal.paint(style, word)));
    column = (isFull ? indent.length : column + gap.length) + word.length;
    gap = "";
    word = "";
  };
  const endLine = (): void => {
    terminal.write("\n");
    column = 0;
    gap = "";
  };

  return {
    add(text) {
      for (const character of toPrintable(text)) {
        if (character !== " " && character !== "\n") {
          word += character;
          continue;
        }
        placeWord();
        if (character === "\n") endLine();
        else gap += " ";
      }
    },
    end() {
      placeWord();
      if (column > 0) endLine();
    },
  };
}

export function printText(terminal: Terminal, text: string, style: Style): void {
  const flow = createTextFlow(terminal, style);
  flow.add(`${text}\n`);
}
