import { describe, expect, it } from "vitest";
import { isTextType, locateMedia, type MediaSource, type ReadableMedia, readText, toBase64 } from "./media-source.ts";

const base64 = (data: string, mediaType = "image/png"): MediaSource => ({ kind: "base64", mediaType, data });
const at = (scheme: string, url: string): MediaSource => ({ kind: "url", mediaType: "image/png", scheme, url });
const text = (said: string, mediaType = "image/png"): MediaSource => ({ kind: "text", mediaType, text: said });
const unreadable = (why: string, mediaType = "image/png"): MediaSource => ({ kind: "unreadable", mediaType, why });
const noData = unreadable("its data is empty");
const neither = unreadable("its data is neither base64 nor a URL");
const broken = unreadable("its data URL cannot be read");

describe("locateMedia", () => {
  it.for<[data: string | URL, source: MediaSource]>([
    ["eA==", base64("eA==")],
    ["AAAA", base64("AAAA")],
    ["+/+/", base64("+/+/")],
    ["AA\r\nAA\n", base64("AAAA")],
    ["-_-_", base64("+/+/")],
    ["eA", base64("eA==")],
    ["eHh", base64("eHh=")],
    ["", noData],
    ["A", neither],
    ["AAAAA", neither],
    ["AA=A", neither],
    ["=", neither],
    ["A===", neither],
    ["Hello world", neither],
    ["./cat.png", neither],
    ["ö===", neither],
    ["https://x.test/a b.png", at("https", "https://x.test/a b.png")],
    ["HTTP://X.test/", at("http", "HTTP://X.test/")],
    [new URL("https://x.test/a b.png"), at("https", "https://x.test/a%20b.png")],
    ["gs://Bucket/a", at("gs", "gs://Bucket/a")],
    ["file:///a.png", at("file", "file:///a.png")],
    ["C:\\cat.png", at("c", "C:\\cat.png")],
    ["https://", unreadable("its URL cannot be read")],
    ["data:image/gif;base64,R0lG", base64("R0lG", "image/gif")],
    ["data:Image/JPG;name=a;BASE64,AAAA", base64("AAAA", "image/jpeg")],
    ["DATA:;base64,AAAA", base64("AAAA")],
    ["data:;base64,AA%2BA", base64("AA+A")],
    ["data:;base64,AA%", broken],
    ["data:;base64,", noData],
    ["data:;base64,a b", neither],
    ["data:text/plain,a%20b,c", text("a b,c", "text/plain")],
    ["data:,a", text("a")],
    ["data:,", noData],
    ["data:image/png", broken],
    ["data:,%E0%A4%A", broken],
  ])("reads the data %j as the source %j", ([data, source]) => {
    expect(locateMedia({ type: "image", mediaType: "image/png", data })).toEqual(source);
  });

  it("reads 4,000,000 characters of base64, and rejects an invalid character at the end", () => {
    const long = "A".repeat(4_000_000);
    expect(locateMedia({ type: "file", mediaType: "image/png", data: long })).toMatchObject({ kind: "base64" });
    expect(locateMedia({ type: "file", mediaType: "image/png", data: `${long}!AAA` })).toEqual(neither);
  });
});

