// Answers and token counts on the Chat Completions wire that differ from OpenAI's.

import { answered, chunk, counted, counts, hello, type Row, thought } from "./oddity-rows.ts";

export const answerRows: readonly Row[] = [
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
    "reasoning in a field, and again in tags",
    "gateways to Qwen3.5",
    answered(
      chunk({ content: "<think>Thi", reasoning_content: "Thi" }),
      chunk({ content: "nk.", reasoning_content: "nk." }),
      chunk({ content: "</think>Hello." }),
    ),
    thought,
  ],
  [
    "reasoning in tags, with the role in each chunk",
    "crmne/ruby_llm, streams of Perplexity",
    answered(
      chunk({ role: "assistant", content: "<think>\nThi" }),
      chunk({ role: "assistant", content: "nk.\n</think>\n\n" }),
      chunk({ role: "assistant", content: "Hello." }),
    ),
    thought,
  ],
  [
    "a blank finish reason in each chunk",
    "gateways",
    [chunk({ content: "Hel" }, "  "), chunk({ content: "lo." }, ""), chunk({}, "stop")],
    hello,
  ],
  [
    "no finish reason, but final token counts",
    "earendil-works/pi#6225",
    [chunk({ content: "Hello." }), { choices: [], usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 } }],
    { ...hello, usage: counts },
  ],
  ["neither a finish reason nor token counts", "openclaw/openclaw#98575", [chunk({ content: "Hello." })], hello],
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

export const usageRows: readonly Row[] = [
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
