// Content parts on the wire.

import { expect, it } from "vitest";
import type { ContentPart } from "../../spi.ts";
import { toChatPart, toUserContent } from "./chat-content.ts";

const image = (data: string | URL): ContentPart => ({ type: "image", mediaType: "image/png", data });
const file = (mediaType: string, data: string | URL): ContentPart => ({ type: "file", mediaType, data });

it.for<[what: string, part: ContentPart, wire: object]>([
  ["text", { type: "text", text: "a" }, { type: "text", text: "a" }],
  ["an image in base64", image("iVBORw0KGgo="), { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }],
  ["an image by its URL", image("https://x.test/a.png"), { type: "image_url", image_url: { url: "https://x.test/a.png" } }],
  [
    "an image by a URL object",
    image(new URL("https://x.test/a b.png")),
    { type: "image_url", image_url: { url: "https://x.test/a%20b.png" } },
  ],
  [
    "an image as a data URL",
    image("data:image/gif;base64,R0lG"),
    { type: "image_url", image_url: { url: "data:image/gif;base64,R0lG" } },
  ],
  ["audio", file("audio/wav", "UklGRg=="), { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }],
  ["audio under another name", file("Audio/MPEG", "SUQz"), { type: "input_audio", input_audio: { data: "SUQz", format: "mp3" } }],
  [
    "audio as a data URL",
    file("audio/mpeg", "data:audio/mpeg;base64,SUQz"),
    { type: "input_audio", input_audio: { data: "SUQz", format: "mp3" } },
  ],
  [
    "audio elsewhere",
    file("audio/mpeg", "https://x.test/a.mp3"),
    { type: "file", file: { filename: "file.mpeg", file_data: "https://x.test/a.mp3" } },
  ],
  [
    "audio in a format that the wire does not know",
    file("audio/ogg", "T2dn"),
    { type: "file", file: { filename: "file.ogg", file_data: "data:audio/ogg;base64,T2dn" } },
  ],
  [
    "a document",
    file("application/pdf", "JVBERi0="),
    { type: "file", file: { filename: "file.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
  ],
  [
    "a file without a proper type",
    file("../../etc", "eA=="),
    { type: "file", file: { filename: "file", file_data: "data:../../etc;base64,eA==" } },
  ],
])("toChatPart writes %s", ([, part, wire]) => {
  expect(toChatPart(part)).toEqual(wire);
});

it.for<[what: string, content: string | readonly ContentPart[], wire: unknown]>([
  ["a string", "hi", "hi"],
  ["no parts", [], ""],
  ["one text", [{ type: "text", text: "hi" }], "hi"],
  [
    "two texts",
    [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ],
    [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ],
  ],
  ["one image", [image("eA==")], [{ type: "image_url", image_url: { url: "data:image/png;base64,eA==" } }]],
])("toUserContent writes %s", ([, content, wire]) => {
  expect(toUserContent(content)).toEqual(wire);
});
