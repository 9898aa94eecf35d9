// The expected outcome for each kind of image and file on each API. The part comes from a user or from a tool.

import type { ContentPart } from "turnwright";

/** `ai-sdk` is an AI SDK model that accepts https: URLs of images and PDFs. */
export const mediaWires = ["openai", "openai-responses", "anthropic", "google", "ai-sdk"] as const;

export type MediaWire = (typeof mediaWires)[number];

export type MediaSender = "user" | "tool";

/**
 * "sent": the request contains the part. "refused": the iteration ends with an error before a request. "told": the tool result has
 * a text in place of the part.
 */
export type MediaOutcome = "sent" | "refused" | "told";

export interface MediaRow {
  readonly kind: string;
  readonly part: Exclude<ContentPart, { readonly type: "text" }>;
  /** A request that contains the part has at least one of these texts. */
  readonly traces: readonly string[];
  /** The media type that appears in a request with the part. Undefined if some APIs send no media type. */
  readonly says?: string;
  /** A text that must be in the error, or in the text that replaces an unsupported part. */
  readonly reason: string;
  readonly sentOn: readonly MediaWire[];
}

/** URLs and unreadable data in the tests contain this secret. Error messages must not contain it. */
export const secret = "hunter2";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const png = "iVBORw0KGgoAAAANSUhEUg==";
const pdf = base64("%PDF-1.7 tides");
const csv = "city;tide\nBergen;1.2";
const at = (scheme: string, name: string): string => `${scheme}://me:${secret}@files.test/${name}?sig=${secret}`;
const every = mediaWires;
const bytes = (mediaType: string, data: string): Pick<MediaRow, "part" | "traces" | "says" | "reason"> => ({
  part: { type: mediaType.startsWith("image/") ? "image" : "file", mediaType, data },
  traces: [data],
  ...(/^(?:audio|text)\//.test(mediaType) ? {} : { says: mediaType }),
  reason: `of type ${mediaType}, which cannot be`,
});
const address = (mediaType: string, url: string): Pick<MediaRow, "part" | "traces" | "reason"> => ({
  part: bytes(mediaType, url).part,
  traces: [url],
  reason: `of type ${mediaType} at a URL with the scheme "${new URL(url).protocol}"`,
});

export const mediaRows: readonly MediaRow[] = [
  { kind: "image as PNG, base64", ...bytes("image/png", png), sentOn: every },
  {
    kind: "image, data URL",
    ...bytes("image/png", png),
    part: { type: "image", mediaType: "image/*", data: `data:image/png;base64,${png}` },
    sentOn: every,
  },
  { kind: "image, https: URL", ...address("image/png", at("https", "tides.png")), sentOn: every },
  {
    kind: "image of another type (BMP)",
    ...bytes("image/bmp", base64("BM tides")),
    sentOn: ["openai", "openai-responses", "ai-sdk"],
  },
  { kind: "PDF, base64", ...bytes("application/pdf", pdf), sentOn: every },
  {
    kind: "PDF, https: URL",
    ...address("application/pdf", at("https", "tides.pdf")),
    sentOn: ["openai-responses", "anthropic", "google", "ai-sdk"],
  },
  {
    kind: "text file (CSV), base64",
    ...bytes("text/csv", base64(csv)),
    traces: [base64(csv), JSON.stringify(csv).slice(1, -1)],
    sentOn: every,
  },
  {
    kind: "office document (DOCX), base64",
    ...bytes("application/vnd.openxmlformats-officedocument.wordprocessingml.document", base64("PK tides")),
    sentOn: ["openai-responses", "ai-sdk"],
  },
  { kind: "audio as WAV, base64", ...bytes("audio/wav", base64("RIFF tides")), sentOn: ["openai", "google", "ai-sdk"] },
  { kind: "audio, https: URL", ...address("audio/mpeg", at("https", "tides.mp3")), sentOn: ["google"] },
  { kind: "video as MP4, base64", ...bytes("video/mp4", base64("ftyp tides")), sentOn: ["google", "ai-sdk"] },
  { kind: "anything else (ZIP), base64", ...bytes("application/zip", base64("PK zip")), sentOn: ["ai-sdk"] },
  { kind: "file: URL", ...address("image/png", `file:///home/${secret}/tides.png`), sentOn: [] },
  {
    kind: "data that cannot be read",
    ...bytes("image/png", `data:image/png,%${secret}`),
    reason: "of type image/png, which cannot be",
    sentOn: [],
  },
];

export function outcomeOf({ sentOn }: MediaRow, wire: MediaWire, from: MediaSender): MediaOutcome {
  if (sentOn.includes(wire)) return "sent";
  return from === "user" ? "refused" : "told";
}
