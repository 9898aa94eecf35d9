import { ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { type DynamicTool, StructuredTool, tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { expect, it } from "vitest";
import { createToolRegistry } from "turnwright";
import { runTool, text, toolCall } from "turnwright/testing";
import { importTool } from "turnwright/interop";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { outcomesOf, play } from "../loop/play.ts";

const described = { name: "get", description: "Gets." };
const schema = z.object({ city: z.string() });
const city = { city: "Oslo" };

it("importTool: a LangChain tool receives the call, its signal and the run's context", async () => {
  const seen: unknown[] = [];
  const made = tool(
    (args: unknown, config: ToolRunnableConfig) => {
      seen.push(args, config.toolCall, config.signal instanceof AbortSignal, config.context);
      return "fine";
    },
    { ...described, schema },
  );
  const { result } = play([toolCall("get", city, { id: "c1" }), text("Done.")], {
    tools: [importTool(made)],
    context: { user: 7 },
  });
  expect(outcomesOf(await result)).toEqual(["c1: completed"]);
  expect(seen).toEqual([city, { type: "tool_call", id: "c1", name: "get", args: city }, true, { user: 7 }]);
});

const outputs: readonly (readonly [string, unknown, unknown])[] = [
  ["a string", "seven", { kind: "completed", data: "seven" }],
  ["data, which LangChain turns into text", { celsius: 7 }, { kind: "completed", data: '{"celsius":7}' }],
  ["a ToolMessage", new ToolMessage({ content: "seven", tool_call_id: "x" }), { kind: "completed", data: "seven" }],
  [
    "a failed ToolMessage",
    new ToolMessage({ content: "closed", tool_call_id: "x", status: "error" }),
    { kind: "failed", error: { message: "closed" } },
  ],
  [
    "a failed ToolMessage with content blocks",
    new ToolMessage({ content: [{ type: "text", text: "closed" }], tool_call_id: "x", status: "error" }),
    { kind: "failed", error: { message: "closed" } },
  ],
  [
    "content blocks",
    [
      { type: "text", text: "Here." },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image_url", image_url: "https://example.com/a.png" },
      { type: "image", source_type: "base64", mime_type: "image/jpeg", data: "BBBB" },
      { type: "image", mimeType: "image/webp", data: "CCCC" },
      { type: "file", source_type: "url", mime_type: "application/pdf", url: "https://example.com/a.pdf" },
    ],
    {
      kind: "completed",
      data: "Here.",
      content: [
        { type: "image", mediaType: "image/png", data: "data:image/png;base64,AAAA" },
        { type: "image", mediaType: "image/*", data: "https://example.com/a.png" },
        { type: "image", mediaType: "image/jpeg", data: "BBBB" },
        { type: "image", mediaType: "image/webp", data: "CCCC" },
        { type: "file", mediaType: "application/pdf", data: "https://example.com/a.pdf" },
      ],
    },
  ],
];
it.for(outputs)("importTool: a LangChain tool can return %s", async ([, output, outcome]) => {
  const made = tool(async () => output, { ...described, schema });
  expect(await runTool(importTool(made), city)).toMatchObject(outcome as object);
});

it("importTool: a LangChain tool's artifact is reported as metadata", async () => {
  const told: unknown[] = [];
  const made = tool(async () => ["two rows", [{ id: 1 }, { id: 2 }]], {
    ...described,
    schema,
    responseFormat: "content_and_artifact",
  });
  const outcome = await runTool(importTool(made), city, { onMetadata: (data) => told.push(data) });
  expect([outcome, told]).toMatchObject([{ kind: "completed", data: "two rows" }, [[{ id: 1 }, { id: 2 }]]]);
});

it("importTool: a LangChain tool's artifact is reported even if the tool fails", async () => {
  const told: unknown[] = [];
  const answer = new ToolMessage({ content: "closed", tool_call_id: "x", status: "error", artifact: { code: 7 } });
  const made = tool(async () => answer, { ...described, schema });
  const outcome = await runTool(importTool(made), city, { onMetadata: (data) => told.push(data) });
  expect([outcome, told]).toMatchObject([{ kind: "failed", error: { message: "closed" } }, [{ code: 7 }]]);
});

it("importTool: a LangChain tool with returnDirect ends the run", async () => {
  const made = tool(async () => "seven", { ...described, schema, returnDirect: true });
  const { result } = play([toolCall("get", city), text("Done.")], { tools: [importTool(made)] });
  expect((await result).reason.kind).toBe("end-turn");
});

it("importTool: the values that a LangChain generator tool yields are reported as progress", async () => {
  const made = tool(
    async function* run() {
      yield "half";
      return "whole";
    },
    { ...described, schema },
  );
  const heard: unknown[] = [];
  const outcome = await runTool(importTool(made), city, { onProgress: (data) => heard.push(data) });
  expect([outcome, heard]).toMatchObject([{ kind: "completed", data: "whole" }, ["half"]]);
});

it("importTool: a LangChain tool without a schema takes a single string", async () => {
  const made: DynamicTool = tool(async (input: string) => input.toUpperCase(), described) as never;
  const imported = importTool(made);
  expect(createToolRegistry([imported]).definitions()[0]?.inputSchema).toEqual({
    type: "object",
    properties: { input: { type: "string" } },
  });
  expect(await runTool(imported, { input: "oslo" })).toMatchObject({ kind: "completed", data: "OSLO" });
  expect(await runTool(imported, { input: 7 })).toMatchObject({ kind: "invalid-input", issues: [{ path: ["input"] }] });
});

it("importTool: a LangChain tool with zod 3 needs options.jsonSchema", async () => {
  // The types from zod 3 and LangChain are incompatible under exactOptionalPropertyTypes.
  const made = tool(async (args: { city: string }) => args.city, {
    ...described,
    schema: z3.object({ city: z3.string() }) as never,
  });
  expect(() => importTool(made)).toThrow(/cannot be converted to JSON Schema/);
  const jsonSchema = { type: "object", properties: { city: { type: "string" } } } as const;
  expect(await runTool(importTool(made, { jsonSchema }), { city: 1 })).toMatchObject({ kind: "invalid-input" });
  expect(await runTool(importTool(made, { jsonSchema }), city)).toMatchObject({ kind: "completed", data: "Oslo" });
});

it("importTool: a LangChain tool can be a class instance or a runnable", async () => {
  class Shout extends StructuredTool {
    name = "shout";
    description = "Shouts.";
    schema = schema;
    protected override async _call(args: z.infer<typeof schema>): Promise<string> {
      return `${args.city}!`;
    }
  }
  expect(await runTool(importTool(new Shout()), city)).toMatchObject({ kind: "completed", data: "Oslo!" });
  const runnable = RunnableLambda.from(async (args: z.infer<typeof schema>) => `${args.city}?`).asTool({ ...described, schema });
  expect(await runTool(importTool(runnable), city)).toMatchObject({ kind: "completed", data: "Oslo?" });
});

it("importTool: a LangChain tool with plain JSON Schema validates the arguments itself", async () => {
  const made = tool(async () => "ran", {
    ...described,
    schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  });
  expect(createToolRegistry([importTool(made)]).validate("get", {})).toEqual({ value: {}, unchecked: true });
  expect(await runTool(importTool(made), {})).toMatchObject({
    kind: "failed",
    error: { message: /did not match expected schema/ },
  });
});
