// Servers without a reasoning parser leave the reasoning of a model in the text of its answer.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { runToolLoop, streamToolLoop, structuredOutput } from "turnwright";
import { openaiChat, type OpenAIChatOptions } from "turnwright/openai";
import { partialOutputs } from "turnwright/middleware";
import OpenAI from "openai";

type Delta = { readonly [field: string]: unknown };

interface Served {
  readonly deltas: readonly Delta[];
  readonly model?: string;
  readonly baseURL?: string;
  readonly thinkTags?: OpenAIChatOptions["thinkTags"];
  readonly finish?: string;
}

function connect({ deltas, model = "qwen3", baseURL = "http://localhost:8000/v1", thinkTags, finish = "stop" }: Served) {
  const chunks = [...deltas.map((delta) => ({ delta, finish_reason: null })), { delta: {}, finish_reason: finish }];
  const body = chunks.map((choice) => `data: ${JSON.stringify({ id: "1", choices: [{ index: 0, ...choice }] })}\n\n`).join("");
  const headers = { "content-type": "text/event-stream" };
  const fetch = async (): Promise<Response> => new Response(`${body}data: [DONE]\n\n`, { headers });
  return openaiChat({ client: new OpenAI({ apiKey: "test", baseURL, fetch, maxRetries: 0 }), model, id: "local", thinkTags });
}

const inPieces = (text: string, size: number): readonly Delta[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => ({ content: text.slice(at * size, (at + 1) * size) }));

interface Heard {
  readonly text: string;
  readonly reasoning: string;
  readonly order: string;
}

async function hear(served: Served): Promise<Heard> {
  const stream = streamToolLoop({ provider: connect(served), messages: [{ role: "user", content: "Go." }] });
  let [text, reasoning, order] = ["", "", ""];
  for await (const event of stream) {
    if (event.type === "text-delta") [text, order] = [text + event.text, `${order}t`];
    if (event.type === "reasoning-delta") [reasoning, order] = [reasoning + event.text, `${order}r`];
  }
  return { text, reasoning, order };
}

const sizes = [1, 2, 3, 5, 7, 8, 100];
const answer = '{"city":"Oslo"}';

describe.for(sizes)("openaiChat: text in pieces of %i characters", (size) => {
  it.for<[what: string, content: string, text: string, reasoning: string]>([
    ["<think> before an answer", `<think>\nThink {1} <b>.\n</think>\n\n${answer}`, answer, "Think {1} <b>."],
    ["<thinking> from Nova", `<thinking>Think.</thinking>\n${answer}`, answer, "Think."],
    ["<think> after blank text", `\n\n<think>Think.</think>${answer}`, answer, "Think."],
    ["[THINK] before an answer", `[THINK]Think.[/THINK]${answer}`, answer, "Think."],
    ["empty tags", `<think>\n\n</think>\n\n${answer}`, answer, ""],
    ["part of a closing tag within the reasoning", `<think>a </thin b</think>${answer}`, answer, "a </thin b"],
    ["a second pair of tags", `<think>a</think>b <think>c</think>`, "b <think>c</think>", "a"],
    ["tags in a code block", "```\n<think>a</think>\n```", "```\n<think>a</think>\n```", ""],
    ["tags after text", `Use <think>a</think>.`, "Use <think>a</think>.", ""],
    ["a tag with a similar name", "<thinker>a</thinker>", "<thinker>a</thinker>", ""],
    ["the beginning of a tag as the whole answer", "<thi", "<thi", ""],
    ["an answer that begins with blank text", "\n  a", "\n  a", ""],
    ["no closing tag", "<think>\nThink. \n", "", "Think."],
  ])("is split into reasoning and answer: %s", async ([, content, text, reasoning]) => {
    expect(await hear({ deltas: inPieces(content, size) })).toMatchObject({ text, reasoning });
  });

  it.for<[what: string, deltas: readonly Delta[], text: string, reasoning: string]>([
    ["only a closing tag", inPieces(`Think.\n</think>\n\n${answer}`, size), answer, "Think."],
    ["both tags", inPieces(`<think>Think.</think>${answer}`, size), answer, "Think."],
    ["separate reasoning", [{ reasoning_content: "Think." }, ...inPieces(answer, size)], answer, "Think."],
  ])('is split into reasoning and answer with thinkTags "opened": %s', async ([, deltas, text, reasoning]) => {
    expect(await hear({ deltas, thinkTags: "opened" })).toMatchObject({ text, reasoning });
  });
});

