// The provider over a client that answers from a script.

import OpenAI, { AzureOpenAI } from "openai";
import { describe, expect, it } from "vitest";
import type { ModelCall, ModelChunk, ModelRequest } from "../../spi.ts";
import { openaiResponses } from "./openai-responses.ts";
import type { OpenAIResponsesClient, ResponsesRequestBody } from "./responses-wire.ts";

const timeouts = { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1, settleMs: 1, approvalMs: 1, hookMs: 1 };
const clock = { now: () => 0, setTimeout: () => undefined, clearTimeout: () => undefined };
const request: ModelRequest = { messages: [{ role: "user", content: "hi" }], tools: [], iteration: 0 };

/** A call whose heartbeat needs its call, as those of others may. */
class Call implements ModelCall {
  readonly iteration: number = 0;
  readonly clock: ModelCall["clock"] = clock;
  readonly timeouts: ModelCall["timeouts"] = timeouts;
  beats = 0;
  readonly signal: AbortSignal;
  constructor(signal: AbortSignal = new AbortController().signal) {
    this.signal = signal;
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

/** Streams the given events; one that is an Error is thrown. */
function createFakeClient(events: readonly unknown[]): FakeClient {
  const requests: { readonly body: ResponsesRequestBody; readonly signal: AbortSignal }[] = [];
  async function* stream(): AsyncGenerator<unknown, void, undefined> {
    for (const event of events) {
      if (event instanceof Error) throw event;
      yield event;
    }
  }
  return {
    requests,
    responses: {
      async create(body, { signal }) {
        requests.push({ body, signal });
        return stream();
      },
    },
  };
}

async function collect(
  events: readonly unknown[],
  call = new Call(),
): Promise<{ readonly chunks: readonly ModelChunk[]; readonly thrown: unknown }> {
  const chunks: ModelChunk[] = [];
  try {
    const provider = openaiResponses({ client: createFakeClient(events), model: "m" });
    for await (const chunk of provider.stream(request, call)) chunks.push(chunk);
    return { chunks, thrown: undefined };
  } catch (thrown) {
    return { chunks, thrown };
  }
}

describe("openaiResponses", () => {
  it("says who it is", () => {
    const client = createFakeClient([]);
    expect(openaiResponses({ client, model: "m" })).toEqual({ id: "openai", model: "m", stream: expect.any(Function) });
    expect(openaiResponses({ client, model: "m", id: "azure", family: "gpt" })).toMatchObject({ id: "azure", family: "gpt" });
  });

  it("takes the clients of the SDK as they are", () => {
    const clients: readonly OpenAIResponsesClient[] = [
      new OpenAI({ apiKey: "x" }),
      new AzureOpenAI({ apiKey: "x", apiVersion: "1", endpoint: "https://x.test" }),
    ];
    for (const client of clients) expect(openaiResponses({ client, model: "m" }).model).toBe("m");
  });

  it("asks once its stream is read, with the signal of the call", async () => {
    const client = createFakeClient([text("a"), completed]);
    const controller = new AbortController();
    const stream = openaiResponses({ client, model: "m" }).stream(request, new Call(controller.signal));
    expect(client.requests).toEqual([]);
    for await (const chunk of stream) {
      controller.abort("enough");
      expect(chunk).toEqual({ type: "text-delta", text: "a" });
      break;
    }
    expect(client.requests.map(({ body, signal }) => [body.model, body.stream, signal.reason])).toEqual([["m", true, "enough"]]);
  });

  it("yields what each event says, and the finish last", async () => {
    expect(await collect([{ type: "response.created" }, text("a"), text("b"), completed])).toEqual({
      chunks: [{ type: "text-delta", text: "a" }, { type: "text-delta", text: "b" }, finish],
      thrown: undefined,
    });
  });

  it("shows that it is alive while the service works", async () => {
    const call = new Call();
    const search = { type: "response.web_search_call.searching" };
    await collect([search, search, text("a"), completed], call);
    expect(call.beats).toBe(3);
  });

  it("has no finish where the stream has none", async () => {
    expect(await collect([text("a")])).toEqual({ chunks: [{ type: "text-delta", text: "a" }], thrown: undefined });
  });

  it("counts an answer as complete when the connection is lost after its last event, and nothing else", async () => {
    expect((await collect([text("a"), completed, new TypeError("terminated")])).chunks.at(-1)).toEqual(finish);
    const reset = new TypeError("terminated");
    expect(await collect([text("a"), reset])).toEqual({ chunks: [{ type: "text-delta", text: "a" }], thrown: reset });
    const broke = new OpenAI.APIError(undefined, { message: "It broke.", type: "server_error" }, undefined, undefined);
    const failed = await collect([text("a"), completed, broke]);
    expect(failed.thrown).toBe(broke);
    expect(failed.chunks.map(({ type }) => type)).toEqual(["text-delta"]);
  });
});
