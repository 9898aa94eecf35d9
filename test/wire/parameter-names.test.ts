// Claude refuses parameters such as "$top". Requests have other names for them, and the run has the names that the tool declares.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createLoopEvents, defineTool, type JsonSchema, runToolLoop, structuredOutput } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { strictService, text, toolCall } from "turnwright/testing";
import type { StrictRequest } from "../../src/testing/strict/answer-request.ts";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { recordAt, recordsIn } from "../../src/services/rule-checks.ts";
import { allRows, type StrictRow, titleOf } from "../services/connect-strict.ts";

const long = "settings__approved__or__denied__countries__or__regions__approved__list";
const quoted = 'a "quoted\\ key';
const values = {
  $top: 5,
  "filter[id]": { $gt: [1] },
  [long]: ["FR", '","$top":'],
  [quoted]: 'a "b',
  path: "$top",
  items: [],
};
const properties = {
  $top: { type: "integer" },
  "filter[id]": { type: "object", properties: { $gt: { type: "array", items: { type: "integer" } } } },
  [long]: { type: "array", items: { $ref: `#/properties/${quoted}` }, description: "Countries" },
  [quoted]: { type: "string" },
  path: { type: "string" },
  items: { type: "array", items: { type: "object" } },
};
const required = ["$top", long, "path"];
const plain = { type: "object", properties, required };
const union = {
  anyOf: [
    { type: "object", properties, required },
    { type: "object", properties: { id: { type: "string" } } },
  ],
};

/** Names inside the values are not renamed. */
const inside = (name: string): object[] => [{ path: "a", [name]: 1 }];

/** The schema of the first tool, on the wire of Messages or of Chat Completions. */
function schemaIn({ body }: StrictRequest): { readonly [keyword: string]: unknown } {
  const [tool] = recordsIn(body["tools"]);
  return recordAt(tool?.["input_schema"] ?? recordAt(tool?.["function"])["parameters"]);
}

/** The model calls the tool with the names that the request declares. */
function callWithDeclaredNames(request: StrictRequest): ReturnType<typeof toolCall> {
  const names = Object.keys(recordAt(schemaIn(request)["properties"]));
  const [top = ""] = names;
  const args = Object.values({ ...values, items: inside(top) }).map((value, index) => [names[index], value] as const);
  return toolCall("list", Object.fromEntries(args));
}

async function list({ kind, connect }: StrictRow, inputSchema: JsonSchema) {
  const service = strictService(kind, {
    answers: (request, index) => [index === 0 ? callWithDeclaredNames(request) : text("Done.")],
  });
  const got: unknown[] = [];
  const tool = defineTool({ name: "list", description: "Lists", inputSchema, execute: (args: unknown) => got.push(args) });
  const events = createLoopEvents();
  const pieces: string[] = [];
  events.on("tool-args-delta", ({ text: piece }) => pieces.push(piece));
  const options = { provider: connect(service), tools: [tool], events };
  const result = await runToolLoop({ ...options, messages: [{ role: "user", content: "List." }] });
  const messages = [...result.messages, { role: "user" as const, content: "Again." }];
  const next = await runToolLoop({ ...options, messages });
  return { service, endings: [result.status, next.status], calls: result.calls, got, streamed: pieces.join("") };
}

const claude = allRows.filter(({ model }) => model.includes("claude"));
const gpt = allRows.filter(({ kind }) => kind.startsWith("openai"));

describe.each(claude.map((row) => [titleOf(row), row] as const))("parameter names that %s refuses", (_title, row) => {
  it.each([
    ["a plain schema", plain],
    ["a union", union],
  ])("are replaced in requests and restored in calls: %s", async (_what, schema) => {
    const { service, endings, calls, got, streamed } = await list(row, schema);
    expect([endings, service.refusals.map(({ message }) => message)]).toEqual([["completed", "completed"], []]);
    const [top = ""] = Object.keys(recordAt(service.requests[0] && schemaIn(service.requests[0])["properties"]));
    const expected = { ...values, items: inside(top) };
    expect(got).toEqual([expected]);
    expect(JSON.parse(streamed)).toEqual(expected);
    expect(calls).toMatchObject([{ args: expected }]);
  });

  it("are the same in each request and in the calls of earlier messages", async () => {
    const { service } = await list(row, plain);
    const [first, ...others] = service.requests;
    const sent = recordAt(first && schemaIn(first)["properties"]);
    for (const request of others) {
      expect(request.body["tools"]).toEqual(first?.body["tools"]);
      const call = recordsIn(request.body["messages"])[1];
      const [block] = recordsIn(call?.["content"]).filter(({ type }) => type === "tool_use");
      const [asked] = recordsIn(call?.["tool_calls"]);
      const args: unknown = block?.["input"] ?? JSON.parse(String(recordAt(asked?.["function"])["arguments"]));
      expect(Object.keys(recordAt(args))).toEqual(Object.keys(sent));
    }
    expect(others).toHaveLength(2);
  });

  it("are also replaced in `required` and in references, and appear in the description", async () => {
    const { service } = await list(row, plain);
    const schema = recordAt(service.requests[0] && schemaIn(service.requests[0]));
    const [top = "", , countries = "", key] = Object.keys(recordAt(schema["properties"]));
    expect(top).toMatch(/^top_[\da-f]{14}$/);
    expect(schema["required"]).toEqual([top, countries, "path"]);
    expect(recordAt(schema["properties"], top)).toEqual({ type: "integer", description: "$top" });
    expect(recordAt(schema["properties"], countries)).toMatchObject({
      description: "Countries",
      items: { $ref: `#/properties/${key}` },
    });
  });
});

it.each(gpt.map((row) => [titleOf(row), row] as const))(
  "parameter names are unchanged for %s",
  async (_title, { kind, connect }) => {
    const service = strictService(kind, { answers: [toolCall("list", values), text("Done.")] });
    const got: unknown[] = [];
    const tool = defineTool({ name: "list", description: "", inputSchema: plain, execute: (args: unknown) => got.push(args) });
    await runToolLoop({ provider: connect(service), tools: [tool], messages: [{ role: "user", content: "List." }] });
    expect(got).toEqual([values]);
    expect(JSON.stringify(service.requests[0]?.body["tools"])).toContain('"$top"');
  },
);

it.each([
  ["city", true],
  ["City name", false],
])("aiSdkModel with Claude: lets the AI SDK send the schema of an answer with the property %j: %s", async (name, hasTool) => {
  const service = strictService("anthropic", { answers: () => [text(JSON.stringify({ [name]: "Oslo" }))] });
  const model = createAnthropic({ apiKey: "test", fetch: service.fetch })("claude-3-5-haiku-latest");
  const result = await runToolLoop({
    provider: aiSdkModel({ model, structuredOutput: true }),
    messages: [{ role: "user", content: "Where?" }],
    middleware: [structuredOutput(z.object({ [name]: z.string() }))],
  });
  expect([result.status, service.refusals.map(({ message }) => message)]).toEqual(["completed", []]);
  expect(service.requests[0]?.body["tools"] !== undefined).toBe(hasTool);
});
