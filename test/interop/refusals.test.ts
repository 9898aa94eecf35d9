import { hostedMcpTool, shellTool, tool as agentsTool } from "@openai/agents-core";
import { openai } from "@ai-sdk/openai";
import { jsonSchema, tool as aiTool } from "ai";
import { expect, it } from "vitest";
import { isLoopError } from "turnwright";
import { importTool, importTools } from "turnwright/interop";
import { z } from "zod";

const inputSchema = z.object({ city: z.string() });
const execute = async (): Promise<string> => "";
const whole = { inputSchema, execute };

function complaintOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isLoopError(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "imported";
}

const rows: readonly (readonly [string, unknown, RegExp])[] = [
  ["undefined in place of a tool", undefined, /invalid-tool: Tool "" is undefined, but must be an object\.$/],
  ["a string in place of a tool", "get", /is "get", but must be an object/],
  ["a function in place of a tool", execute, /is a function, but must be an object/],
  ["an array in place of a tool", [whole], /is an array of 1 item, but must be an object/],
  [
    "an empty object",
    {},
    /is not from a supported library: an imported tool needs "inputSchema" and "execute" \(AI SDK\), "parameters"/,
  ],
  ["an AI SDK 4 tool", { parameters: inputSchema, execute }, /looks like a tool from the AI SDK, but has no "inputSchema"/],
  [
    "an AI SDK tool whose execute is not a function",
    { inputSchema, execute: "run" },
    /looks like a tool from the AI SDK, but has no "execute": turnwright calls this function/,
  ],
  [
    "a tool definition for OpenAI's API",
    { type: "function", function: { name: "get" } },
    /OpenAI Agents, but has no "parameters"/,
  ],
  [
    "a tool definition for the Responses API",
    { type: "function", name: "get", parameters: {} },
    /OpenAI Agents, but has no "invoke": turnwright calls this function/,
  ],
  ["a tool definition for Anthropic's API", { name: "get", input_schema: { type: "object" } }, /Anthropic SDK, but has no "run"/],
  ["a LangChain tool without invoke", { lc_namespace: [], name: "get", schema: inputSchema }, /LangChain, but has no "invoke"/],
  [
    "a LangChain tool without a schema",
    { lc_namespace: [], name: "get", invoke: execute },
    /LangChain, but has no "schema": the model needs this schema/,
  ],
  ["OpenAI's web search tool from the AI SDK", openai.tools.webSearch({}), /is run by its provider \("openai\.web_search"\)/],
  [
    "a provider-defined tool from AI SDK 5",
    { type: "provider-defined", id: "a.b", inputSchema },
    /is run by its provider \("a\.b"\)/,
  ],
  [
    "Anthropic's web search tool",
    { type: "web_search_20250305", name: "get" },
    /has the type "web_search_20250305", and tools of this type run elsewhere/,
  ],
  [
    "a hosted MCP tool from OpenAI Agents",
    hostedMcpTool({ serverLabel: "x", serverUrl: "https://example.com" }),
    /has the type "hosted_tool"/,
  ],
  [
    "a shell tool from OpenAI Agents",
    shellTool({ shell: { run: async () => ({ output: [] }) } }),
    /has the type "shell", and tools of this type run elsewhere/,
  ],
  [
    "an OpenAI Agents tool with guardrails",
    agentsTool({
      name: "get",
      description: "",
      parameters: inputSchema,
      execute,
      inputGuardrails: [{ type: "tool_input", name: "g", run: async () => ({ behavior: { type: "allow" } }) }],
    }),
    /has "inputGuardrails", which only OpenAI Agents' runner applies: pass \{ \.\.\.tool, inputGuardrails: \[\] \}/,
  ],
  [
    "a Standard Schema that returns an invalid JSON Schema",
    { inputSchema: { jsonSchema: 5 }, execute },
    /has an "inputSchema" without a JSON Schema/,
  ],
  [
    "a zod schema for a date",
    { inputSchema: z.object({ at: z.date() }), execute },
    /invalid-schema: .*"get" cannot be converted to JSON Schema/,
  ],
  [
    "an input schema for a string",
    { inputSchema: z.string(), execute },
    /invalid-schema: .*must have the type "object", but has "string"/,
  ],
  ["a JSON Schema for an array", { inputSchema: jsonSchema({ type: "array" }), execute }, /must have the type "object"/],
  [
    "an input_schema that is not an object",
    { name: "get", input_schema: 5, run: execute },
    /has an "input_schema" that is not a JSON Schema/,
  ],
];

it.for(rows)("importTool: rejects %s", ([, tool, message]) => {
  expect(complaintOf(() => importTool(tool as object, { name: "get" }))).toMatch(message);
});

it("importTool: rejects a tool without a name", () => {
  expect(complaintOf(() => importTool(whole))).toBe(
    'invalid-tool: Tool "" has no name: pass a name, as in importTool(tool, { name }) or importTools({ name: tool }).',
  );
});

it('importTool: accepts an AI SDK tool with the type "function"', () => {
  expect(importTool(aiTool({ type: "function", ...whole }), { name: "get" }).inputSchema).toBe(inputSchema);
});

it("importTool: uses the tool's name if no name is passed", () => {
  expect(importTool({ name: "get", ...whole }).name).toBe("get");
});

it.for<[string, object, RegExp]>([
  ["a name that providers reject", { name: "get weather" }, /invalid-tool: Tool "get weather" has an invalid "name"/],
  ["a negative timeoutMs", { name: "get", timeoutMs: -1 }, /has an invalid "timeoutMs"/],
  ["an unknown field", { name: "get", timeout: 5 }, /has an unknown field "timeout" \(did you mean "timeoutMs"\?\)/],
  ["both eager and needsApproval", { name: "get", eager: true, needsApproval: true }, /has both "eager" and "needsApproval"/],
])("importTool: rejects overrides with %s", ([, overrides, message]) => {
  expect(complaintOf(() => importTool(whole, overrides))).toMatch(message);
});

it("importTool: applies all overrides that are not undefined", () => {
  const imported = importTool(
    { ...whole, description: "Its own.", needsApproval: true },
    { name: "get", description: undefined, needsApproval: false, retry: { maxAttempts: 2 }, idempotent: true },
  );
  expect(imported).toMatchObject({ description: "Its own.", needsApproval: false, retry: { maxAttempts: 2 }, idempotent: true });
});

it("importTools: names the rejected tool in the error", () => {
  expect(complaintOf(() => importTools({ get: whole, search: openai.tools.webSearch({}) }))).toMatch(
    /Tool "search" is run by its provider/,
  );
  expect(complaintOf(() => importTools([{ name: "get", ...whole }, whole]))).toMatch(/has no name/);
  for (const held of [Promise.resolve({ get: whole }), new Map([["get", whole]]), new Set([whole])])
    expect(complaintOf(() => importTools(held as never))).toMatch(
      /^invalid-option: Option "tools" is .*, but must be an array of tools/,
    );
  expect(complaintOf(() => importTools("get" as never))).toMatch(
    /invalid-option: Option "tools" is .*, but must be an array of tools or an object/,
  );
});

it('importTools: accepts tool names like "constructor" and "toString"', () => {
  const tools = importTools({ constructor: whole, toString: whole });
  expect(tools.map(({ name }) => name)).toEqual(["constructor", "toString"]);
});
