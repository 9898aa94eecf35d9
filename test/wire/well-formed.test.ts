import { defineTool, isLoopError, type Message, runToolLoop, toolResult } from "turnwright";
import { toAnthropicMessages } from "turnwright/anthropic";
import { toOpenAIMessages } from "turnwright/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { adapters } from "./adapters.ts";
import type { Scripted } from "./all-wires.ts";

const half = "\ud83d";
const halfEnd = "\ude00";

function parseArguments(text: string): unknown {
  try {
    return text.startsWith("{") ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** Collects the texts and keys of a body. The arguments of calls are texts that contain JSON, and services parse them. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value, ...textsIn(parseArguments(value))];
  if (typeof value !== "object" || value === null || value instanceof AbortSignal) return [];
  return Object.entries(value).flatMap(([key, item]: [string, unknown]) => [key, ...textsIn(item)]);
}

const script: readonly Scripted[] = [
  {
    text: `I read${half}`,
    calls: [
      ["call_1", "read_page", String.raw`{"option":"now \ud99c","\udc00":"key\u0000"}`],
      ["call_2", "fail", "{}"],
    ],
    end: "tools",
  },
  { text: "Done.", end: "stop" },
];

const tools = [
  defineTool({
    name: "read_page",
    description: `Reads a page${half}`,
    inputSchema: { type: "object", properties: { [`option${half}`]: { type: "string", description: `An option${halfEnd}` } } },
    execute: () =>
      toolResult({ data: { [`price${half}`]: [`3${half}`, "😀"] }, content: [{ type: "text", text: `part${half}` }] }),
  }),
  defineTool({
    name: "fail",
    description: "Fails",
    inputSchema: { type: "object", properties: {} },
    execute: () => {
      throw new Error(`cannot run ${half}`);
    },
  }),
];

it.for<[what: string, convert: (messages: readonly Message[]) => object]>([
  ["toOpenAIMessages", (messages) => toOpenAIMessages(messages, { system: half })],
  ["toOpenAIMessages for Responses", (messages) => toOpenAIMessages(messages, { api: "responses" })],
  ["toAnthropicMessages", (messages) => toAnthropicMessages(messages, { system: half })],
])("%s: produces well-formed strings", ([, convert]) => {
  const call = { type: "tool-call", callId: "a", name: "f", args: { x: half } } as const;
  const result = { callId: "a", name: "f", outcome: "completed", result: half } as const;
  const made = convert([
    { role: "user", content: half },
    { role: "assistant", content: [call] },
    { role: "tool", results: [result] },
  ]);
  expect(textsIn(made).filter((text) => !text.isWellFormed())).toEqual([]);
});

describe.for(adapters)("$name $variantwith lone surrogates and U+0000", (adapter) => {
  it("sends well-formed strings without U+0000, and keeps surrogate pairs", async () => {
    const { provider, bodies, close } = await adapter.open(script);
    onTestFinished(close);
    const result = await runToolLoop({
      provider,
      tools,
      system: `Be brief${half}`,
      messages: [
        { role: "user", content: `hi${half}` },
        { role: "assistant", content: [{ type: "text", text: `hello${half}` }] },
        { role: "user", content: [{ type: "text", text: `nul\0 and ${halfEnd}${half}` }] },
      ],
      modelSettings: { stopSequences: [`END${half}`] },
    });
    expect(isLoopError(result.error) ? result.error.message : result.error).toBeUndefined();
    expect(result.text).toContain("Done.");
    expect(bodies).toHaveLength(2);
    const texts = bodies.flatMap(textsIn);
    expect(texts.filter((text) => !text.isWellFormed() || text.includes("\0"))).toEqual([]);
    const all = texts.join("\n");
    const sent = ["hi\ufffd", "hello\ufffd", "nul and \ufffd\ufffd", "Be brief\ufffd", "Reads a page\ufffd", "An option\ufffd"];
    const later = ["price\ufffd", "3\ufffd", "😀", "part\ufffd", "cannot run \ufffd"];
    expect([...sent, ...later].filter((text) => !all.includes(text))).toEqual([]);
    // One AI SDK package refers to stored calls, and does not send their arguments.
    expect(all.includes("now \ufffd")).toBe(all.includes("now "));
  });
});
