import { defineTool, type LoopResult, type Provider, runToolLoop, withFallback, withRetry } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { openaiChat } from "turnwright/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectAnthropic } from "./anthropic-client.ts";
import { call, start, stop, text, thinking } from "./anthropic-frames.ts";
import { wires } from "./all-wires.ts";
import { checkMessagesContract } from "./messages-contract.ts";
import { connectOpenAI } from "./openai-client.ts";
import { done, json, type RawReply, sse, startRawServer } from "./raw-sse-server.ts";
import { checkWireContract } from "./wire-contract.ts";

interface Connected {
  readonly provider: Provider;
  readonly bodies: readonly unknown[];
}

async function serve(replies: readonly RawReply[]): Promise<string> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  return server.url;
}

async function anthropic(model: string, ...replies: readonly RawReply[]): Promise<Connected> {
  const { client, bodies } = connectAnthropic(await serve(replies));
  return { provider: anthropicMessages({ client, model, thinking: { type: "enabled", budget_tokens: 1_024 } }), bodies };
}

async function openai(...replies: readonly RawReply[]): Promise<Connected> {
  const { client, bodies } = connectOpenAI(await serve(replies));
  return { provider: openaiChat({ client, model: "gpt" }), bodies };
}

const busy = json(529, { type: "error", error: { type: "overloaded_error", message: "Busy." } });
const thought = (signature: string, id: string): RawReply => ({
  frames: [start(), thinking(0, "Hm.", signature), call(1, [id, "work", '{"n":1}']), stop("tool_use")],
});
const answered: RawReply = { frames: [start(), text(0, "Done."), stop("end_turn")] };
const delta = (fields: object, rest: object = {}): string => sse({ choices: [{ index: 0, delta: fields, ...rest }] });
const reasoned: RawReply = {
  frames: [
    delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "secret-1" }] }),
    delta({ tool_calls: [{ index: 0, id: "o1", type: "function", function: { name: "work", arguments: "{}" } }] }),
    delta({}, { finish_reason: "tool_calls" }) + done,
  ],
};

async function run(...providers: readonly Provider[]): Promise<LoopResult & { readonly ran: number }> {
  let ran = 0;
  const tools = [defineTool({ name: "work", description: "", inputSchema: { type: "object" }, execute: () => (ran += 1) })];
  const result = await runToolLoop({ provider: withFallback(providers), tools, messages: [{ role: "user", content: "Go." }] });
  return { ...result, ran };
}

const says = (body: unknown, ...words: readonly string[]): readonly boolean[] =>
  words.map((word) => JSON.stringify(body).includes(word));

describe("withFallback: provider metadata", () => {
  it("is sent back only to the service that created it", async () => {
    const a = await anthropic("claude", thought("sig-1", "t1"), busy, thought("sig-2", "t2"), busy);
    const o = await openai(reasoned, { frames: [delta({ content: "Done." }), delta({}, { finish_reason: "stop" }) + done] });
    const { text: said, ran, streamResults } = await run(a.provider, o.provider);
    expect([said, ran, streamResults.map(({ model }) => model)]).toEqual(["Done.", 3, ["claude", "gpt", "claude", "gpt"]]);
    expect(a.bodies.slice(1).map((body) => says(body, "sig-1", "secret-1"))).toEqual([
      [true, false],
      [true, false],
      [true, false],
    ]);
    expect(o.bodies.map((body) => says(body, "sig-", "secret-1"))).toEqual([
      [false, false],
      [false, true],
    ]);
    expect(a.bodies.flatMap(checkMessagesContract)).toEqual([]);
    expect(o.bodies.flatMap(checkWireContract)).toEqual([]);
  });

  it.for<[what: string, model: string, kept: boolean]>([
    ["sent back unchanged if another provider has the same model", "claude", true],
    ["omitted for a different model on the same service", "claude-small", false],
  ])("is %s", async ([, model, kept]) => {
    const first = await anthropic("claude", thought("sig-1", "t1"), busy);
    const second = await anthropic(model, answered);
    const { text: said, ran } = await run(first.provider, second.provider);
    expect([said, ran]).toEqual(["Done.", 1]);
    expect(says(second.bodies[0], "sig-1")).toEqual([kept]);
    expect(second.bodies.flatMap(checkMessagesContract)).toEqual([]);
    if (kept) expect(second.bodies[0]).toEqual(first.bodies[1]);
  });
});

describe.for(wires)("withRetry with provider $name", (wire) => {
  it.for<[what: string, failure: Parameters<typeof wire.toReply>[0]]>([
    ["status 503", { status: 503, message: "Busy." }],
    ["a stream that ends early", { end: "lost" }],
    ["a dropped connection", { end: "dropped" }],
    ["an error in the stream", { end: "broken" }],
  ])("retries after %s", async ([, failure]) => {
    const url = await serve([wire.toReply(failure), wire.toReply({ text: "Hi.", end: "stop" })]);
    const { provider, bodies } = wire.connect(url);
    const result = await runToolLoop({
      provider: withRetry(provider, { baseDelayMs: 0 }),
      messages: [{ role: "user", content: "Go." }],
    });
    expect([result.text, result.reason.kind, bodies.length]).toEqual(["Hi.", "answered", 2]);
    expect(bodies[1]).toEqual(bodies[0]);
  });

  it('ends with the error "auth" after status 401, without a retry', async () => {
    const { provider, bodies } = wire.connect(await serve([wire.toReply({ status: 401, message: "Who are you?" })]));
    const { error } = await runToolLoop({ provider: withRetry(provider), messages: [{ role: "user", content: "Go." }] });
    expect([error?.code, bodies.length]).toEqual(["auth", 1]);
  });
});
