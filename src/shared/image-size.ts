// Reads an image's width and height from its first bytes, for PNG, GIF, JPEG and WebP.

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The number of bytes to search. In a JPEG, a preview and a color profile may precede the size. */
const maxHeadLength = 400_000;

/** Reads an image's size from standard base64. Returns undefined for other formats, and for damaged bytes. */
export function readImageSize(base64: string, mediaType: string): ImageSize | undefined {
  const read = Object.hasOwn(readers, mediaType) ? readers[mediaType] : undefined;
  if (read === undefined) return undefined;
  const bytes = atob(base64.slice(0, mediaType === "image/jpeg" ? maxHeadLength : 64));
  const size = read(bytes);
  // Bytes beyond the end are read as NaN, so an incomplete size fails these comparisons.
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

type ReadSize = (bytes: string) => ImageSize | undefined;

const readers: { readonly [mediaType: string]: ReadSize } = {
  "image/png": (bytes) => ({ width: bigEndian(bytes, 16, 4), height: bigEndian(bytes, 20, 4) }),
  "image/gif": (bytes) => ({ width: littleEndian(bytes, 6, 2), height: littleEndian(bytes, 8, 2) }),
  "image/jpeg": readJpeg,
  "image/webp": readWebp,
};

function bigEndian(bytes: string, at: number, length: number): number {
  let value = 0;
  for (let index = 0; index < length; index += 1) value = value * 256 + bytes.charCodeAt(at + index);
  return value;
}

function littleEndian(bytes: string, at: number, length: number): number {
  let value = 0;
  for (let index = length - 1; index >= 0; index -= 1) value = value * 256 + bytes.charCodeAt(at + index);
  return value;
}

/** Reads a JPEG's size from its "start of frame" segment. */
function readJpeg(bytes: string): ImageSize | undefined {
  let at = 2;
  while (bytes.charCodeAt(at) === 0xff) {
    const marker = bytes.charCodeAt(at + 1);
    if (marker === 0xff) at += 1;
    else if (isFrame(marker)) return { height: bigEndian(bytes, at + 5, 2), width: bigEndian(bytes, at + 7, 2) };
    else {
      const length = bigEndian(bytes, at + 2, 2);
      // There are no more bytes, so the size is unknown.
      if (Number.isNaN(length)) return undefined;
      at += 2 + length;
    }
  }
  return undefined;
}

function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** Reads one of the three kinds of WebP: lossy, lossless and extended (developers.google.com/speed/webp/docs/riff_container). */
function readWebp(bytes: string): ImageSize | undefined {
  const kind = bytes.slice(12, 16);
  if (kind === "VP8X") return { width: littleEndian(bytes, 24, 3) + 1, height: littleEndian(bytes, 27, 3) + 1 };
  if (kind === "VP8 ") return { width: littleEndian(bytes, 26, 2) & 0x3fff, height: littleEndian(bytes, 28, 2) & 0x3fff };
  if (kind !== "VP8L") return undefined;
  const bits = littleEndian(bytes, 21, 4);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}
