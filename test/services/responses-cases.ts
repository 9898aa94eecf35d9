import { many, object, type RuleCase } from "./rule-case.ts";

const user = { role: "user", content: [{ type: "input_text", text: "Hi" }] };
const call = (id = "call_1", rest: object = {}): object => ({
  type: "function_call",
  call_id: id,
  name: "look",
  arguments: "{}",
  ...rest,
});
const output = (id = "call_1"): object => ({ type: "function_call_output", call_id: id, output: "seen" });
const reasoning = (rest: object = {}): object => ({
  type: "reasoning",
  id: "rs_a",
  summary: [],
  encrypted_content: "enc.a",
  ...rest,
});
const made = (id = "fc_of_rs_a_b"): object => call("call_1", { id });
const tool = (name = "look", parameters: unknown = object, rest: object = {}): object => ({
  type: "function",
  name,
  description: "",
  parameters,
  strict: false,
  ...rest,
});
const body = (input: readonly object[], rest: object = {}, model = "gpt-5"): object => ({ model, input, store: false, ...rest });
const withTools = (...tools: readonly object[]): object => body([user], { tools });
const answered: readonly object[] = [user, call(), output()];

const rows: readonly (readonly [rule: string, accepted: object, refused: object])[] = [
  ["A request has only fields that the API defines.", body([user]), body([user], { seed: 1 })],
  ["A request has at least one input item.", body([user]), body([])],
  ["Every call has an output.", body(answered), body([user, call(), user])],
  ["Every output comes after the call", body(answered), body([user, output(), call()])],
  ["A call id has 1 to 64 characters.", body(answered), body([user, call("c".repeat(65)), output("c".repeat(65))])],
  [
    "The id of an item begins with",
    body([user, call("call_1", { id: "fc_1" }), output()]),
    body([user, call("call_1", { id: "call_1" }), output()]),
  ],
  [
    "No two items have the same id.",
    body([user, call("call_1", { id: "fc_1" }), call("call_2", { id: "fc_2" }), output(), output("call_2")]),
    body([user, call("call_1", { id: "fc_1" }), call("call_2", { id: "fc_1" }), output(), output("call_2")]),
  ],
  ["A call or message that followed a reasoning", body([user, reasoning(), made(), output()]), body([user, made(), output()])],
  ["A reasoning item is followed by", body([user, reasoning(), call(), output()]), body([user, reasoning(), user])],
  [
    "Without `store`, a reasoning item",
    body([user, reasoning(), call(), output()]),
    body([user, reasoning({ encrypted_content: null }), call(), output()]),
  ],
  ["The name of a tool has 1 to 64", withTools(tool("a".repeat(64))), withTools(tool("a.b"))],
  ["The root of a tool schema has the type object", withTools(tool()), withTools(tool("look", { anyOf: [object] }))],
  [
    "A pattern in a tool schema is a",
    withTools(tool("look", { type: "object", properties: { a: { type: "string", pattern: String.raw`^\d$` } } })),
    withTools(tool("look", { type: "object", properties: { a: { type: "string", pattern: "^(?<n>a)$" } } })),
  ],
  [
    "A tool is strict unless it says otherwise.",
    withTools(tool("look", { ...object, additionalProperties: false }, { strict: true })),
    withTools({ type: "function", name: "look", parameters: object }),
  ],
  [
    "`tool_choice` and `parallel_tool_calls`",
    body([user], { tools: [tool()], tool_choice: "auto" }),
    body([user], { tool_choice: "auto" }),
  ],
  [
    "A string has at most 10,485,760",
    body([{ role: "user", content: "a".repeat(10_485_760) }]),
    body([{ role: "user", content: "a".repeat(10_485_761) }]),
  ],
  [
    "A content part has a type that its role",
    body([user]),
    body([{ role: "user", content: [{ type: "image_url", image_url: "" }] }]),
  ],
  [
    "A reasoning model does not accept `temperature` and",
    body([user], { temperature: 0 }, "gpt-4.1"),
    body([user], { temperature: 0 }),
  ],
];

const image = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
const azure: RuleCase = {
  kind: "azure",
  path: "/openai/responses",
  rule: "A request has at most 50 images.",
  accepted: body([{ role: "user", content: many(50, () => image) }]),
  refused: body([{ role: "user", content: many(51, () => image) }]),
};

export const responsesCases: readonly RuleCase[] = [
  ...rows.map(([rule, accepted, refused]): RuleCase => ({
    kind: "openai-responses",
    path: "/v1/responses",
    rule,
    accepted,
    refused,
  })),
  azure,
];
