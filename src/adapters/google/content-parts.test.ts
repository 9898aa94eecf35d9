// What becomes of content that users and tools hand over.

import { expect, it } from "vitest";
import type { ContentPart } from "../../spi.ts";
import { type MediaPart, toContentParts, toMediaPart, toResponseData } from "./content-parts.ts";

const file = (mediaType: string, data: string | URL): MediaPart => ({ type: "file", mediaType, data });
const image = (mediaType: string, data: string | URL): MediaPart => ({ type: "image", mediaType, data });
const inline = (mimeType: string, data: string): object => ({ inlineData: { mimeType, data } });
const address = (mimeType: string, fileUri: string): object => ({ fileData: { mimeType, fileUri } });
const note = (mediaType: string): object => ({ text: `[Content of type ${mediaType}, which cannot be shown here.]` });

it.for<[part: MediaPart, wire: object]>([
  [image("image/png", "AAAA"), inline("image/png", "AAAA")],
  [image("Image/JPG; q=1", "AAAA"), inline("image/jpeg", "AAAA")],
  [image("image/heic", "AAAA"), inline("image/heic", "AAAA")],
  [image("image/gif", "AAAA"), note("image/gif")],
  [image("image/svg+xml", "AAAA"), note("image/svg+xml")],
  [file("application/pdf", "AAAA"), inline("application/pdf", "AAAA")],
  [file("audio/wav", "AAAA"), inline("audio/wav", "AAAA")],
  [file("video/mp4", "AAAA"), inline("video/mp4", "AAAA")],
  [file("text/csv;charset=utf-8", "YSxi"), inline("text/plain", "YSxi")],
  [file("application/json", "e30="), inline("text/plain", "e30=")],
  [file("application/ld+json", "e30="), inline("text/plain", "e30=")],
  [file("application/zip", "AAAA"), note("application/zip")],
  [file("application/pdf", ""), note("application/pdf")],
  [file("video/mp4", "https://a.example/v.mp4"), address("video/mp4", "https://a.example/v.mp4")],
  [file("application/pdf", new URL("https://a.example/f")), address("application/pdf", "https://a.example/f")],
  [image("image/png", "gs://bucket/i.png"), address("image/png", "gs://bucket/i.png")],
  [file("text/markdown", "HTTPS://a.example/f"), address("text/plain", "HTTPS://a.example/f")],
  [file("application/zip", "https://a.example/f"), note("application/zip")],
  [file("application/pdf", "file:///etc/passwd"), note("application/pdf")],
  [image("image/png", new URL("file:///i.png")), note("image/png")],
  [image("image/png", "data:image/webp;base64,AAAA"), inline("image/webp", "AAAA")],
  [image("image/png", "data:;base64,AAAA"), inline("image/png", "AAAA")],
  [file("text/plain", "data:text/html,%3Cb%3EZo%C3%AB"), inline("text/plain", "PGI+Wm/Dqw==")],
  [file("text/plain", "data:text/plain,%E0%A4%A"), note("text/plain")],
  [file("text/plain", "data:text/plain"), note("text/plain")],
])("%j is sent as %j", ([part, wire]) => {
  expect(toMediaPart(part)).toEqual(wire);
});

it.for<[part: MediaPart, data: object | undefined]>([
  [image("image/png", "AAAA"), { mimeType: "image/png", data: "AAAA" }],
  [image("image/png", "data:image/webp;base64,AAAA"), { mimeType: "image/webp", data: "AAAA" }],
  [file("application/pdf", "AAAA"), { mimeType: "application/pdf", data: "AAAA" }],
  [file("application/json", "e30="), { mimeType: "text/plain", data: "e30=" }],
  [image("image/heic", "AAAA"), undefined],
  [file("audio/wav", "AAAA"), undefined],
  [file("application/zip", "AAAA"), undefined],
  [image("image/png", "https://a.example/i.png"), undefined],
])("%j stands within an answer as %j", ([part, data]) => {
  expect(toResponseData(part)).toEqual(data);
});

it.for<[content: string | readonly ContentPart[], parts: readonly object[]]>([
  ["hi", [{ text: "hi" }]],
  [" \n", []],
  ["", []],
  [[], []],
  [
    [{ type: "text", text: "a" }, { type: "text", text: " " }, image("image/png", "AAAA")],
    [{ text: "a" }, inline("image/png", "AAAA")],
  ],
])("the content %j is sent as %j", ([content, parts]) => {
  expect(toContentParts(content)).toEqual(parts);
});
