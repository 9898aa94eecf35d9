// Calls on the Chat Completions wire whose fragments differ from OpenAI's.

import { answered, bothCalls, chunk, hello, oneCall, part, piece, pieces, type Row, thought } from "./oddity-rows.ts";

export const callRows: readonly Row[] = [
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
  ["indices from 1 with gaps", "agentgateway#2965", pieces("1 a f", '1 - - {"n":1}', "3 b g", '3 - - {"n":2}'), bothCalls],
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
  ["arguments in fragments, then whole", "opencodex#361", pieces("0 a f", '0 - - {"n"', "0 - - :1}", '0 - - {"n":1}'), oneCall],
  [
    "arguments in fragments, then whole as JSON within JSON",
    "BerriAI/litellm#20480",
    pieces('0 a f {"n"', "0 a - :1}", `0 a f ${JSON.stringify('{"n": 1}')}`),
    oneCall,
  ],
  [
    "the name again in the last fragment, without an id",
    "agentscope-ai/agentscope-java#1216",
    pieces("0 a f", '0 - - {"n":1', "0 - f }"),
    oneCall,
  ],
  [
    "a new answer id and the role in each chunk of a call",
    "langchain-ai/langchain, streams of Writer",
    [
      chunk({ role: "assistant", content: "\n" }, null, { id: "1" }),
      chunk({ role: "assistant", tool_calls: [{ index: 1, id: "a", function: { name: "f", arguments: null } }] }, null, {
        id: "2",
      }),
      chunk({ role: "assistant", tool_calls: [{ index: 1, function: { arguments: '{"n":1}' } }] }, null, { id: "3" }),
      chunk({ role: "assistant" }, "tool_calls", { id: "4" }),
    ],
    { ...oneCall, text: "\n" },
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
