import { expect, it } from "vitest";
import type { ContentPart } from "../core/index.ts";
import { toBlocks } from "./messages-body.ts";

const image = (mediaType: string, data: string | URL = "eA=="): ContentPart => ({ type: "image", mediaType, data });
const file = (mediaType: string, data: string | URL = "eA=="): ContentPart => ({ type: "file", mediaType, data });
const base64 = (type: string, mediaType: string, data = "eA=="): object => ({
  type,
  source: { type: "base64", media_type: mediaType, data },
});
const byUrl = (type: string, url: string): object => ({ type, source: { type: "url", url } });
const textDocument = (data: string): object => ({ type: "document", source: { type: "text", media_type: "text/plain", data } });

it.for<[what: string, part: ContentPart, block: object]>([
  ["an image", image("image/png"), base64("image", "image/png")],
  ["an IMAGE/JPG image as image/jpeg", image("IMAGE/JPG; q=1"), base64("image", "image/jpeg")],
  ["an image from a file part", file("image/webp"), base64("image", "image/webp")],
  ["an image in a data URL", image("image/png", "data:image/gif;base64,eA=="), base64("image", "image/gif")],
  ["an image in a data URL without a type", image("image/png", "data:;base64,eA=="), base64("image", "image/png")],
  ["an image at a URL", image("image/png", "https://x.test/a.png"), byUrl("image", "https://x.test/a.png")],
  [
    "an image whose URL is a URL object",
    image("image/png", new URL("https://x.test/a.png")),
    byUrl("image", "https://x.test/a.png"),
  ],
  ["a PDF", file("application/pdf", "JVBERi0="), base64("document", "application/pdf", "JVBERi0=")],
  ["a PDF at a URL", file("application/pdf", "https://x.test/a.pdf"), byUrl("document", "https://x.test/a.pdf")],
  ["a text file", file("text/csv", "w7Y7MQ=="), textDocument("ö;1")],
  ["a JSON file", file("application/json", "e30="), textDocument("{}")],
  ["a text file in a data URL", file("text/plain", "data:text/plain,a%20b"), textDocument("a b")],
  ["an image of type image/* at a URL", image("image/*", "https://x.test/a"), byUrl("image", "https://x.test/a")],
  ["a text document for an image part with a text type", image("text/plain", "YQ=="), textDocument("a")],
])("anthropicMessages: user messages and tool results contain %s", ([, part, block]) => {
  expect(toBlocks([part])).toEqual([block]);
});

it.for<[what: string, part: ContentPart]>([
  ["an SVG image", image("image/svg+xml")],
  ["an SVG image at a URL", image("image/svg+xml", "https://x.test/a.svg")],
  ["base64 data of type image/*", image("image/*")],
  ["a BMP image", image("image/bmp")],
  ["audio", file("audio/wav")],
  ["a text file at a URL", file("text/plain", "https://x.test/a.txt")],
  ["a file at a file: URL", file("application/pdf", "file:///a.pdf")],
  ["a malformed data URL", image("image/png", "data:image/png")],
  ["an empty text file", file("text/plain", "")],
  ["a blank text file", file("text/plain", "IAo=")],
  ["a text file that is not UTF-8", file("text/plain", "/w==")],
])("anthropicMessages: writes a note instead of %s", ([, part]) => {
  expect(toBlocks([part])).toEqual([{ type: "text", text: expect.stringContaining("cannot be shown to you") }]);
});

it("anthropicMessages: user messages and tool results omit blank text", () => {
  expect(toBlocks(" \n")).toEqual([]);
  expect(
    toBlocks([
      { type: "text", text: "" },
      { type: "text", text: " a " },
    ]),
  ).toEqual([{ type: "text", text: " a " }]);
  expect(toBlocks("a")).toEqual([{ type: "text", text: "a" }]);
});
