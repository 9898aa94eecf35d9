// Services report a filtered prompt and a malformed call of the model as an error. Both end the stream like Gemini's finish reasons.

import { defineTool, runToolLoop, withFallback, withRetry } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { ask, runIteration } from "./provider-iteration.ts";
import { answerWith, clients, events, refusal, wires } from "./service-clients.ts";
import { raw } from "./service-error-bodies.ts";

const policy = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.";
const azure = {
  error: {
    message: policy,
    type: null,
    param: "prompt",
    code: "content_filter",
    status: 400,
    innererror: {
      code: "ResponsibleAIPolicyViolation",
      content_filter_result: { jailbreak: { filtered: true, detected: true } },
    },
  },
};

const flagged = "Invalid prompt: your prompt was flagged as potentially violating our usage policy.";

const filtered: readonly (readonly [service: string, status: number, body: object, explanation: string])[] = [
  ["Azure", 400, azure, policy],
  [
    "Azure behind LiteLLM",
    400,
    {
      error: { message: "No.", code: "400", provider_specific_fields: { innererror: { code: "ResponsibleAIPolicyViolation" } } },
    },
    "No.",
  ],
  [
    "OpenRouter's moderation",
    403,
    {
      error: {
        code: 403,
        message: "Input was flagged.",
        metadata: { reasons: ["violence"], flagged_input: "Go", provider_name: "A" },
      },
    },
    "Input was flagged.",
  ],
  [
    "OpenRouter's error type",
    400,
    { error: { code: 400, message: "No.", metadata: { error_type: "content_policy_violation" } } },
    "No.",
  ],
  ["an OpenRouter upstream", 400, raw(azure), `Provider returned error (Acme): ${policy}`],
  ["OpenAI (invalid_prompt)", 400, { error: { code: "invalid_prompt", message: flagged } }, flagged],
  ["OpenAI (bio_policy)", 400, { error: { code: "bio_policy", message: "Flagged." } }, "Flagged."],
  [
    "Anthropic",
    400,
    { type: "error", error: { type: "invalid_request_error", message: "Output blocked by content filtering policy" } },
    "Output blocked by content filtering policy",
  ],
  ["DeepSeek", 400, { error: { message: "Content Exists Risk", type: "invalid_request_error" } }, "Content Exists Risk"],
  [
    "DashScope",
    400,
    { error: { code: "data_inspection_failed", message: "Input data may contain inappropriate content." } },
    "Input data may contain inappropriate content.",
  ],
];

const messages = [{ role: "user" as const, content: "Go." }];

describe.for(wires)("%s: a filtered prompt", ([, connect]) => {
  it.for(filtered)(
    "ends the run with the reason content-filter at %s, without trying another provider",
    async ([, status, body, explanation]) => {
      const provider = connect(answerWith(refusal(status, body)));
      const other = createMockProvider([text("Sure.")]);
      const result = await runToolLoop({ provider: withFallback([withRetry(provider), other]), messages });
      expect(result).toMatchObject({ status: "completed", reason: { kind: "content-filter" }, text: "", details: explanation });
      expect(other.calls).toBe(0);
    },
  );
});

const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m" };
const said = { ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "Hel" }, finish_reason: null }] };
const failed = {
  type: "response.failed",
  response: { status: "failed", error: { code: "invalid_prompt", message: flagged } },
};

it.for([
  ["openaiChat", clients.openaiChat, [said, azure], "Hel", policy],
  ["aiSdkModel", clients.aiSdkModel, [said, azure], "Hel", policy],
  ["openaiResponses", clients.openaiResponses, [failed], "", flagged],
  [
    "anthropicMessages",
    clients.anthropicMessages,
    [
      `event: error\ndata: ${JSON.stringify({ type: "error", error: { message: "Output blocked by content filtering policy" } })}\n\n`,
    ],
    "",
    "Output blocked by content filtering policy",
  ],
] as const)(
  "%s: a filter that reports an error in the stream ends the run with the reason content-filter",
  async ([, connect, frames, heard, why]) => {
    const result = await runToolLoop({ provider: connect(answerWith(events(...frames))), messages });
    expect(result).toMatchObject({ status: "completed", reason: { kind: "content-filter" }, text: heard, details: why });
  },
);

