// A service may refuse images although no rule says so. The request is then sent once more with text instead of the images.

import { createLoopEvents, defineTool, type Message, runToolLoop, toolResult } from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import Anthropic from "@anthropic-ai/sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { openaiChat } from "turnwright/openai";
import { strictService, text, toolCall } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { connect } from "./service-client.ts";
import { allRows, type StrictRow, titleOf } from "../services/connect-strict.ts";

const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = { type: "image", mediaType: "image/png", data } as const;
const replacement =
  "[The tool returned an image of type image/png, which cannot be shown to you: the service accepts no images.]";
const shoot = defineTool({
  name: "shoot",
  description: "Takes a screenshot",
  inputSchema: { type: "object", properties: {} },
  execute: () => toolResult({ data: "Taken.", content: [image] }),
});

/** A fetch function that refuses images with this message, and the bodies of its requests. */
function refuse({ kind }: Pick<StrictRow, "kind">, message: string, status = 400) {
  const service = strictService(kind, { answers: [toolCall("shoot", {}), text("Done."), text("Done again.")] });
  const bodies: string[] = [];
  const fetch: typeof service.fetch = async (input, init) => {
    const body = z.string().parse(init?.body);
    bodies.push(body);
    const error = { message, type: "invalid_request_error", code: status, status: "INVALID_ARGUMENT" };
    return body.includes(data) ? Response.json({ type: "error", error }, { status }) : service.fetch(input, init);
  };
  return { service: { ...service, fetch }, bodies };
}

async function play(row: StrictRow, message: string, status?: number) {
  const { service, bodies } = refuse(row, message, status);
  const events = createLoopEvents();
  const changes: string[] = [];
  events.on("request-adjusted", (found) => changes.push(...found.changes.map(({ field, action }) => `${field} ${action}`)));
  const options = { provider: row.connect(service), tools: [shoot], events };
  const first = await runToolLoop({ ...options, messages: [{ role: "user", content: "Look." }] });
  const next = await runToolLoop({ ...options, messages: [...first.messages, { role: "user", content: "Again." }] });
  return { first, next, bodies, changes, refusals: service.refusals };
}

const refusals: readonly (readonly [message: string, status: number])[] = [
  ["this model does not support image input (ref: b8bd630e)", 400],
  ["No endpoints found that support image input", 404],
  ["image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", 400],
  ["Image input modality is not enabled for models/x", 400],
  ["Failed to deserialize the JSON body: messages[2]: unknown variant `image_url`, expected `text` at line 1", 400],
  ["Invalid content type. image_url is only supported by certain models.", 400],
  ["Unsupported content part type for text-only server: image_url", 400],
];

// DeepSeek's model is known to accept no images, and Mistral's AI SDK package sends none of a tool.
const rows = allRows.filter(({ kind, model }) => kind !== "deepseek" && model !== "AI SDK mistral-large-4");

describe.each(rows.map((row) => [titleOf(row), row] as const))("an image from a tool that %s refuses", (_title, row) => {
  it("becomes text, even in later runs", async () => {
    const { first, next, bodies, changes, refusals: broken } = await play(row, "This model does not support image input");
    expect([first.status, first.text, next.status, next.text, broken]).toEqual([
      "completed",
      "Done.",
      "completed",
      "Done again.",
      [],
    ]);
    expect(bodies.map((body) => body.includes(data))).toEqual([false, true, false, false]);
    expect(bodies.map((body) => body.includes(replacement))).toEqual([false, false, true, true]);
    expect(changes).toContain("media replaced");
  });
});

const zip = { type: "file", mediaType: "application/zip", data: "UEsDBA==", filename: "all.zip" } as const;

