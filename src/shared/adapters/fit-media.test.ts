import { describe, expect, it } from "vitest";
import type { ContentPart } from "../../core/types/common.ts";
import type { Message } from "../../core/types/message.ts";
import type { ModelRequest } from "../../core/types/provider.ts";
import type { MediaPart } from "../media-source.ts";
import { createMediaFitter, type MediaLimits } from "./fit-media.ts";
import type { MediaForms } from "./write-media.ts";

const forms: MediaForms<object> = {
  takes: "images and PDFs",
  write: (media) => (/^image\/|pdf$/.test(media.mediaType) ? media : undefined),
};

/** Returns a PNG of this size in pixels. A different `salt` produces a different image. */
function png(width: number, height = 10, salt = 0): MediaPart {
  const head = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
  const size = Buffer.alloc(9);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size.writeUInt8(salt, 8);
  return { type: "image", mediaType: "image/png", data: Buffer.concat([head, size]).toString("base64") };
}

const bmp: MediaPart = { type: "image", mediaType: "image/bmp", data: "Qk0gdGlkZXM=" };
const pdf: MediaPart = { type: "file", mediaType: "application/pdf", data: "JVBERi0xLjc=" };
const zip: MediaPart = { type: "file", mediaType: "application/zip", data: "UEsDBA==" };
const link: MediaPart = { type: "image", mediaType: "image/png", data: "https://x.test/a.png" };

const user = (...content: readonly ContentPart[]): Message => ({ role: "user", content });
const model: Message = { role: "assistant", content: [{ type: "tool-call", callId: "a", name: "look", args: {} }] };
const tool = (...content: readonly ContentPart[]): Message => ({
  role: "tool",
  results: [{ callId: "a", name: "look", outcome: "completed", result: "seen", content }],
});

const request = (...messages: readonly Message[]): ModelRequest => ({ messages, tools: [], iteration: 0 });
const fitter = (limits: MediaLimits = {}): ((given: ModelRequest) => ModelRequest) =>
  createMediaFitter({ forms, limits, id: "anthropic" });

function contentOf(message: Message | undefined): readonly ContentPart[] {
  if (message?.role === "tool") return message.results.flatMap(({ content = [] }) => content);
  return message?.role === "user" && typeof message.content !== "string" ? message.content : [];
}

const textsOf = ({ messages }: ModelRequest): readonly string[] =>
  messages.flatMap(contentOf).map((part) => (part.type === "text" ? part.text : part.type));

const limited: readonly (readonly [part: MediaPart, limits: MediaLimits, what: string, why: string])[] = [
  [zip, {}, "a file of type application/zip", "the service accepts images and PDFs"],
  [bmp, { imageTypes: ["image/png"] }, "an image of type image/bmp", "the service accepts images of the types image/png"],
  [png(10), { imageTypes: [] }, "an image of type image/png", "the service accepts no images"],
  [pdf, { fileTypes: [] }, "a file of type application/pdf", "the service accepts no files"],
  [pdf, { fileTypes: ["audio/wav"] }, "a file of type application/pdf", "the service accepts files of the types audio/wav"],
  [link, { noUrls: true }, 'an image of type image/png at a URL with the scheme "https:"', "the service accepts no URLs"],
  [png(8_001), { maxSide: 8_000 }, "an image of type image/png", "it has 8001 x 10 pixels, and the service accepts at most 8000"],
  [
    png(10),
    { maxImageLength: 20 },
    "an image of type image/png",
    "it has 36 characters as base64, and the service accepts at most 20",
  ],
  [
    pdf,
    { maxFileLength: 8 },
    "a file of type application/pdf",
    "it has 12 characters as base64, and the service accepts at most 8",
  ],
];

