// Streams in which a service differs from the documentation of its API, read through the SDKs of the vendors. Each row has the
// service or the report that shows the difference.

import { describe, expect, it } from "vitest";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, type OpenAIChatOptions, openaiResponses } from "turnwright/openai";
import type { Provider, Usage } from "../../src/core/provider-kit.ts";
import { connectAnthropic } from "./anthropic-client.ts";
import { connectGoogle } from "./google-client.ts";
import { connectOpenAI } from "./openai-client.ts";
import { done, sse } from "./raw-sse-server.ts";
import { readBody } from "./recorded-streams.ts";

type Fields = { readonly [field: string]: unknown };

interface Said {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly string[];
  readonly end: string | undefined;
  readonly usage: Partial<Usage> | undefined;
}

const silence: Said = { text: "", reasoning: "", refusal: "", calls: [], end: undefined, usage: undefined };

async function read(frames: readonly string[], connect: (url: string) => Provider): Promise<Said> {
  const { text, reasoning, refusal, calls, finish, error, usage } = (await readBody(frames.join(""), connect)).iteration;
  const written = calls.map(({ id, name, args, problem }) => `${id ?? "-"} ${name} ${problem ?? JSON.stringify(args)}`);
  return { text, reasoning, refusal, calls: written, end: error?.code ?? finish, usage };
}

/** A row: the oddity, its source, the events, and what differs from an empty answer. */
type Row = readonly [oddity: string, source: string, events: readonly unknown[], said: Partial<Said>];

const chunk = (delta: Fields, finish: string | null = null, more: Fields = {}): Fields => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
const part = (fields: Fields): Fields => chunk({ tool_calls: [fields] });
/** A fragment of a call: `index id name arguments`, with a hyphen for each missing field. */
const piece = (written: string): Fields => {
  const [, index = "-", id = "-", name = "-", args = ""] = /^(\S+) (\S+) (\S+) ?(.*)$/s.exec(written) ?? [];
  return part({
    ...(index === "-" ? {} : { index: Number(index) }),
    ...(id === "-" ? {} : { id }),
    type: "function",
    function: { ...(name === "-" ? {} : { name }), arguments: args },
  });
};
const pieces = (...written: readonly string[]): readonly Fields[] => [...written.map(piece), chunk({}, "tool_calls")];
const answered = (...events: readonly Fields[]): readonly Fields[] => [...events, chunk({}, "stop")];
const counted = (usage: Fields, more: Fields = {}): readonly Fields[] => [
  ...answered(chunk({ content: "Hi." })),
  { id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, ...usage }, ...more },
];
const counts = { inputTokens: 1000, outputTokens: 10, totalTokens: 1010 };

const a = 'a f {"n":1}';
const twoCalls = [a, 'b g {"n":2}'];
const oneCall: Partial<Said> = { calls: [a], end: "tool-calls" };
const bothCalls: Partial<Said> = { calls: twoCalls, end: "tool-calls" };
const hello: Partial<Said> = { text: "Hello.", end: "stop" };
const thought: Partial<Said> = { ...hello, reasoning: "Think." };

