import { defineTool, runToolLoop } from "turnwright";
import { openaiResponses } from "turnwright/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Json, Usage } from "../../src/core/index.ts";
import { event } from "./anthropic-frames.ts";
import { connectOpenAI } from "./openai-client.ts";
import type { Iteration, IterationCall } from "./provider-iteration.ts";
import { startRawServer } from "./raw-sse-server.ts";
import { hasRecorded, pieceSizesOf, readBody, readRecorded } from "./recorded-streams.ts";
import { checkResponsesContract } from "./responses-contract.ts";

interface Recorded {
  readonly name: string;
  readonly response?: number;
  readonly calls?: readonly IterationCall[];
  readonly usage?: Usage;
  readonly finish?: string;
  readonly providerMetadata: readonly string[];
}

const spent = (inputTokens: number, outputTokens: number, [cachedInputTokens, reasoningTokens] = [0, 0]): Usage => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
  cachedInputTokens,
  reasoningTokens,
});
const azure = "azure-reasoning-encrypted-content.1";
const calculation = (id: string, a: number, b: number): IterationCall => ({
  id,
  name: "calculator",
  args: { a, b, op: b === 7 ? "add" : "multiply" },
});

const recorded: readonly Recorded[] = [
  {
    name: azure,
    calls: [calculation("call_UdvUeOElp5zdU0DKr6IoyhjE", 12, 7)],
    finish: "tool-calls",
    providerMetadata: ["reasoning", "function_call"],
  },
  {
    name: azure,
    response: 1,
    calls: [calculation("call_Qm7RkNSRinyfYLyTUPXLrgH5", 19, 3)],
    finish: "tool-calls",
    providerMetadata: ["function_call"],
  },
  { name: azure, response: 3, finish: "stop", providerMetadata: ["message"] },
  {
    name: "azure-tool-call.1",
    calls: [{ id: "call_H5DxLSFnsGhiROnUiDHmgyc8", name: "weather", args: { location: "San Francisco" } }],
    usage: spent(45, 24),
    finish: "tool-calls",
    providerMetadata: ["function_call"],
  },
  {
    name: "lmstudio-tool-call.1",
    calls: [{ id: "call_2025306790300011", name: "weather", args: { location: "San Francisco" } }],
    usage: spent(182, 61, [2, 48]),
    finish: "tool-calls",
    providerMetadata: ["reasoning", "message", "function_call"],
  },
  {
    name: "openai-client-tool-search.2",
    calls: [
      { id: "call_Q7pq6EfVGRnauPLWSSYBGJ1l", name: "get_weather", args: { location: "San Francisco, CA", unit: "fahrenheit" } },
    ],
    usage: spent(467, 26),
    finish: "tool-calls",
    providerMetadata: ["function_call"],
  },
  {
    name: "openai-custom-tool.1",
    calls: [{ id: "call_custom_sql_001", name: "write_sql", args: { input: "SELECT * FROM users WHERE age > 25" } }],
    usage: spent(50, 20),
    finish: "tool-calls",
    providerMetadata: ["custom_tool_call"],
  },
  { name: "openai-phase.1", usage: spent(7_112, 463, [3_072, 64]), finish: "stop", providerMetadata: ["message", "message"] },
  {
    name: "openai-tool-search.1",
    calls: [
      { id: "call_pddfxhfOx4gY56zn4vIIEbFp", name: "get_weather", args: { location: "San Francisco, CA", unit: "fahrenheit" } },
    ],
    finish: "tool-calls",
    providerMetadata: ["tool_search_call", "tool_search_output", "function_call"],
  },
  {
    name: "openai-web-search-tool.1",
    finish: "stop",
    providerMetadata: [...Array.from({ length: 6 }, () => ["reasoning", "web_search_call"]).flat(), "reasoning", "message"],
  },
  { name: "openai-error.1", providerMetadata: [] },
];

type WireEvent = { readonly type: string; readonly [field: string]: unknown };

function readEvents({ name, response = 0 }: Pick<Recorded, "name" | "response">): readonly WireEvent[] {
  const events: readonly WireEvent[] = readRecorded("openai-responses", name).map((line) => JSON.parse(line));
  const starts = events.flatMap(({ type }, at) => (type === "response.created" ? [at] : []));
  return events.slice(starts[response], starts[response + 1]);
}

