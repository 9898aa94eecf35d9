import { expect, it } from "vitest";
import { readImageSize } from "./image-size.ts";

const bytes = (...parts: readonly (string | readonly number[])[]): string =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part)))).toString(
    "base64",
  );

const start = [0xff, 0xd8];
const frame = (marker: number, height: number, width: number): readonly number[] => [
  ...[0xff, marker, 0, 17, 8],
  ...[height >> 8, height & 255, width >> 8, width & 255, 3],
];
/** A preview inside the metadata, with its own size, which must not be read. */
const exif = [0xff, 0xe1, 0, 2 + 6 + 12, ...Buffer.from("Exif\0\0"), ...start, ...frame(0xc0, 1, 1)];

it.for<[what: string, mediaType: string, data: string, width: number, height: number]>([
  ["PNG", "image/png", "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABCAYAAAAfFcSJ", 3, 1],
  ["GIF", "image/gif", bytes("GIF89a", [3, 1, 2, 0]), 259, 2],
  ["JPEG", "image/jpeg", bytes(start, frame(0xc0, 600, 800)), 800, 600],
  ["progressive JPEG with metadata", "image/jpeg", bytes(start, exif, [0xff, 0xc4, 0, 2, 0xff], frame(0xc2, 600, 800)), 800, 600],
  ["lossy WebP", "image/webp", "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA", 1, 1],
  ["lossless WebP", "image/webp", "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==", 1, 1],
  ["extended WebP", "image/webp", bytes("RIFFxxxxWEBPVP8X", [10, 0, 0, 0, 0, 0, 0, 0], [0x3f, 0x1f, 0], [0x01, 0, 0]), 8_000, 2],
])("readImageSize: reads %s", ([, mediaType, data, width, height]) => {
  expect(readImageSize(data, mediaType)).toEqual({ width, height });
});

it.each([
  ["of an unsupported type", "image/bmp", bytes("BM tides")],
  ["that is cut off", "image/png", "iVBORw0KGgo="],
  ["without a frame", "image/jpeg", bytes(start, [0xff, 0xe1, 0xff, 0xff])],
  ["in a JPEG file cut off in a segment", "image/jpeg", bytes(start, [0xff])],
  ["in a JPEG file cut off in a segment length", "image/jpeg", bytes(start, [0xff, 0xe0, 0])],
  ["in a damaged JPEG file", "image/jpeg", bytes(start, [0, 0, 0, 0])],
  ["in a WebP file that is cut off", "image/webp", bytes("RIFFxxxxWEBPVP8X")],
  ["that has no pixels", "image/gif", bytes("GIF89a", [0, 0, 0, 0])],
])("readImageSize: returns undefined for an image %s", (_, mediaType, data) => {
  expect(readImageSize(data, mediaType)).toBeUndefined();
});
