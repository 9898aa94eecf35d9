import { dynamicTool, jsonSchema, tool, zodSchema } from "ai";
import { tool as toolV5 } from "ai-v5";
import { tool as toolV7 } from "ai-v7";
import { type } from "arktype";
import { describe, expect, it } from "vitest";
import { createToolRegistry, isLoopError, type LoopOptions } from "turnwright";
import { runTool, text, toolCall } from "turnwright/testing";
import { importTool } from "turnwright/interop";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as z3 } from "zod/v3";
import { outcomesOf, play } from "../loop/play.ts";

const city = z.object({ city: z.string() });
const cityJson = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const pixel = "iVBORw0KGgo=";

async function dataOf(made: object, args: unknown = { city: "Oslo" }): Promise<unknown> {
  return runTool(importTool(made, { name: "get" }), args);
}

describe("importTool: the second argument of an AI SDK tool's execute", () => {
  it.for<[string, (execute: (input: unknown, options: object) => unknown) => object]>([
    ["5", (execute) => toolV5({ inputSchema: city, execute })],
    ["6", (execute) => tool({ inputSchema: city, execute })],
    ["7", (execute) => toolV7({ inputSchema: city, execute })],
  ])("has the fields of AI SDK %s", async ([, make]) => {
    let seen: Record<string, unknown> = {};
    const made = make((_, options) => {
      seen = { ...options };
    });
    const messages: LoopOptions["messages"] = [
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "image", mediaType: "image/png", data: pixel },
          { type: "file", mediaType: "application/pdf", data: "JVBERg==" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm." },
          { type: "tool-call", callId: "old", name: "get", args: { city: "Bergen" } },
          { type: "tool-call", callId: "older", name: "get", args: {} },
        ],
      },
      {
        role: "tool",
        results: [
          { callId: "old", name: "get", outcome: "completed", result: "Rain." },
          { callId: "older", name: "get", outcome: "failed", result: { reason: "no" } },
        ],
      },
      { role: "user", content: "And Oslo?" },
    ];
    const { result } = play([toolCall("get", { city: "Oslo" }, { id: "c1" }), text("Done.")], {
      tools: [importTool(made, { name: "get" })],
      messages,
      context: { user: 7 },
    });
    expect(outcomesOf(await result).at(-1)).toBe("c1: completed");
    expect({ ...seen, abortSignal: seen["abortSignal"] instanceof AbortSignal }).toEqual({
      toolCallId: "c1",
      abortSignal: true,
      experimental_context: { user: 7 },
      context: { user: 7 },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look." },
            { type: "image", image: pixel, mediaType: "image/png" },
            { type: "file", data: "JVBERg==", mediaType: "application/pdf" },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "Hm." },
            { type: "tool-call", toolCallId: "old", toolName: "get", input: { city: "Bergen" } },
            { type: "tool-call", toolCallId: "older", toolName: "get", input: {} },
          ],
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", toolCallId: "old", toolName: "get", output: { type: "text", value: "Rain." } },
            {
              type: "tool-result",
              toolCallId: "older",
              toolName: "get",
              output: { type: "error-json", value: { reason: "no" } },
            },
          ],
        },
        { role: "user", content: "And Oslo?" },
      ],
    });
  });

  it("contains only the messages before the current call", async () => {
    let seen: unknown;
    const made = tool({
      inputSchema: city,
      execute: (_, { messages }) => {
        seen = messages;
      },
    });
    const { result } = play([[text("I look."), toolCall("get", { city: "Oslo" })], text("Done.")], {
      tools: [importTool(made, { name: "get" })],
    });
    await result;
    expect(seen).toEqual([{ role: "user", content: "Go." }]);
  });
});