const callRows: readonly Row[] = [
  ["a first fragment without an id", "continuedev/continue#13225", pieces("0 - f {}"), { calls: ["- f {}"], end: "tool-calls" }],
  [
    "two calls without ids",
    "opencode#47954",
    pieces('0 - f {"n":1}', '1 - g {"n":2}'),
    { calls: ['- f {"n":1}', '- g {"n":2}'], end: "tool-calls" },
  ],
  ['the id "null" in later fragments', "mistralai/mistral-vibe#1127", pieces("0 a f", '0 null - {"n"', "0 null - :1}"), oneCall],
  [
    "another id in later fragments",
    "zed-industries/zed#54058",
    pieces("0 a f", '0 x - {"n":1}', "1 b g", '1 y - {"n":2}'),
    bothCalls,
  ],
  [
    "the same other id in the later fragments of two calls",
    "langchain-ai/langchainjs#11505",
    pieces("0 a f", '0 x - {"n":1}', "1 b g", '1 x - {"n":2}'),
    bothCalls,
  ],
  ["a new id in each fragment", "poolsideai/pool#9", pieces("0 a f", '0 b - {"n"', "0 c - :1}"), oneCall],
  ["a new id and the name in each fragment", "poolsideai/pool#9", pieces("0 a f", '0 b f {"n"', "0 c f :1}"), oneCall],
  ["another id and another index in later fragments", "agno-agi/agno#8880", pieces("0 a f", '1 x - {"n"', "1 y - :1}"), oneCall],
  ["another id without an index in later fragments", "openai/openai-python#3246", pieces("- a f", '- x - {"n":1}'), oneCall],
  [
    "an empty last fragment with another id",
    "QuantumNous/new-api#3326",
    [piece("0 a f"), piece('0 - - {"n":1}'), part({ index: 0, id: "x" }), chunk({}, "tool_calls")],
    oneCall,
  ],
  ["fragments without an index", "openai/openai-python#3246", pieces("- a f", '- - - {"n":1}', '- b g {"n":2}'), bothCalls],
  [
    "indices from 1 with gaps",
    "agentgateway#2965",
    pieces("1 a f", '1 - - {"n":1}', "3 b g", '3 - - {"n":2}'),
    bothCalls,
  ],
  ["the index 0 for each call", "agno-agi/agno#8880", pieces('0 a f {"n":1}', '0 b g {"n":2}'), bothCalls],
  [
    "the head of a call with the index 0, and its tail with the index 1",
    "agno-agi/agno#8880",
    pieces('0 a f {"n":1}', "0 b g", '1 - - {"n"', "1 - - :2}"),
    bothCalls,
  ],
  [
    "ids that contradict the indices: the ids decide",
    "agno-agi/agno#8880",
    pieces("0 a f", "1 b g", '1 a - {"n":1}', '0 b - {"n":2}'),
    bothCalls,
  ],
  [
    "a new call without a name at a used index, after complete arguments",
    "agno-agi/agno#8880",
    pieces('0 a f {"n":1}', '0 b - {"n"', "0 b g :2}"),
    bothCalls,
  ],
  ["the name in each fragment", "NousResearch/hermes-agent#11984", pieces("0 a f", '0 a f {"n"', "0 a f :1}"), oneCall],
  ["a name after the first arguments", "vercel/ai#15879", pieces('0 a - {"n"', "0 - f :1}"), oneCall],
  [
    "an id in a fragment of its own before the name",
    "vercel/ai#15879",
    pieces("0 a -", '0 - f {"n":1}', "1 b -", '1 - g {"n":2}'),
    bothCalls,
  ],
  ["whole calls in one fragment each", "ollama/ollama#13581", pieces('0 a f {"n":1}', '1 b g {"n":2}'), bothCalls],
  [
    "arguments that are null first",
    "ogx#5462",
    [part({ index: 0, id: "a", function: { name: "f", arguments: null } }), ...pieces('0 - - {"n":1}')],
    oneCall,
  ],
  [
    "arguments in fragments, then whole",
    "opencodex#361",
    pieces("0 a f", '0 - - {"n"', "0 - - :1}", '0 - - {"n":1}'),
    oneCall,
  ],
  [
    "arguments in fragments, then whole with another id",
    "opencodex#361",
    pieces("0 a f", '0 - - {"n":1}', '0 x - {"n": 1}'),
    oneCall,
  ],
  ["arguments that look complete in the middle", "@ai-sdk/openai-compatible 3.0.0", pieces("0 a f {}", '0 - - {"n":1}'), oneCall],
  [
    "a last fragment with null in each field",
    "QuantumNous/new-api#3326",
    [piece('0 a f {"n":1}'), part({ index: 0, id: null, function: { name: null, arguments: null } }), chunk({}, "tool_calls")],
    oneCall,
  ],
  [
    "an empty call and an empty list of calls after the text",
    "lmstudio-ai/lmstudio-bug-tracker#830",
    answered(chunk({ content: "Hello.", tool_calls: [] }), part({ index: 0, id: "", type: "function" })),
    hello,
  ],
  [
    "a call with an id, but without a name and arguments",
    "lmstudio-ai/lmstudio-bug-tracker#830",
    answered(chunk({ content: "Hello." }), part({ index: 0, id: "x", type: "function", function: {} })),
    hello,
  ],
  [
    "the role in each chunk, and the type null",
    "@ai-sdk/openai-compatible 3.0.0",
    [
      chunk({ role: "assistant", tool_calls: [{ index: 0, id: "a", type: null, function: { name: "f", arguments: "" } }] }),
      chunk({ role: "assistant", tool_calls: [{ index: 0, type: null, function: { arguments: '{"n":1}' } }] }),
      chunk({ role: "" }, "tool_calls"),
    ],
    oneCall,
  ],
  [
    "text and a call in one chunk",
    "poolsideai/pool#9",
    [
      chunk({
        content: "Hello.",
        reasoning_content: "Think.",
        tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: '{"n":1}' } }],
      }),
      chunk({}, "tool_calls"),
    ],
    { ...thought, ...oneCall },
  ],
  ['the finish reason "stop" after calls', "vllm-project/vllm#25054", [piece('0 a f {"n":1}'), chunk({}, "stop")], oneCall],
];

