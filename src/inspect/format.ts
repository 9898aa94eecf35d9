// Formats numbers, times, lists and untrusted text for display.

/** Joins strings, as in "a, b and c". */
export function joinTexts(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
}

/** Returns a number with commas, as in 41,200. */
export function formatCount(count: number): string {
  return count.toLocaleString("en");
}

/** Returns a count with its noun, as in "1 message" and "2 messages". */
export function countThings(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? "" : "s"}`;
}

/** Returns a duration, as in "840 ms", "1.25 s", "3 min 20 s", "2 h 5 min" and "3 d 4 h". */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${formatCount(Math.floor(hours / 24))} d ${hours % 24} h`;
}

/** Returns an amount, as in "$0.0042" and "$1.25". */
export function formatUSD(amount: number): string {
  return `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}

/** Returns a percentage with three significant digits, as in "59.8%" and "4.25%". */
export function formatShare(share: number): string {
  return `${Number((100 * share).toPrecision(3))}%`;
}

/** Returns the time in ISO 8601, or the number itself if it is not a valid time. */
export function toIsoTime(at: number): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? String(at) : time.toISOString();
}

/** Returns a time such as "2026-11-26 22:18:51 UTC". */
export function formatTime(at: number): string {
  return toIsoTime(at)
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}

/** Returns a time such as "2026-11-26 14:05:09", in the reader's time zone. */
export function formatLocalTime(at: number): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? "" : time.toLocaleString("sv");
}

const emoji = String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}0-9#*]`;

/**
 * Matches control characters other than tab and line break, such as the ANSI escape, and also characters that reorder or hide text. Does
 * not match joiners and variation selectors in emoji, or joiners in scripts that need them.
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

/** Returns the text with each control character replaced by its code point, such as ‹U+202E›. */
export function showControls(text: string): string {
  return text.replace(controls, (control) => `‹U+${(control.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`);
}
