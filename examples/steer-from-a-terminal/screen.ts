// A terminal that shows streamed text above a prompt. Users can type while text is streamed. If the output is a pipe, prints
// plain lines.

import { clearScreenDown, createInterface, cursorTo, moveCursor } from "node:readline";
import { toPrintable } from "../support/to-printable.ts";

export interface Screen {
  write(text: string): void;
  print(line: string): void;
  onLine(listener: (line: string) => void): void;
  onInterrupt(listener: () => void): void;
  readonly closed: Promise<void>;
  close(): void;
}

/** Long lines wrap at `output.columns`, or at 80 columns if the number is unknown. */
export interface ScreenStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream & { readonly columns?: number | undefined };
  /** True if a person types at a terminal. Otherwise, lines are not redrawn. */
  readonly isTerminal: boolean;
}

export function openScreen({ input, output, isTerminal }: ScreenStreams): Screen {
  const readline = createInterface({ input, output, terminal: isTerminal, prompt: isTerminal ? "> " : "" });
  let isClosed = false;
  /**
   * The last line of the streamed text, while it is incomplete. It is shown above the prompt. It must fit into one row of the
   * terminal, so that it can be redrawn.
   */
  let open = "";

  const draw = (text: string): void => {
    if (!isTerminal || isClosed) return void output.write(text);
    const { rows } = readline.getCursorPos();
    moveCursor(output, 0, -rows - (open === "" ? 0 : 1));
    cursorTo(output, 0);
    clearScreenDown(output);
    const lines = wrapLines(open + text, output.columns ?? 80);
    open = lines.pop() ?? "";
    output.write(lines.map((line) => `${line}\n`).join(""));
    // Before readline draws a prompt, it moves the cursor up by the height of the previous prompt. This height is in `prevRows`.
    const above: unknown = Reflect.get(readline, "prevRows");
    output.write((open === "" ? "" : `${open}\n`) + "\n".repeat(typeof above === "number" ? above : rows));
    readline.prompt(true);
  };
  let isBegun = false;
  const write = (text: string): void => {
    const printable = toPrintable(text);
    if (printable === "") return;
    isBegun = !printable.endsWith("\n");
    draw(printable);
  };

  const closed = new Promise<void>((resolve) => {
    readline.once("close", () => {
      isClosed = true;
      resolve();
    });
  });
  readline.prompt();
  return {
    write,
    print: (line) => write(`${isBegun ? "\n" : ""}${toPrintable(line).replace(/\n/g, " ")}\n`),
    onLine: (listener) =>
      void readline.on("line", (line) => {
        // The user's line is now below the streamed text, so that text cannot be redrawn any more. The next text starts a new line.
        if (isTerminal) {
          open = "";
          isBegun = false;
        }
        listener(line);
      }),
    onInterrupt(listener) {
      // In a terminal, readline receives Ctrl-C as a key. Otherwise, the process receives a signal.
      readline.on("SIGINT", listener);
      process.on("SIGINT", listener);
      readline.once("close", () => process.off("SIGINT", listener));
    },
    closed,
    close: () => readline.close(),
  };
}

/** Splits a text into lines that are shorter than a row. Breaks a line at a space if possible. */
function wrapLines(text: string, columns: number): string[] {
  return text.split("\n").flatMap((line) => {
    const rows: string[] = [];
    let rest = line;
    for (let fits = countFitting(rest, columns); fits < rest.length; fits = countFitting(rest, columns)) {
      const space = rest.lastIndexOf(" ", fits - 1) + 1;
      rows.push(rest.slice(0, space > 0 ? space : fits));
      rest = rest.slice(space > 0 ? space : fits);
    }
    return [...rows, rest];
  });
}

/**
 * Returns how many code units of a text fit into a row, at least one character. Some terminals show certain characters wider, so
 * these count as two columns.
 */
function countFitting(text: string, columns: number): number {
  let width = 0;
  let fits = 0;
  for (const character of text) {
    width += (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
    if (fits > 0 && width >= columns) return fits;
    fits += character.length;
  }
  return fits;
}
