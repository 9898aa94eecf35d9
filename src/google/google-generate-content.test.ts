import { GoogleGenAI } from "@google/genai";
import { describe, expect, it } from "vitest";
import { ask, createCall } from "../../test/wire/provider-iteration.ts";
import { collect, streamScript } from "../../test/wire/scripted-stream.ts";
import type { GenerateContentParams, GoogleGenAIClient } from "./generate-options.ts";
import { googleGenerateContent } from "./google-generate-content.ts";

const text = (content: string): object => ({ candidates: [{ content: { parts: [{ text: content }] } }] });
const ending = { candidates: [{ finishReason: "STOP" }], usageMetadata: { promptTokenCount: 3 } };

interface FakeClient extends GoogleGenAIClient {
  readonly asked: readonly GenerateContentParams[];
  readonly signal: AbortSignal;
}

/** Makes a client whose stream yields each event, or throws the event if it is an Error. */
function createFakeClient(events: readonly unknown[]): FakeClient {
  const asked: GenerateContentParams[] = [];
  return {
    asked,
    get signal() {
      return Object(asked.at(-1)?.config).abortSignal;
    },
    models: {
      async generateContentStream(params) {
        asked.push(params);
        return streamScript(events);
      },
    },
  };
}

interface Said {
  readonly types: readonly string[];
  readonly thrown: unknown;
}

async function runWith(client: GoogleGenAIClient): Promise<Said> {
  const { chunks, thrown } = await collect(googleGenerateContent({ client, model: "m" }).stream(ask("hi"), createCall()));
  return { types: chunks.map(({ type }) => type), thrown };
}
const run = (events: readonly unknown[]): Promise<Said> => runWith(createFakeClient(events));

describe("googleGenerateContent", () => {
  it("has the id gcp.gemini and no family by default", () => {
    const client = createFakeClient([]);
    expect(googleGenerateContent({ client, model: "m", family: "x" })).toMatchObject({
      id: "gcp.gemini",
      model: "m",
      family: "x",
    });
    expect(googleGenerateContent({ client, model: "m" })).not.toHaveProperty("family");
  });

  it.for([true, false])("accepts the SDK client with vertexai %s", (vertexai) => {
    const client = new GoogleGenAI({ vertexai, apiKey: "test" });
    expect(googleGenerateContent({ client, model: "m" }).id).toBe(vertexai ? "gcp.vertex_ai" : "gcp.gemini");
  });

  it("sends the request only when the stream is read", async () => {
    const client = createFakeClient([text("A"), ending]);
    const stream = googleGenerateContent({ client, model: "m" }).stream(ask("hi"), createCall());
    expect(client.asked).toEqual([]);
    await collect(stream);
    expect(client.asked).toHaveLength(1);
  });

  it("yields the events as chunks, then the provider metadata, then the finish chunk", async () => {
    expect(await run([text("A"), ending])).toEqual({
      types: ["text-delta", "usage", "provider-metadata", "finish"],
      thrown: undefined,
    });
  });

  it("forwards a call's signal and abort reason to the client", async () => {
    const controller = new AbortController();
    const client = createFakeClient([text("A"), ending]);
    const stream = googleGenerateContent({ client, model: "m" }).stream(ask("hi"), createCall(controller.signal));
    for await (const { type } of stream) if (type === "text-delta") controller.abort("enough");
    expect(client.signal.reason).toBe("enough");
  });

  it.for<[what: string, events: readonly unknown[], fires: boolean]>([
    ["does not abort the client's request after the stream has ended", [text("A"), ending], false],
    ["aborts the client's request after the stream has failed", [text("A"), new Error("no")], true],
    ["aborts the client's request after an error event", [text("A"), { error: { message: "no" } }, ending], true],
  ])("%s", async ([, events, fires]) => {
    const client = createFakeClient(events);
    await runWith(client);
    expect(client.signal.aborted).toBe(fires);
  });

  it("throws the client's error, both before and during the stream", async () => {
    const error = new Error("no");
    expect(await run([text("A"), error])).toEqual({ types: ["text-delta"], thrown: error });
    const client: GoogleGenAIClient = { models: { generateContentStream: () => Promise.reject(error) } };
    expect(await runWith(client)).toEqual({ types: [], thrown: error });
  });

  it("throws a connection error even after the finish reason, because the result of generated code may still follow", async () => {
    const lost = new TypeError("terminated");
    expect(await run([text("A"), ending, lost])).toEqual({ types: ["text-delta", "usage"], thrown: lost });
    expect(await run([text("A"), lost])).toEqual({ types: ["text-delta"], thrown: lost });
  });
});