/** Joins the texts of all items of one type with blank lines. Does not use the adapter. */
function readWords(events: readonly WireEvent[], itemType: string, field: "content" | "summary"): string {
  const items = events.flatMap(({ type, item }) => (type === "response.output_item.done" ? [Object(item)] : []));
  const words = (parts: readonly { readonly text?: string }[] = []): string =>
    parts.map(({ text = "" }) => text).join(itemType === "reasoning" ? "\n\n" : "");
  const texts = items.map((item) => (item.type === itemType ? words(item[field]) : ""));
  return texts.filter((text) => text !== "").join("\n\n");
}

const readPieces = (body: string, pieceBytes: number): ReturnType<typeof readBody> =>
  readBody(body, (url) => openaiResponses({ client: connectOpenAI(url, { pieceBytes }).client, model: "m" }));

const kindOf = (item: Json): unknown => Object(item).output_item?.type;

if (hasRecorded("openai-responses")) {
  const streams = recorded.map((stream, index) => ({ ...stream, index }));
  describe.for(streams)("openaiResponses: recorded stream %$ ($name)", ({ index, ...stream }) => {
    const { name, calls = [], usage, finish, providerMetadata } = stream;
    const events = readEvents(stream);
    const body = events.map(event).join("");
    const isError = name === "openai-error.1";
    const iteration: Iteration = {
      text: readWords(events, "message", "content"),
      reasoning: readWords(events, "reasoning", "summary") || readWords(events, "reasoning", "content"),
      refusal: "",
      calls,
      usage: isError ? undefined : (usage ?? expect.objectContaining({ inputTokens: expect.any(Number) })),
      finish,
      error: isError ? expect.objectContaining({ code: "rate-limit", retryable: false }) : undefined,
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

    it.for<[left: string, isLeft: (event: WireEvent) => boolean]>([
      ["its delta events are missing", ({ type }) => !type.endsWith(".delta")],
      ["its output_item.done events are missing", ({ type }) => type !== "response.output_item.done"],
      [
        "only the finished items and the last event arrive",
        ({ type }) => !/added$|delta$|part|text\.done$|arguments\.done$/.test(type),
      ],
      ["only the last event arrives", ({ type }) => /^response\.(?:completed|failed)$/.test(type)],
    ])("gives the recorded content if %s", async ([, isLeft]) => {
      const few = await readPieces(events.filter(isLeft).map(event).join(""), 997);
      expect(few.iteration).toEqual(iteration);
      expect(few.providerMetadata.map(kindOf)).toEqual(providerMetadata);
    });
  });

  describe("runToolLoop with openaiResponses: a recorded run", () => {
    it("sends reasoning and calls back in order", async () => {
      const replies = [0, 1, 2, 3].map((response) => ({ frames: readEvents({ name: azure, response }).map(event) }));
      const server = await startRawServer(replies);
      onTestFinished(() => server.close());
      const { client, bodies } = connectOpenAI(server.url);
      const asked: unknown[] = [];
      const calculator = defineTool({
        name: "calculator",
        description: "Calculates",
        inputSchema: { type: "object" },
        execute: (args) => {
          asked.push(args);
          const { a, b, op } = Object(args);
          return op === "add" ? a + b : a * b;
        },
      });
      const provider = openaiResponses({ client, model: "m", reasoning: { effort: "high", summary: "detailed" } });
      const result = await runToolLoop({ provider, tools: [calculator], messages: [{ role: "user", content: "(12+7)*3*10?" }] });
      expect(result).toMatchObject({ status: "completed", text: "The final result is **570**.", iterations: 4 });
      expect(asked).toHaveLength(3);
      expect(bodies.map(checkResponsesContract)).toEqual([[], [], [], []]);
      // Three events contain the reasoning item, each with other encrypted content. Only the content in output_item.done counts.
      const finished = readEvents({ name: azure }).find(({ type }) => type === "response.output_item.done");
      const input: readonly { readonly [field: string]: unknown }[] = Object(bodies[3]).input;
      expect(input.map(({ type, role }) => type ?? role)).toEqual([
        "user",
        "reasoning",
        ...Array.from({ length: 3 }, () => ["function_call", "function_call_output"]).flat(),
      ]);
      expect(input[1]?.encrypted_content).toBe(Object(finished?.item).encrypted_content);
      expect(input.at(-1)).toEqual({ type: "function_call_output", call_id: "call_axaLIcwBQwyb49kT8613pJxW", output: "570" });
    });
  });
} else {
  it("openaiResponses: the recorded streams are absent from this checkout", () => {
    expect(hasRecorded("openai-responses")).toBe(false);
  });
}
