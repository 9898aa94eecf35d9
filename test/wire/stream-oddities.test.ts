// Streams in which a service differs from the documentation of its API, read through the SDKs of the vendors. Each row has the
// service or the report that shows the difference.

import { describe, expect, it } from "vitest";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, type OpenAIChatOptions, openaiResponses } from "turnwright/openai";
import type { Provider } from "../../src/core/index.ts";
import { connectAnthropic } from "./anthropic-client.ts";
import { connectGoogle } from "./google-client.ts";
import { connectOpenAI } from "./openai-client.ts";
import { answerRows, usageRows } from "./oddity-answers.ts";
import { callRows } from "./oddity-calls.ts";
import { added, completed, created, finished, generateRows, messageRows, responseRows, spoken } from "./oddity-events.ts";
import { counts, type Fields, type Said } from "./oddity-rows.ts";
import { done, sse } from "./raw-sse-server.ts";
import { readBody } from "./recorded-streams.ts";

const silence: Said = { text: "", reasoning: "", refusal: "", calls: [], end: undefined, usage: undefined };

async function read(frames: readonly string[], connect: (url: string) => Provider): Promise<Said> {
  const { text, reasoning, refusal, calls, finish, error, usage } = (await readBody(frames.join(""), connect)).iteration;
  const written = calls.map(({ id, name, args, problem }) => `${id ?? "-"} ${name} ${problem ?? JSON.stringify(args)}`);
  return { text, reasoning, refusal, calls: written, end: error?.code ?? finish, usage };
}

const chat =
  (options: Partial<OpenAIChatOptions> = {}) =>
  (url: string): Provider =>
    openaiChat({ client: connectOpenAI(url).client, model: "m", ...options });
const framed = (events: readonly unknown[]): readonly string[] => [...events.map(sse), done];

describe("openaiChat reads a stream with", () => {
  it.for([...callRows, ...answerRows])("%s (%s)", async ([, , events, said]) => {
    expect(await read(framed(events), chat())).toEqual({ ...silence, ...said });
  });

  it.for(usageRows)("%s (%s)", async ([, , events, said]) => {
    expect(await read(framed(events), chat())).toEqual({ ...silence, text: "Hi.", end: "stop", usage: counts, ...said });
  });
});

const event = (data: Fields): string => `event: ${String(data.type)}\n${sse(data)}`;
describe("openaiResponses reads a stream with", () => {
  it.for(responseRows)("%s (%s)", async ([, , events, said]) => {
    const provider = (url: string): Provider => openaiResponses({ client: connectOpenAI(url).client, model: "m" });
    const frames = events.map((fields) => event(Object(fields)));
    expect(await read(frames, provider)).toEqual({ ...silence, ...said });
  });

  it("different encrypted content in an item's first and last events, and keeps the latter", async () => {
    const reasoning = (encrypted: string): Fields => ({
      id: "rs_1",
      type: "reasoning",
      summary: [],
      encrypted_content: encrypted,
    });
    const events = [
      created,
      added(0, reasoning("early")),
      finished(0, reasoning("late")),
      spoken(1, "msg_1", "Hi."),
      completed(),
    ];
    const { providerMetadata } = await readBody(events.map(event).join(""), (url) =>
      openaiResponses({ client: connectOpenAI(url).client, model: "m" }),
    );
    expect(providerMetadata[0]).toMatchObject({ output_item: { encrypted_content: "late" } });
  });
});

describe("anthropicMessages reads a stream with", () => {
  it.for(messageRows)("%s (%s)", async ([, , events, said]) => {
    const frames = events.map((fields) => event(Object(fields)));
    const provider = (url: string): Provider =>
      anthropicMessages({ client: connectAnthropic(url).client, model: "m", maxTokens: 99 });
    expect(await read(frames, provider)).toEqual({ ...silence, usage: counts, ...said });
  });
});

describe("googleGenerateContent reads a stream with", () => {
  it.for(generateRows)("%s (%s)", async ([, , events, said]) => {
    const provider = (url: string): Provider => googleGenerateContent({ client: connectGoogle(url).client, model: "m" });
    expect(await read(events.map(sse), provider)).toEqual({ ...silence, ...said });
  });
});
