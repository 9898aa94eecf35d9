import type { StrictServiceKind } from "../../src/testing/strict/kinds.ts";
import { jpeg, many, object, png, type RuleCase } from "./rule-case.ts";

const user = { role: "user", content: "Hi" };
const assistant = { role: "assistant", content: "Hello" };
const call = (id = "call00001", name = "look", args: unknown = "{}"): object => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const asks = (...calls: readonly object[]): object => ({ role: "assistant", content: null, tool_calls: calls });
const result = (id = "call00001", content: unknown = "seen"): object => ({ role: "tool", tool_call_id: id, content });
const tool = (name = "look", parameters: unknown = object, rest: object = {}): object => ({
  type: "function",
  function: { name, description: "", parameters, ...rest },
});
const image = (data = png(), type = "image/png"): object => ({
  type: "image_url",
  image_url: { url: `data:${type};base64,${data}` },
});
const file = { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } };
const text = (said = "Hi"): object => ({ type: "text", text: said });
const told = { type: "object", properties: { x: { description: "X", $ref: "#/$defs/a" } } };
const named = { type: "function", function: { name: "look" } };

const body = (messages: readonly object[], rest: object = {}, model = "gpt-4.1"): object => ({ model, messages, ...rest });
const withTools = (rest: object = {}, model = "gpt-4.1"): object => body([user], { tools: [tool()], ...rest }, model);
const answered: readonly object[] = [user, asks(call()), result()];
/** The history of a model that must get its reasoning back. */
const reasoned: readonly object[] = [user, { ...asks(call()), reasoning_content: "Hm." }, result()];

type Row = readonly [kind: StrictServiceKind, rule: string, accepted: object, refused: object];

