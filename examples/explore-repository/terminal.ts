// Writes coloured text to a terminal. Removes control characters from texts of models and tools.

import { toPrintable } from "../support/to-printable.ts";

export interface Terminal {
  /** True if the output is a terminal that a person watches. Lines can then be redrawn. */
  readonly isLive: boolean;
  /**
   * Returns the current number of columns, or 80 if the number is unknown. The number changes when the user resizes the window.
   */
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

/** If the stream is a pipe, colours and redrawing are disabled. The variable NO_COLOR disables colours (https://no-color.org). */
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

export function isOn(variable: string | undefined): boolean {
  return variable !== undefined && variable !== "" && variable !== "0" && variable !== "false";
}

/** Returns the text as one line, cut to `width` characters. */
export function fitLine(text: string, width: number): string {
  const line = toPrintable(text).replace(/\s+/g, " ");
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** Writes text that arrives in pieces. Only whole words are written, so that line ends do not split a word. */
export interface TextFlow {
  add(text: string): void;
  /** Writes the rest of the text and a line break. */
  end(): void;
}

/** Makes a text flow. A list item that needs several lines is indented. */
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
