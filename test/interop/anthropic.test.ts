import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { mcpTool } from "@anthropic-ai/sdk/helpers/beta/mcp";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { betaStandardSchemaTool } from "@anthropic-ai/sdk/helpers/beta/standard-schema";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError";
import { type } from "arktype";
import { expect, it } from "vitest";
import { createToolRegistry } from "turnwright";
import { runTool, text, toolCall } from "turnwright/testing";
import { importTool } from "turnwright/interop";
import { z } from "zod";
import { outcomesOf, play } from "../loop/play.ts";

const described = { name: "get", description: "Gets." };
const inputSchema = z.object({ city: z.string().default("Oslo") });
const json = { type: "object", properties: { city: { type: "string" } } } as const;

it("importTool: an Anthropic tool receives the call and its signal", async () => {
  const seen: unknown[] = [];
  const made = betaZodTool({
    ...described,
    inputSchema,
    run: (args, context) => {
      seen.push(args, context?.toolUse, context?.signal instanceof AbortSignal);
      return "fine";
    },
  });
  const { result } = play([toolCall("get", {}, { id: "c1" }), text("Done.")], { tools: [importTool(made)] });
  expect(outcomesOf(await result)).toEqual(["c1: completed"]);
  const input = { city: "Oslo" };
  expect(seen).toEqual([input, { type: "tool_use", id: "c1", name: "get", input }, true]);
});

it("importTool: an Anthropic tool can return text, images and documents", async () => {
  const made = betaZodTool({
    ...described,
    inputSchema,
    run: () => [
      { type: "text", text: "Here." },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERg==" } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "Plain." } },
      { type: "document", source: { type: "content", content: [{ type: "text", text: "Inside." }] } },
      { type: "document", source: { type: "content", content: "Also inside." } },
      { type: "search_result", title: "Tides", source: "https://example.com", content: [{ type: "text", text: "High." }] },
      { type: "image", source: { type: "file", file_id: "f1" } },
    ],
  });
  expect(await runTool(importTool(made), {})).toMatchObject({
    kind: "completed",
    data: 'Here.\nPlain.\nInside.\nAlso inside.\nTides (https://example.com)\nHigh.\n(a part of type "image" that cannot be shown here)',
    content: [
      { type: "image", mediaType: "image/png", data: "AAAA" },
      { type: "image", mediaType: "image/*", data: "https://example.com/a.png" },
      { type: "file", mediaType: "application/pdf", data: "JVBERg==" },
    ],
  });
});

it("importTool: an Anthropic tool fails with the ToolError's text", async () => {
  const made = betaZodTool({
    ...described,
    inputSchema,
    run: () => {
      throw new ToolError([{ type: "text", text: "No such city." }]);
    },
  });
  expect(await runTool(importTool(made), {})).toMatchObject({ kind: "failed", error: { message: "No such city." } });
});

it("importTool: validates an Anthropic tool's arguments with the tool's schema library", async () => {
  const made = betaStandardSchemaTool({ ...described, inputSchema: type({ "city?": "string" }), run: ({ city = "?" }) => city });
  const registry = createToolRegistry([importTool(made)]);
  expect(registry.validate("get", {})).toEqual({ value: {} });
  expect(await runTool(importTool(made), { city: 1 })).toMatchObject({ kind: "invalid-input" });
});

it("importTool: does not validate the arguments of an Anthropic tool with plain JSON Schema", () => {
  const made = betaTool({ ...described, inputSchema: json, run: () => "" });
  const registry = createToolRegistry([importTool(made)]);
  expect(registry.definitions()[0]?.inputSchema).toEqual(json);
  expect(registry.validate("get", 1)).toEqual({ value: 1, unchecked: true });
});

it("importTool: an Anthropic MCP tool without parameters has a valid schema", async () => {
  const client = { callTool: async () => ({ content: [{ type: "text" as const, text: "pong" }] }) };
  const made = mcpTool({ name: "ping", inputSchema: { type: "object" } }, client);
  const imported = importTool(made);
  expect(createToolRegistry([imported]).definitions()[0]).toMatchObject({ description: "", inputSchema: { type: "object" } });
  expect(Object.values(imported.inputSchema)).not.toContain(null);
  expect(await runTool(imported, {})).toMatchObject({ kind: "completed", data: "pong" });
});

it("importTool: a tool defined by Anthropic needs options.inputSchema", async () => {
  const made = betaMemoryTool({ view: () => "notes" } as never);
  expect(() => importTool(made)).toThrow(/Tool "memory" has no schema: pass a schema for the arguments as "inputSchema"/);
  const command = z.object({ command: z.literal("view") });
  const imported = importTool(made, { inputSchema: command, description: "Keeps notes." });
  expect(await runTool(imported, { command: "view" })).toMatchObject({ kind: "completed", data: "notes" });
});
