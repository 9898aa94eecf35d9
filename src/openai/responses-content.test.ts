import { expect, it } from "vitest";
import type { ContentPart } from "../core/index.ts";
import type { MediaPart } from "../shared/media-source.ts";
import { createInputConverter, toInputMedia } from "./responses-body.ts";

const toInput = createInputConverter({
  id: "openai",
  model: "m",
  store: false,
  customTools: new Map(),
  toolResultMedia: "tool-message",
});
const contentOf = (content: string | readonly ContentPart[]): unknown => toInput([{ role: "user", content }])[0]?.["content"];
const image = (data: string | URL, mediaType = "image/png"): MediaPart => ({ type: "image", mediaType, data });
const file = (mediaType: string, data: string | URL = "eA=="): MediaPart => ({ type: "file", mediaType, data });
const bytes = (filename: string, mediaType: string, data = "eA=="): object => ({
  type: "input_file",
  filename,
  file_data: `data:${mediaType};base64,${data}`,
});
const shown = (url: string): object => ({ type: "input_image", image_url: url, detail: "auto" });
const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

it.for<[what: string, part: MediaPart, item: object]>([
  ["an image in base64", image("eA=="), shown("data:image/png;base64,eA==")],
  ["an image at a URL", image(new URL("https://x.test/a.png")), shown("https://x.test/a.png")],
  ["a PDF", file("application/pdf", "JVBERi0="), bytes("file.pdf", "application/pdf", "JVBERi0=")],
  ["a PDF at a URL", file("application/pdf", "http://x.test/a"), { type: "input_file", file_url: "http://x.test/a" }],
  ["a Word document", file(docx), bytes("file.docx", docx)],
  ["a text file", file("text/plain"), bytes("file.txt", "text/plain")],
  ["a CSV file", file("text/csv;charset=utf-8"), bytes("file.csv", "text/csv")],
  ["a Python file", file("text/x-python"), bytes("file.python", "text/x-python")],
  ["a text file with the invalid type text/!", file("text/!"), bytes("file.txt", "text/!")],
  ["a text file in a data URL", file("text/html", "data:,x"), bytes("file.html", "text/html")],
  [
    "a file of unknown type at a URL",
    file("application/octet-stream", "https://x.test/a.pdf"),
    { type: "input_file", file_url: "https://x.test/a.pdf" },
  ],
  ["a CSV file at a URL", file("text/csv", "https://x.test/a"), { type: "input_file", file_url: "https://x.test/a" }],
])("openaiResponses: user messages and tool results contain %s", ([, part, item]) => {
  expect([contentOf([part]), toInputMedia(part)]).toEqual([[item], item]);
});

it.for<[what: string, part: MediaPart]>([
  ["audio", file("audio/wav")],
  ["audio at a URL", file("audio/wav", "https://x.test/a.wav")],
  ["a video", file("video/mp4")],
  ["a ZIP file", file("application/zip")],
  ["a ZIP file at a URL", file("application/zip", "https://x.test/a.zip")],
  ["bytes of unknown type", file("application/octet-stream", "AAE=")],
  ["an SVG image", image("PHN2Zy8+", "image/svg+xml")],
  ["base64 data of type image/*", image("AAAA", "image/*")],
  ["a PDF at a gs: URL", file("application/pdf", "gs://bucket/a.pdf")],
  ["an image at a file: URL", image("file:///a.png")],
  ["a PDF without data", file("application/pdf", "data:;base64,")],
])("openaiResponses: writes a note instead of %s", ([, part]) => {
  expect(toInputMedia(part)).toContain("cannot be shown to you");
});
