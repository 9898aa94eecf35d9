// Makes texts safe for a terminal: models, tools, files and file names may contain terminal commands.

/** A text without control characters but for line ends. */
export function toPrintable(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, "");
}
