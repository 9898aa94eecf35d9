import type { StrictServiceKind } from "../../src/testing/strict/kinds.ts";
import { many, object, pdf, png, type RuleCase } from "./rule-case.ts";

const text = (said = "Hi"): object => ({ type: "text", text: said });
const user = { role: "user", content: [text()] };
const assistant = { role: "assistant", content: [text("Hello")] };
const use = (id = "t1", name = "look", input: unknown = {}): object => ({ type: "tool_use", id, name, input });
const asks = (...blocks: readonly object[]): object => ({ role: "assistant", content: blocks });
const result = (id = "t1", rest: object = {}): object => ({ type: "tool_result", tool_use_id: id, content: "seen", ...rest });
const answers = (...blocks: readonly object[]): object => ({ role: "user", content: blocks });
const tool = (name = "look", schema: unknown = object, rest: object = {}): object => ({
  name,
  description: "",
  input_schema: schema,
  ...rest,
});
const image = (data = png(), type = "image/png"): object => ({
  type: "image",
  source: { type: "base64", media_type: type, data },
});
const document = (data = pdf): object => ({ type: "document", source: { type: "base64", media_type: "application/pdf", data } });
const thought = { type: "thinking", thinking: "Hm.", signature: "claude.a.0.b" };
const search = { type: "server_tool_use", id: "s1", name: "web_search", input: {} };
const found = { type: "web_search_tool_result", tool_use_id: "s1", content: [] };
const searchTool = { type: "web_search_20250305", name: "web_search" };

const body = (messages: readonly object[], rest: object = {}, model = "claude-opus-4-6"): object => ({
  model,
  max_tokens: 4_000,
  messages,
  ...rest,
});
const withTools = (rest: object = {}, model?: string): object => body([user], { tools: [tool()], ...rest }, model);
const answered: readonly object[] = [user, asks(use()), answers(result())];
const budget = { thinking: { type: "enabled", budget_tokens: 2_000 } };
const now = { "anthropic-version": "2026-10-21" };
const mark = { cache_control: { type: "ephemeral" } };

type Row = readonly [kind: StrictServiceKind, rule: string, accepted: object, refused: object, headers?: RuleCase["headers"]];

