import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  defineAgentTool,
  finalAnswer,
  type JsonSchema,
  type LoopOptions,
  prepareIteration,
  type StandardSchema,
  stopWhen,
  streamToolLoop,
  structuredOutput,
  type StructuredOutput,
  toolResult,
} from "turnwright";
import { createMockProvider, fail, finish, type MockScript, text, toolCall } from "turnwright/testing";
import { play, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const schema = z.object({ n: z.number() });
const tools = [tool("echo", (args) => args), tool("bye", () => toolResult({ data: "bye", endTurn: true }))];
const wanting = (output: StructuredOutput): Partial<LoopOptions> => ({
  tools,
  middleware: [output],
});
const complaint = (why: string): string =>
  `Your answer does not fit the schema: ${why}\nSend the whole answer again, as JSON and nothing else.`;
const notNumber = complaint("n: Invalid input: expected number, received string");

describe("a valid answer with structuredOutput", () => {
  it("may contain raw line breaks in its strings", async () => {
    const noted = structuredOutput(z.object({ note: z.string() }));
    const result = await play([text('{\n  "note": "first\n\tsecond"\n}')], wanting(noted)).result;
    expect([result.status, result.output]).toEqual(["completed", { note: "first\n\tsecond" }]);
  });

  it("appears in result.output as a value, and in result.text as text", async () => {
    const result = await play([toolCall("echo"), text('{ "n": 8 }')], wanting(structuredOutput(schema))).result;
    expect([result.reason.kind, result.output, result.text]).toEqual(["answered", { n: 8 }, '{ "n": 8 }']);
  });

  it("also appears in the result of streamToolLoop", async () => {
    const stream = streamToolLoop({
      provider: createMockProvider([text('{ "n": 8 }')]),
      messages: [{ role: "user", content: "Go." }],
      middleware: [structuredOutput(schema)],
    });
    expect((await stream.result).output).toEqual({ n: 8 });
  });

  it("is transformed by the schema and returned as plain data", async () => {
    const filled = z.object({
      at: z.string().transform((at) => new Date(at)),
      unit: z.string().default("C"),
    });
    const result = await play([text('{ "at": "2024-05-06" }')], wanting(structuredOutput(filled))).result;
    expect(result.output).toEqual({ at: "2024-05-06T00:00:00.000Z", unit: "C" });
    expect(JSON.parse(JSON.stringify(result)).output).toEqual(result.output);
  });

  it("can be split across a continuation", async () => {
    const result = await play([[text('{ "n":'), finish("paused")], text(" 8 }")], wanting(structuredOutput(schema))).result;
    expect(result.output).toEqual({ n: 8 });
  });

  it("can come before an empty message", async () => {
    const result = await play([[text('{ "n": 8 }'), toolCall("echo")], finish("stop")], wanting(structuredOutput(schema))).result;
    expect([result.reason.kind, result.output]).toEqual(["answered", { n: 8 }]);
  });

  it("can be null", async () => {
    const result = await play([text("null")], wanting(structuredOutput(z.null()))).result;
    expect([result.reason.kind, result.output]).toEqual(["answered", null]);
  });

  it("is checked with the original schema and limits, despite later changes to the options", async () => {
    const options: { jsonSchema?: JsonSchema; maxRetries: number } = { maxRetries: 1 };
    const output = structuredOutput(schema, options);
    options.maxRetries = 0;
    expect((await play([text("Eight."), text('{ "n": 8 }')], wanting(output)).result).output).toEqual({ n: 8 });
  });
});

describe("an invalid answer with structuredOutput", () => {
  it("leads to a new request with a description of the problem", async () => {
    const playing = play([text("Eight."), text('{ "n": "8" }'), text('{ "n": 8 }')], wanting(structuredOutput(schema)));
    const result = await playing.result;
    expect([result.reason.kind, result.output, result.iterations]).toEqual(["answered", { n: 8 }, 3]);
    expect(linesOf(result.messages)).toEqual([
      "user: Go.",
      "assistant: Eight.",
      expect.stringContaining("user: Your answer does not fit the schema: it is not JSON: Unexpected token"),
      'assistant: { "n": "8" }',
      `user: ${notNumber}`,
      'assistant: { "n": 8 }',
    ]);
  });

  it.for([0, 1, 2, 5])("ends the run after %i more attempts without losing its text", async (maxRetries) => {
    const result = await play(() => text('{ "n": "8" }'), wanting(structuredOutput(schema, { maxRetries }))).result;
    const issues = [{ message: "Invalid input: expected number, received string", path: ["n"] }];
    expect([result.status, result.reason, result.output, result.text, result.iterations]).toEqual([
      "error",
      { kind: "invalid-output", issues, attempts: maxRetries + 1 },
      undefined,
      '{ "n": "8" }',
      maxRetries + 1,
    ]);
    expect(linesOf(result.messages).at(-1)).toBe('assistant: { "n": "8" }');
  });

  it("can be followed by calls before the next attempt", async () => {
    const playing = play(
      [text("Eight."), toolCall("echo"), text("Eight."), toolCall("echo"), text('{ "n": 8 }')],
      wanting(structuredOutput(schema)),
    );
    const result = await playing.result;
    expect([result.output, result.toolCallsExecuted, result.iterations]).toEqual([{ n: 8 }, 2, 5]);
  });

  it("leads to no new request beyond maxIterations", async () => {
    const result = await play(() => text("Eight."), { ...wanting(structuredOutput(schema)), limits: { maxIterations: 2 } })
      .result;
    expect([result.reason.kind, result.text, result.output, result.iterations]).toEqual([
      "max-iterations",
      "Eight.",
      undefined,
      2,
    ]);
  });

  it("is also assumed if the schema throws", async () => {
    const broken = z.string().transform((url) => new URL(url).host);
    const result = await play([text('"nowhere"'), text('"https://example.com/"')], wanting(structuredOutput(broken))).result;
    expect([result.output, textsOf(result.messages.filter(({ role }) => role === "user") as never)[1]]).toEqual([
      "example.com",
      complaint("could not be checked: Invalid URL"),
    ]);
  });
});

describe("a run's system text", () => {
  const systems = async (more: Partial<LoopOptions>): Promise<readonly (string | undefined)[]> => {
    const playing = play([toolCall("echo"), text("Eight."), text('{ "n": 8 }')], {
      tools,
      ...more,
      middleware: more.middleware ?? [structuredOutput(schema)],
    });
    await playing.result;
    return playing.provider.requests.map(({ system }) => system);
  };
  const prompt = `Give your final answer as JSON that fits this JSON Schema, with nothing before or after it:\n${JSON.stringify({
    type: "object",
    properties: { n: { type: "number" } },
    required: ["n"],
  })}`;

  it("contains the JSON Schema of structuredOutput in each iteration, after the caller's text", async () => {
    expect(await systems({})).toEqual([prompt, prompt, prompt]);
    expect(await systems({ system: "Be brief." })).toEqual(Array.from({ length: 3 }, () => `Be brief.\n\n${prompt}`));
  });

  it("contains the JSON Schema of structuredOutput after a hook's text", async () => {
    const shown: unknown[] = [];
    const prepare: Parameters<typeof prepareIteration>[0] = ({ system, iteration }) => {
      shown.push(system);
      return iteration === 1 ? { system: "Be loud." } : undefined;
    };
    const sent = await systems({ system: "Be brief.", middleware: [prepareIteration(prepare), structuredOutput(schema)] });
    expect(sent).toEqual(["Be brief.", "Be loud.", "Be brief."].map((own) => `${own}\n\n${prompt}`));
    expect(shown).toEqual(["Be brief.", "Be brief.", "Be brief."]);
  });

  it("is undefined without structuredOutput and without text from the caller", async () => {
    expect(await systems({ middleware: [] })).toEqual([undefined, undefined]);
  });
});

it.for<[ending: string, script: MockScript, more: Partial<LoopOptions>]>([
  ["length", [[text('{ "n": 8 }'), finish("length")]], {}],
  ["refusal", [[text('{ "n": 8 }'), finish("refusal")]], {}],
  ["end-turn", [[text('{ "n": 8 }'), toolCall("bye")]], {}],
  ["stop-condition", [text('{ "n": 8 }')], { middleware: [structuredOutput(schema), stopWhen(() => true)] }],
  ["empty", [finish("stop")], {}],
  ["provider-error", [[text('{ "n": 8 }'), fail({ status: 503 })]], {}],
  ["max-iterations", [toolCall("echo")], { limits: { maxIterations: 1 } }],
])('a run with structuredOutput has no output after ending with the reason "%s"', async ([ending, script, more]) => {
  const result = await play(script, { ...wanting(structuredOutput(schema)), ...more }).result;
  expect([result.reason.kind, result.output, "output" in JSON.parse(JSON.stringify(result))]).toEqual([ending, undefined, false]);
});

describe.for([
  ["structuredOutput, finalAnswer", [structuredOutput(schema), finalAnswer()]],
  ["finalAnswer, structuredOutput", [finalAnswer(), structuredOutput(schema)]],
] as const)("runToolLoop with middleware: [%s]", ([, middleware]) => {
  it.for<[said: string, output: unknown]>([
    ['{ "n": 8 }', { n: 8 }],
    ["Eight.", undefined],
  ])("turns the final answer %j at a limit into the output %o", async ([said, output]) => {
    const options = { ...wanting(structuredOutput(schema)), limits: { maxIterations: 1 }, middleware };
    const { result } = play([toolCall("echo"), text(said)], options);
    expect(await result).toMatchObject({ reason: { kind: "max-iterations" }, finalAnswer: true, text: said, output });
  });
});

it("the output of a nested run with structuredOutput is its agent tool's result", async () => {
  const agent = defineAgentTool({
    name: "count",
    description: "Counts",
    inputSchema: { type: "object" },
    prepare: () => ({
      provider: createMockProvider([text("Eight."), text('{ "n": 8 }')]),
      messages: [{ role: "user", content: "Count." }],
      middleware: [structuredOutput(schema)],
    }),
  });
  const result = await play([toolCall("count"), text("Eight.")], { tools: [agent] }).result;
  expect(result.functionHistory[0]?.functionResponse.response.result).toEqual({ n: 8 });
});

it.for<
  [title: string, option: string, output: { readonly schema?: unknown; readonly [option: string]: unknown }, expected: string]
>([
  ["a missing schema", "schema", {}, "is undefined, but must be a Standard Schema, such as a Zod schema"],
  [
    "a JSON Schema as the schema",
    "schema",
    { schema: { type: "object" } },
    "is an object, but must be a Standard Schema, such as a Zod schema",
  ],
  [
    "a negative maxRetries",
    "maxRetries",
    { schema, maxRetries: -1 },
    "is -1, but must be a whole number of at least 0, or Infinity",
  ],
  [
    "a string as the jsonSchema",
    "jsonSchema",
    { schema, jsonSchema: "x" },
    'is "x", but must be a JSON Schema: an object of plain data',
  ],
])("structuredOutput throws for %s", ([, option, { schema: given, ...options }, expected]) => {
  expect(() => structuredOutput(given as StandardSchema, options)).toThrow(`Option "structuredOutput.${option}" ${expected}.`);
});
