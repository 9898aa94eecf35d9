import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { NestedLoopOptions, ToolContext } from "../../types/loop-options.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import { isLoopError } from "../../../shared/errors/loop-error.ts";
import { startKey } from "../../tools/inside-call.ts";
import { createToolRegistry } from "../../tools/registry.ts";
import { defineAgentTool } from "./define-agent-tool.ts";
import { isToolResult } from "../../../shared/to-outcome.ts";

const options: NestedLoopOptions = { messages: [{ role: "user", content: "Well?" }] };
const fields = { name: "agent", description: "Asks", inputSchema: { type: "object" }, prepare: () => options };

function refusalOf(value: unknown): string | undefined {
  try {
    defineAgentTool(value as typeof fields);
    return undefined;
  } catch (error) {
    return isLoopError(error) ? `${error.code}: ${error.message}` : `no LoopError: ${String(error)}`;
  }
}

const resultOf = (more: Partial<LoopResult>): LoopResult =>
  ({ status: "completed", reason: { kind: "answered" }, text: "", responseText: "", ...more }) as LoopResult;

describe("defineAgentTool", () => {
  it("creates a tool with the given fields and an agent that createToolRegistry finds", () => {
    const schema = z.object({ question: z.string() });
    const tool = defineAgentTool({
      ...fields,
      inputSchema: schema,
      jsonSchema: { type: "object" },
      prepare: ({ question }) => ({ messages: [{ role: "user", content: question }] }),
      sequential: true,
      requiresFollowUp: false,
    });
    expect(tool).toMatchObject({
      name: "agent",
      description: "Asks",
      inputSchema: schema,
      sequential: true,
      requiresFollowUp: false,
    });
    expect(Object.keys(tool).sort()).toEqual(
      ["description", "durable", "execute", "inputSchema", "jsonSchema", "name", "requiresFollowUp", "sequential"].sort(),
    );
    expect(createToolRegistry([tool]).definitions()).toMatchObject([{ name: "agent", durable: true }]);
  });

  it.for<[title: string, value: unknown, refusal: string]>([
    [
      "a missing prepare",
      { ...fields, prepare: undefined },
      'invalid-tool: Tool "agent" must have a function as "prepare", but has undefined. Return the options of the nested run from it: prepare: (args) => ({ messages, system, tools }).',
    ],
    [
      "a prepare that is not a function",
      { ...fields, prepare: options },
      'invalid-tool: Tool "agent" must have a function as "prepare", but has an object.',
    ],
    [
      "a toResult that is not a function",
      { ...fields, toResult: "text" },
      'invalid-tool: Tool "agent" must have a function as "toResult", but has "text".',
    ],
    [
      "a timeoutMs",
      { ...fields, timeoutMs: 5 },
      'invalid-tool: Tool "agent" has "timeoutMs", which an agent tool cannot have. Remove it, and set the limits',
    ],
    [
      "the `idempotent` field together with the `retry` field",
      { ...fields, idempotent: true, retry: { maxAttempts: 2 } },
      'invalid-tool: Tool "agent" has "idempotent", which',
    ],
    ["an invalid name", { ...fields, name: "no spaces" }, 'invalid-tool: Tool "no spaces" has an invalid "name"'],
    ["a missing inputSchema", { ...fields, inputSchema: undefined }, 'invalid-tool: Tool "agent" has an invalid "inputSchema"'],
    ["an unknown field", { ...fields, timeout: 5 }, 'invalid-tool: Tool "agent" has an unknown field "timeout"'],
    ["undefined", undefined, "invalid-tool: "],
    ["null", null, "invalid-tool: "],
    ["a string", "agent", "invalid-tool: "],
  ])("rejects %s and names the problem", ([, value, refusal]) => {
    expect(refusalOf(value)).toContain(refusal);
  });

  it("execute() passes the options from prepare to the nested run", async () => {
    const told: unknown[] = [];
    const start = (given: NestedLoopOptions): Promise<LoopResult> => {
      told.push(given);
      return Promise.resolve(resultOf({ responseText: "Yes." }));
    };
    const context = { [startKey]: start } as unknown as ToolContext;
    const tool = defineAgentTool({
      ...fields,
      prepare: async (args: unknown, given: ToolContext) => ({
        ...options,
        system: `${JSON.stringify(args)} ${String(given === context)}`,
      }),
    });
    expect(await tool.execute({ a: 1 }, context)).toBe("Yes.");
    expect(told).toEqual([{ ...options, system: '{"a":1} true' }]);
  });
});

describe("defineAgentTool: the default result", () => {
  const tool = defineAgentTool(fields);
  const resultFor = (result: LoopResult): unknown =>
    tool.execute({}, { [startKey]: async () => result } as unknown as ToolContext);

  it("is the text and details of a completed run", async () => {
    expect(await resultFor(resultOf({ text: "Yes.", responseText: "Yes.\n\n[Scene]\nrain" }))).toBe("Yes.\n\n[Scene]\nrain");
  });

  it.for<[title: string, result: Partial<LoopResult>, error: string]>([
    [
      "was killed",
      { status: "stopped-by-user", reason: { kind: "killed" } },
      "The agent agent ended as stopped-by-user (killed).",
    ],
    [
      "returned an empty response",
      { status: "empty-response", reason: { kind: "empty" } },
      "The agent agent ended as empty-response (empty).",
    ],
    [
      "reached an iteration limit, with its text so far",
      { status: "timeout", reason: { kind: "max-iterations", limit: 3 }, text: "Half" },
      "The agent agent ended as timeout (max-iterations). It had said: Half",
    ],
  ])("is a failure for a run that %s", async ([, result, error]) => {
    const output = await resultFor(resultOf(result));
    expect([isToolResult(output), output]).toMatchObject([true, { success: false, error }]);
  });

  it("contains a shortened quote from a failed run's text", async () => {
    const output = await resultFor(resultOf({ status: "error", reason: { kind: "malformed-call" }, text: "x".repeat(10_000) }));
    expect(JSON.stringify(output).length).toBeLessThan(2_200);
  });
});
