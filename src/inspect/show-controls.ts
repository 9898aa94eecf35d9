const emoji = String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}0-9#*]`;

/**
 * Matches control characters other than tab and line break, which include the ANSI escape, and characters that reorder or hide
 * text. Joiners and variation selectors in emoji, and joiners in the scripts that need them, are ordinary text.
 */
const controls = new RegExp(
  [
    String.raw`(?![\t\n])`,
    String.raw`(?!(?<=${emoji})\ufe0f|(?<=${emoji}\ufe0f?)\u200d)`,
    String.raw`(?!(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}])[\u200c\u200d])`,
    String.raw`[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]`,
  ].join(""),
  "gu",
);

/** Returns the text with each control character as its code point, such as ‹U+202E›. */
export function showControls(text: string): string {
  return text.replace(controls, (control) => `‹U+${(control.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`);
}
