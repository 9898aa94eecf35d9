// What may go to a terminal: models, tools, files and their names may hold commands to it.

/** A text without control characters but for line ends. */
export function toPrintable(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, "");
}
