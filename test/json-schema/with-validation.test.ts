import { describe, expect, it } from "vitest";
import {
  approve,
  createToolRegistry,
  defineAgentTool,
  defineTool,
  isLoopError,
  type JsonSchema,
  mergeRegistries,
  type Tool,
  type ToolRegistry,
  withFilter,
  withPrefix,
} from "turnwright";
import { withValidation } from "turnwright/json-schema";
import { registrySuite, text, toolCall } from "turnwright/testing";
import { importTools } from "turnwright/interop";
import { z } from "zod";
import { answersOf, outcomesOf, play } from "../loop/play.ts";
import { plainKinds } from "../interop/kinds.ts";

const json = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
const plain = (name: string, inputSchema: JsonSchema = json): Tool =>
  defineTool({ name, description: name, inputSchema, execute: (args) => args });
const coercing = defineTool({
  name: "coercing",
  description: "",
  inputSchema: z.object({ n: z.coerce.number() }),
  jsonSchema: json,
  execute: ({ n }) => n,
});

function bare(...tools: readonly Tool[]): ToolRegistry {
  const { definitions, executeTool } = createToolRegistry(tools);
  return { definitions, executeTool };
}

it("withValidation: ignores a pattern with look-ahead in a registry, but throws for it in an array of tools", () => {
  const slow: JsonSchema = { type: "object", properties: { n: { type: "string", pattern: "^(?=a)b" } } };
  expect(withValidation(bare(plain("get", slow))).validate?.("get", { n: "b" })).toEqual({ value: { n: "b" } });
  expect(() => withValidation([plain("get", slow)])).toThrow(/cannot run in linear time/);
});

const misfit = { issues: [{ message: 'The type "string" is not allowed. Expected type: "number"', path: ["n"] }] };

describe.for<[string, (tools: readonly Tool[]) => ToolRegistry]>([
  ["an array of tools", (tools) => withValidation(tools)],
  ["a registry", (tools) => withValidation(createToolRegistry(tools))],
  ["a registry without validate", (tools) => withValidation(bare(...tools))],
])("withValidation around %s", ([, make]) => {
  for (const { title, run } of registrySuite({ create: (tools) => ({ registry: make(tools) }) })) it(title, run);

  it("validates arguments that no schema has checked", () => {
    const registry = make([plain("get")]);
    expect(registry.validate?.("get", { n: "1" })).toEqual(misfit);
    const args = { n: 1 };
    const validation = registry.validate?.("get", args);
    expect(validation).toEqual({ value: args });
  });
});

it("withValidation: validates only tools without a validating schema", () => {
  const registry = withValidation([coercing, plain("get")]);
  expect(registry.validate?.("coercing", { n: "5" })).toEqual({ value: { n: 5 } });
  expect(registry.validate?.("get", { n: "5" })).toEqual(misfit);
});

it("withValidation: awaits a registry that validates asynchronously", async () => {
  const registry: ToolRegistry = { ...bare(plain("get")), validate: async (_, value) => ({ value, unchecked: true }) };
  expect(await withValidation(registry).validate?.("get", { n: "1" })).toEqual(misfit);
  const refusing: ToolRegistry = { ...bare(plain("get")), validate: async () => ({ issues: [{ message: "no" }] }) };
  expect(await withValidation(refusing).validate?.("get", { n: 1 })).toEqual({ issues: [{ message: "no" }] });
});

it("withValidation: validates merged, prefixed and filtered registries", () => {
  const merged = mergeRegistries(
    bare(plain("get")),
    withPrefix([plain("get")], "my_"),
    [coercing],
    withFilter([plain("other")], ["other"]),
  );
  const registry = withValidation(merged);
  for (const name of ["get", "my_get", "other"]) expect(registry.validate?.(name, { n: "1" })).toEqual(misfit);
  expect(registry.validate?.("coercing", { n: "1" })).toEqual({ value: { n: 1 } });
  expect(registry.validate?.("gone", {})).toHaveProperty("issues");
});

