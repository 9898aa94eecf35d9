// Writes texts of models and tools into Markdown, so that a viewer shows them as they are and runs or loads nothing.

import { formatCount } from "../format.ts";
import { showControls } from "../show-controls.ts";
import { mostCounted, writeJson } from "./write-json.ts";

const longestName = 200;

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** Cuts a text, but not within a character that takes two UTF-16 units. */
function cutChars(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const isSplit = /[\uD800-\uDBFF]/.test(text.charAt(maxChars - 1));
  return text.slice(0, isSplit ? maxChars - 1 : maxChars);
}

/** Returns a short text as inline code on one line. */
export function toCode(text: string): string {
  const line = showControls(cutChars(text, longestName)).replace(/\s+/g, " ").trim();
  if (line === "") return "(empty)";
  const mark = "`".repeat(longestRun(line) + 1);
  const space = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${mark}${space}${line}${space}${mark}${text.length > longestName ? " (cut)" : ""}`;
}

export interface BlockOptions {
  readonly language: "text" | "json";
  readonly maxChars: number;
  /** False if the text is only the beginning of a longer one. Default true. */
  readonly isWhole?: boolean | undefined;
}

/** Returns a text as a fenced block. The fence is longer than all runs of backticks in the text, so that the text cannot end it. */
export function toBlock(text: string, { language, maxChars, isWhole = true }: BlockOptions): string {
  const lines = text.replaceAll("\r\n", "\n");
  const cut = cutChars(lines, maxChars);
  const shown = showControls(cut);
  const fence = "`".repeat(Math.max(3, longestRun(shown) + 1));
  const block = `${fence}${language}\n${shown}\n${fence}`;
  if (isWhole && cut.length === lines.length) return block;
  return `${block}\n\n_The first ${formatCount(cut.length)} of ${isWhole ? formatCount(lines.length) : `more than ${formatCount(Math.max(maxChars, mostCounted))}`} characters._`;
}

/** Returns plain data as a block: a string as text, other data as JSON. */
export function toDataBlock(value: unknown, maxChars: number): string {
  if (typeof value === "string") return toBlock(value, { language: "text", maxChars });
  const { text, isWhole } = writeJson(value, Math.max(maxChars, mostCounted));
  return toBlock(text, { language: "json", maxChars, isWhole });
}

/** Returns Markdown as a block quote. Its texts have no line breaks other than "\n", so that each line gets its mark. */
export function toQuote(markdown: string): string {
  return markdown
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** Returns a block that viewers fold, under a title without user content. */
export function toFolded(title: string, block: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${block}\n\n</details>`;
}
