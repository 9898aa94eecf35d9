// Bytes as base64.

const pieceBytes = 8_192;

/** In pieces, because a call takes only so many arguments. */
export function encodeBase64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    pieces.push(String.fromCharCode(...bytes.subarray(start, start + pieceBytes)));
  }
  return btoa(pieces.join(""));
}