describe("createMediaFitter", () => {
  it.for(limited)("replaces the part %j of a tool result with text", ([part, limits, what, why]) => {
    const fitted = fitter(limits)(request(user(png(10, 10, 1)), model, tool({ type: "text", text: "a" }, part)));
    expect(textsOf(fitted).slice(1)).toEqual(["a", `[The tool returned ${what}, which cannot be shown to you: ${why}.]`]);
  });

  it.for(limited)(
    "replaces the part %j of a user message with text after the model has answered",
    ([part, limits, what, why]) => {
      const fitted = fitter(limits)(request(user(part), model, user({ type: "text", text: "b" })));
      expect(textsOf(fitted)).toEqual([`[The user sent ${what}, which cannot be shown to you: ${why}.]`, "b"]);
    },
  );

  it.for(limited)("replaces the part %j of a user message with text after another user message", ([part, limits, what, why]) => {
    const fitted = fitter(limits)(request(user(), model, user(part), user({ type: "text", text: "b" })));
    expect(textsOf(fitted)).toEqual([`[The user sent ${what}, which cannot be shown to you: ${why}.]`, "b"]);
  });

  it.for(limited)("refuses the part %j in a new user message", ([part, limits, what, why]) => {
    const given = request(user(), model, user({ type: "text", text: "b" }, part));
    const message = expect.stringContaining(`Part 1 of message 2 is ${what}, which cannot be sent to anthropic: ${why}. `);
    expect(() => fitter(limits)(given)).toThrow(expect.objectContaining({ code: "bad-request", retryable: false, message }));
  });

  it.for<[what: string, parts: readonly MediaPart[], limits: MediaLimits, left: readonly boolean[]]>([
    ["the number of images and files", [png(1), pdf, png(2), png(3), png(4)], { maxCount: 4 }, [false, true, true, true, true]],
    [
      "the number, in steps of a quarter",
      Array.from({ length: 9 }, (_, n) => png(n + 1)),
      { maxCount: 8 },
      [...Array(2).fill(false), ...Array(7).fill(true)],
    ],
    ["the total length", [png(1), pdf, png(2)], { maxTotal: 80 }, [false, true, true]],
    [
      "the pixels in requests with many images",
      [png(30), png(1), png(2)],
      { many: { count: 2, maxSide: 20 } },
      [false, true, true],
    ],
    ["no limit", [png(30), png(1)], { many: { count: 2, maxSide: 20 }, maxCount: 2, maxTotal: 72 }, [true, true]],
    [
      "no pixel limit if all images are small",
      [png(20), png(1), png(2)],
      { many: { count: 2, maxSide: 20 } },
      [true, true, true],
    ],
  ])("replaces the oldest images and files that exceed %s", ([, parts, limits, left]) => {
    const fitted = fitter(limits)(request(user(), ...parts.flatMap((part) => [model, tool(part)])));
    expect(textsOf(fitted).map((text) => !text.startsWith("[The tool returned a"))).toEqual(left);
  });

  it("refuses a new user message with too many images", () => {
    const given = request(user(png(1), png(2), png(3)));
    expect(() => fitter({ maxCount: 2 })(given)).toThrow(
      "the service accepts at most 2 images and files in a request. Send fewer",
    );
  });

  it("keeps requests and messages that fit, and returns the same copy of a message each time", () => {
    const fit = fitter();
    const [good, bad] = [tool(png(1)), tool(zip)];
    const whole = request(user(png(2)), model, good);
    expect(fit(whole)).toBe(whole);
    const [one, other] = [fit(request(model, good, model, bad)), fit(request(model, good, model, bad))];
    expect([one.messages[1], one.messages[3]]).toEqual([good, other.messages[3]]);
    expect(one.messages[1]).toBe(good);
    expect(one.messages[3]).toBe(other.messages[3]);
    expect(one.messages[3]).not.toBe(bad);
  });

  it("replaces the same images in later requests until the number of added images reaches a quarter of the limit", () => {
    const fit = fitter({ maxCount: 8 });
    const history = (count: number): readonly Message[] =>
      Array.from({ length: count }, (_, n) => [model, tool(png(n + 1))]).flat();
    const sent = [9, 10, 11].map(
      (count) => textsOf(fit(request(...history(count)))).filter((text) => text.startsWith("[")).length,
    );
    expect(sent).toEqual([2, 2, 4]);
  });
});
