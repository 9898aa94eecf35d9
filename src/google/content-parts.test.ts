import { expect, it } from "vitest";
import type { ContentPart } from "../core/index.ts";
import type { MediaPart } from "../shared/media-source.ts";
import { type MediaWirePart, standsInAnswer, toContentParts, toResultMedia } from "./generate-body.ts";

const file = (mediaType: string, data: string | URL): MediaPart => ({ type: "file", mediaType, data });
const image = (mediaType: string, data: string | URL): MediaPart => ({ type: "image", mediaType, data });
const inline = (mimeType: string, data: string): MediaWirePart => ({ inlineData: { mimeType, data } });
const address = (mimeType: string, fileUri: string): MediaWirePart => ({ fileData: { mimeType, fileUri } });

it.for<[part: MediaPart, wire: MediaWirePart | undefined]>([
  [image("image/png", "AAAA"), inline("image/png", "AAAA")],
  [image("Image/JPG; q=1", "AAAA"), inline("image/jpeg", "AAAA")],
  [image("image/heic", "AAAA"), inline("image/heic", "AAAA")],
  [image("image/gif", "AAAA"), undefined],
  [image("image/svg+xml", "AAAA"), undefined],
  [file("application/pdf", "JVBERi0="), inline("application/pdf", "JVBERi0=")],
  [file("audio/wav", "AAAA"), inline("audio/wav", "AAAA")],
  [file("video/mp4", "AAAA"), inline("video/mp4", "AAAA")],
  [file("text/csv;charset=utf-8", "YSxi"), inline("text/plain", "YSxi")],
  [file("application/json", "e30="), inline("text/plain", "e30=")],
  [file("application/ld+json", "e30="), inline("text/plain", "e30=")],
  [file("application/zip", "AAAA"), undefined],
  [file("application/pdf", ""), undefined],
  [file("video/mp4", "https://a.example/v.mp4"), address("video/mp4", "https://a.example/v.mp4")],
  [file("application/pdf", new URL("http://a.example/f")), address("application/pdf", "http://a.example/f")],
  [image("image/png", "gs://bucket/i.png"), address("image/png", "gs://bucket/i.png")],
  [file("text/markdown", "HTTPS://a.example/f"), address("text/plain", "HTTPS://a.example/f")],
  [file("application/zip", "https://a.example/f"), undefined],
  [file("application/pdf", "file:///etc/passwd"), undefined],
  [image("image/png", new URL("file:///i.png")), undefined],
  [image("image/png", "data:image/webp;base64,AAAA"), inline("image/webp", "AAAA")],
  [file("text/plain", "data:text/html,%3Cb%3EZo%C3%AB"), inline("text/plain", "PGI+Wm/Dqw==")],
  [file("text/plain", "data:text/plain"), undefined],
])("googleGenerateContent: converts the part %j to %j", ([part, wire]) => {
  if (wire !== undefined) {
    expect([toContentParts([part]), toResultMedia(part)]).toEqual([[wire], wire]);
    return;
  }
  expect(toResultMedia(part)).toContain("cannot be shown to you");
});

it.for<[verb: "puts" | "does not put", part: MediaWirePart]>([
  ["puts", inline("image/png", "AAAA")],
  ["puts", inline("image/webp", "AAAA")],
  ["puts", inline("application/pdf", "AAAA")],
  ["puts", inline("text/plain", "e30=")],
  ["does not put", inline("image/heic", "AAAA")],
  ["does not put", inline("audio/wav", "AAAA")],
  ["does not put", address("image/png", "https://a.example/i.png")],
])("googleGenerateContent: %s the part %j into a function response", ([verb, part]) => {
  expect(standsInAnswer(part)).toBe(verb === "puts");
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
])("googleGenerateContent: converts the user content %j to %j", ([content, parts]) => {
  expect(toContentParts(content)).toEqual(parts);
});
