// Escapes text from models and tools for Markdown, so that a viewer shows it unchanged and does not run or load anything.

import { formatCount, showControls } from "../format.ts";
import { takeStart } from "../../shared/texts.ts";

const maxNameLength = 200;

function maxRunLength(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

export function toCode(text: string): string {
  const line = showControls(takeStart(text, maxNameLength)).replace(/\s+/g, " ").trim();
  if (line === "") return "(empty)";
  const mark = "`".repeat(maxRunLength(line) + 1);
  const space = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${mark}${space}${line}${space}${mark}${text.length > maxNameLength ? " (cut)" : ""}`;
}

interface BlockOptions {
  readonly language: "text" | "json";
  readonly maxChars: number;
  /** False if the text is only the beginning of a longer one. Default true. */
  readonly isWhole?: boolean | undefined;
}

/**
 * Returns text as a fenced block. The fence is longer than any sequence of backticks in the text, so that the text cannot close the
 * block.
 */
export function toBlock(text: string, { language, maxChars, isWhole = true }: BlockOptions): string {
  const lines = text.replaceAll("\r\n", "\n");
  const cut = takeStart(lines, maxChars);
  const shown = showControls(cut);
  const fence = "`".repeat(Math.max(3, maxRunLength(shown) + 1));
  const block = `${fence}${language}\n${shown}\n${fence}`;
  if (isWhole && cut.length === lines.length) return block;
  return `${block}\n\n_The first ${formatCount(cut.length)} of ${isWhole ? formatCount(lines.length) : `more than ${formatCount(Math.max(maxChars, maxCounted))}`} characters._`;
}

export function toDataBlock(value: unknown, maxChars: number): string {
  if (typeof value === "string") return toBlock(value, { language: "text", maxChars });
  const { text, isWhole } = writeJson(value, Math.max(maxChars, maxCounted));
  return toBlock(text, { language: "json", maxChars, isWhole });
}

/**
 * Returns Markdown as a block quote: puts ">" before each line. Lines end only with "\n", because `showControls` has replaced all
 * other line breaks.
 */
export function toQuote(markdown: string): string {
  return markdown
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** Returns a block that viewers show folded. The title is HTML, so it must not contain text from users, models or tools. */
export function toFolded(title: string, block: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${block}\n\n</details>`;
}

/**
 * The maximum number of JSON characters to count. Counting is slow, and a log of a few KB may refer to many results of 16 MB
 * each.
 */
const maxCounted = 100_000;

interface Written {
  readonly text: string;
  /** False if the text was longer than the limit. The text is then incomplete, and a little longer than the limit. */
  readonly isWhole: boolean;
}

/** Writes JSON like `JSON.stringify` with an indent of 2, but stops after about `most` characters. */
function writeJson(value: unknown, most: number): Written {
  const writer = new JsonWriter(most);
  writer.write(value, "\n");
  return { text: writer.pieces.join(""), isWhole: !writer.isFull };
}

class JsonWriter {
  readonly pieces: string[] = [];
  readonly #most: number;
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#length > this.#most;
  }

  /** Writes a value. `line` is a line break followed by the value's indentation. */
  write(value: unknown, line: string): void {
    if (Array.isArray(value))
      return this.#writeAll(
        value.map((item: unknown) => ["", item] as const),
        { line, marks: "[]" },
      );
    if (typeof value !== "object" || value === null) return this.#add(this.#scalar(value));
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    this.#writeAll(
      fields.map(([key, field]: [string, unknown]) => [`${this.#scalar(key)}: `, field] as const),
      { line, marks: "{}" },
    );
  }

  #writeAll(
    items: readonly (readonly [lead: string, value: unknown])[],
    { line, marks }: { readonly line: string; readonly marks: string },
  ): void {
    if (items.length === 0) return this.#add(marks);
    const inner = `${line}  `;
    for (const [index, [lead, value]] of items.entries()) {
      if (this.isFull) return;
      this.#add(`${index === 0 ? marks.charAt(0) : ","}${inner}${lead}`);
      this.write(value, inner);
    }
    this.#add(`${line}${marks.charAt(1)}`);
  }

  #scalar(value: unknown): string {
    return JSON.stringify(typeof value === "string" ? value.slice(0, this.#most + 1) : (value ?? null));
  }

  #add(piece: string): void {
    this.pieces.push(piece);
    this.#length += piece.length;
  }
}
