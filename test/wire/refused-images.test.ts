// A service may refuse images although no rule says so. The request is then sent once more with text instead of the images.

import { createLoopEvents, defineTool, type Message, runToolLoop, toolResult } from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
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

// DeepSeek's model is known to take no images, and the package of Mistral for the AI SDK sends none of a tool.
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
    expect(changes).toContain("images replaced");
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
