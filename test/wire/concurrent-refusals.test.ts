// Several runs may use one provider. If a service refuses the first requests of all of them, each is sent once more.

import { defineTool, type LoopOptions, prepareIteration, type Provider, runToolLoop, toolResult } from "turnwright";
import { strictService, text, toolCall } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { allRows, type StrictRow, titleOf } from "../services/connect-strict.ts";
import { createMeeting } from "./service-client.ts";

const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const inputSchema = { type: "object", properties: {} } as const;
const look = defineTool({ name: "look", description: "Looks", inputSchema, execute: () => "seen" });
const shoot = defineTool({
  name: "shoot",
  description: "Takes a screenshot",
  inputSchema,
  execute: () => toolResult({ data: "Taken.", content: [{ type: "image", mediaType: "image/png", data }] }),
});

interface Case {
  /** Matches the bodies that the service refuses. */
  readonly refused: RegExp;
  readonly message: string;
  /** A tool that the model calls first. */
  readonly calls?: string;
  readonly run: Omit<Partial<LoopOptions>, "provider" | "messages">;
  readonly rows: (row: StrictRow) => boolean;
}

const cases: { readonly [title: string]: Case } = {
  "a forced call": {
    refused: /"tool_choice":(?!"(?:auto|none)"|\{"type":"(?:auto|none)")|"mode":"ANY"/,
    message: "Thinking mode does not support this tool_choice",
    run: { tools: [look], middleware: [prepareIteration(() => ({ toolChoice: "required" }))] },
    // These models are known to refuse a forced call.
    rows: ({ kind, model }) => !["ollama", "moonshot"].includes(kind) && !/opus-5[.-]5|glm|deepseek/.test(model),
  },
  "an image from a tool": {
    refused: new RegExp(data.slice(0, 40)),
    message: "This model does not support image input",
    calls: "shoot",
    run: { tools: [shoot] },
    // DeepSeek's model is known to accept no images, and Mistral's AI SDK package sends none of a tool.
    rows: ({ kind, model }) => kind !== "deepseek" && model !== "AI SDK mistral-large-4",
  },
  "thinking.block_binding": {
    refused: /"block_binding"/,
    message: "thinking.adaptive.block_binding: Extra inputs are not permitted",
    run: {},
    rows: ({ model }) => model === "claude-opus-5-5",
  },
  "thinking.display": {
    refused: /"display"/,
    message: "thinking.adaptive.display: Extra inputs are not permitted",
    run: {},
    rows: ({ model }) => model === "claude-opus-5-5",
  },
  stream_options: {
    refused: /"stream_options"/,
    message: "Unrecognized request argument supplied: stream_options",
    run: {},
    rows: ({ model }) => model === "gpt-4.1",
  },
  "a temperature": {
    refused: /"temperature"/,
    message: "Unsupported parameter: 'temperature' is not supported with this model.",
    run: { modelSettings: { temperature: 0.2 } },
    // The other models are known to refuse a temperature.
    rows: ({ kind, model }) => ["gemini", "vllm", "groq"].includes(kind) || model.startsWith("gpt-4"),
  },
};

/** Makes two runs whose first refused requests are both under way before either is refused. */
async function playTwo({ kind, connect }: StrictRow, { refused, message, calls, run }: Case) {
  const service = strictService(kind, {
    answers: ({ body }) => (calls === undefined || JSON.stringify(body).includes("Taken.") ? text("Done.") : toolCall(calls, {})),
  });
  const meet = createMeeting(2);
  let refusals = 0;
  const fetch: typeof service.fetch = async (input, init) => {
    if (!refused.test(z.string().parse(init?.body))) return service.fetch(input, init);
    refusals += 1;
    await meet();
    return Response.json({ type: "error", error: { message, code: 400, status: "INVALID_ARGUMENT" } }, { status: 400 });
  };
  const provider: Provider = connect({ ...service, fetch });
  const messages = [{ role: "user" as const, content: "Look." }];
  const results = await Promise.all([1, 2].map(() => runToolLoop({ provider, messages, ...run })));
  return { results: results.map(({ text: said, error }) => error?.message ?? said), refusals };
}

describe.each(Object.entries(cases))("two concurrent runs with a service that refuses %s", (_what, one) => {
  it.each(allRows.filter(one.rows).map((row) => [titleOf(row), row] as const))("both finish: %s", async (_title, row) => {
    expect(await playTwo(row, one)).toEqual({ results: ["Done.", "Done."], refusals: 2 });
  });
});
