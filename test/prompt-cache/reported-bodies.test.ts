import { defineTool, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { watchPromptCache } from "turnwright/middleware";
import { expect, it } from "vitest";
import { type Scripted, wires } from "../wire/all-wires.ts";
import { playWire, reportTo } from "./play-wires.ts";

const weather = defineTool({
  name: "get_weather",
  description: "The weather in a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  execute: () => ({ celsius: 3 }),
});

const call = (id: string): Scripted => ({ calls: [[id, "get_weather", '{"city":"Oslo"}']], end: "tools" });
const script: readonly Scripted[] = [call("a"), { text: "Hmm.", ...call("b") }, { text: "Oslo.", end: "stop" }];

/** The Google SDK sends the fields of `config` at other places of the body, with the same values. */
function toSent(name: string, reported: unknown): unknown {
  if (name !== "google") return reported;
  const { contents, config } = reported as { contents: unknown; config: { tools: unknown; systemInstruction: unknown } };
  return { contents, tools: config.tools, systemInstruction: config.systemInstruction };
}

it.for(wires)("provider $name: reports the bodies that its SDK passes to fetch", async (wire) => {
  const { result, bodies, reported, recording } = await playWire({ wire, script }, { tools: [weather], system: "Be brief." });
  expect([result.text, bodies.length, reported.length]).toEqual(["Oslo.", 3, 3]);
  for (const [index, body] of bodies.entries()) {
    const sent = toSent(wire.name, reported[index]);
    if (wire.name === "google") expect(body).toMatchObject(sent as object);
    else expect(body).toEqual(sent);
  }
  expect(recording.of("cache-break")).toEqual([]);
});

it("aiSdkModel: reports the model's call options as the request body", async () => {
  const asked: object[] = [];
  const reported: unknown[] = [];
  const says = (parts: readonly object[]): ReadableStream =>
    new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    });
  const usage = { inputTokens: { total: 3 }, outputTokens: { total: 2 } };
  const model = {
    specificationVersion: "v3" as const,
    provider: "mock",
    modelId: "m",
    supportedUrls: {},
    doStream: (options: object) => {
      asked.push(options);
      const isFirst = asked.length === 1;
      const input = { type: "tool-call", toolCallId: "a", toolName: "get_weather", input: '{"city":"Oslo"}' };
      const text = [
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Oslo." },
        { type: "text-end", id: "t" },
      ];
      const finishReason = { unified: isFirst ? "tool-calls" : "stop", raw: isFirst ? "tool_calls" : "stop" };
      return Promise.resolve({ stream: says([...(isFirst ? [input] : text), { type: "finish", finishReason, usage }]) });
    },
  };
  const provider = reportTo(reported, aiSdkModel({ model }));
  const messages = [{ role: "user", content: "Oslo or Rome?" }] as const;
  const middleware = [watchPromptCache()];
  const result = await runToolLoop({ provider, tools: [weather], messages, system: "Be brief.", middleware });
  expect([result.text, result.cache?.requests, result.cache?.share]).toEqual(["Oslo.", 2, 1]);
  expect(reported).toEqual(JSON.parse(JSON.stringify(asked)));
});