it("withValidation: keeps agent tools and returns the same definitions array", () => {
  const tool = defineAgentTool({ name: "get", description: "", inputSchema: {}, prepare: () => ({ messages: [] }) });
  const source = createToolRegistry([tool]);
  const registry = withValidation(source);
  expect(registry.definitions().map(({ name, durable }) => [name, durable])).toEqual([["get", true]]);
  expect(registry.definitions()).toBe(source.definitions());
});

it("withValidation: validates tools that are added later", () => {
  const source = createToolRegistry();
  const registry = withValidation(source);
  source.register(plain("late"));
  expect(registry.validate?.("late", { n: "1" })).toEqual(misfit);
});

it("withValidation: compiles each schema once", () => {
  let reads = 0;
  const schema = {
    type: "object",
    get properties() {
      reads += 1;
      return json.properties;
    },
  };
  const registry = withValidation(bare({ ...plain("get"), inputSchema: schema }));
  const before = reads;
  for (let count = 0; count < 5; count++) expect(registry.validate?.("get", { n: "1" })).toEqual(misfit);
  withValidation(bare({ ...plain("again"), inputSchema: schema }));
  expect(reads - before).toBeLessThanOrEqual(1);
});

describe("withValidation: a schema that cannot be checked", () => {
  const remote = plain("remote", { type: "object", properties: { a: { $ref: "https://example.com/a" } } });
  const said = /The input schema of tool "remote" has the "\$ref" "https:\/\/example\.com\/a", which the schema does not define/;

  it.for<[string, () => unknown]>([
    ["an array of tools", () => withValidation([coercing, remote])],
    ["a registry without validate", () => withValidation(bare(remote))],
  ])('is rejected as "invalid-schema" immediately in %s', ([, make]) => {
    let thrown: unknown;
    try {
      make();
    } catch (error) {
      thrown = error;
    }
    expect(isLoopError(thrown, "invalid-schema") && thrown.message).toMatch(said);
  });

  it("becomes a validation issue in a registry with a validate method", () => {
    const registry = withValidation(createToolRegistry([remote]));
    expect(registry.validate?.("remote", {})).toEqual({
      issues: [
        {
          message:
            'The arguments could not be checked: the schema has the "$ref" "https://example.com/a", which the schema does not define: add it, because nothing is fetched',
        },
      ],
    });
  });

  it("is ignored if the tool has a validating schema", () => {
    const own = { ...coercing, jsonSchema: { type: "object", $ref: "https://example.com/a" } };
    expect(withValidation([own]).validate?.("coercing", { n: "2" })).toEqual({ value: { n: 2 } });
  });

  it('ends a run with "hook-failed" if a tool with the schema is added later', async () => {
    let definitions = createToolRegistry([plain("get")]).definitions();
    const source: ToolRegistry = {
      definitions: () => definitions,
      executeTool: () => {
        definitions = createToolRegistry([plain("get"), remote]).definitions();
      },
    };
    const { result } = play([toolCall("get", { n: 1 }), text("Done.")], { tools: withValidation(source) });
    expect(await result).toMatchObject({
      reason: { kind: "hook-failed", hook: "tools.definitions", error: { code: "invalid-schema" } },
    });
  });
});

it("withValidation: rejects a value that is neither an array of tools nor a registry", () => {
  expect(() => withValidation(undefined as never)).toThrow(
    /Option "withValidation" is .*, but must be an array of tools or a registry/,
  );
});

describe.for(Object.entries(plainKinds))("withValidation: an imported tool from %s with plain JSON Schema", ([, make]) => {
  it("receives only arguments that match its schema", async () => {
    const ran: unknown[] = [];
    const tools = withValidation(importTools({ get: make({ name: "get", description: "", run: (args) => ran.push(args) }) }));
    const { provider, result } = play([[toolCall("get", { text: 1 }), toolCall("get", { text: "hi" })], text("Done.")], {
      tools,
      middleware: [approve()],
    });
    const ended = await result;
    expect(outcomesOf(ended).map((line) => line.split(": ")[1])).toEqual(["invalid-input", "completed"]);
    expect(answersOf(ended)[0]?.result).toMatchObject({
      reason: 'text: The type "number" is not allowed. Expected type: "string"',
    });
    expect(ran).toEqual([{ text: "hi" }]);
    expect(provider.requests[0]?.tools[0]?.inputSchema).toMatchObject({ required: ["text"] });
  });
});