describe("openaiChat with think tags in the answer", () => {
  it("sends the reasoning and the text as they arrive", async () => {
    const deltas = inPieces("<think>one two three</think>four five six", 4);
    const { order } = await hear({ deltas });
    expect(order).toMatch(/^r{2,}t{2,}$/);
  });

  it('sends an answer without a closing tag as text at the end if the tags are "opened"', async () => {
    const { text, order } = await hear({ deltas: inPieces("An answer.", 3), thinkTags: "opened" });
    expect([text, order]).toEqual(["An answer.", expect.stringMatching(/^r+t$/)]);
  });

  it.for<[model: string, baseURL: string, read: boolean]>([
    ["qwen3", "http://localhost:8000/v1", true],
    ["deepseek-r1:14b", "http://localhost:11434/v1", true],
    ["my-model", "https://models.test/v1", true],
    ["openai/gpt-oss-20b", "https://models.test/v1", true],
    ["gpt-5", "https://api.openai.com/v1", false],
    ["ft:custom", "https://api.openai.com/v1", false],
    ["openai/gpt-5.6", "https://openrouter.ai/api/v1", false],
    ["anthropic/claude-opus-5", "https://openrouter.ai/api/v1", false],
  ])("by default, for the model %s at %s, reads tags: %s", async ([model, baseURL, read]) => {
    const content = "<think>Think.</think>Yes.";
    const { text } = await hear({ deltas: [{ content }], model, baseURL });
    expect(text).toBe(read ? "Yes." : content);
  });

  it.for<[model: string, baseURL: string, read: boolean]>([
    ["deepseek-ai/DeepSeek-R1", "http://localhost:8000/v1", true],
    ["Qwen/QwQ-32B", "http://10.0.0.3/v1", true],
    ["Qwen/Qwen3-235B-A22B-Thinking-2507", "http://gpu:8000/v1", true],
    ["deepseek-r1:14b", "http://localhost:11434/v1", false],
    ["deepseek/deepseek-r1", "https://openrouter.ai/api/v1", false],
    ["deepseek-r1", "http://localhost:1234/v1", false],
    ["deepseek-r1-distill-llama-70b", "https://api.groq.com/openai/v1", false],
    ["qwen3", "http://localhost:8000/v1", false],
  ])("by default, for the model %s at %s, assumes an opening tag: %s", async ([model, baseURL, read]) => {
    const content = "Think.\n</think>\n\nYes.";
    const { text } = await hear({ deltas: [{ content }], model, baseURL });
    expect(text).toBe(read ? "Yes." : content);
  });

  it("keeps tags in the text if thinkTags is false, and reads them even at OpenAI's address if thinkTags is true", async () => {
    const deltas = [{ content: "<think>Think.</think>Yes." }];
    expect((await hear({ deltas, thinkTags: false })).text).toBe("<think>Think.</think>Yes.");
    expect((await hear({ deltas, model: "gpt-5", thinkTags: true })).text).toBe("Yes.");
  });

  it("keeps the order of blank text, a call and text after the call", async () => {
    const call = { tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }] };
    const served = { deltas: [{ content: "\n\n" }, call], finish: "tool_calls" };
    const { messages } = await runToolLoop({
      provider: connect(served),
      messages: [{ role: "user", content: "Go." }],
      limits: { maxIterations: 1 },
    });
    const said = messages.find(({ role }) => role === "assistant");
    expect(said).toMatchObject({ content: [{ type: "text" }, { type: "tool-call" }] });
  });

  it("reads a structured output and its partial values after the reasoning", async () => {
    const provider = connect({ deltas: inPieces('<think>\nA city. {maybe}\n</think>\n\n{"city":"Oslo","celsius":7}', 7) });
    const output = structuredOutput(z.object({ city: z.string(), celsius: z.number() }));
    const stream = streamToolLoop({ provider, messages: [{ role: "user", content: "Where?" }], middleware: [output] });
    const seen: unknown[] = [];
    for await (const value of partialOutputs(stream)) seen.push(value);
    const { status, output: value, text } = await stream.result;
    expect([status, value, text]).toEqual(["completed", { city: "Oslo", celsius: 7 }, '{"city":"Oslo","celsius":7}']);
    expect(seen.at(-1)).toMatchObject({ city: "Oslo" });
  });

  it.for([1, "all", {}])("rejects the value %j for the `thinkTags` option", (thinkTags) => {
    const client = new OpenAI({ apiKey: "test" });
    expect(() => openaiChat({ client, model: "m", ...Object({ thinkTags }) })).toThrow(
      /Option "thinkTags" is .*, but must be true, false or "opened"/,
    );
  });
});
