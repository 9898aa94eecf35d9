import { describe, expect, it } from "vitest";
import { createFileForms } from "./model-body.ts";
import { specWords } from "./model-options.ts";

function takesUrl(patterns: unknown, mediaType: string, url: string): boolean {
  const { user } = createFileForms(specWords.v3, patterns);
  return user.write({ kind: "url", mediaType, scheme: new URL(url).protocol, url }) !== undefined;
}

describe("aiSdkModel: supportedUrls", () => {
  const rows: readonly (readonly [patterns: unknown, mediaType: string, url: string, taken: boolean])[] = [
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
  ];

  it.for(rows.map(([patterns, type, url, taken]) => [taken ? "include" : "exclude", url, type, patterns, taken] as const))(
    "%s the URL %s of a file with the type %s if the patterns are %o",
    ([, url, mediaType, patterns, taken]) => {
      expect(takesUrl(patterns, mediaType, url)).toBe(taken);
    },
  );

  it("match a URL every time, even if the pattern has the g flag", () => {
    const patterns = { "*": [/^gs:\/\/A/g] };
    const takesOnce = (): boolean => takesUrl(patterns, "image/png", "gs://A/b.png");
    expect([takesOnce(), takesOnce()]).toEqual([true, true]);
  });
});
