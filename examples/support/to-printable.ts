// Makes text safe to print in a terminal. Text from models, tools and files may contain terminal commands.

/** Removes all control characters except line breaks. */
export function toPrintable(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, "");
}
