// Providers that retry a request or fall back to another model.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { type Message, type Pricing, type ProviderError, runToolLoop, streamToolLoop, withFallback, withRetry } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { openaiChat } from "turnwright/openai";
import { createMockProvider, fail, text as says, usage } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Is it too late to call Tokyo?" }];

process.env["OPENAI_API_KEY"] = "not-a-key";
process.env["ANTHROPIC_API_KEY"] = "not-a-key";
const overloaded = (): Response =>
  Response.json({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, { status: 529 });
const limited = (): Response => Response.json({ error: { message: "Rate limit reached" } }, { status: 429 });
const answered = (): Response => {
  const delta = { choices: [{ index: 0, delta: { content: "It is." }, finish_reason: "stop" }] };
  return new Response(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
};

{
  // #region ollama
  const provider = openaiChat({
    client: new OpenAI({ baseURL: "http://localhost:11434/v1", apiKey: "ollama" }),
    model: "qwen3:8b",
    id: "ollama", // names its usage and prices
  });
  // #endregion ollama
  assert.equal(provider.id, "ollama");
}

{
  let asked = 0;
  const fetch = async (): Promise<Response> => ((asked += 1), asked === 1 ? limited() : answered());
  const before = globalThis.fetch;
  globalThis.fetch = fetch;
  // #region retry
  const client = new OpenAI({ maxRetries: 0 }); // otherwise the client makes several requests for each attempt of `withRetry`
  const provider = withRetry(openaiChat({ client, model: "gpt-5-mini" }), { maxAttempts: 5, baseDelayMs: 200 });
  const { text } = await runToolLoop({ provider, messages });
  // #endregion retry
  assert.deepEqual([text, asked], ["It is.", 2]);
  globalThis.fetch = before;
}

{
  const fetch = async (): Promise<Response> => Response.json({ error: { message: "The input is too big." } }, { status: 400 });
  const client = new OpenAI({ apiKey: "not-a-key", maxRetries: 0, fetch });
  // #region words
  const provider = openaiChat({
    client,
    model: "gpt-5-mini",
    errorWords: [{ pattern: /input is too big/i, code: "context-too-long" }],
  });
  // #endregion words
  const { error } = await runToolLoop({ provider, messages });
  assert.equal(error?.code, "context-too-long");
}

{
  let asked = 0;
  const { fetch } = globalThis;
  globalThis.fetch = async (url) => (JSON.stringify(url).includes("anthropic") ? ((asked += 1), overloaded()) : answered());
  // #region fallback
  const anthropic = new Anthropic({ maxRetries: 0 });
  const openai = new OpenAI({ maxRetries: 0 });
  const provider = withFallback(
    [
      withRetry(anthropicMessages({ client: anthropic, model: "claude-sonnet-4-6" }), { maxAttempts: 2 }),
      openaiChat({ client: openai, model: "gpt-5-mini" }),
    ],
    { firstChunkMs: 20_000, cooldownMs: 60_000 },
  );
  const { text, streamResults } = await runToolLoop({ provider, messages });
  // Claude was overloaded twice, so gpt-5-mini answered "It is." For the next minute, gpt-5-mini is tried first.
  // #endregion fallback
  assert.deepEqual([text, asked, streamResults[0]?.model], ["It is.", 2, "gpt-5-mini"]);
  await runToolLoop({ provider, messages });
  assert.equal(asked, 2);
  globalThis.fetch = fetch;
}

{
  const answers = [limited, answered];
  const clients = answers.map((answer) => new OpenAI({ apiKey: "not-a-key", maxRetries: 0, fetch: async () => answer() }));
  const provider = withFallback(clients.map((client) => openaiChat({ client, model: "gpt-5-mini" })));
  const { text } = await runToolLoop({ provider, messages });
  assert.equal(text, "It is.");
}

{
  const tokens = usage({ inputTokens: 100, outputTokens: 10 });
  const provider = withFallback([
    createMockProvider([[tokens, says("It is eleven in the"), fail(new TypeError("terminated"))]], { model: "large" }),
    createMockProvider([[says("It is 11 pm there."), tokens]], { model: "small" }),
  ]);
  const frames: string[] = [];
  const console = { log: (text: string): void => void frames.push(text) };
  // #region take-back
  const pricing: Pricing = ({ totalTokens }, { model }) => totalTokens * (model === "large" ? 0.000_01 : 0.000_001);
  const stream = streamToolLoop({ provider, messages, pricing });
  let before = ""; // the text of earlier streams, which is kept
  let shown = "";
  for await (const event of stream) {
    if (event.type === "iteration-start") before = shown;
    if (event.type === "text-delta") shown += event.text;
    if (event.type === "attempt-discarded") shown = before;
    console.log(shown); // replaces what you have shown
  }
  const { text, costUSD } = await stream.result; // "It is 11 pm there.", and the cost of both attempts
  // #endregion take-back
  assert.deepEqual([...new Set(frames)], ["", "It is eleven in the", "It is 11 pm there."]);
  assert.equal(text, "It is 11 pm there.");
  assert.equal(costUSD?.toFixed(5), "0.00121");
}

{
  const limits = createMockProvider([fail({ status: 429, message: "Rate limit reached", headers: { "retry-after": "20" } })]);
  const provider = withFallback([limits, createMockProvider([fail({ status: 401, message: "Invalid key" })])]);
  const stream = streamToolLoop({ provider, messages });
  const errors: ProviderError[] = [];
  for await (const event of stream) {
    if (event.type === "iteration-start") errors.length = 0;
    if (event.type === "attempt-discarded" && event.error !== undefined) errors.push(event.error);
  }
  const { reason } = await stream.result;
  if (reason.kind === "provider-error") errors.push(reason.error);
  const waits = errors.flatMap(({ retryable, retryAfterMs }) => (retryable && retryAfterMs !== undefined ? [retryAfterMs] : []));
  const message = waits.length === 0 ? "Try again later." : `Try again in ${Math.ceil(Math.min(...waits) / 1_000)} s.`;
  assert.equal(message, "Try again in 20 s.");
}

{
  const down = (status: number, message: string) => createMockProvider([fail({ status, message })]);
  const provider = withFallback([down(529, "Overloaded"), down(401, "Invalid key")]);
  const { reason } = await runToolLoop({ provider, messages });
  // { kind: "provider-error", error: { code: "auth", message: "All 2 providers failed; the last error: Invalid key", ... } }
  assert(reason.kind === "provider-error");
  assert.deepEqual(reason.error, {
    name: "ProviderError",
    code: "auth",
    message: "All 2 providers failed; the last error: Invalid key",
    status: 401,
    retryable: false,
  });
}
