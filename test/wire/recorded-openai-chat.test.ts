import { describe, expect, it } from "vitest";
import { openaiChat } from "../../src/openai/index.ts";
import type { Usage } from "../../src/core/index.ts";
import { connectOpenAI } from "./openai-client.ts";
import type { Iteration, IterationCall } from "./provider-iteration.ts";
import { done, sse } from "./raw-sse-server.ts";
import { hasRecorded, pieceSizesOf, readBody, readRecorded } from "./recorded-streams.ts";

interface Recorded {
  readonly name: string;
  readonly calls: readonly IterationCall[];
  readonly usage: Usage;
  readonly finish: string;
}

const sanFrancisco = { location: "San Francisco" };

const recorded: readonly Recorded[] = [
  {
    name: "alibaba-tool-call",
    calls: [{ id: "call_eee11723464a4b9eb8cee71d", name: "weather", args: sanFrancisco }],
    usage: { inputTokens: 295, outputTokens: 22, totalTokens: 317, cachedInputTokens: 0 },
    finish: "tool-calls",
  },
  {
    name: "deepseek-tool-call",
    calls: [{ id: "call_00_ioIn7yN9p1ZOMNpDLwd4MgAF", name: "weather", args: sanFrancisco }],
    usage: { inputTokens: 339, outputTokens: 83, totalTokens: 422, cachedInputTokens: 320, reasoningTokens: 39 },
    finish: "tool-calls",
  },
  {
    name: "groq-tool-call",
    calls: [{ id: "tk85n1k4m", name: "weather", args: {} }],
    usage: { inputTokens: 210, outputTokens: 15, totalTokens: 225 },
    finish: "tool-calls",
  },
  {
    name: "mistral-tool-call",
    calls: [{ id: "gSIMJiOkT", name: "weather", args: sanFrancisco }],
    usage: { inputTokens: 124, outputTokens: 22, totalTokens: 146 },
    finish: "tool-calls",
  },
  {
    name: "openai-text",
    calls: [],
    usage: { inputTokens: 16, outputTokens: 300, totalTokens: 316, cachedInputTokens: 0, reasoningTokens: 0 },
    finish: "stop",
  },
  {
    name: "deepseek-reasoning",
    calls: [],
    usage: { inputTokens: 18, outputTokens: 219, totalTokens: 237, cachedInputTokens: 0, reasoningTokens: 205 },
    finish: "stop",
  },
  {
    name: "xai-tool-call",
    calls: [{ id: "call_55117580", name: "weather", args: sanFrancisco }],
    usage: { inputTokens: 291, outputTokens: 222, totalTokens: 513, cachedInputTokens: 290, reasoningTokens: 196 },
    finish: "tool-calls",
  },
];

function joinField(lines: readonly string[], field: "content" | "reasoning_content"): string {
  return lines.map((line) => JSON.parse(line).choices[0]?.delta[field] ?? "").join("");
}

async function readIteration(body: string, pieceBytes: number): Promise<Iteration> {
  const { iteration } = await readBody(body, (url) =>
    openaiChat({ client: connectOpenAI(url, { pieceBytes }).client, model: "m" }),
  );
  return iteration;
}

if (hasRecorded("openai-chat")) {
  const streams = recorded.map((stream, index) => ({ ...stream, index }));
  describe.for(streams)("openaiChat: recorded stream $name", ({ index, name, ...said }) => {
    const lines = readRecorded("openai-chat", name);
    const body = [...lines.map(sse), done].join("");
    const texts = { text: joinField(lines, "content"), reasoning: joinField(lines, "reasoning_content"), refusal: "" };
    const expected: Iteration = { ...texts, ...said, error: undefined };

    it.for(pieceSizesOf(index, [1, 3, 7, 61, 997, 65_537]))(
      "gives the recorded text, calls and usage if the stream arrives in %i-byte pieces",
      async (pieceBytes) => {
        expect(await readIteration(body, pieceBytes)).toEqual(expected);
      },
    );

    it("yields the recorded content with CRLF line endings, a leading comment and no final blank line", async () => {
      expect(await readIteration(`: a comment\n\n${body.trimEnd()}`.replaceAll("\n", "\r\n"), 7)).toEqual(expected);
    });
  });
} else {
  it("openaiChat: the recorded streams are absent from this checkout", () => {
    expect(hasRecorded("openai-chat")).toBe(false);
  });
}
