import { expect, it } from "vitest";
import type { ContentPart } from "../core/index.ts";
import type { MediaPart } from "../shared/media-source.ts";
import { createMessageConverter, toChatMedia } from "./chat-body.ts";

const convert = createMessageConverter({
  id: "openai",
  model: "m",
  echoReasoning: undefined,
  toolResultMedia: "user-message",
  toWireCallId: (callId) => callId,
});
const contentOf = (content: string | readonly ContentPart[]): unknown => convert({ role: "user", content })[0]?.content;
const image = (data: string | URL, mediaType = "image/png"): MediaPart => ({ type: "image", mediaType, data });
const file = (mediaType: string, data: string | URL): MediaPart => ({ type: "file", mediaType, data });

it.for<[what: string, part: MediaPart, wire: object | string]>([
  ["an image in base64", image("iVBORw0KGgo="), { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }],
  ["an image at a URL", image("https://x.test/a.png"), { type: "image_url", image_url: { url: "https://x.test/a.png" } }],
  [
    "an image whose URL is a URL object",
    image(new URL("https://x.test/a b.png")),
    { type: "image_url", image_url: { url: "https://x.test/a%20b.png" } },
  ],
  [
    "an image in a data URL",
    image("data:image/gif;base64,R0lG"),
    { type: "image_url", image_url: { url: "data:image/gif;base64,R0lG" } },
  ],
  ["audio", file("audio/wav", "UklGRg=="), { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }],
  [
    "MP3 audio of type Audio/MPEG",
    file("Audio/MPEG", "SUQz"),
    { type: "input_audio", input_audio: { data: "SUQz", format: "mp3" } },
  ],
  [
    "audio in a data URL",
    file("audio/mpeg", "data:audio/mpeg;base64,SUQz"),
    { type: "input_audio", input_audio: { data: "SUQz", format: "mp3" } },
  ],
  [
    "a PDF",
    file("application/pdf", "JVBERi0="),
    { type: "file", file: { filename: "file.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
  ],
  [
    "an image from a file part",
    file("image/bmp", "Qk0="),
    { type: "image_url", image_url: { url: "data:image/bmp;base64,Qk0=" } },
  ],
  [
    "an image of type image/* at a URL",
    image("http://x.test/a", "image/*"),
    { type: "image_url", image_url: { url: "http://x.test/a" } },
  ],
  ["a text file as text", file("text/csv", "w7Y7MQ=="), "File of type text/csv:\nö;1"],
  ["a text file in a data URL as text", file("text/plain", "data:,a%20b"), "File of type text/plain:\na b"],
])("openaiChat: user messages and tool results contain %s", ([, part, wire]) => {
  const ofUser = typeof wire === "string" ? { type: "text", text: wire } : wire;
  expect([contentOf([part]), toChatMedia(part)]).toEqual([[ofUser], wire]);
});

it.for<[what: string, part: MediaPart]>([
  ["audio at a URL", file("audio/mpeg", "https://x.test/a.mp3")],
  ["audio in an unsupported format", file("audio/ogg", "T2dn")],
  ["a PDF at a URL", file("application/pdf", "https://x.test/a.pdf")],
  ["a text file at a URL", file("text/plain", "https://x.test/a.txt")],
  ["a text file that is not UTF-8", file("text/plain", "/w==")],
  ["a ZIP file", file("application/zip", "UEs=")],
  ["a file with an invalid type", file("../../etc", "eA==")],
  ["an SVG image", image("PHN2Zy8+", "image/svg+xml")],
  ["base64 data of type image/*", image("AAAA", "image/*")],
  ["an image at a file: URL", image("file:///a.png")],
  ["an image without data", image("")],
])("openaiChat: writes a note instead of %s", ([, part]) => {
  expect(toChatMedia(part)).toContain("cannot be shown to you");
});

it.for<[what: string, content: string | readonly ContentPart[], wire: unknown]>([
  ["a string", "hi", "hi"],
  ["no parts to an empty string", [], ""],
  ["one text part to a string", [{ type: "text", text: "hi" }], "hi"],
  [
    "two text parts",
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
])("openaiChat: converts a user message of %s", ([, content, wire]) => {
  expect(contentOf(content)).toEqual(wire);
});
