// Brings texts into the one form in which they are compared.

/** How much of a text is looked at, in UTF-16 units. */
const longestText = 16_384;

/** More marks on one letter than any language has; composing them takes time that grows with the square of their number. */
const tooManyMarks = /(\p{M}{30})\p{M}+/gu;

/** The start of a text, its letters composed (Unicode's form C). */
export function readText(text: string): string {
  return text.slice(0, longestText).replace(tooManyMarks, "$1").normalize("NFC");
}
