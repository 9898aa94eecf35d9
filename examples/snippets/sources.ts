// The web pages that models cite after a search by their service.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { createOpenAI } from "@ai-sdk/openai";
import OpenAI from "openai";
import { createUIMessageStreamResponse, parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } from "ai";
import { type Message, type Provider, runToolLoop, streamToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { listSources } from "turnwright/kit";
import { openaiResponses } from "turnwright/openai";
import { toUIMessageStream } from "turnwright/ui-message-stream";

const url = "https://example.com/oslo";
const title = "Oslo today";

/** Answers each request with these events. */
function answering(events: readonly object[]): typeof fetch {
  const lines = events.map((event) => `event: ${Reflect.get(event, "type")}\ndata: ${JSON.stringify(event)}\n\n`);
  return async () => new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } });
}

const claude = answering([
  {
    type: "message_start",
    message: { id: "msg_1", type: "message", role: "assistant", content: [], usage: { input_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "", citations: [] } },
  {
    type: "content_block_delta",
    index: 0,
    delta: { type: "citations_delta", citation: { type: "web_search_result_location", url, title } },
  },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Sunny." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
]);
const annotations = [{ type: "url_citation", url, title, start_index: 0, end_index: 6 }];
const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Sunny.", annotations }] };
const gpt = answering([
  { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5-mini" } },
  { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
  { type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "msg_1", delta: "Sunny." },
  { type: "response.output_text.annotation.added", output_index: 0, item_id: "msg_1", annotation: annotations[0] },
  { type: "response.output_item.done", output_index: 0, item },
  { type: "response.completed", response: { status: "completed", output: [item], usage: { input_tokens: 1, output_tokens: 1 } } },
]);

/** Reads the answer as the page does, and returns the sources that it shows. */
async function readSources({ body }: Response): Promise<readonly string[]> {
  assert(body !== null);
  const chunks = parseJsonEventStream({ stream: body, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(parsed, controller) {
        if (!parsed.success) throw parsed.error;
        controller.enqueue(parsed.value);
      },
    }),
  );
  const shown = new Set<string>();
  for await (const { parts } of readUIMessageStream({ stream: chunks }))
    for (const part of parts) if (part.type === "source-url") shown.add(`${part.title}: ${part.url}`);
  return [...shown];
}

const apiKey = "not-a-key";
const providers: readonly Provider[] = [
  anthropicMessages({
    client: new Anthropic({ apiKey, fetch: claude }),
    model: "claude-sonnet-4-6",
    serverTools: [{ type: "web_search_20250305", name: "web_search" }],
  }),
  openaiResponses({ client: new OpenAI({ apiKey, fetch: gpt }), model: "gpt-5-mini", serverTools: [{ type: "web_search" }] }),
  aiSdkModel({ model: createOpenAI({ apiKey, fetch: gpt })("gpt-5-mini") }),
];
const messages: readonly Message[] = [{ role: "user", content: "How is the weather in Oslo?" }];
for (const provider of providers) {
  const shown: string[] = [];
  const console = { log: (line: string): void => void shown.push(line) };
  // #region sources
  const result = await runToolLoop({ provider, messages });
  const added = result.messages.slice(messages.length); // without this, the sources of earlier answers come again
  for (const { url, title = url } of listSources(added)) console.log(`${title}: ${url}`);
  // #endregion sources
  assert.deepEqual(shown, [`${title}: ${url}`]);

  const answer = (): Response => {
    // #region live
    const stream = streamToolLoop({ provider, messages });
    const withSources = toUIMessageStream(stream, { version: 7 }).pipeThrough(
      new TransformStream({
        async transform(chunk, controller) {
          if (chunk.type === "finish")
            for (const { url, title } of listSources((await stream.result).messages.slice(messages.length)))
              controller.enqueue({ type: "source-url", sourceId: url, url, title });
          controller.enqueue(chunk);
        },
      }),
    );
    return createUIMessageStreamResponse({ stream: withSources });
    // #endregion live
  };
  assert.deepEqual(await readSources(answer()), [`${title}: ${url}`]);
}
