// How large a text is, without asking anybody's tokenizer.

/** Bytes of UTF-8 in a token, about. */
export const bytesPerToken = 4;

/** The size of a text in bytes of UTF-8; half a surrogate pair counts as the 3 bytes of its replacement character. */
export function countBytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
      continue;
    }
    bytes += 2;
    // The second half of a pair was counted as one byte of its four.
    if (isPairAt(text, index)) index += 1;
  }
  return bytes;
}

/** About how many tokens a text is: a quarter of its bytes, rounded up. */
export function estimateTokens(text: string): number {
  return tokensOfBytes(countBytes(text));
}

/** The same for a text whose bytes are counted. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** Whether a surrogate pair begins at `index`. */
export function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}