it("openaiResponses: a request that OpenRouter calls invalid_prompt is an error, and not filtered", async () => {
  const body = { error: { code: "invalid_prompt", message: "Invalid Responses API request" } };
  const provider = clients.openaiResponses(answerWith(refusal(400, body)));
  const result = await runToolLoop({ provider, messages });
  expect(result).toMatchObject({
    status: "error",
    error: { code: "bad-request", message: "Invalid Responses API request" },
  });
});

it("withFallback: does not try another provider after a custom provider reports a filtered prompt", async () => {
  const provider = {
    id: "own",
    model: "m",
    stream: () => {
      throw Object.assign(new Error("No."), { status: 400, code: "content_filter" });
    },
  };
  const other = createMockProvider([text("Sure.")]);
  const result = await runToolLoop({ provider: withFallback([provider, other]), messages });
  expect(result.reason).toMatchObject({ kind: "provider-error", error: { code: "content-filter", retryable: false } });
  expect(other.calls).toBe(0);
});

const groq = {
  message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
  type: "invalid_request_error",
  code: "tool_use_failed",
  failed_generation: '<function=get_stock{"item": "bolt"}</function>',
};
const call = { index: 0, id: "c1", type: "function", function: { name: "get_stock", arguments: '{"item"' } };
const begun = { ...chunk, choices: [{ index: 0, delta: { role: "assistant", tool_calls: [call] }, finish_reason: null }] };
const answer = events(
  { ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "Seven." }, finish_reason: null }] },
  { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  "data: [DONE]\n\n",
);

describe.for([
  ["openaiChat", clients.openaiChat],
  ["aiSdkModel", clients.aiSdkModel],
] as const)("%s: a malformed call that the service reports as an error", ([, connect]) => {
  it.for<[how: string, reply: () => Response]>([
    ["Groq with status 400", refusal(400, { error: groq })],
    ["Groq in the stream", events(said, { error: { ...groq, status_code: 400 } })],
    ["Groq in the stream after the start of a call", events(begun, { error: { ...groq, status_code: 400 } })],
    [
      "Groq with an error about an unknown tool",
      refusal(400, {
        error: { message: "tool call validation failed: attempted to call tool 'x' which was not in request.tools" },
      }),
    ],
    [
      "Groq with an error about the schema",
      refusal(400, { error: { message: "parameters for tool get_stock did not match schema: x" } }),
    ],
    [
      "Ollama with status 500",
      refusal(500, { error: { message: "error parsing tool call: raw='{\"item\"', err=EOF", type: "api_error" } }),
    ],
    ["a gateway", refusal(502, raw({ error: groq }))],
  ])("causes another request at %s", async ([, reply]) => {
    const tool = defineTool({
      name: "get_stock",
      description: "Stock of an item",
      inputSchema: { type: "object", properties: { item: { type: "string" } } },
      execute: () => 7,
    });
    const result = await runToolLoop({ provider: connect(answerWith(reply, answer)), tools: [tool], messages });
    expect(result).toMatchObject({ status: "completed", text: "Seven.", iterations: 2 });
    expect(JSON.stringify(result.messages)).not.toContain("failed_generation");
    expect(result.streamResults[0]).toMatchObject({ finish: "malformed-call" });
  });
});

it("openaiChat: recognizes a malformed call and a filtered prompt by the words in the `errorWords` option", async () => {
  const errorWords = [
    { pattern: /bad call/, code: "malformed-call" },
    { pattern: /naughty/, code: "content-filter" },
  ] as const;
  const finish = async (message: string): Promise<unknown> =>
    (await runIteration(clients.openaiChat(answerWith(refusal(400, { error: { message } })), { errorWords }), ask("Go."))).finish;
  expect([await finish("a bad call"), await finish("naughty")]).toEqual(["malformed-call", "content-filter"]);
});
