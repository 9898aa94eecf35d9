// Content parts in the format of the API.

import { expect, it } from "vitest";
import type { MediaPart } from "../core/provider-kit.ts";
import { toInputContent, toInputMedia } from "./responses-body.ts";

const place = { provider: "openai", message: 0 };
const image = (data: string | URL, mediaType = "image/png"): MediaPart => ({ type: "image", mediaType, data });
const file = (mediaType: string, data: string | URL = "eA=="): MediaPart => ({ type: "file", mediaType, data });
const bytes = (filename: string, mediaType: string): object => ({
  type: "input_file",
  filename,
  file_data: `data:${mediaType};base64,eA==`,
});
const shown = (url: string): object => ({ type: "input_image", image_url: url, detail: "auto" });
const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

it.for<[what: string, part: MediaPart, item: object]>([
  ["an image in base64", image("eA=="), shown("data:image/png;base64,eA==")],
  ["an image by its URL", image(new URL("https://x.test/a.png")), shown("https://x.test/a.png")],
  ["a document", file("application/pdf"), bytes("file.pdf", "application/pdf")],
  ["a document by its URL", file("application/pdf", "http://x.test/a"), { type: "input_file", file_url: "http://x.test/a" }],
  ["a file of an office program", file(docx), bytes("file.docx", docx)],
  ["a text", file("text/plain"), bytes("file.txt", "text/plain")],
  ["a table", file("text/csv;charset=utf-8"), bytes("file.csv", "text/csv")],
  ["code", file("text/x-python"), bytes("file.python", "text/x-python")],
  ["a text of a type without a proper name", file("text/!"), bytes("file.txt", "text/!")],
  ["a text as a data URL", file("text/html", "data:,x"), bytes("file.html", "text/html")],
  [
    "a file of some type by its URL",
    file("application/octet-stream", "https://x.test/a.pdf"),
    { type: "input_file", file_url: "https://x.test/a.pdf" },
  ],
  ["a text by its URL", file("text/csv", "https://x.test/a"), { type: "input_file", file_url: "https://x.test/a" }],
])("writes %s, of a user and of a tool", ([, part, item]) => {
  expect([toInputContent([part], place), toInputMedia(part)]).toEqual([[item], item]);
});

it.for<[what: string, part: MediaPart]>([
  ["a sound", file("audio/wav")],
  ["a sound at a URL", file("audio/wav", "https://x.test/a.wav")],
  ["a video", file("video/mp4")],
  ["an archive", file("application/zip")],
  ["an archive at a URL", file("application/zip", "https://x.test/a.zip")],
  ["bytes of some type", file("application/octet-stream")],
  ["a drawing", image("PHN2Zy8+", "image/svg+xml")],
  ["an image of some type", image("AAAA", "image/*")],
  ["a document in a bucket", file("application/pdf", "gs://bucket/a.pdf")],
  ["an image on another machine", image("file:///a.png")],
  ["a document without data", file("application/pdf", "data:;base64,")],
])("refuses %s of a user, and tells the model of that of a tool", ([, part]) => {
  expect(() => toInputContent([part], place)).toThrow(expect.objectContaining({ code: "bad-request" }));
  expect(toInputMedia(part)).toContain("cannot be shown to you");
});