const answerRows: readonly Row[] = [
  [
    "content in parts, with thinking parts",
    "Mistral",
    answered(
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Think." }] }] }),
      chunk({ content: [{ type: "text", text: "Hello." }] }),
    ),
    thought,
  ],
  ...(["reasoning_content", "reasoning", "reasoning_text"] as const).map((field): Row => [
    `the reasoning in ${field}`,
    "earendil-works/pi",
    answered(chunk({ content: null, [field]: "Think." }), chunk({ content: "Hello." })),
    thought,
  ]),
  ...[
    { reasoning_content: "", reasoning: "Think." },
    { reasoning_content: null, reasoning: "Think." },
    { reasoning: "", reasoning_content: "Think." },
    { reasoning_content: "Think.", reasoning: "Think." },
    { reasoning: "Think.", reasoning_details: [{ type: "reasoning.text", text: "Think.", index: 0 }] },
    { reasoning: "", reasoning_details: [{ type: "reasoning.summary", summary: "Think.", index: 0 }] },
  ].map((delta): Row => [
    `the reasoning fields ${JSON.stringify(delta)}`,
    "ahwurm/localharness#142",
    answered(chunk({ content: "", ...delta }), chunk({ content: "Hello." })),
    thought,
  ]),
  [
    "reasoning in tags",
    "langchain-ai/langchain#33126",
    answered(chunk({ content: "<think>\nThink.\n</think>\n\nHello." })),
    thought,
  ],
  [
    "no finish reason, but final token counts",
    "earendil-works/pi#6225",
    [chunk({ content: "Hello." }), { choices: [], usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 } }],
    { ...hello, usage: counts },
  ],
  ["neither a finish reason nor token counts", "openclaw/openclaw#98575", [chunk({ content: "Hello." })], { text: "Hello." }],
  ['the finish reason "eos"', "together-ai 0.52.0", [chunk({ content: "Hello." }), chunk({}, "eos")], hello],
  [
    'the finish reason "model_length"',
    "@ai-sdk/mistral 4.0.87",
    [chunk({ content: "Hello." }), chunk({}, "model_length")],
    { ...hello, end: "context-full" },
  ],
  [
    'the finish reason "error"',
    "@openrouter/sdk 1.3.19",
    [chunk({ content: "Hello." }), chunk({}, "error")],
    { ...hello, end: "error" },
  ],
  [
    "a refusal in the last chunk",
    "OpenAI",
    [chunk({ content: null, refusal: "No." }, "stop")],
    { refusal: "No.", end: "refusal" },
  ],
  [
    "a first chunk without choices",
    "InternLM/MindSearch#310",
    [
      { id: "", object: "", model: "", created: 0, choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      ...answered(chunk({ role: "assistant", content: "" }), chunk({ content: "Hello." })),
    ],
    hello,
  ],
  [
    "the role in each chunk, and another id in the last chunk",
    "0xPlaygrounds/rig, streams of Perplexity",
    [
      chunk({ role: "assistant", content: "Hel" }),
      chunk({ role: "assistant", content: "lo." }),
      chunk({ role: "assistant", content: "" }, "stop", { id: "x" }),
    ],
    hello,
  ],
  [
    "one chunk of text, and another id in the last chunk",
    "0xPlaygrounds/rig, streams of Perplexity",
    [chunk({ role: "assistant", content: "Hello." }), chunk({ role: "assistant", content: "" }, "stop", { id: "x" })],
    hello,
  ],
  [
    "the role and text in each chunk, and another id in the last two chunks",
    "0xPlaygrounds/rig, streams of Perplexity",
    [
      chunk({ role: "assistant", content: "Hel" }),
      chunk({ role: "assistant", content: "lo." }, "stop", { id: "x" }),
      { id: "x", choices: [], usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 } },
    ],
    { ...hello, usage: counts },
  ],
  [
    "the role and a new id in each chunk",
    "poolsideai/pool#9",
    [
      chunk({ role: "assistant", content: "He" }, null, { id: "1" }),
      chunk({ role: "assistant", content: "ll" }, null, { id: "2" }),
      chunk({ role: "assistant", content: "o." }, null, { id: "3" }),
      chunk({ role: "assistant" }, "stop", { id: "4" }),
    ],
    hello,
  ],
  [
    "a chunk with a role and another id between the chunks of an answer",
    "0xPlaygrounds/rig, streams of Perplexity",
    answered(
      chunk({ role: "assistant", content: "Hel" }),
      chunk({ role: "assistant", content: "" }, null, { id: "x" }),
      chunk({ content: "lo." }),
    ),
    hello,
  ],
];

