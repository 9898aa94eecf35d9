import OpenAI, { AzureOpenAI } from "openai";
import { describe, expect, it } from "vitest";
import { ask, createCall } from "../../test/wire/provider-iteration.ts";
import { collect, streamScript } from "../../test/wire/scripted-stream.ts";
import type { ModelCall, ModelChunk } from "../core/index.ts";
import { openaiResponses } from "./openai-responses.ts";
import type { OpenAIResponsesClient, ResponsesRequestBody } from "./responses-options.ts";

/** A call whose `heartbeat` needs `this`, so the provider must call it as a method. */
class Call implements ModelCall {
  readonly iteration: number = 0;
  readonly clock: ModelCall["clock"];
  readonly timeouts: ModelCall["timeouts"];
  beats = 0;
  readonly signal: AbortSignal;
  constructor(signal: AbortSignal = new AbortController().signal) {
    ({ signal: this.signal, clock: this.clock, timeouts: this.timeouts } = createCall(signal));
  }
  heartbeat(): void {
    this.beats += 1;
  }
}

const text = (delta: string): object => ({ type: "response.output_text.delta", output_index: 0, item_id: "m", delta });
const completed = { type: "response.completed", response: { status: "completed", output: [] } };
const finish: ModelChunk = { type: "finish", reason: "stop", raw: "completed" };

interface FakeClient extends OpenAIResponsesClient {
  readonly requests: readonly { readonly body: ResponsesRequestBody; readonly signal: AbortSignal }[];
}

function createFakeClient(events: readonly unknown[]): FakeClient {
  const requests: { readonly body: ResponsesRequestBody; readonly signal: AbortSignal }[] = [];
  return {
    requests,
    responses: {
      async create(body, { signal }) {
        requests.push({ body, signal });
        return streamScript(events);
      },
    },
  };
}

const run = (events: readonly unknown[], call = new Call()): ReturnType<typeof collect> =>
  collect(openaiResponses({ client: createFakeClient(events), model: "m" }).stream(ask("hi"), call));

describe("openaiResponses", () => {
  it("has the id openai and no family by default", () => {
    const client = createFakeClient([]);
    expect(openaiResponses({ client, model: "m" })).toEqual({ id: "openai", model: "m", stream: expect.any(Function) });
    expect(openaiResponses({ client, model: "m", id: "azure", family: "gpt" })).toMatchObject({ id: "azure", family: "gpt" });
  });

  it("sets the `compacts` field only with the `compaction` option", () => {
    const client = createFakeClient([]);
    const of = (compaction: boolean | undefined): unknown => openaiResponses({ client, model: "m", compaction }).compacts;
    expect([undefined, false, true].map(of)).toEqual([undefined, undefined, true]);
  });

  it("accepts an OpenAI and an AzureOpenAI client", () => {
    const clients: readonly OpenAIResponsesClient[] = [
      new OpenAI({ apiKey: "x" }),
      new AzureOpenAI({ apiKey: "x", apiVersion: "1", endpoint: "https://x.test" }),
    ];
    for (const client of clients) expect(openaiResponses({ client, model: "m" }).model).toBe("m");
  });

  it("sends the request, with the call's signal, when the stream is read", async () => {
    const client = createFakeClient([text("a"), completed]);
    const controller = new AbortController();
    const stream = openaiResponses({ client, model: "m" }).stream(ask("hi"), new Call(controller.signal));
    expect(client.requests).toEqual([]);
    for await (const chunk of stream) {
      controller.abort("enough");
      expect(chunk).toEqual({ type: "text-delta", text: "a" });
      break;
    }
    expect(client.requests.map(({ body, signal }) => [body.model, body.stream, signal.reason])).toEqual([["m", true, "enough"]]);
  });

  it("yields the events as chunks, with the finish chunk last", async () => {
    expect(await run([{ type: "response.created" }, text("a"), text("b"), completed])).toEqual({
      chunks: [{ type: "text-delta", text: "a" }, { type: "text-delta", text: "b" }, finish],
      thrown: undefined,
    });
  });

  it("calls heartbeat() for each event without content", async () => {
    const call = new Call();
    const search = { type: "response.web_search_call.searching" };
    await run([search, search, text("a"), completed], call);
    expect(call.beats).toBe(3);
  });

  it("yields no finish chunk if the stream has no response.completed", async () => {
    expect(await run([text("a")])).toEqual({ chunks: [{ type: "text-delta", text: "a" }], thrown: undefined });
  });

  it("throws the client's errors, except errors after response.completed", async () => {
    const reset = new TypeError("terminated");
    const broke = new OpenAI.APIError(undefined, { message: "It broke.", type: "server_error" }, undefined, undefined);
    for (const thrown of [reset, broke]) {
      expect((await run([text("a"), completed, thrown])).chunks.at(-1)).toEqual(finish);
      expect(await run([text("a"), thrown])).toEqual({ chunks: [{ type: "text-delta", text: "a" }], thrown });
    }
  });
});
