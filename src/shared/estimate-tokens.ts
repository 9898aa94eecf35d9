// Estimates the number of tokens in a string.

/** The approximate size of a token, in UTF-8 bytes. */
export const bytesPerToken = 4;

/** Returns a string's size in UTF-8 bytes. An unpaired surrogate counts as 3 bytes, because encoders replace it with U+FFFD. */
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
    // Skips the second half of a surrogate pair, because all four bytes of the pair are already counted.
    if (isPairAt(text, index)) index += 1;
  }
  return bytes;
}

export function estimateTokens(text: string): number {
  return tokensOfBytes(countBytes(text));
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

export function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}