const usageRows: readonly Row[] = [
  ["counts in the last chunk without choices", "OpenAI", counted({}), {}],
  [
    "counts in a choice",
    "Moonshot",
    [
      chunk({ content: "Hi." }),
      {
        choices: [
          {
            index: 0,
            delta: {},
            finish_reason: "stop",
            usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, cached_tokens: 800 },
          },
        ],
      },
    ],
    { usage: { ...counts, cachedInputTokens: 800 } },
  ],
  [
    "counts in x_groq",
    "groq-sdk 1.6.0",
    [
      chunk({ content: "Hi." }),
      chunk({}, "stop", { x_groq: { usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 } } }),
    ],
    {},
  ],
  ...(
    [
      ["OpenAI", { prompt_tokens_details: { cached_tokens: 800, cache_write_tokens: 100 } }, 800, 100],
      ["DeepSeek", { prompt_cache_hit_tokens: 800, prompt_cache_miss_tokens: 200 }, 800, undefined],
      ["Kimi: earendil-works/pi#8075", { cached_tokens: 800 }, 800, undefined],
      ["Kimi: zero in the details", { cached_tokens: 800, prompt_tokens_details: { cached_tokens: 0 } }, 800, undefined],
      ["LiteLLM: BerriAI/litellm#39505", { cache_read_input_tokens: 700, cache_creation_input_tokens: 100 }, 700, 100],
      ["LiteLLM", { prompt_tokens_details: { cached_tokens: 700, cache_creation_tokens: 100 } }, 700, 100],
      ["Mistral", { num_cached_tokens: 800 }, 800, undefined],
      ["Mistral", { prompt_token_details: { cached_tokens: 800 } }, 800, undefined],
      ["groq-sdk 1.6.0", { dram_cached_tokens: 800 }, 800, undefined],
      ["groq-sdk 1.6.0", { sram_cached_tokens: 800 }, 800, undefined],
    ] as const
  ).map(([source, usage, cached, written]): Row => [
    `cached tokens in ${JSON.stringify(usage)}`,
    source,
    counted(usage),
    {
      usage: {
        ...counts,
        cachedInputTokens: cached,
        ...(written === undefined ? {} : { cacheWriteTokens: written }),
      },
    },
  ]),
  [
    "more reasoning tokens than completion tokens",
    "@ai-sdk/openai-compatible 3.0.28",
    counted({ completion_tokens_details: { reasoning_tokens: 30 } }),
    { usage: { inputTokens: 1000, outputTokens: 40, totalTokens: 1040, reasoningTokens: 30 } },
  ],
  [
    "reasoning tokens outside of the details",
    "Perplexity",
    counted({ reasoning_tokens: 4 }),
    { usage: { ...counts, reasoningTokens: 4 } },
  ],
];

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
const call = (id: string, name: string, args = ""): Fields => ({
  id: `fc_${id}`,
  type: "function_call",
  status: "in_progress",
  call_id: id,
  name,
  arguments: args,
});
const added = (place: number, item: Fields): Fields => ({ type: "response.output_item.added", output_index: place, item });
const finished = (place: number, item: Fields): Fields => ({ type: "response.output_item.done", output_index: place, item });
const argued = (place: number, id: string, delta: string): Fields => ({
  type: "response.function_call_arguments.delta",
  output_index: place,
  item_id: id,
  delta,
});
const spoken = (place: number, id: string, delta: string): Fields => ({
  type: "response.output_text.delta",
  output_index: place,
  item_id: id,
  content_index: 0,
  delta,
});
const created = { type: "response.created", response: { id: "r", object: "response", status: "in_progress", output: [] } };
const completed = (output: unknown = null, more: Fields = {}): Fields => ({
  type: "response.completed",
  response: { id: "r", object: "response", status: "completed", output, ...more },
});
const message = { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] };

