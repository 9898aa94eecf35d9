// Reasoning that another account or route encrypted: the request is sent once more without it.

import { createGoogle } from "@ai-sdk/google";
import { GoogleGenAI } from "@google/genai";
import { createLoopEvents, type Provider, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { describe, expect, it } from "vitest";
import { call as calls, start, stop, text as says, thinking } from "./anthropic-frames.ts";
import {
  chatCall,
  chatText,
  connect,
  connectAnthropic,
  createMeeting,
  createRecorder,
  type Recorder,
  refuse,
  responsesText,
  sse,
  tool,
  user,
  wholeResponse,
} from "./service-client.ts";

const signature = "YWNjb3VudC1B";

interface Row {
  readonly connect: (fetch: Recorder["fetch"]) => Provider;
  /** An answer with a call and signed reasoning. */
  readonly call: () => Response;
  readonly text: () => Response;
  readonly error: object;
}

const details = [{ type: "reasoning.encrypted", data: signature, id: "rs_1", format: "openai-responses-v1", index: 0 }];
const reasonedCall = (): Response => chatCall("c", "look", { reasoning_details: details });
const raw = { error: { message: "The encrypted content for item rs_1 could not be verified.", type: "invalid_request_error" } };
const generated = (part: object): Response =>
  sse({
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  });
const gemini: Omit<Row, "connect" | "error"> = {
  call: () => generated({ functionCall: { name: "look", args: {} }, thoughtSignature: signature }),
  text: () => generated({ text: "Done." }),
};
const invalid = (message: string): object => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } });

const rows: { readonly [title: string]: Row } = {
  "openaiChat, OpenRouter": {
    connect: (fetch) => openaiChat({ client: connect(fetch, "https://openrouter.ai/api/v1"), model: "openai/gpt-5.6-sol" }),
    call: reasonedCall,
    text: chatText,
    error: {
      error: { message: "Provider returned error", code: 400, metadata: { raw: JSON.stringify(raw), provider_name: "OpenAI" } },
    },
  },
  "openaiChat, Meta": {
    connect: (fetch) => openaiChat({ client: connect(fetch), model: "muse-spark-1.3" }),
    call: reasonedCall,
    text: chatText,
    error: { error: { message: "reasoning `encrypted_content` was not issued to this caller", type: "invalid_request_error" } },
  },
  googleGenerateContent: {
    ...gemini,
    connect: (fetch) =>
      googleGenerateContent({
        client: new GoogleGenAI({ apiKey: "test", httpOptions: { fetch } }),
        model: "gemini-3-pro-preview",
      }),
    error: invalid("Corrupted thought signature."),
  },
  "aiSdkModel, Google": {
    ...gemini,
    connect: (fetch) => aiSdkModel({ model: createGoogle({ apiKey: "test", fetch })("gemini-3-pro-preview") }),
    error: invalid("Unable to submit request because Thought signature is not valid.."),
  },
};

/** The first answer has a call. From then on, another account refuses the reasoning. */
async function play({ connect: connectTo, call, text, error }: Row) {
  const { fetch, bodies } = createRecorder((body) => {
    const sent = JSON.stringify(body);
    if (sent.includes(signature)) return refuse(400, error);
    return /"role":"(?:tool|function)"|functionResponse/.test(sent) ? text() : call();
  });
  const changes: unknown[] = [];
  const events = createLoopEvents();
  events.on("request-adjusted", (found) => changes.push(...found.changes));
  const options = { provider: connectTo(fetch), events, tools: [tool("look")] };
  const result = await runToolLoop({ ...options, messages: [user("Look.")] });
  const next = await runToolLoop({ ...options, messages: [...result.messages, user("Again?")] });
  return { result, next, changes, signed: bodies.map((body) => JSON.stringify(body).includes(signature)) };
}

describe.each(Object.entries(rows))("%s: refused reasoning", (_title, row) => {
  it("is omitted, even in later runs", async () => {
    const { result, next, changes, signed } = await play(row);
    expect([result.text, next.text]).toEqual(["Done.", "Done."]);
    expect(signed).toEqual([false, true, false, false]);
    expect(changes).toContainEqual({ by: "adapter", field: "reasoning", action: "removed", reason: "request-changed" });
  });
});

const framed = (...frames: readonly string[]): Response =>
  new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });

/** Adapters that leave out refused reasoning themselves. */
const ownRows: { readonly [title: string]: Row } = {
  anthropicMessages: {
    connect: (fetch) => anthropicMessages({ client: connectAnthropic(fetch), model: "claude-opus-5-5" }),
    call: () => framed(start(), thinking(0, "Hm.", signature), calls(1, ["toolu_1", "look", "{}"]), stop("tool_use")),
    text: () => framed(start(), says(0, "Done."), stop("end_turn")),
    error: {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
      },
    },
  },
  openaiResponses: {
    connect: (fetch) => openaiResponses({ client: connect(fetch), model: "gpt-5.5" }),
    call: () =>
      sse({
        type: "response.completed",
        response: wholeResponse(
          { id: "rs_1", type: "reasoning", summary: [], encrypted_content: signature },
          { id: "fc_1", type: "function_call", status: "completed", call_id: "call_1", name: "look", arguments: "{}" },
        ),
      }),
    text: responsesText,
    error: raw,
  },
};

it.each(Object.entries({ ...rows, ...ownRows }))(
  "%s: a service that also refuses the request without reasoning gets only one retry, and the run ends with the service's reason",
  async (_title, { connect: connectTo, call, error }) => {
    const { fetch, bodies } = createRecorder(() => (bodies.length === 1 ? call() : refuse(400, error)));
    const result = await runToolLoop({ provider: connectTo(fetch), tools: [tool("look")], messages: [user("Look.")] });
    expect(result.reason).toMatchObject({ kind: "provider-error", error: { code: "request-changed", retryable: false } });
    expect(bodies).toHaveLength(3);
  },
);

it.each(Object.entries({ ...rows, ...ownRows }))(
  "%s: two concurrent runs with the same history each get a retry without reasoning",
  async (_title, { connect: connectTo, call, text, error }) => {
    const meet = createMeeting(2);
    let isRefusing = false;
    let refusals = 0;
    const recorder = createRecorder((body) => (JSON.stringify(body).includes("seen") ? text() : call()));
    const fetch: typeof recorder.fetch = async (input, init) => {
      if (!isRefusing || !JSON.stringify(init?.body).includes(signature)) return recorder.fetch(input, init);
      refusals += 1;
      await meet();
      return refuse(400, error);
    };
    const options = { provider: connectTo(fetch), tools: [tool("look")] };
    const { messages } = await runToolLoop({ ...options, messages: [user("Look.")] });
    isRefusing = true;
    const results = await Promise.all(
      ["Again?", "And now?"].map((said) => runToolLoop({ ...options, messages: [...messages, user(said)] })),
    );
    expect([results.map(({ text: said, error: found }) => found?.message ?? said), refusals]).toEqual([["Done.", "Done."], 2]);
  },
);