it.each(rows.filter(({ model }) => !model.startsWith("AI SDK")).map((row) => [titleOf(row), row] as const))(
  "a conversation continues after a message with a file that %s does not accept",
  async (_title, row) => {
    const service = strictService(row.kind, { answers: [text("Hello.")] });
    const options = { provider: row.connect(service) };
    const conversation = createConversation({ id: "chat", store: memoryConversationStore(), options });
    const refused = await conversation.send({ role: "user", content: [{ type: "text", text: "Unpack it." }, zip] });
    expect(refused).toMatchObject({ status: "error", error: { code: "bad-request" } });
    const result = await conversation.send("Never mind. Hello.");
    expect([result.status, result.text, service.refusals]).toEqual(["completed", "Hello.", []]);
    const replaced = '[The user sent a file \\"all.zip\\" of type application/zip, which cannot be shown to you: ';
    expect(service.requests.map(({ body }) => JSON.stringify(body).includes(replaced))).toEqual([true]);
  },
);

describe("openaiChat: an image that a gateway refuses", () => {
  const row: StrictRow = {
    kind: "openai-chat",
    model: "m",
    connect: ({ fetch }) => openaiChat({ client: connect(fetch, "https://llm.example.com/v1"), model: "m" }),
  };

  it.each(refusals)("becomes text after the error: %s", async (message, status) => {
    const { first, bodies } = await play(row, message, status);
    expect([first.text, bodies.length]).toEqual(["Done.", 4]);
  });

  it("becomes text if it is in an earlier user message", async () => {
    const { service, bodies } = refuse(row, "This model does not support image input");
    const old: readonly Message[] = [
      { role: "user", content: [{ type: "text", text: "Look." }, image] },
      { role: "assistant", content: [{ type: "text", text: "A dot." }] },
    ];
    const messages: readonly Message[] = [...old, { role: "user", content: "Which color?" }];
    const { status } = await runToolLoop({ provider: row.connect(service), tools: [shoot], messages });
    expect([status, bodies.map((body) => body.includes("[The user sent an image of type image/png"))]).toEqual([
      "completed",
      [false, true, true],
    ]);
  });

  it("ends the run if it is in a new user message", async () => {
    const { service, bodies } = refuse(row, "This model does not support image input");
    const messages: readonly Message[] = [{ role: "user", content: [{ type: "text", text: "Look." }, image] }];
    const { error } = await runToolLoop({ provider: row.connect(service), messages });
    expect(error).toMatchObject({ code: "bad-request", message: "This model does not support image input" });
    expect(bodies).toHaveLength(1);
  });

  it("ends the run if the error has a different cause", async () => {
    const { first, bodies } = await play(row, "The image is too large");
    expect([first.error?.message, bodies.length]).toEqual(["The image is too large", 3]);
  });
});

const pdf = { type: "file", mediaType: "application/pdf", data: "JVBERi0xLjQgbm90IGEgcGRm" } as const;
const link = { type: "image", mediaType: "image/png", data: "https://example.com/a.png?expires=1" } as const;
type Media = typeof image | typeof pdf | typeof link;

const messagesRow: StrictRow = {
  kind: "anthropic",
  model: "claude-sonnet-5",
  connect: ({ fetch }) =>
    anthropicMessages({
      client: new Anthropic({ apiKey: "key", fetch, maxRetries: 0 }),
      model: "claude-sonnet-5",
      maxTokens: 1000,
    }),
};

/** A fetch function that refuses requests which contain the text, and the bodies of all requests. */
function refuseText(found: string, message: string) {
  const service = strictService("anthropic", { answers: [toolCall("read", {}), text("Done."), text("Done again.")] });
  const bodies: string[] = [];
  const fetch: typeof service.fetch = async (input, init) => {
    const body = z.string().parse(init?.body);
    bodies.push(body);
    const error = { type: "invalid_request_error", message };
    return body.includes(found) ? Response.json({ type: "error", error }, { status: 400 }) : service.fetch(input, init);
  };
  return { service: { ...service, fetch }, bodies };
}

