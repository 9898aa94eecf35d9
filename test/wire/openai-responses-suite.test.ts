// The conformance suite for providers, played over a real connection and through the real SDK.

import { describe, it } from "vitest";
import { openaiResponses } from "turnwright/openai";
import { providerSuite, type ProviderFixture, type ProviderScenario } from "turnwright/testing";
import { event } from "./anthropic-frames.ts";
import { connectOpenAI } from "./openai-client.ts";
import { json, startRawServer, type RawReply } from "./raw-sse-server.ts";
import { call, created, ended, message, type ResponseItem } from "./responses-frames.ts";

type Reply = ProviderScenario["replies"][number];

const place = (type: string, [item, index]: readonly [item: ResponseItem, index: number], fields: object): string =>
  event({ type: `response.${type}`, output_index: index, item_id: item.id, ...fields });

/** One reply of a scenario, in the words of Responses: the text by the character, the calls with their pieces mixed. */
function toRawReply(reply: Reply): RawReply {
  if (reply.kind === "failure") return json(reply.status, { error: { message: "No." } });
  const { text, calls, usage, ending } = reply;
  const said = text === "" ? [] : [message(text)];
  const asked = calls.map(({ name, args }, index) => call([`call_${index}`, name, JSON.stringify(args)]));
  const items = [...said, ...asked];
  const begins = items.map((item, index) =>
    event({ type: "response.output_item.added", output_index: index, item: { ...item, content: [], arguments: "" } }),
  );
  const texts = said.flatMap((item) =>
    Array.from(text, (delta) => place("output_text.delta", [item, 0], { content_index: 0, delta })),
  );
  const half = (cut: (args: string) => string): readonly string[] =>
    asked.map((item, index) =>
      place("function_call_arguments.delta", [item, said.length + index], { delta: cut(String(item.arguments)) }),
    );
  const frames = [
    created,
    ...begins,
    ...texts,
    ...half((args) => args.slice(0, args.length >> 1)),
    ...half((args) => args.slice(args.length >> 1)),
  ];
  if (ending !== "finished") return { frames, ending: ending === "silent" ? "stall" : "end" };
  const ends = items.map((item, index) => event({ type: "response.output_item.done", output_index: index, item }));
  const counts = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
  return { frames: [...frames, ...ends, ended("completed", { output: items, usage: counts })] };
}

async function create(scenario: ProviderScenario): Promise<ProviderFixture> {
  const server = await startRawServer(scenario.replies.map(toRawReply));
  const { client } = connectOpenAI(server.url);
  return { provider: openaiResponses({ client, model: "m" }), close: () => server.close() };
}

describe("openaiResponses as a provider", () => {
  for (const { title, run } of providerSuite({ create })) it(title, run);
});