describe("importTool: an AI SDK tool", () => {
  const checked = jsonSchema<{ city: string }>(cityJson, {
    validate: async (value) =>
      z.safeParse(city, value).success
        ? { success: true, value: { city: "checked" } }
        : { success: false, error: new TypeError("no city", { cause: z.safeParse(city, value).error?.issues }) },
  });
  const run = async (input: unknown): Promise<unknown> => input;
  const rows: readonly (readonly [string, object, unknown, unknown])[] = [
    ["zod", tool({ inputSchema: city, execute: run }), { city: "Oslo" }, [{ path: ["city"], message: expect.any(String) }]],
    [
      "zodSchema(zod)",
      tool({ inputSchema: zodSchema(city), execute: run }),
      { city: "Oslo" },
      [{ path: ["city"], message: expect.any(String) }],
    ],
    [
      "zodSchema(zod 3)",
      tool({ inputSchema: zodSchema(z3.object({ city: z3.string() })), execute: run }),
      { city: "Oslo" },
      [{ path: ["city"], message: "Expected string, received number" }],
    ],
    [
      "zodSchema(zod/mini)",
      tool({ inputSchema: zodSchema(mini.object({ city: mini.string() })), execute: run }),
      { city: "Oslo" },
      [{ path: ["city"], message: expect.any(String) }],
    ],
    [
      "jsonSchema() with a validate function",
      tool({ inputSchema: checked, execute: run }),
      { city: "checked" },
      [{ path: ["city"], message: expect.any(String) }],
    ],
    [
      "a function that returns a schema",
      tool({ inputSchema: () => checked, execute: run }),
      { city: "checked" },
      [{ path: ["city"], message: expect.any(String) }],
    ],
    [
      "arktype, whose schemas are functions",
      { inputSchema: type({ city: "string" }), execute: run },
      { city: "Oslo" },
      [{ path: ["city"], message: "city must be a string (was a number)" }],
    ],
    [
      "dynamicTool()",
      dynamicTool({ inputSchema: checked, execute: run }),
      { city: "checked" },
      [{ path: ["city"], message: expect.any(String) }],
    ],
  ];
  it.for(rows)("shows the model a schema from %s, and validates arguments with it", async ([, made, data, issues]) => {
    const [definition] = createToolRegistry([importTool(made, { name: "get" })]).definitions();
    expect(definition?.inputSchema).toMatchObject(cityJson);
    expect(await dataOf(made)).toMatchObject({ kind: "completed", data });
    expect(await dataOf(made, { city: 1 })).toMatchObject({ kind: "invalid-input", issues });
  });

  it("accepts any arguments if the schema is jsonSchema() without validate", async () => {
    const made = tool({ inputSchema: jsonSchema(cityJson), execute: run });
    const registry = createToolRegistry([importTool(made, { name: "get" })]);
    expect(registry.definitions()[0]?.inputSchema).toEqual(cityJson);
    expect(registry.validate("get", [1])).toEqual({ value: [1], unchecked: true });
  });

  it("reports the validation error from a schema that lists no issues", async () => {
    const made = tool({
      inputSchema: jsonSchema(cityJson, { validate: () => ({ success: false, error: new Error("closed today") }) }),
      execute: run,
    });
    expect(await dataOf(made)).toMatchObject({ kind: "invalid-input", issues: [{ message: "closed today" }] });
  });

  it.for<[string, object]>([
    ["zod/mini", mini.object({ city: mini.string() })],
    ["zod 3", z3.object({ city: z3.string() })],
    ["valibot", v.object({ city: v.string() })],
  ])("needs options.jsonSchema for a schema from %s", async ([, inputSchema]) => {
    const made = { description: "", inputSchema, execute: run };
    expect(() => importTool(made, { name: "get" })).toThrow(/cannot be converted to JSON Schema.*Give the tool a "jsonSchema"/);
    const outcome = await runTool(importTool(made, { name: "get", jsonSchema: cityJson }), { city: 1 });
    expect(outcome).toMatchObject({ kind: "invalid-input", issues: [{ path: ["city"] }] });
  });
});

it("importTool: calls a tool that is a class instance with the instance as `this`", async () => {
  class Counter {
    readonly inputSchema = city;
    readonly description = "Counts.";
    #count = 0;
    execute(): number {
      return (this.#count += 1);
    }
  }
  expect(await dataOf(new Counter())).toMatchObject({ kind: "completed", data: 1 });
});

it("importTool: throws for an AI SDK 7 tool whose description is a function", () => {
  const made = toolV7({ description: () => "Late.", inputSchema: city, execute: async () => 1 });
  expect(() => importTool(made, { name: "get" })).toThrow(
    /has a function as its "description": replace the function with a string/,
  );
});

it("importTool: throws for a tool whose JSON Schema is a promise", () => {
  const made = tool({ inputSchema: jsonSchema(async () => cityJson), execute: async () => 1 });
  let thrown: unknown;
  try {
    importTool(made, { name: "get" });
  } catch (error) {
    thrown = error;
  }
  expect(isLoopError(thrown, "invalid-tool") && thrown.message).toMatch(
    /Tool "get" has a promise as the "jsonSchema" of its "inputSchema"/,
  );
});
