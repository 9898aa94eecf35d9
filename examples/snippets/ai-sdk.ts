// Runs that use an AI SDK model.

import assert from "node:assert/strict";
import { openai } from "@ai-sdk/openai";
import { runToolLoop, withRetry, type Message } from "turnwright";
import { aiSdkModel, type AiSdkModelOptions } from "turnwright/ai-sdk";

const messages: readonly Message[] = [{ role: "user", content: "Is it too late to call Tokyo?" }];
const told: string[] = [];
type Warning = Parameters<NonNullable<AiSdkModelOptions["onWarning"]>>[0];
const console = { warn: ({ type, feature }: Warning): void => void told.push(`${type} ${String(feature)}`) };

const bodies: unknown[] = [];

const { fetch } = globalThis;
/** Simulates the service of the model, which is overloaded at the first request. */
globalThis.fetch = async (_: unknown, init?: { body?: unknown }): Promise<Response> => {
  bodies.push(JSON.parse(String(init?.body)));
  if (bodies.length === 1)
    return Response.json({ error: { message: "Busy." } }, { status: 503, headers: { "retry-after-ms": "1" } });
  const events = [
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1" } },
    { type: "response.output_text.delta", item_id: "msg_1", delta: "It is." },
    { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "msg_1" } },
    { type: "response.completed", response: { usage: { input_tokens: 9, output_tokens: 3 } } },
  ];
  const frames = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(frames, { headers: { "content-type": "text/event-stream" } });
};
process.env["OPENAI_API_KEY"] = "not-a-key";

// #region model
const model = aiSdkModel({
  model: openai("gpt-5"), // or google(...), xai(...), wrapLanguageModel(...): a model object of any package
  id: "openai", // default "openai.responses"; for usage and prices
  providerOptions: { openai: { reasoningEffort: "low" } },
  providerTools: { web_search: openai.tools.webSearch({}) }, // the service runs these tools; they are not calls of the run
  onWarning: (warning) => console.warn(warning),
});
const result = await runToolLoop({ provider: withRetry(model), messages, modelSettings: { seed: 7 } });
// #endregion model
globalThis.fetch = fetch;

assert.deepEqual([result.status, result.text], ["completed", "It is."]);
assert.deepEqual(told, ["unsupported seed"]);
assert.equal(bodies.length, 2);
assert.match(JSON.stringify(bodies[1]), /"reasoning":\{"effort":"low".*"tools":\[\{"type":"web_search"\}\]/);
const [part] = result.accumulatedModelParts;
assert.deepEqual([part?.provider, part?.model], ["openai", "gpt-5"]);
