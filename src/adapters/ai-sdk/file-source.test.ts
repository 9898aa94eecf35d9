import { describe, expect, it } from "vitest";
import { takesFile } from "./file-source.ts";
import type { FileFacts } from "./spec-words.ts";

const at = (mediaType: string, url: string): FileFacts => ({ mediaType, source: { kind: "url", text: url, url: new URL(url) } });

describe("takesFile", () => {
  it.for<[patterns: unknown, mediaType: string, url: string, taken: boolean]>([
    [{ "image/*": [/^https:/] }, "image/png", "https://a.test/", true],
    [{ "IMAGE/*": [/^https:/] }, "image/png", "https://a.test/", true],
    [{ "image/*": [/^https:/] }, "image/*", "https://a.test/", true],
    [{ "image/*": [/^https:/] }, "imagery/png", "https://a.test/", false],
    [{ "image/*": [/^https:/] }, "application/pdf", "https://a.test/", false],
    [{ "application/pdf": [/^https:/] }, "application/pdf", "https://a.test/", true],
    [{ "application/pdf": [/^https:/] }, "application/pdfx", "https://a.test/", false],
    [{ "*": [/^https:/] }, "video/mp4", "https://a.test/", true],
    [{ "*/*": [/^https:/] }, "video/mp4", "https://a.test/", true],
    [{ "*": [/^https:/] }, "video/mp4", "ftp://a.test/", false],
    [{ "*": [/^gs:/, /^s3:/] }, "video/mp4", "s3://a/b", true],
    [{ "*": [/^https:\/\/a\.test\/x$/] }, "video/mp4", "HTTPS://A.test/X", true],
    [{ "*": ["^https:"] }, "video/mp4", "https://a.test/", false],
    [{ "*": /^https:/ }, "video/mp4", "https://a.test/", false],
    [{}, "image/png", "https://a.test/", false],
    [undefined, "image/png", "https://a.test/", false],
  ])("by %o: %s at %s is %s", ([patterns, mediaType, url, taken]) => {
    expect(takesFile(patterns, at(mediaType, url))).toBe(taken);
  });

  it("asks a pattern that remembers its place the same each time", () => {
    const patterns = { "*": [/^gs:\/\/A/g] };
    const file = at("image/png", "gs://A/b.png");
    expect([takesFile(patterns, file), takesFile(patterns, file)]).toEqual([true, true]);
  });
});
