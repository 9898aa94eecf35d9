import { type Message, type ModelRequest, type Provider, runToolLoop } from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { openaiResponses, type OpenAIResponsesOptions } from "turnwright/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectAnthropic } from "./anthropic-client.ts";
import { block, call, event, marker, start, text } from "./anthropic-frames.ts";
import { checkMessagesContract } from "./messages-contract.ts";
import { connectOpenAI } from "./openai-client.ts";
import { startRawServer, type RawReply } from "./raw-sse-server.ts";
import { checkResponsesContract } from "./responses-contract.ts";
import { message, respond } from "./responses-frames.ts";

/** Adds `compactAt` to each request, as the loop does for a run with a compaction policy. */
const compactAt = (provider: Provider, tokens: number): Provider => ({
  ...provider,
  stream: (request: ModelRequest, own) => provider.stream({ ...request, compactAt: tokens }, own),
});

const question: Message = { role: "user", content: "Oslo?" };
const weather = {
  name: "get_weather",
  description: "Weather of a city",
  inputSchema: { type: "object" },
  execute: (): string => "3 degrees",
} as const;

interface Body {
  readonly [field: string]: unknown;
}

describe("anthropicMessages with compaction", () => {
  const summary = "<summary>The user asks about Oslo.</summary>";
  // These shapes are BetaCompactionBlock, BetaCompactionContentBlockDelta and BetaCompactionIterationUsage in the SDK.
  const compaction = block(
    0,
    { type: "compaction", content: null, encrypted_content: null, signature: null },
    { type: "compaction_delta", content: summary, encrypted_content: "opaque" },
  );
  const sentBack = { type: "compaction", content: summary, encrypted_content: "opaque", signature: null };
  const counts = { cache_creation: null, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const usage = {
    input_tokens: 23_000,
    output_tokens: 1_000,
    iterations: [
      { type: "compaction", input_tokens: 180_000, output_tokens: 3_500, ...counts },
      { type: "message", input_tokens: 23_000, output_tokens: 1_000, ...counts },
    ],
  };
  const ending = (reason: string): string =>
    event({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage }) + marker;
  const asks: RawReply = {
    frames: [
      start({ input_tokens: 23_000, output_tokens: 1 }),
      compaction,
      text(1, "One moment."),
      call(2, ["toolu_a", "get_weather", "{}"]),
      ending("tool_use"),
    ],
  };
  const answer: RawReply = { frames: [start(), text(0, "Mild."), ending("end_turn")] };

  async function play(replies: readonly RawReply[], options: Partial<AnthropicMessagesOptions> = {}) {
    const server = await startRawServer(replies);
    onTestFinished(() => server.close());
    const { client, bodies, headers } = connectAnthropic(server.url);
    const provider = compactAt(anthropicMessages({ client, model: "m", compaction: true, ...options }), 160_000);
    const result = await runToolLoop({ provider, tools: [weather], messages: [question] });
    expect(bodies.map(checkMessagesContract)).toEqual(bodies.map(() => []));
    return { result, bodies: bodies as readonly Body[], headers };
  }

  it("sends the threshold and the beta header with each request", async () => {
    const { bodies, headers } = await play([asks, answer], { betas: ["a-1"] });
    const edit = { type: "compact_20260112", trigger: { type: "input_tokens", value: 160_000 } };
    expect(bodies.map(({ context_management: field }) => field)).toEqual([{ edits: [edit] }, { edits: [edit] }]);
    expect(headers.map((header) => header.get("anthropic-beta"))).toEqual(Array(2).fill("a-1,compact-2026-01-12"));
  });

  it("sends the summary back unchanged after the earlier messages", async () => {
    const { bodies } = await play([asks, answer]);
    expect(bodies[1]?.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "Oslo?" }] },
      {
        role: "assistant",
        content: [
          sentBack,
          { type: "text", text: "One moment." },
          { type: "tool_use", id: "toolu_a", name: "get_weather", input: {} },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_a", content: "3 degrees" }] },
    ]);
  });

  it("keeps the summary out of the text but counts its tokens in the usage", async () => {
    const { result } = await play([asks, answer]);
    expect(result).toMatchObject({ status: "completed", text: "Mild." });
    expect(result.messages[1]).toMatchObject({ content: [{ type: "text", text: "One moment." }, { type: "tool-call" }] });
    expect(result.streamResults[0]?.text).toBe("One moment.");
    expect(result.streamResults[0]?.usage).toMatchObject({ inputTokens: 203_000, outputTokens: 4_500 });
  });

  it("sends a failed summary back unchanged", async () => {
    const failed = block(0, { type: "compaction", content: null, encrypted_content: null });
    const replies = [{ frames: [start(), failed, call(1, ["toolu_a", "get_weather", "{}"]), ending("tool_use")] }, answer];
    const { bodies } = await play(replies);
    expect(bodies[1]?.messages).toMatchObject([
      {},
      { content: [{ type: "compaction", content: null, encrypted_content: null }, { type: "tool_use" }] },
      {},
    ]);
  });
});

describe("openaiResponses with compaction", () => {
  // This shape is ResponseCompactionItem in the SDK.
  const compaction = { type: "compaction", id: "cmp_1", encrypted_content: "opaque" };
  const asked = { type: "function_call", call_id: "call_a", name: "get_weather", arguments: "{}" };
  const asks: RawReply = { frames: respond(compaction, { ...asked, id: "fc_1", status: "completed" }) };
  const answer: RawReply = { frames: respond(message("Mild.")) };

  async function play(options: Partial<OpenAIResponsesOptions> = {}) {
    const server = await startRawServer([asks, answer]);
    onTestFinished(() => server.close());
    const { client, bodies } = connectOpenAI(server.url);
    const provider = compactAt(openaiResponses({ client, model: "m", compaction: true, ...options }), 160_000);
    const result = await runToolLoop({ provider, tools: [weather], messages: [question] });
    expect(bodies.map(checkResponsesContract)).toEqual(bodies.map(() => []));
    return { result, bodies: bodies as readonly Body[] };
  }

  it("sends the threshold with each request", async () => {
    const { bodies } = await play();
    const field = [{ type: "compaction", compact_threshold: 160_000 }];
    expect(bodies).toMatchObject([
      { context_management: field, store: false },
      { context_management: field, store: false },
    ]);
  });

  it.for<[store: boolean, items: readonly object[]]>([
    [false, [{ type: "compaction", encrypted_content: "opaque" }, asked]],
    [true, [compaction, { ...asked, id: "fc_1" }]],
  ])("with store: %s, sends the encrypted summary back at its original position", async ([store, items]) => {
    const { bodies, result } = await play({ store });
    expect(bodies[1]?.input).toEqual([
      { role: "user", content: "Oslo?" },
      ...items,
      { type: "function_call_output", call_id: "call_a", output: "3 degrees" },
    ]);
    expect(result).toMatchObject({ status: "completed", text: "Mild." });
  });
});
