import { createOpenAI } from "@ai-sdk/openai";
import { createLoopEvents, type LoopResult, type Message, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { openaiResponses } from "turnwright/openai";
import { reasoning as thinks, strictService, text, toolCall } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { createCall } from "./provider-iteration.ts";
import { collect } from "./scripted-stream.ts";
import {
  connect,
  createRecorder,
  outputText,
  refuse,
  said,
  type SentBody,
  sse,
  tool,
  user,
  wholeResponse,
} from "./service-client.ts";

const reasoning = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "account-A" };
const call = { id: "fc_1", type: "function_call", status: "completed", call_id: "call_1", name: "look", arguments: "{}" };
const message =
  "The encrypted content acco...nt-A could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
const error = { message, type: "invalid_request_error", code: null };
const created = { type: "response.created", response: { id: "resp_1", object: "response", status: "in_progress", output: [] } };
const answer = (...output: readonly object[]): Response =>
  sse(created, { type: "response.completed", response: wholeResponse(...output) });

const refusals: { readonly [what: string]: () => Response } = {
  "a 400 with the text": () => refuse(400, { error }),
  "a 400 with the code": () => refuse(400, { error: { ...error, message: "Bad item.", code: "invalid_encrypted_content" } }),
  "a 400 about a call without its reasoning": () =>
    refuse(400, {
      error: {
        ...error,
        message: "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
      },
    }),
  "a 400 about reasoning without its call": () =>
    refuse(400, {
      error: { ...error, message: "Item 'rs_1' of type 'reasoning' was provided without its required following item." },
    }),
  "an error event": () => sse(created, { type: "error", code: "invalid_encrypted_content", message, param: null }),
  "a failed response": () =>
    sse(created, {
      type: "response.failed",
      response: { ...created.response, status: "failed", error: { ...error, code: "server_error" } },
    }),
};

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly SentBody[];
  readonly changes: readonly unknown[];
}

const itemsOf = (body: SentBody | undefined): string => JSON.stringify(body?.input);

/** The first answer has reasoning and a call. From then on, another account refuses the reasoning. */
async function play(toRefusal: () => Response, store: boolean): Promise<Played> {
  const changes: unknown[] = [];
  const events = createLoopEvents();
  events.on("request-adjusted", (found) => changes.push(...found.changes));
  const { fetch, bodies } = createRecorder((body) => {
    const sent = JSON.stringify(body.input);
    if (sent.includes("account-A")) return toRefusal();
    if (sent.includes("fc_1"))
      return refuse(400, { error: { message: "Item 'fc_1' was provided without its required 'reasoning' item." } });
    return sent.includes("call_1") ? answer(outputText("Done.")) : answer(reasoning, call);
  });
  const provider = openaiResponses({ client: connect(fetch), model: "gpt-5.5", store });
  const messages: readonly Message[] = [user("Hi")];
  const result = await runToolLoop({ provider, events, tools: [tool("look")], messages });
  const next = await runToolLoop({ provider, tools: [tool("look")], messages: [...result.messages, user("Again?")] });
  return { result: result.status === "completed" ? next : result, bodies, changes };
}

describe.for([false, true])("openaiResponses: reasoning from a different account, with store: %s", (store) => {
  it.for(Object.keys(refusals))("after %s, is omitted from the request and from later runs", async (what) => {
    const { result, bodies, changes } = await play(refusals[what] ?? (() => answer()), store);
    expect([result.status, result.text]).toEqual(["completed", "Done."]);
    expect(bodies.map((body) => itemsOf(body).includes("account-A"))).toEqual([false, true, false, false]);
    expect(itemsOf(bodies[2])).toContain('"function_call","call_id":"call_1"');
    expect(changes).toEqual([{ by: "adapter", field: "reasoning", action: "removed", reason: "request-changed" }]);
  });
});

it("openaiResponses: does not resend a refused request if the limits allow no more requests", async () => {
  const { fetch, bodies } = createRecorder(() => refuse(400, { error }));
  const provider = openaiResponses({ client: connect(fetch), model: "gpt-5.5" });
  const messages: readonly Message[] = [user("Hi"), said("Hello."), user("Again?")];
  const stream = provider.stream({ messages, tools: [], iteration: 0 }, { ...createCall(), mayAsk: () => false });
  expect((await collect(stream)).thrown).toMatchObject({ message: expect.stringContaining("could not be verified") });
  expect(bodies).toHaveLength(1);
});

it("aiSdkModel with @ai-sdk/openai: omits reasoning that the service separates from its call", async () => {
  const service = strictService("openai-responses", { answers: [[thinks("Hm."), toolCall("look", {})], text("Done.")] });
  const message = "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.";
  let refusals = 0;
  const fetch: typeof service.fetch = async (input, init) => {
    if (!JSON.stringify(init?.body).includes("rs_")) return service.fetch(input, init);
    refusals += 1;
    return refuse(400, { error: { ...error, message } });
  };
  const provider = aiSdkModel({ model: createOpenAI({ apiKey: "test", fetch }).responses("gpt-5") });
  const result = await runToolLoop({ provider, tools: [tool("look")], messages: [user("Hi")] });
  expect([result.error?.message ?? result.text, refusals, service.refusals]).toEqual(["Done.", 1, []]);
});