describe("anthropicMessages: an image or a file that the service cannot read", () => {
  const kinds: readonly (readonly [part: Media, message: string, found: string, shown: string])[] = [
    [
      image,
      "Could not process image",
      data,
      "an image of type image/png, which cannot be shown to you: the service cannot read it.",
    ],
    [
      image,
      "messages.2.content.0.tool_result.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size",
      data,
      "an image of type image/png, which cannot be shown to you: the service cannot read it.",
    ],
    [
      image,
      "The image data you provided does not represent a valid image. Please check your input and try again",
      data,
      "an image of type image/png, which cannot be shown to you: the service cannot read it.",
    ],
    [image, "Unable to process input image. Please retry or report", data, "the service cannot read it."],
    [image, "Provided image is not valid.", data, "the service cannot read it."],
    [
      pdf,
      "messages.2.content.0.pdf.source.base64.data: The PDF specified was not valid.",
      pdf.data,
      "a file of type application/pdf, which cannot be shown to you: the service cannot read it.",
    ],
    [
      pdf,
      "messages.2.content.0.pdf.source.base64.data: The PDF specified is password protected.",
      pdf.data,
      "a file of type application/pdf, which cannot be shown to you: the service cannot read it.",
    ],
    [
      pdf,
      "A maximum of 100 PDF pages may be provided.",
      pdf.data,
      "a file of type application/pdf, which cannot be shown to you:",
    ],
    [
      link,
      "Error while downloading https://example.com/a.png?expires=1. Upstream status code: 403.",
      "a.png",
      "the service cannot download it.",
    ],
    [link, "This URL is disallowed by the website's robots.txt file.", "a.png", "the service cannot download it."],
    [
      link,
      "<400> InternalError.Algo.InvalidParameter: Failed to download multimodal content",
      "a.png",
      "the service cannot download it.",
    ],
  ];

  it.for(kinds)("becomes text if it comes from a tool: %j, %s", async ([part, message, found, shown]) => {
    const { service, bodies } = refuseText(found, message);
    const read = defineTool({
      name: "read",
      description: "Reads a file",
      inputSchema: { type: "object", properties: {} },
      execute: () => toolResult({ data: "Read.", content: [part] }),
    });
    const options = { provider: messagesRow.connect(service), tools: [read] };
    const first = await runToolLoop({ ...options, messages: [{ role: "user", content: "Read it." }] });
    const next = await runToolLoop({ ...options, messages: [...first.messages, { role: "user", content: "Again." }] });
    expect([first.text, next.text, service.refusals]).toEqual(["Done.", "Done again.", []]);
    expect(bodies.map((body) => [body.includes(found), body.includes(shown)])).toEqual([
      [false, false],
      [true, false],
      [false, true],
      [false, true],
    ]);
  });

  it("ends one run if it is in a new user message, and later runs continue", async () => {
    const { service, bodies } = refuseText(data, "Could not process image");
    const options = { provider: messagesRow.connect(service) };
    const conversation = createConversation({ id: "chat", store: memoryConversationStore(), options });
    const refused = await conversation.send({ role: "user", content: [{ type: "text", text: "Look." }, image] });
    expect(refused).toMatchObject({ status: "error", error: { code: "bad-request", message: "Could not process image" } });
    expect(bodies).toHaveLength(1);
    await conversation.send("Never mind.");
    expect(bodies.slice(0, 3).map((body) => body.includes(data))).toEqual([true, true, false]);
  });

  it("keeps the images and files that the error is not about", async () => {
    const { service, bodies } = refuseText(data, "Could not process image");
    const messages: readonly Message[] = [
      { role: "user", content: [{ type: "text", text: "Look." }, image, pdf, link] },
      { role: "assistant", content: [{ type: "text", text: "A dot." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "And this?" },
          { ...link, data: "https://example.com/b.png" },
        ],
      },
    ];
    await runToolLoop({ provider: messagesRow.connect(service), messages });
    const found = bodies.map((body) => [data, pdf.data, "a.png", "b.png"].map((part) => body.includes(part)));
    expect(found.slice(0, 2)).toEqual([
      [true, true, true, true],
      [false, true, false, true],
    ]);
  });
});
