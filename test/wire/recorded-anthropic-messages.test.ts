import { describe, expect, it } from "vitest";
import { anthropicMessages } from "../../src/anthropic/index.ts";
import type { Json, Usage } from "../../src/core/index.ts";
import { connectAnthropic } from "./anthropic-client.ts";
import { event } from "./anthropic-frames.ts";
import type { Iteration, IterationCall } from "./provider-iteration.ts";
import { hasRecorded, pieceSizesOf, readBody, readRecorded } from "./recorded-streams.ts";

interface Recorded {
  readonly name: string;
  readonly message?: number;
  readonly calls: readonly IterationCall[];
  readonly usage: Usage;
  readonly finish: string;
  readonly refusal?: string;
  readonly providerMetadata: readonly string[];
}

const uncached = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
});

const programmatic = "anthropic-programmatic-tool-calling.1";

const recorded: readonly Recorded[] = [
  { name: "anthropic-text", calls: [], usage: uncached(12, 30), finish: "stop", providerMetadata: ["text"] },
  {
    name: "anthropic-clear-thinking.1",
    calls: [],
    usage: uncached(69, 53),
    finish: "stop",
    providerMetadata: ["thinking", "text"],
  },
  {
    name: "anthropic-tool-no-args",
    calls: [{ id: "toolu_01QE1WLsSVp5hy5Q3GmGTmjP", name: "updateIssueList", args: {} }],
    usage: uncached(565, 48),
    finish: "tool-calls",
    providerMetadata: ["text", "tool_use"],
  },
  {
    name: "anthropic-json-tool.1",
    calls: [
      {
        id: "toolu_01KFbKqPYSuAKujiL6mTfzYA",
        name: "json",
        args: { elements: [{ location: "San Francisco", temperature: 58, condition: "sunny" }] },
      },
    ],
    usage: uncached(849, 47),
    finish: "tool-calls",
    providerMetadata: ["tool_use"],
  },
  {
    name: "anthropic-json-other-tool.1",
    calls: [{ id: "toolu_019Zvehfe1XQWweT1pm7okyt", name: "weather", args: { location: "San Francisco" } }],
    usage: uncached(843, 28),
    finish: "tool-calls",
    providerMetadata: ["tool_use"],
  },
  {
    name: "anthropic-web-fetch-tool.1",
    calls: [],
    usage: uncached(4_230, 446),
    finish: "stop",
    providerMetadata: ["text", "server_tool_use", "web_fetch_tool_result", "text"],
  },
  {
    name: "anthropic-refusal",
    calls: [],
    usage: uncached(18, 5),
    finish: "refusal",
    refusal:
      "This request triggered restrictions on violative cyber content and was blocked under Anthropic's Usage Policy. Category: cyber.",
    providerMetadata: [],
  },
  {
    name: "duplicate-message-start",
    calls: [],
    usage: { inputTokens: 17, outputTokens: 227, totalTokens: 244 },
    finish: "stop",
    providerMetadata: ["text"],
  },
  {
    name: programmatic,
    calls: [{ id: "toolu_019jKkXz4jAdwHweHBw92CVY", name: "rollDie", args: { player: "player1" } }],
    usage: uncached(3_369, 725),
    finish: "tool-calls",
    providerMetadata: ["text", "server_tool_use", "tool_use", "container"],
  },
  {
    name: programmatic,
    message: 1,
    calls: [{ id: "toolu_015dGLMbwBKv1ZRQr6KdJzeH", name: "rollDie", args: { player: "player2" } }],
    usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    finish: "tool-calls",
    providerMetadata: ["tool_use", "container"],
  },
  {
    name: programmatic,
    message: 14,
    calls: [],
    usage: uncached(4_551, 197),
    finish: "stop",
    providerMetadata: ["code_execution_tool_result", "text"],
  },
];

function readEvents({ name, message = 0 }: Recorded): readonly { readonly type: string; readonly [field: string]: unknown }[] {
  const events = readRecorded("anthropic-messages", name).map((line) => JSON.parse(line));
  const starts = events.flatMap(({ type }, at) => (type === "message_start" ? [at] : []));
  // Counts messages by their ends. In the recording duplicate-message-start, one message has two start events.
  const ends = events.flatMap(({ type }, at) => (type === "message_stop" ? [at + 1] : []));
  return ends.length === 1 ? events : events.slice(starts[message], ends[message]);
}

/** Does not use the adapter. */
function joinDeltas(events: ReturnType<typeof readEvents>, field: "text" | "thinking"): string {
  return events.map(({ delta }) => Object(delta)[field] ?? "").join("");
}

const readPieces = (body: string, pieceBytes: number): ReturnType<typeof readBody> =>
  readBody(body, (url) => anthropicMessages({ client: connectAnthropic(url, { pieceBytes }).client, model: "m" }));

const kindOf = (item: Json): unknown => Object(item).content_block?.type ?? Object.keys(Object(item))[0];

if (hasRecorded("anthropic-messages")) {
  const streams = recorded.map((stream, index) => ({ ...stream, index }));
  describe.for(streams)("anthropicMessages: recorded stream %$ ($name)", ({ index, ...stream }) => {
    const { calls, usage, finish, refusal = "", providerMetadata } = stream;
    const events = readEvents(stream);
    const body = events.map(event).join("");
    const iteration: Iteration = {
      text: joinDeltas(events, "text"),
      reasoning: joinDeltas(events, "thinking"),
      refusal,
      calls,
      usage,
      finish,
      error: undefined,
    };

    it.for(pieceSizesOf(index, [1, 3, 7, 61, 997, 65_537]))(
      "gives the recorded text, calls and usage if the stream arrives in %i-byte pieces",
      async (pieceBytes) => {
        const read = await readPieces(body, pieceBytes);
        expect(read.iteration).toEqual(iteration);
        expect(read.providerMetadata.map(kindOf)).toEqual(providerMetadata);
      },
    );

    it("yields the recorded content with CRLF line endings and a leading comment", async () => {
      expect((await readPieces(`: a comment\n\n${body}`.replaceAll("\n", "\r\n"), 7)).iteration).toEqual(iteration);
    });
  });
} else {
  it("anthropicMessages: the recorded streams are absent from this checkout", () => {
    expect(hasRecorded("anthropic-messages")).toBe(false);
  });
}
