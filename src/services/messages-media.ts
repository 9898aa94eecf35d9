// Rules for images and files in requests to the Messages API.

import type { Rule, WireRequest } from "./rule.ts";
import { firstOf, pixelsOf, sizeOf, sniffType, when } from "./rule-checks.ts";

/** Refuses an image with more than `megabytes` MB of base64 data. */
export function refuseLargeImages({ media }: WireRequest, megabytes: number): string | undefined {
  const most = megabytes * 1024 * 1024;
  return firstOf(media, (part) =>
    when(
      part.kind === "image" && sizeOf(part) > most,
      `${part.path}.image.source.base64: image exceeds ${megabytes} MB maximum: ${sizeOf(part)} bytes > ${most} bytes`,
    ),
  );
}

/** The image rules that Anthropic enforces at its own endpoint. */
export const messagesMediaRules: readonly Rule[] = [
  {
    rule: "The content of a result with `is_error` is text.",
    source: "github.com/earendil-works/pi#10794, vellum#18387",
    of: "results",
    breaks: ({ fields, parts }) => fields.is_error === true && parts.some(({ type }) => type !== "text"),
    says: ({ path }) => `${path}.tool_result: all content must be type text if is_error is true`,
  },
  {
    rule: "An image has the media type image/jpeg, image/png, image/gif or image/webp.",
    source: "https://platform.claude.com/docs/en/build-with-claude/vision",
    of: "media",
    breaks: ({ kind, data, mediaType }) =>
      kind === "image" && data !== undefined && !["image/jpeg", "image/png", "image/gif", "image/webp"].includes(mediaType),
    says: ({ path }) =>
      `${path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
  },
  {
    rule: "The media type of an image matches its bytes.",
    source: "playwright-mcp#1211, smart-connections#1238",
    of: "media",
    breaks: ({ kind, data, mediaType }) => kind === "image" && data !== undefined && sniffType(data) !== mediaType,
    says: ({ data, mediaType, path }) =>
      `${path}.image.source.base64.data: The image was specified using the ${mediaType} media type, but the image appears to be a ${sniffType(data ?? "") ?? "different"} image`,
  },
  {
    rule: "A PDF has the bytes of a PDF.",
    source: "https://platform.claude.com/docs/en/build-with-claude/pdf-support",
    of: "media",
    breaks: ({ mediaType, data }) => mediaType === "application/pdf" && data !== undefined && sniffType(data) !== mediaType,
    says: ({ path }) => `${path}.pdf.source.base64.data: The PDF specified was not valid.`,
  },
  {
    rule: "An image has at most 8,000 pixels a side.",
    source: "github.com/charmbracelet/crush#3810",
    of: "media",
    breaks: (part) => Math.max(...(pixelsOf(part) ?? [0])) > 8_000,
    says: (part) =>
      `${part.path}.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels`,
  },
  {
    rule: "In a request with more than 20 images, an image has at most 2,000 pixels a side.",
    source: "github.com/charmbracelet/crush#3810, oh-my-pi#10633",
    refuses: ({ media }) => {
      const images = media.filter(({ kind }) => kind === "image");
      return firstOf(images.length > 20 ? images : [], (part) =>
        when(
          Math.max(...(pixelsOf(part) ?? [0])) > 2_000,
          `${part.path}.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels`,
        ),
      );
    },
  },
  {
    rule: "A request has at most 100 images and documents.",
    source: "github.com/anthropics/claude-code#24541",
    refuses: ({ media }) => {
      const images = media.filter(({ kind }) => kind === "image").length;
      return when(media.length > 100, `too many images and documents: ${images} + ${media.length - images} > 100`);
    },
  },
  {
    rule: "An image has at most 10 MB of base64.",
    source: "https://platform.claude.com/docs/en/build-with-claude/vision",
    refuses: (request) => refuseLargeImages(request, 10),
  },
];
