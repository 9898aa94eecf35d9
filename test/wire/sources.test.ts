// The web pages that an answer cites, as each service sends them: read by `listSources`, and never sent back.

import { createGoogle } from "@ai-sdk/google";
import { GoogleGenAI } from "@google/genai";
import { describe, expect, it } from "vitest";
import { type Message, type Provider, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { listSources } from "turnwright/kit";
import { openaiChat, openaiResponses } from "turnwright/openai";
import * as anthropic from "./anthropic-frames.ts";
import { message, respond } from "./responses-frames.ts";
import { connect, connectAnthropic, createRecorder, type Recorder, sse } from "./service-client.ts";

const page = { url: "https://a.test/1", title: "One" };
const other = { url: "https://b.test/2", title: "Two" };
const cited = [page, { url: "javascript:alert(1)", title: "No page" }, other, page];

const stream = (...frames: readonly string[]): Response =>
  new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });

const delta = (fields: object, rest: object = {}): object => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, delta: fields, ...rest }],
});
const chatEnd = delta({}, { finish_reason: "stop" });
const urlCitation = ({ url, title }: typeof page): object => ({
  type: "url_citation",
  url_citation: { url, title, content: "..." },
});

const candidate = (fields: object): object => ({ candidates: [{ index: 0, ...fields }] });
const grounding = { groundingChunks: cited.map(({ url, title }) => ({ web: { uri: url, title } })), webSearchQueries: ["news"] };
const geminiAnswer = (): Response =>
  sse(
    candidate({ content: { role: "model", parts: [{ text: "The " }] }, groundingMetadata: {} }),
    candidate({ content: { parts: [{ text: "news." }] }, finishReason: "STOP", groundingMetadata: grounding }),
  );

interface Row {
  readonly answer: () => Response;
  readonly connect: (fetch: Recorder["fetch"]) => Provider;
}

const rows: { readonly [title: string]: Row } = {
  "anthropicMessages with a web search": {
    answer: () => {
      const citations = cited.map(({ url, title }) => ({
        type: "citations_delta",
        citation: { type: "web_search_result_location", url, title, encrypted_index: "e", cited_text: "..." },
      }));
      const said = anthropic.block(0, { type: "text", text: "" }, ...citations, { type: "text_delta", text: "The news." });
      return stream(anthropic.start(), said, anthropic.stop("end_turn"));
    },
    connect: (fetch) => anthropicMessages({ client: connectAnthropic(fetch), model: "claude-sonnet-4-6" }),
  },
  "openaiResponses with a web search": {
    answer: () => {
      const annotations = cited.map((source) => ({ type: "url_citation", start_index: 0, end_index: 1, ...source }));
      const content = [{ type: "output_text", text: "The news.", annotations, logprobs: [] }];
      return stream(...respond(message("The news.", { content })));
    },
    connect: (fetch) => openaiResponses({ client: connect(fetch), model: "gpt-5-mini" }),
  },
  "openaiChat with annotations": {
    answer: () =>
      sse(
        delta({ role: "assistant", content: "The news." }),
        delta({ annotations: cited.slice(0, 2).map(urlCitation) }),
        delta({ annotations: cited.slice(2).map(urlCitation) }),
        chatEnd,
      ),
    connect: (fetch) => openaiChat({ client: connect(fetch), model: "gpt-5-search-api" }),
  },
  "openaiChat with the search results of Perplexity": {
    answer: () => {
      const found = { search_results: cited, citations: cited.map(({ url }) => url) };
      return sse({ ...delta({ role: "assistant", content: "The news." }), ...found }, { ...chatEnd, ...found });
    },
    connect: (fetch) => openaiChat({ client: connect(fetch, "https://api.perplexity.ai"), model: "sonar" }),
  },
  "googleGenerateContent with a Google search": {
    answer: geminiAnswer,
    connect: (fetch) => {
      const client = new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: "https://example.com", fetch } });
      return googleGenerateContent({ client, model: "gemini-3-flash-preview", serverTools: [{ googleSearch: {} }] });
    },
  },
  "aiSdkModel with a Google search": {
    answer: geminiAnswer,
    connect: (fetch) => aiSdkModel({ model: createGoogle({ apiKey: "test", fetch })("gemini-3-flash-preview") }),
  },
};

describe.each(Object.entries(rows))("%s", (_, { answer, connect: connectTo }) => {
  it("keeps the cited web pages for listSources, and does not send them back as content", async () => {
    const { fetch, bodies } = createRecorder(answer);
    const provider = connectTo(fetch);
    const ask: Message = { role: "user", content: "What is new?" };
    const first = await runToolLoop({ provider, messages: [ask] });
    expect([first.text, listSources(first.messages)]).toEqual(["The news.", [page, other]]);
    await runToolLoop({ provider, messages: [...first.messages, ask] });
    const sent = JSON.stringify(bodies[1]);
    expect(sent).toContain("The news.");
    expect(sent).not.toMatch(/grounding|search_results|"url_citation":\{/);
  });
});

it("listSources returns nothing for messages without provider metadata", () => {
  expect(
    listSources([
      { role: "user", content: "Hi" },
      { role: "assistant", content: [{ type: "text", text: "Hello" }] },
    ]),
  ).toEqual([]);
});