const rows: readonly Row[] = [
  ["openai-chat", "A request has at least one message.", body([user]), body([])],
  [
    "openai-chat",
    "A role is system, developer,",
    body([{ role: "developer", content: "Be brief." }, user]),
    body([{ role: "model", content: "Hi" }]),
  ],
  [
    "openai-chat",
    "A message has content. An",
    body([user, asks(call()), result()]),
    body([user, { role: "assistant", content: null }]),
  ],
  ["openai-chat", "The list of calls in an", body(answered), body([user, { ...assistant, tool_calls: [] }])],
  ["openai-chat", "The arguments of a call are a", body(answered), body([user, asks(call("a", "look", {})), result("a")])],
  ["openai-chat", "Tool messages for every call", body(answered), body([user, asks(call()), user])],
  ["openai-chat", "A tool message answers a call", body(answered), body([user, assistant, result()])],
  [
    "openai-chat",
    "`tool_choice` is only sent with tools.",
    withTools({ tool_choice: "auto" }),
    body([user], { tool_choice: "auto" }),
  ],
  [
    "openai-chat",
    "`parallel_tool_calls` is only sent",
    withTools({ parallel_tool_calls: false }),
    body([user], { parallel_tool_calls: false }),
  ],
  ["openai-chat", "The list of tools is not empty.", withTools(), body([user], { tools: [] })],
  [
    "openai-chat",
    "The tool of a named choice",
    withTools({ tool_choice: named }),
    withTools({ tools: [tool("other")], tool_choice: named }),
  ],
  [
    "openai-chat",
    "A request has at most 128 tools.",
    withTools({ tools: many(128, (index) => tool(`t${index}`)) }),
    withTools({ tools: many(129, (index) => tool(`t${index}`)) }),
  ],
  [
    "openai-chat",
    "The name of a tool has 1 to 64",
    withTools({ tools: [tool("a".repeat(64))] }),
    withTools({ tools: [tool("a.b")] }),
  ],
  [
    "openai-chat",
    "The root of a tool schema has the type object",
    withTools({
      tools: [tool("look", { type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } })],
    }),
    withTools({ tools: [tool("look", { type: "object", anyOf: [{ required: ["a"] }] })] }),
  ],
  [
    "openai-chat",
    "Each array in a tool schema",
    withTools({ tools: [tool("look", { type: "object", properties: { a: { type: "array", items: {} } } })] }),
    withTools({ tools: [tool("look", { type: "object", properties: { a: { type: "array" } } })] }),
  ],
  [
    "openai-chat",
    "A pattern in a tool schema is a",
    withTools({ tools: [tool("look", { type: "object", properties: { a: { type: "string", pattern: String.raw`^\d$` } } })] }),
    withTools({ tools: [tool("look", { type: "object", properties: { a: { type: "string", pattern: String.raw`^\p{L}$` } } })] }),
  ],
  [
    "openai-chat",
    "In a strict tool schema,",
    withTools({ tools: [tool("look", { ...object, additionalProperties: false }, { strict: true })] }),
    withTools({ tools: [tool("look", object, { strict: true })] }),
  ],
  [
    "openai-chat",
    "A call id has at most 40",
    body([user, asks(call("c".repeat(40))), result("c".repeat(40))]),
    body([user, asks(call("c".repeat(41))), result("c".repeat(41))]),
  ],
  [
    "openai-chat",
    "A string has at most 10,485,760",
    body([{ role: "user", content: "a".repeat(10_485_760) }]),
    body([{ role: "user", content: "a".repeat(10_485_761) }]),
  ],
  [
    "openai-chat",
    "A request has at most 4 stop",
    body([user], { stop: ["a", "b", "c", "d"] }),
    body([user], { stop: ["a", "b", "c", "d", "e"] }),
  ],
  [
    "openai-chat",
    "Images and files are only in user",
    body([{ role: "user", content: [image()] }]),
    body([user, asks(call()), result("call00001", [image()])]),
  ],
  [
    "openai-chat",
    "An image is a PNG,",
    body([{ role: "user", content: [image(jpeg)] }]),
    body([{ role: "user", content: [image("Qk0AAA==")] }]),
  ],
  ["openai-chat", "A request has only fields that the API defines.", body([user], { seed: 1 }), body([user], { top_k: 1 })],
  [
    "openai-chat",
    "A message has only the fields",
    body([user, assistant, user]),
    body([user, { ...assistant, reasoning_content: "Hm." }, user]),
  ],
  [
    "openai-chat",
    "A reasoning model accepts only the default",
    body([user], { temperature: 1 }, "gpt-5"),
    body([user], { temperature: 0 }, "gpt-5"),
  ],
  [
    "openai-chat",
    "A reasoning model does not accept `top_p`, and",
    body([user], { max_completion_tokens: 9 }, "gpt-5"),
    body([user], { max_tokens: 9 }, "gpt-5"),
  ],
  ["openai-chat", "GPT-6 and models that always", body([user], { stop: ["a"] }), body([user], { stop: ["a"] }, "gpt-6-sol")],
  [
    "openai-chat",
    "From GPT-5.6 on, a reasoning model",
    withTools({ reasoning_effort: "none" }, "gpt-5.6-sol"),
    withTools({ reasoning_effort: "low" }, "gpt-5.4"),
  ],
  [
    "azure",
    "A request has at most 50 images.",
    body([{ role: "user", content: many(50, () => image()) }]),
    body([{ role: "user", content: many(51, () => image()) }]),
  ],
  ["mistral", "A user message does not come", body([...answered, assistant, user]), body([...answered, user])],
  ["mistral", "A tool message comes after an", body(answered), body([user, result()])],
  [
    "mistral",
    "Every call has one result, and every result has a call.",
    body(answered),
    body([user, asks(call(), call("call00002")), result()]),
  ],
  ["mistral", "The last message has the role user or tool.", body([user]), body([user, assistant])],
  ["mistral", "A call id has exactly 9", body(answered), body([user, asks(call("call_1")), result("call_1")])],
  [
    "mistral",
    "A tool message has only text.",
    body([{ role: "user", content: [image()] }]),
    body([user, asks(call()), result("call00001", [image()])]),
  ],
  [
    "mistral",
    "A request has only fields that Mistral",
    body([user], { max_tokens: 9 }),
    body([user], { max_completion_tokens: 9 }),
  ],
  [
    "mistral",
    "A message has only fields that Mistral",
    body([user]),
    body([user, { ...assistant, reasoning_content: "Hm." }, user]),
  ],
  ["groq", "A request has only fields that Groq", body([user], { reasoning_format: "parsed" }), body([user], { top_k: 1 })],
  [
    "groq",
    "A message has only fields that Groq",
    body([user, { ...assistant, reasoning: "Hm." }, user]),
    body([user, { ...assistant, reasoning_content: "Hm." }, user]),
  ],
  [
    "groq",
    "JSON mode and tools exclude",
    body([user], { response_format: { type: "json_object" } }),
    withTools({ response_format: { type: "json_object" } }),
  ],
  ...(["groq", "deepseek"] as const).map((kind): Row => [
    kind,
    "A content part is text or",
    body([{ role: "user", content: [text(), image()] }]),
    body([{ role: "user", content: [text(), file] }]),
  ]),
  [
    "deepseek",
    "Models before V4.1 do not accept images.",
    body([{ role: "user", content: [image()] }], {}, "deepseek-v4-flash"),
    body([{ role: "user", content: [image()] }], {}, "deepseek-v4-pro"),
  ],
  [
    "deepseek",
    "While the model is thinking, `tool_choice`",
    withTools({ tool_choice: "required", thinking: { type: "disabled" } }, "deepseek-v4-pro"),
    withTools({ tool_choice: "required" }, "deepseek-v4-pro"),
  ],
  ["deepseek", "While DeepSeek V4 is thinking,", body(reasoned, {}, "deepseek-v4-pro"), body(answered, {}, "deepseek-v4-pro")],
  [
    "deepseek",
    "The body has no lone",
    body([{ role: "user", content: "\ud83d\ude00" }]),
    body([{ role: "user", content: "\ud83d" }]),
  ],
  ["deepseek", "A tool is only strict at", withTools(), withTools({ tools: [tool("look", object, { strict: true })] })],
  [
    "moonshot",
    "Every node of a tool schema has a type.",
    withTools({ tools: [tool("look", { type: "object", properties: { a: { anyOf: [{ type: "string" }] } } })] }),
    withTools({ tools: [tool("look", { type: "object", properties: { a: {} } })] }),
  ],
  [
    "moonshot",
    "A description or title stands",
    withTools({ tools: [tool("look", { ...told, $defs: { a: { type: "string" } } })] }),
    withTools({ tools: [tool("look", { ...told, $defs: { a: { type: "string", description: "A" } } })] }),
  ],
  ["moonshot", "The name of a tool begins with a letter.", withTools(), withTools({ tools: [tool("_look")] })],
  [
    "moonshot",
    "While a model before K3 is thinking,",
    withTools({ tool_choice: "required" }, "kimi-k3"),
    withTools({ tool_choice: "required" }, "kimi-k2.7-code"),
  ],
  [
    "moonshot",
    "Some models always think.",
    body([user], { thinking: { type: "disabled" } }, "kimi-k2.6"),
    body([user], { thinking: { type: "disabled" } }, "kimi-k2.7-code"),
  ],
  ["moonshot", "From K2.5 on,", body([user], { temperature: 1 }, "kimi-k3"), body([user], { temperature: 0 }, "kimi-k3")],
  ["moonshot", "While the model is thinking, every assistant", body(reasoned, {}, "kimi-k3"), body(answered, {}, "kimi-k3")],
  ["vllm", "`tool_choice` is only sent with tools.", withTools({ tool_choice: "auto" }), body([user], { tool_choice: "auto" })],
  ["vllm", "The list of tools is not empty.", withTools(), body([user], { tools: [] })],
  [
    "vllm",
    "A named choice has the form",
    withTools({ tool_choice: named }),
    withTools({ tool_choice: { type: "function", name: "look" } }),
  ],
  [
    "vllm",
    "Structured output and a named",
    withTools({ response_format: { type: "json_schema" } }),
    withTools({ tool_choice: named, response_format: { type: "json_schema" } }),
  ],
  ["vllm", "The arguments of a call in the history", body(answered), body([user, asks(call("a", "look", "[1]")), result("a")])],
  ...(["llama-server", "lm-studio"] as const).map((kind): Row => [
    kind,
    "A pattern in a tool schema has both",
    withTools({ tools: [tool("look", { type: "object", properties: { a: { type: "string", pattern: "^[0-9]$" } } })] }),
    withTools({ tools: [tool("look", { type: "object", properties: { a: { type: "string", pattern: String.raw`^\d$` } } })] }),
  ]),
  ["llama-server", "The last two messages are not", body([user, assistant, user]), body([user, assistant, assistant])],
  ["llama-server", "While the model is thinking, the last", body([user]), body([user, assistant])],
  [
    "llama-server",
    "A content part is text,",
    body([{ role: "user", content: [text()] }]),
    body([{ role: "user", content: [text(), file] }]),
  ],
  ["llama-server", "A grammar and tools exclude", body([user], { grammar: "root ::= a" }), withTools({ grammar: "root ::= a" })],
  [
    "ollama",
    "A content part is text or an image.",
    body([{ role: "user", content: [text(), image()] }]),
    body([{ role: "user", content: [text(), file] }]),
  ],
  [
    "vllm",
    "A content part has a type that vLLM",
    body([{ role: "user", content: [text(), image()] }]),
    body([{ role: "user", content: [text(), file] }]),
  ],
  [
    "ollama",
    "An image is base64 data",
    body([{ role: "user", content: [image()] }]),
    body([{ role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] }]),
  ],
  ["lm-studio", "`tool_choice` is a word:", withTools({ tool_choice: "required" }), withTools({ tool_choice: named })],
  [
    "openrouter",
    "For models of z.ai,",
    withTools({ tool_choice: "auto" }, "z-ai/glm-5.3"),
    withTools({ tool_choice: "required" }, "z-ai/glm-5.3"),
  ],
  [
    "openrouter",
    "A request whose messages have calls or results has tools.",
    body(answered, { tools: [tool()] }, "anthropic/claude-opus-5"),
    body(answered, {}, "anthropic/claude-opus-5"),
  ],
  [
    "openrouter",
    "Text is not blank.",
    body([user], {}, "anthropic/claude-opus-5"),
    body([{ role: "user", content: [text(), text("")] }], {}, "anthropic/claude-opus-5"),
  ],
  [
    "openrouter",
    "From Claude 4.6 on, the last message is not from the assistant.",
    body([user], {}, "anthropic/claude-opus-5"),
    body([user, assistant], {}, "anthropic/claude-opus-5"),
  ],
  [
    "openrouter",
    "A call cannot be forced on some models.",
    withTools({ tool_choice: "required" }, "anthropic/claude-opus-5"),
    withTools({ tool_choice: "required" }, "anthropic/claude-opus-5.5"),
  ],
  ["bedrock", "A request whose messages have calls or results has tools.", body(answered, { tools: [tool()] }), body(answered)],
  [
    "bedrock",
    "Every call has a result in the next",
    body(answered, { tools: [tool()] }),
    body([user, asks(call()), user], { tools: [tool()] }),
  ],
  ["bedrock", "Text is not blank.", body([user]), body([{ role: "user", content: " " }])],
  ["bedrock", "User and assistant messages alternate", body([user, assistant, user]), body([user, assistant, user, user])],
  ["bedrock", "The first message has the role user.", body([user]), body([assistant, user])],
  [
    "bedrock",
    "System messages come before",
    body([{ role: "system", content: "Be brief." }, user]),
    body([user, { role: "system", content: "Be brief." }]),
  ],
  [
    "bedrock",
    "A call id has 1 to 64 letters,",
    body(answered, { tools: [tool()] }),
    body([user, asks(call("functions.look:0")), result("functions.look:0")], { tools: [tool()] }),
  ],
  ["bedrock", "The name of a tool has 1 to 64", withTools(), withTools({ tools: [tool("a.b")] })],
  [
    "bedrock",
    "A request has at most 20 images",
    body([{ role: "user", content: [text(), ...many(20, () => image())] }]),
    body([{ role: "user", content: [text(), ...many(21, () => image())] }]),
  ],
  [
    "bedrock",
    "A message with a document",
    body([{ role: "user", content: [text(), file] }]),
    body([{ role: "user", content: [file] }]),
  ],
];

export const chatCases: readonly RuleCase[] = rows.map(([kind, rule, accepted, refused]) => ({
  kind,
  path: "/v1/chat/completions",
  rule,
  accepted,
  refused,
}));
