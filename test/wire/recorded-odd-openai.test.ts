import { defineTool, type LoopResult, runToolLoop } from "turnwright";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { genaiPrices } from "turnwright/prices";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { connectOpenAI } from "./openai-client.ts";
import { done, type RawReply, sse, startRawServer } from "./raw-sse-server.ts";
import { readOdd } from "./recorded-streams.ts";

const names = ["lookup_harbor_label", "lookup_orchard_label", "llm_version"];
const answer: RawReply = {
  frames: [
    sse({ choices: [{ index: 0, delta: { content: "Good." }, finish_reason: "stop" }] }),
    sse({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }),
    done,
  ],
};

interface Played {
  readonly result: LoopResult;
  readonly asked: readonly unknown[];
  readonly echo: { readonly [field: string]: unknown };
}

async function play(body: string): Promise<Played> {
  const server = await startRawServer([{ frames: [body] }, answer, answer]);
  onTestFinished(() => server.close());
  const { client, bodies } = connectOpenAI(server.url);
  const asked: unknown[] = [];
  const note = (args: unknown): string => (asked.push(args), "noted");
  const tools = [
    ...names.map((name) => defineTool({ name, description: name, inputSchema: z.object({}), execute: note })),
    defineTool({ name: "weather", description: "Weather", inputSchema: z.object({ location: z.string() }), execute: note }),
  ];
  const question = { role: "user", content: "Go." } as const;
  const options = { provider: openaiChat({ client, model: "gpt-5" }), tools, pricing: genaiPrices() };
  const result = await runToolLoop({ ...options, messages: [question] });
  await runToolLoop({ ...options, messages: [...result.messages, question] });
  return { result, asked, echo: Object(Object(bodies.at(-1)).messages?.[1]) };
}

function readDeltas(body: string): readonly { readonly [field: string]: unknown }[] {
  const chunks = body.split("\n").flatMap((line) => (line.startsWith("data: {") ? [Object(JSON.parse(line.slice(6)))] : []));
  return chunks.map(({ choices }) => Object(Object(choices?.[0]).delta));
}

function lastSignature(body: string): unknown {
  const details = readDeltas(body).flatMap((delta) => Object(delta).reasoning_details ?? []);
  return details.map(({ signature }) => signature).findLast((signature) => typeof signature === "string" && signature !== "");
}

interface Item {
  readonly type: string;
  readonly content?: readonly { readonly text: string }[];
}

function lastResponse(body: string): { readonly output: readonly Item[] } {
  const event = body.split("\n").findLast((line) => line.startsWith("data: {")) ?? "data: {}";
  const { type, response } = JSON.parse(event.slice(6));
  if (type !== "response.completed") throw new Error("The stream does not end with response.completed.");
  return response;
}

const chat = readOdd("chat");
const responses = readOdd("responses");

if (chat.size === 0) {
  it("openaiChat and openaiResponses: recorded streams from other servers are absent from this checkout", () => {
    expect(responses.size).toBe(0);
  });
} else {
  describe.for([...chat])("openaiChat: recorded stream %s", ([, body]) => {
    it("completes with valid token counts and a cost", async () => {
      const { result, asked, echo } = await play(body);
      expect(result).toMatchObject({ status: "completed", error: undefined });
      const calls = result.functionHistory;
      expect(calls.map(({ outcome }) => outcome)).toEqual(calls.map(() => "completed"));
      expect(asked).toHaveLength(calls.length);
      const text = readDeltas(body).map((delta): string => Object(delta).content ?? "");
      expect([echo.content ?? "", Object(echo.tool_calls ?? []).length]).toEqual([text.join(""), calls.length]);
      const { inputTokens, outputTokens, totalTokens, cachedInputTokens = 0, reasoningTokens = 0 } = result.usage;
      expect(inputTokens).toBeGreaterThanOrEqual(Math.max(cachedInputTokens, 1));
      expect(outputTokens).toBeGreaterThanOrEqual(Math.max(reasoningTokens, 1));
      expect(totalTokens).toBeGreaterThanOrEqual(inputTokens + outputTokens);
      expect(result.costUSD).toBeGreaterThan(0);
      const signature = lastSignature(body);
      if (signature !== undefined) expect(echo.reasoning_details).toMatchObject([{ signature }]);
    });

    it('ends with the error "stream-ended-early" if the stream stops after two events', async () => {
      const frames = body.split("\n\n");
      const { result } = await play(`${frames.slice(0, 2).join("\n\n")}\n\n`);
      expect(result.error?.code ?? result.status).toBe("stream-ended-early");
    });
  });
}

describe.for([...responses])("openaiResponses: recorded stream %s", ([, body]) => {
  it("yields each piece of text once", async () => {
    const server = await startRawServer([{ frames: [body] }, { frames: [body] }]);
    onTestFinished(() => server.close());
    const { client, bodies } = connectOpenAI(server.url);
    const provider = openaiResponses({ client, model: "m" });
    const first = await runToolLoop({ provider, messages: [{ role: "user", content: "Go." }] });
    const { output } = lastResponse(body);
    expect(output.map(({ type }) => type)).toContain("message");
    const texts = output.flatMap(({ type, content = [] }) => (type === "message" ? content : []));
    expect(first).toMatchObject({ status: "completed", text: texts.map(({ text }) => text).join("") });
    await runToolLoop({ provider, messages: [...first.messages, { role: "user", content: "Again." }] });
    const sent: readonly unknown[] = Object(bodies[1]).input;
    expect(sent.slice(1, -1)).toMatchObject(output.map(({ type, content }) => ({ type, content })));
  });
});
