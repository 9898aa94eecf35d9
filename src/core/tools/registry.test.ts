import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import type { Tool, ToolContext } from "../types/loop-options.ts";
import { defineTool } from "./define-tool.ts";
import { createToolRegistry, isToolRegistry } from "./registry.ts";
import { toOutcome } from "../../shared/to-outcome.ts";

const context = { callId: "c1" } as ToolContext;

function toolNamed(name: string, fields: Partial<Tool> = {}): Tool {
  return { name, description: `Does ${name}`, inputSchema: { type: "object" }, execute: () => name, ...fields };
}

const forecast = defineTool({
  name: "forecast",
  description: "Tells the weather",
  inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
  execute: ({ city, days }) => `${city} ${days}`,
});

describe("createToolRegistry", () => {
  it("lists tools in order, with their optional fields and JSON Schema", () => {
    const traits = {
      sequential: true,
      timeoutMs: 5,
      idleTimeoutMs: 4,
      idempotent: true,
      retry: { maxAttempts: 2 },
      replay: "safe",
    } as const;
    const registry = createToolRegistry([toolNamed("b", traits), forecast, toolNamed("a", { timeoutMs: undefined })]);
    expect(registry.definitions()).toStrictEqual([
      { name: "b", description: "Does b", inputSchema: { type: "object" }, ...traits },
      {
        name: "forecast",
        description: "Tells the weather",
        inputSchema: {
          type: "object",
          properties: { city: { type: "string" }, days: { type: "number", default: 3 } },
          required: ["city"],
        },
      },
      { name: "a", description: "Does a", inputSchema: { type: "object" } },
    ]);
  });

  it("reads the optional fields of a tool from the getters of a class", () => {
    class Slow {
      readonly name = "slow";
      readonly description = "Slow";
      readonly inputSchema = {};
      readonly #limit = 7;
      get timeoutMs(): number {
        return this.#limit;
      }
      execute(): number {
        return this.#limit;
      }
    }
    const registry = createToolRegistry([new Slow()]);
    expect(registry.definitions()).toEqual([{ name: "slow", description: "Slow", inputSchema: {}, timeoutMs: 7 }]);
    expect(registry.executeTool("slow", {}, context)).toBe(7);
  });

  it("uses a tool's jsonSchema instead of its inputSchema", () => {
    const jsonSchema = { type: "object", properties: {} } as const;
    const registry = createToolRegistry([toolNamed("a", { inputSchema: mini.object({}), jsonSchema })]);
    expect(registry.definitions()[0]?.inputSchema).toBe(jsonSchema);
  });

  it("returns the same definitions until a tool changes", () => {
    const registry = createToolRegistry([toolNamed("a")]);
    const before = registry.definitions();
    expect(registry.definitions()).toBe(before);
    expect(registry.unregister("nobody")).toBe(false);
    expect(registry.definitions()).toBe(before);

    registry.register(toolNamed("b"));
    const after = registry.definitions();
    expect(after).not.toBe(before);
    expect(registry.definitions()).toBe(after);
    expect([before, after].map((list) => list.map(({ name }) => name))).toEqual([["a"], ["a", "b"]]);
  });

  it("unregisters a tool, and accepts the same tool again", () => {
    const registry = createToolRegistry([toolNamed("a"), toolNamed("b")]);
    expect(registry.definitions()).toHaveLength(2);
    expect(registry.unregister("a")).toBe(true);
    expect(registry.definitions().map(({ name }) => name)).toEqual(["b"]);
    expect(registry.validate("a", {})).toEqual({ issues: [{ message: 'the tool "a" is not available' }] });
    registry.register(toolNamed("a"));
    expect(registry.executeTool("a", {}, context)).toBe("a");
  });

  it("returns the value of a synchronous tool and the promise of an asynchronous tool", () => {
    const promise = Promise.resolve(1);
    const registry = createToolRegistry([toolNamed("now", { execute: () => 1 }), toolNamed("later", { execute: () => promise })]);
    expect(registry.executeTool("now", {}, context)).toBe(1);
    expect(registry.executeTool("later", {}, context)).toBe(promise);
  });

  it("calls execute() on the tool with unchanged arguments and context", () => {
    const execute = vi.fn(function (this: unknown) {
      return this;
    });
    const tool = toolNamed("a", { execute });
    const args = { q: 1 };
    expect(createToolRegistry([tool]).executeTool("a", args, context)).toBe(tool);
    expect(execute.mock.calls).toEqual([[args, context]]);
  });

  it("throws the error that a tool throws", () => {
    const error = new Error("no");
    const registry = createToolRegistry([
      toolNamed("a", {
        execute: () => {
          throw error;
        },
      }),
    ]);
    expect(() => registry.executeTool("a", {}, context)).toThrow(error);
  });

  it("validates arguments with the tool's schema", () => {
    const registry = createToolRegistry([forecast, toolNamed("plain")]);
    expect(registry.validate("forecast", { city: "Oslo" })).toEqual({ value: { city: "Oslo", days: 3 } });
    expect(registry.validate("forecast", {})).toEqual({
      issues: [{ message: "Invalid input: expected string, received undefined", path: ["city"] }],
    });
    expect(registry.validate("plain", [1])).toEqual({ value: [1], unchecked: true });
  });

  it.for([["__proto__"], ["constructor"], ["toString"], ["hasOwnProperty"], [""]])(
    "treats %j as the name of an unknown tool",
    ([name = ""]) => {
      const registry = createToolRegistry([forecast]);
      expect(toOutcome(registry.executeTool(name, {}, context))).toEqual({
        outcome: { kind: "failed", error: { name: "ToolFailure", message: `The tool "${name}" is not available.` } },
      });
      expect(registry.validate(name, {})).toHaveProperty("issues");
      expect(registry.unregister(name)).toBe(false);
    },
  );

  it("runs a tool named __proto__", () => {
    expect(createToolRegistry([toolNamed("__proto__")]).executeTool("__proto__", {}, context)).toBe("__proto__");
  });

  it.for<[what: string, tools: unknown, message: string]>([
    ["two tools with the same name", [toolNamed("a"), toolNamed("a")], 'There are two tools named "a": rename one'],
    ["an incomplete tool", [{ name: "a" }], 'Tool "a" has an invalid "description": it is undefined, but must be a string.'],
    [
      "a schema that cannot be converted to JSON Schema",
      [toolNamed("a", { inputSchema: mini.object({}) })],
      'The input schema of tool "a" cannot be converted to JSON Schema',
    ],
    ["tools that are not an array", forecast, 'Option "tools" is an object, but must be an array of tools.'],
  ])("rejects %s", ([, tools, message]) => {
    expect(() => createToolRegistry(tools as Tool[])).toThrow(message);
  });

  it("stays unchanged after rejecting a tool", () => {
    const registry = createToolRegistry([toolNamed("a")]);
    const before = registry.definitions();
    expect(() => registry.register(toolNamed("a"))).toThrow("two tools");
    expect(() => registry.register(toolNamed("b", { inputSchema: z.string() }))).toThrow("must have the type");
    expect(registry.definitions()).toBe(before);
    expect(registry.unregister("b")).toBe(false);
  });
});

describe("isToolRegistry", () => {
  const definitions = () => [];
  const executeTool = () => 1;

  it.for<[what: string, value: unknown, is: boolean]>([
    ["a registry from createToolRegistry", createToolRegistry(), true],
    ["an object with definitions and executeTool", { definitions, executeTool }, true],
    ["an object without executeTool", { definitions }, false],
    ["an array of tools", [forecast], false],
    ["null", null, false],
  ])("returns $2 for %s", ([, value, is]) => {
    expect(isToolRegistry(value)).toBe(is);
  });
});