const responseRows: readonly Row[] = [
  [
    "item ids that contradict the output indexes: the indexes decide",
    "opencode#45013",
    [
      created,
      ...[added(1, call("a", "f")), added(3, call("b", "g"))],
      ...[argued(1, "fc_b", '{"n":'), argued(3, "fc_a", '{"n":'), argued(1, "fc_b", "1}"), argued(3, "fc_a", "2}")],
      completed(),
    ],
    bothCalls,
  ],
  [
    "one output index for two calls: the item ids decide",
    "llmgateway#2908",
    [
      created,
      ...[added(0, call("a", "f")), added(0, call("b", "g"))],
      ...[argued(0, "fc_a", '{"n":1}'), argued(0, "fc_b", '{"n":2}')],
      completed(),
    ],
    bothCalls,
  ],
  [
    "the output index 0 in all arguments: the item ids decide after the first call is finished",
    "llmgateway#2908",
    [
      created,
      ...[added(0, call("a", "f")), argued(0, "fc_a", '{"n":1}'), finished(0, call("a", "f", '{"n":1}'))],
      ...[added(1, call("b", "g")), argued(0, "fc_b", '{"n":2}')],
      completed(),
    ],
    bothCalls,
  ],
  [
    "one output index for a message and a call",
    "llmgateway#2908",
    [
      created,
      ...[added(0, message), spoken(0, "msg_1", "Hello.")],
      ...[added(0, call("a", "f")), argued(0, "fc_a", '{"n":1}')],
      completed(),
    ],
    { ...oneCall, text: "Hello." },
  ],
  [
    "a call before the text",
    "cursor-byok#307",
    [
      created,
      ...[added(0, call("a", "f")), finished(0, call("a", "f", '{"n":1}'))],
      ...[added(1, message), spoken(1, "msg_1", "Hello.")],
      completed(),
    ],
    { ...oneCall, text: "Hello." },
  ],
  [
    "reasoning without an item after it",
    "openai/openai-agents-python#3207",
    [
      created,
      ...[added(0, message), spoken(0, "msg_1", "Hello.")],
      finished(1, { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "x" }),
      completed(),
    ],
    hello,
  ],
  [
    "response.created after the first item",
    "proxies",
    [added(0, message), created, spoken(0, "msg_1", "Hello."), completed()],
    hello,
  ],
  [
    "the counts of Chat Completions",
    "LiteLLM",
    [
      created,
      spoken(0, "msg_1", "Hello."),
      completed(null, { usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 } }),
    ],
    { ...hello, usage: counts },
  ],
  [
    "the tokens written to the cache",
    "openai 7.59.0",
    [
      created,
      spoken(0, "msg_1", "Hello."),
      completed(null, {
        usage: {
          input_tokens: 1000,
          output_tokens: 10,
          total_tokens: 1010,
          input_tokens_details: { cached_tokens: 700, cache_write_tokens: 100 },
          output_tokens_details: { reasoning_tokens: 4 },
        },
      }),
    ],
    { ...hello, usage: { ...counts, cachedInputTokens: 700, cacheWriteTokens: 100, reasoningTokens: 4 } },
  ],
];

