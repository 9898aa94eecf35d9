// Makes text safe for a terminal. Text from models, tools and files, and file names, may contain terminal commands.

/** Removes control characters except line breaks. */
export function toPrintable(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, "");
}