describe("media types", () => {
  it.for<[given: string, mediaType: string]>([
    ["image/png", "image/png"],
    [" Image/JPG ; q=1", "image/jpeg"],
    ["image", "image/*"],
    ["", ""],
  ])("are normalized by locateMedia: %j to %j", ([mediaType, normalized]) => {
    expect(locateMedia({ type: "image", mediaType, data: "AAAA" })).toMatchObject({ mediaType: normalized });
  });

  it.for<[hex: string, mediaType: string]>([
    ["89504e470d0a1a0a00", "image/png"],
    ["ffd8ffe000104a46", "image/jpeg"],
    ["474946383961", "image/gif"],
    ["524946462400000057454250", "image/webp"],
    ["524946462400000057415645", "image/*"],
    ["00", "image/*"],
  ])("are detected by locateMedia from an image's first bytes: %s as %s", ([hex, mediaType]) => {
    const data = Buffer.from(hex, "hex").toString("base64");
    expect(locateMedia({ type: "image", mediaType: "image/*", data })).toMatchObject({ mediaType });
  });

  const heic = (brand: string): string => `\0\0\0\x18ftyp${brand}`;

  it.for<[given: string, bytes: string, mediaType: string]>([
    ["image/jpeg", "\x89PNG\r\n\x1a\n", "image/png"],
    ["application/octet-stream", "\xff\xd8\xff\xe0", "image/jpeg"],
    ["text/plain", "GIF89a", "image/gif"],
    ["image/png", "RIFF$\0\0\0WEBP", "image/webp"],
    ["image/png", "%PDF-1.7", "application/pdf"],
    ["application/pdf", "<!DOCTYPE html>", "text/html"],
    ["application/pdf", "Just some notes.", "text/plain"],
    ["application/pdf", "PK\x03\x04\xff", "application/octet-stream"],
    ["application/pdf", "PK\0", "application/octet-stream"],
    ["application/pdf", `${"junk ".repeat(200)}%PDF-1.7\n\xff`, "application/pdf"],
    ["application/octet-stream", "# Notes", "text/plain"],
    ["application/octet-stream", "PK\x03\x04\xff", "application/octet-stream"],
    ["application/octet-stream", "ELF\0", "application/octet-stream"],
    ["application/octet-stream", "%PDF-1.7", "application/pdf"],
    ["application/vnd.ms-excel", "a;b\n1;2\n", "text/plain"],
    ["application/vnd.ms-excel", "\xd0\xcf\x11\xe0", "application/vnd.ms-excel"],
    ["image/png", "<html>", "text/html"],
    ["image/png", "<svg xmlns", "image/svg+xml"],
    ["image/svg+xml", "<?xml version", "image/svg+xml"],
    ["image/png", "BM tides", "image/bmp"],
    ["image/png", "II*\0\x08\0\0\0", "image/tiff"],
    ["image/jpeg", heic("heic"), "image/heic"],
    ["image/jpeg", heic("mif1"), "image/heif"],
    ["image/png", heic("avif"), "image/avif"],
    ["text/csv", "BM;tides", "text/csv"],
    ["text/plain", "<html>", "text/plain"],
    ["video/mp4", heic("mp42"), "video/mp4"],
    ["application/zip", "PK\x03\x04", "application/zip"],
    ["image/png", "anything", "image/png"],
  ])("are chosen by locateMedia, for a part of the type %s that begins with %j, as %s", ([given, bytes, mediaType]) => {
    const data = Buffer.from(bytes, "latin1").toString("base64");
    expect(locateMedia({ type: "image", mediaType: given, data })).toMatchObject({ mediaType });
    expect(locateMedia({ type: "file", mediaType: "a/b", data: `data:${given};base64,${data}` })).toMatchObject({ mediaType });
  });

  it.for<[mediaType: string, isText: boolean]>([
    ["text/plain", true],
    ["text/x-python", true],
    ["application/json", true],
    ["application/ld+json", true],
    ["application/atom+xml", true],
    ["application/yaml", true],
    ["application/pdf", false],
    ["image/svg+xml", false],
    ["text/", false],
    ["", false],
  ])("are recognized as text by isTextType(%j): %s", ([mediaType, isText]) => {
    expect(isTextType(mediaType)).toBe(isText);
  });
});

it.for<[media: ReadableMedia, said: string | undefined]>([
  [{ kind: "text", mediaType: "", text: "a" }, "a"],
  [{ kind: "text", mediaType: "", text: " \n" }, undefined],
  [{ kind: "base64", mediaType: "", data: "w7Y=" }, "ö"],
  [{ kind: "base64", mediaType: "", data: "77u/YQ==" }, "a"],
  [{ kind: "base64", mediaType: "", data: "IAo=" }, undefined],
  [{ kind: "base64", mediaType: "", data: "/w==" }, undefined],
  [{ kind: "url", mediaType: "", scheme: "https", url: "https://x.test/" }, undefined],
])("readText: given the source %j, returns %j", ([media, said]) => {
  expect(readText(media)).toBe(said);
});

it("toBase64: encodes text as UTF-8, and returns base64 unchanged", () => {
  expect(toBase64({ kind: "text", mediaType: "", text: "ö" })).toBe("w7Y=");
  expect(toBase64({ kind: "base64", mediaType: "", data: "AAAA" })).toBe("AAAA");
});