describe("openaiResponses reads a stream with", () => {
  it.for(responseRows)("%s (%s)", async ([, , events, said]) => {
    const provider = (url: string): Provider => openaiResponses({ client: connectOpenAI(url).client, model: "m" });
    const frames = events.map((fields) => event(Object(fields)));
    expect(await read(frames, provider)).toEqual({ ...silence, ...said });
  });

  it("encrypted content that differs between the first and the last event of an item: keeps the last", async () => {
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

const begun = (id: string): Fields => ({
  type: "message_start",
  message: { id, type: "message", role: "assistant", content: [], usage: { input_tokens: 1000, output_tokens: 1 } },
});
const block = (index: number, ...texts: readonly string[]): readonly Fields[] => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  ...texts.map((text) => ({ type: "content_block_delta", index, delta: { type: "text_delta", text } })),
  { type: "content_block_stop", index },
];
const ended = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } };
const stopped = { type: "message_stop" };
const messageRows: readonly Row[] = [
  [
    "two message_start with different ids at the beginning",
    "proxies",
    [begun("1"), begun("2"), ...block(0, "Hello."), ended, stopped],
    hello,
  ],
  [
    "a second message_start between two blocks",
    "proxies",
    [begun("1"), ...block(0, "Hel"), begun("2"), ...block(1, "lo."), ended, stopped],
    hello,
  ],
  [
    "a second answer",
    "@ai-sdk/anthropic 4.0.32",
    [begun("1"), ...block(0, "Hel"), begun("2"), ...block(0, "Hello."), ended, stopped],
    { text: "Hel", end: "stream-ended-early", usage: { inputTokens: 1000, outputTokens: 1, totalTokens: 1001 } },
  ],
  ["no message_stop", "proxies", [begun("1"), ...block(0, "Hello."), ended], hello],
  [
    "cached tokens in message_delta",
    "Vercel AI Gateway",
    [begun("1"), ...block(0, "Hello."), { ...ended, usage: { output_tokens: 10, cache_creation_input_tokens: 5 } }, stopped],
    { ...hello, usage: { inputTokens: 1005, outputTokens: 10, totalTokens: 1015, cacheWriteTokens: 5 } },
  ],
];

describe("anthropicMessages reads a stream with", () => {
  it.for(messageRows)("%s (%s)", async ([, , events, said]) => {
    const frames = events.map((fields) => event(Object(fields)));
    const provider = (url: string): Provider =>
      anthropicMessages({ client: connectAnthropic(url).client, model: "m", maxTokens: 99 });
    expect(await read(frames, provider)).toEqual({ ...silence, usage: counts, ...said });
  });
});

const candidate = (responseId: string, parts: readonly Fields[], finishReason?: string): Fields => ({
  responseId,
  candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) }],
});
const generateRows: readonly Row[] = [
  [
    "a signature on an empty text",
    "@ai-sdk/google 4.0.112",
    [candidate("1", [{ text: "Hello." }]), candidate("1", [{ text: "", thoughtSignature: "c2ln" }], "STOP")],
    hello,
  ],
  [
    "calls with one id and without ids",
    "Gemini",
    [
      candidate("1", [
        { functionCall: { id: "a", name: "f", args: { n: 1 } } },
        { functionCall: { id: "a", name: "g", args: {} } },
      ]),
      candidate("1", [{ functionCall: { name: "g", args: {} } }], "STOP"),
    ],
    { calls: [a, "a g {}", "- g {}"], end: "tool-calls" },
  ],
  [
    "a new id in each chunk",
    "proxies",
    [candidate("1", [{ text: "Hel" }]), candidate("2", [{ text: "lo." }]), candidate("3", [], "STOP")],
    hello,
  ],
  [
    "another id in the last chunk",
    "proxies",
    [candidate("1", [{ text: "Hel" }]), candidate("1", [{ text: "lo" }]), candidate("2", [{ text: "." }], "STOP")],
    hello,
  ],
  [
    "a second answer",
    "gateways",
    [candidate("1", [{ text: "Hel" }]), candidate("2", [{ text: "Hello" }]), candidate("2", [{ text: "." }], "STOP")],
    { text: "Hel", end: "stream-ended-early" },
  ],
];

describe("googleGenerateContent reads a stream with", () => {
  it.for(generateRows)("%s (%s)", async ([, , events, said]) => {
    const provider = (url: string): Provider => googleGenerateContent({ client: connectGoogle(url).client, model: "m" });
    expect(await read(events.map(sse), provider)).toEqual({ ...silence, ...said });
  });
});