const rows: readonly Row[] = [
  ["anthropic", "A request has only fields that the API defines.", body([user]), body([user], { seed: 1 })],
  ["anthropic", "A message has a role and content,", body([user]), body([{ ...user, name: "a" }])],
  [
    "anthropic",
    "A call or result has only fields",
    body(answered),
    body([user, asks(use()), answers(result("t1", { name: "look" }))]),
  ],
  ["anthropic", "`max_tokens` is set.", body([user]), { model: "claude-opus-4-6", messages: [user] }],
  ["anthropic", "A stop sequence has text", body([user], { stop_sequences: ["a"] }), body([user], { stop_sequences: [" "] })],
  ["anthropic", "The first message has the role user.", body([user]), body([assistant, user])],
  ["anthropic", "A request has at least one message.", body([user]), body([])],
  ["anthropic", "A role is user or assistant,", body([user]), body([{ role: "tool", content: [text()] }])],
  ["anthropic", "The message after calls has a result", body(answered), body([user, asks(use()), user])],
  [
    "anthropic",
    "Results come first in their",
    body([user, asks(use()), answers(result(), text())]),
    body([user, asks(use()), answers(text(), result())]),
  ],
  ["anthropic", "A result answers a call of the message", body(answered), body([user, assistant, answers(result())])],
  ["anthropic", "A call has one result.", body(answered), body([user, asks(use()), answers(result(), result())])],
  ["anthropic", "Call ids are unique in a request.", body(answered), body([user, asks(use(), use()), answers(result())])],
  [
    "anthropic",
    "Only tool results may follow an open call",
    body([user, asks(search, use()), answers(result())], { tools: [searchTool] }),
    body([user, asks(search, use()), answers(result(), text())], { tools: [searchTool] }),
  ],
  [
    "anthropic",
    "The result of a server tool comes after",
    body([user, asks(search, found, text()), user], { tools: [searchTool] }),
    body([user, asks(found, text()), user], { tools: [searchTool] }),
  ],
  [
    "anthropic",
    "A request with an open call of a server tool",
    body([user, asks(search, use()), answers(result())], { tools: [searchTool] }),
    body([user, asks(search, use()), answers(result())], { tools: [tool()] }),
  ],
  [
    "anthropic",
    "A summary of the service needs the beta header",
    body([user, asks(text()), user]),
    body([user, asks({ type: "compaction", content: "So." }, text()), user]),
  ],
  ["anthropic", "A message has content, except", body([user]), body([{ role: "user", content: [] }])],
  ["anthropic", "A text block has text that", body([user]), body([{ role: "user", content: [text(), text(" ")] }])],
  ["anthropic", "The system prompt has text", body([user], { system: "Be brief." }), body([user], { system: " " })],
  [
    "anthropic",
    "A final assistant message does not end in",
    body([user, assistant], {}, "claude-opus-4-5"),
    body([user, asks(text("So "))], {}, "claude-opus-4-5"),
  ],
  [
    "anthropic",
    "The input of a call is an object.",
    body(answered),
    body([user, asks(use("t1", "look", "x")), answers(result())]),
  ],
  [
    "anthropic",
    "An assistant message does not end with thinking.",
    body([user, asks(thought, text()), user]),
    body([user, asks(thought), user]),
  ],
  ["anthropic", "The body has no lone", body([answers(text("\ud83d\ude00"))]), body([answers(text("\ud83d"))])],
  ["anthropic", "A body has at most 32 MB.", body([user]), body([answers(text("a".repeat(32 * 1024 * 1024)))])],
  ["anthropic", "A request has at most 100,000", body([user]), body(many(100_001, () => ({ role: "user", content: "a" })))],
  [
    "anthropic",
    "At most 4 blocks have `cache_control`.",
    body([answers(...many(4, () => ({ ...text(), ...mark })))]),
    body([answers(...many(5, () => ({ ...text(), ...mark })))]),
  ],
  ["anthropic", "The name of a tool has 1 to 64", withTools(), withTools({ tools: [tool("a.b")] })],
  ["anthropic", "No two tools have the same name.", withTools(), withTools({ tools: [tool(), tool()] })],
  [
    "anthropic",
    "A call id has 1 to 64 letters,",
    body(answered),
    body([user, asks(use("functions.look:0")), answers(result("functions.look:0"))]),
  ],
  [
    "anthropic",
    "The name of a parameter has",
    withTools({ tools: [tool("look", { ...object, properties: { "a.b-c": { type: "object", properties: { $gt: {} } } } })] }),
    withTools({ tools: [tool("look", { ...object, properties: { $top: {} } })] }),
  ],
  [
    "anthropic",
    "The root of a tool schema has the type object.",
    withTools(),
    withTools({ tools: [tool("look", { properties: {} })] }),
  ],
  [
    "anthropic",
    "The root of a tool schema has no oneOf,",
    withTools({ tools: [tool("look", { type: "object", properties: { a: { anyOf: [] } } })] }),
    withTools({ tools: [tool("look", { type: "object", anyOf: [] })] }),
  ],
  [
    "anthropic",
    "`tool_choice` is only sent with tools.",
    withTools({ tool_choice: { type: "auto" } }),
    body([user], { tool_choice: { type: "auto" } }),
  ],
  [
    "anthropic",
    "The tool of a named choice is in",
    withTools({ tool_choice: { type: "tool", name: "look" } }),
    withTools({ tool_choice: { type: "tool", name: "other" } }),
  ],
  [
    "anthropic",
    "At least one tool is not deferred.",
    withTools({ tools: [tool(), tool("other", object, { defer_loading: true })] }),
    withTools({ tools: [tool("look", object, { defer_loading: true })] }),
  ],
  [
    "anthropic",
    "The content of a result with `is_error`",
    body([user, asks(use()), answers(result("t1", { content: [image()] }))]),
    body([user, asks(use()), answers(result("t1", { content: [image()], is_error: true }))]),
  ],
  ["anthropic", "An image has the media type", body([answers(image())]), body([answers(image("Qk0AAA==", "image/bmp"))])],
  ["anthropic", "The media type of an image matches", body([answers(image())]), body([answers(image(png(), "image/jpeg"))])],
  ["anthropic", "A PDF has the bytes of a PDF.", body([answers(document())]), body([answers(document(png()))])],
  ["anthropic", "An image has at most 8,000", body([answers(image(png(8_000)))]), body([answers(image(png(8_001)))])],
  [
    "anthropic",
    "In a request with more than 20",
    body([answers(...many(20, () => image(png(2_001))))]),
    body([answers(...many(21, () => image(png(2_001))))]),
  ],
  [
    "anthropic",
    "A request has at most 100 images",
    body([answers(...many(100, () => image()))]),
    body([answers(...many(101, () => image()))]),
  ],
  [
    "anthropic",
    "An image has at most 10 MB",
    body([answers(image())]),
    body([answers(image(png() + "A".repeat(10 * 1024 * 1024)))]),
  ],
  [
    "anthropic",
    "From API version 2026-10-21 on, `temperature`",
    body([user], { temperature: 1 }),
    body([user], { temperature: 1 }, "claude-opus-5"),
  ],
  [
    "anthropic",
    "While an older model is thinking,",
    body([user], { ...budget, temperature: 1 }),
    body([user], { ...budget, temperature: 0 }),
  ],
  [
    "anthropic",
    "`thinking.type` is one that the model accepts.",
    body([user], { thinking: { type: "adaptive" } }, "claude-opus-5"),
    body([user], budget, "claude-opus-5"),
  ],
  [
    "anthropic",
    "While thinking is disabled or between tools",
    body([user], { thinking: { type: "disabled" }, output_config: { effort: "high" } }, "claude-opus-5"),
    body([user], { thinking: { type: "disabled" }, output_config: { effort: "max" } }, "claude-opus-5"),
  ],
  ["anthropic", "A thinking budget is at least 1,024", body([user], budget), body([user], { ...budget, max_tokens: 2_000 })],
  [
    "anthropic",
    "A call cannot be forced with a thinking",
    withTools({ tool_choice: { type: "any" } }),
    withTools({ tool_choice: { type: "any" }, ...budget }),
  ],
  [
    "anthropic",
    "From Claude 4.6 on, the last message is not",
    body([user, assistant], {}, "claude-opus-4-5"),
    body([user, assistant]),
  ],
  [
    "anthropic",
    "With a thinking budget, the assistant turn",
    body([user, asks(thought, use()), answers(result())], budget),
    body(answered, budget),
  ],
  [
    "anthropic",
    "A system message in `messages`",
    body([user, { role: "system", content: "Be brief." }], {}, "claude-opus-5"),
    body([user, assistant, { role: "system", content: "Be brief." }, user], {}, "claude-opus-5"),
  ],
  [
    "anthropic",
    "From API version 2026-10-21 on, an assistant",
    body([user, assistant, user]),
    body([user, asks(document(), text()), user]),
    now,
  ],
  [
    "anthropic",
    "`thinking.block_binding` needs its beta header,",
    body([user], { thinking: { type: "adaptive" } }, "claude-opus-5-5"),
    body([user], { thinking: { type: "adaptive", block_binding: {} } }, "claude-opus-5-5"),
  ],
  [
    "anthropic",
    "The signature of a thinking block comes",
    body([user, asks(thought, text()), user]),
    body([user, asks({ ...thought, signature: "other" }, text()), user]),
  ],
  ["bedrock", "A request whose messages have calls or results has tools.", body(answered, { tools: [tool()] }), body(answered)],
  ["bedrock", "An image has at most 5 MB", body([answers(image())]), body([answers(image(png() + "A".repeat(5 * 1024 * 1024)))])],
  [
    "bedrock",
    "Opus 4.6 and Sonnet 4.6 do not accept",
    body([user], { thinking: { type: "adaptive" } }),
    body([user], { thinking: { type: "adaptive", block_binding: {} } }),
    { "anthropic-beta": "thinking-binding-controls-2026-08-01" },
  ],
];

export const messagesCases: readonly RuleCase[] = rows.map(([kind, rule, accepted, refused, headers]) => ({
  kind,
  path: "/v1/messages",
  rule,
  accepted,
  refused,
  ...(headers === undefined ? {} : { headers }),
}));
