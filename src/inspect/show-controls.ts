/** Control characters other than tab and line break, which include the ANSI escape, and characters that reorder or hide text. */
const controls = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029\u2060-\u2064\ufeff]/gu;

/** Returns the text with each control character as its code point, such as ‹U+202E›. */
export function showControls(text: string): string {
  return text.replace(controls, (control) => `‹U+${control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}
