import { describe, expect, it } from "vitest";
import { estimateMedia, estimateMetadata } from "./estimate-media.ts";
import type { MediaPart } from "./media-source.ts";

const base64 = (bytes: number, fill = "x"): string => btoa(fill.repeat(bytes));

/** Returns a PNG whose header contains this size. */
function png(width: number, height: number): string {
  const four = (value: number): string =>
    String.fromCharCode(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
  return btoa(`\u0089PNG\r\n\u001a\n${four(13)}IHDR${four(width)}${four(height)}${"\0".repeat(60_000)}`);
}

const pdf = (pages: number, bytes: number): string =>
  btoa(`%PDF-1.7\n<< /Type /Pages >>${"<< /Type /Page /Parent 1 0 R >>".repeat(pages)}${" ".repeat(bytes)}`);
const image = (data: string, mediaType = "image/png"): MediaPart => ({ type: "image", mediaType, data });
const file = (mediaType: string, data: string): MediaPart => ({ type: "file", mediaType, data });

describe("estimateMedia", () => {
  it.for<[what: string, part: MediaPart, tokens: number]>([
    ["an image by its pixels", image(png(750, 100)), 100],
    ["a large image as a scaled one", image(png(4_000, 4_000)), 1_600],
    ["an image in a data URL by its pixels", image(`data:image/png;base64,${png(750, 10)}`, "image/*"), 10],
    ["an image sent as a file by its pixels", file("image/png", png(750, 10)), 10],
    ["an image without a readable size as a large one", image(base64(3_000), "image/avif"), 1_600],
    ["an image at a URL as a large one", image("https://example.com/a.png", "image/*"), 1_600],
    ["a PDF by its pages", file("application/pdf", pdf(3, 600_000)), 6_000],
    ["a PDF with compressed objects by its size", file("application/pdf", pdf(0, 600_000)), 18_000],
    ["a PDF at a URL as one page", file("application/pdf", "https://example.com/a.pdf"), 2_000],
    ["a text file by its text", file("text/plain", base64(4_000)), 1_000],
    ["a text file in a data URL by its text", file("text/csv", `data:text/csv,${"a".repeat(400)}`), 100],
    ["audio by its seconds", file("audio/wav", base64(320_000)), 320],
    ["compressed audio by its seconds", file("audio/mpeg", base64(160_000)), 320],
    ["video by its seconds", file("video/mp4", base64(1_000_000)), 1_200],
    ["any other document by its size", file("application/msword", base64(150_000)), 4_000],
    ["data that cannot be read as nothing", file("application/pdf", "?"), 0],
  ])("counts %s", ([, part, tokens]) => {
    expect(estimateMedia(part)).toBe(tokens);
  });
});

describe("estimateMetadata", () => {
  it.for<[what: string, value: unknown, tokens: number]>([
    ["text as text", { text: "a b ".repeat(1_000) }, 1_003],
    ["an encoded image by its pixels", { inlineData: { data: png(750, 100) } }, 107],
    ["a data URL by the pixels of its image", [`data:image/png;base64,${png(750, 100)}`], 101],
    ["encoded audio by its seconds", { mimeType: "audio/wav", data: base64(320_000) }, 329],
    ["other encoded bytes by their number", { encrypted_content: base64(4_000) }, 1_006],
    ["short encoded text as text", ["A".repeat(400)], 101],
    ["nothing", undefined, 0],
  ])("counts %s", ([, value, tokens]) => {
    expect(estimateMetadata(value)).toBe(tokens);
  });
});
