import { many, object, png, type RuleCase } from "./rule-case.ts";

const text = (said = "Hi"): object => ({ text: said });
const user = { role: "user", parts: [text()] };
const model = { role: "model", parts: [text("Hello")] };
const signature = btoa("gemini.a");
const call = (name = "look", rest: object = { thoughtSignature: signature }): object => ({
  functionCall: { name, args: {} },
  ...rest,
});
const response = (name = "look"): object => ({ functionResponse: { name, response: { output: "seen" } } });
const asks = (...parts: readonly object[]): object => ({ role: "model", parts });
const answers = (...parts: readonly object[]): object => ({ role: "user", parts });
const declare = (...declarations: readonly object[]): object => ({ tools: [{ functionDeclarations: declarations }] });
const tool = (name = "look", schema: unknown = object): object => ({ name, description: "", parametersJsonSchema: schema });
const image = (mimeType = "image/png", data = png()): object => ({ inlineData: { mimeType, data } });
const calling = (config: object): object => ({ toolConfig: { functionCallingConfig: config } });

const body = (contents: readonly object[], rest: object = {}): object => ({ contents, ...rest });
const answered: readonly object[] = [user, asks(call()), answers(response())];
const config = (generationConfig: object): object => body([user], { generationConfig });
const array = (rest: object): object => ({ type: "object", properties: { a: { type: "array", ...rest } } });

const rows: readonly (readonly [rule: string, accepted: object, refused: object])[] = [
  ["A request has only fields that the API defines.", config({ seed: 1 }), config({ stop: ["a"] })],
  ["A request has contents.", body([user]), body([])],
  ["A role is user or model.", body([user]), body([{ role: "assistant", parts: [text()] }, user])],
  ["A content entry has parts.", body([user]), body([{ role: "user", parts: [] }])],
  ["A part has one kind of data.", body([asks({ text: "", thoughtSignature: signature }), user]), body([answers(text(""))])],
  ["A function call comes directly after", body(answered), body([asks(call()), answers(response())])],
  ["Function responses come directly after", body(answered), body([user, model, answers(response())])],
  [
    "A turn after function calls has as many",
    body([user, asks(call(), call("b", {})), answers(response(), response("b"))]),
    body([user, asks(call(), call("b", {})), answers(response())]),
  ],
  ["A response has the name of its call.", body(answered), body([user, asks(call()), answers(response("other"))])],
  ["A history does not end with the role model.", body([user]), body([user, model])],
  ["With Gemini 3 and 4, the first function call", body(answered), body([user, asks(call("look", {})), answers(response())])],
  [
    "A signature comes from this service,",
    body([user, asks(call("look", { thoughtSignature: "skip_thought_signature_validator" })), answers(response())]),
    body([user, asks(call("look", { thoughtSignature: "claude.a" })), answers(response())]),
  ],
  ["The name of a function begins with", body([user], declare(tool("_look"))), body([user], declare(tool("1look")))],
  ["No two functions have the same name.", body([user], declare(tool())), body([user], declare(tool(), tool()))],
  [
    "`parameters` has only keywords",
    body([user], declare({ name: "look", parameters: { type: "OBJECT", properties: {} } })),
    body([user], declare({ name: "look", parameters: { ...object, additionalProperties: false } })),
  ],
  [
    "The parameters of a function are an object.",
    body([user], declare(tool())),
    body([user], declare(tool("look", { type: "string" }))),
  ],
  [
    "A request with cached content",
    body([user], { cachedContent: "cachedContents/1" }),
    body([user], { cachedContent: "cachedContents/1", ...declare(tool()) }),
  ],
  [
    "Each array in `parametersJsonSchema`",
    body([user], declare(tool("look", array({ items: {} })))),
    body([user], declare(tool("look", array({})))),
  ],
  [
    "A function calling config needs functions,",
    body([user], { ...declare(tool()), ...calling({ mode: "ANY", allowedFunctionNames: ["look"] }) }),
    body([user], calling({ mode: "AUTO" })),
  ],
  ["A media type is one that Gemini", body([answers(image())]), body([answers(image("image/jpg"))])],
  ["An image has the bytes of an image.", body([answers(image())]), body([answers(image("image/png", btoa("text")))])],
  [
    "A request has at most 5 stop sequences.",
    config({ stopSequences: many(5, (index) => `${index}`) }),
    config({ stopSequences: many(6, (index) => `${index}`) }),
  ],
];

export const googleCases: readonly RuleCase[] = rows.map(([rule, accepted, refused]) => ({
  kind: "gemini",
  path: "/v1beta/models/gemini-3-pro:generateContent",
  rule,
  accepted,
  refused,
}));
