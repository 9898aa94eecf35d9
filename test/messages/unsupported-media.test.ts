import { describe, expect, it } from "vitest";
import type { Message } from "turnwright";
import { fromAnthropicMessages, toAnthropicMessages } from "turnwright/anthropic";
import { fromOpenAIMessages, toOpenAIMessages } from "turnwright/openai";

const hi = { type: "text", text: "Hi." } as const;
const urls = ["data:,", "javascript:alert(1)", "data:text/html;base64,AAAA", "data:image/svg+xml;utf8,<svg/>"];

describe("fromOpenAIMessages", () => {
  it.for(urls)("lists an image with the URL %s in `lost`", (url) => {
    const chat = fromOpenAIMessages([{ role: "user", content: [hi, { type: "image_url", image_url: { url } }] }]);
    const items = [
      {
        role: "user",
        content: [
          { type: "input_text", text: "Hi." },
          { type: "input_image", image_url: url },
        ],
      },
    ];
    const responses = fromOpenAIMessages(items, { api: "responses" });
    for (const { messages, lost } of [chat, responses]) {
      expect(messages).toMatchObject([{ role: "user", content: [hi, {}] }]);
      expect(lost.slice(0, 1)).toMatchObject([
        { index: 0, field: expect.stringContaining("content"), reason: expect.any(String) },
      ]);
    }
  });

  it("lists a file with an unknown type in `lost`", () => {
    const file = { type: "file", file: { file_data: "data:application/x-msdownload;base64,AAAA", filename: "a.exe" } };
    const { messages, lost } = fromOpenAIMessages([{ role: "user", content: [{ type: "text", text: "Hi." }, file] }]);
    expect(messages).toMatchObject([{ role: "user", content: [hi, {}] }]);
    expect(lost.length).toBeGreaterThan(0);
  });
});

describe("fromAnthropicMessages", () => {
  it.for([
    ["an image without data", { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } }],
    [
      "a document of an unknown type",
      { type: "document", source: { type: "base64", media_type: "application/x-tar", data: "AAAA" } },
    ],
    ["an image of an unknown type", { type: "image", source: { type: "base64", media_type: "image/x-weird", data: "AAAA" } }],
  ] as const)("never throws anything but an Error for %s", ([, block]) => {
    const { messages } = fromAnthropicMessages([{ role: "user", content: [hi, block] }]);
    expect(JSON.stringify(messages)).toContain("Hi.");
  });
});

describe("the functions that write histories", () => {
  const parts = urls.map((data) => ({ type: "image", mediaType: "image/*", data }) as const);
  const file = { type: "file", mediaType: "application/x-msdownload", data: "AAAA" } as const;
  const messages: readonly Message[] = [{ role: "user", content: [hi, ...parts, file] }];

  it.for([
    ["toOpenAIMessages (chat)", () => toOpenAIMessages(messages)],
    ["toOpenAIMessages (responses)", () => toOpenAIMessages(messages, { api: "responses" })],
    ["toAnthropicMessages", () => toAnthropicMessages(messages)],
  ] as const)("list unsupported images and files in `lost`: %s", ([, write]) => {
    const { messages: written, lost } = write();
    expect([written.length, lost.length > 0]).toEqual([1, true]);
  });
});
