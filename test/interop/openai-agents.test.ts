import { type RunContext, tool } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { approve, createToolRegistry, type JsonSchema } from "turnwright";
import { fromJsonSchema } from "turnwright/json-schema";
import { runTool, text, toolCall } from "turnwright/testing";
import { importTool } from "turnwright/interop";
import { z } from "zod";
import { outcomesOf, play } from "../loop/play.ts";

const described = { name: "get", description: "Gets.", parameters: z.object({ city: z.string() }) };

it("importTool: an OpenAI Agents tool receives the call, its signal and the run's context", async () => {
  const seen: unknown[] = [];
  const made = tool({
    ...described,
    execute: async (args, runContext, details) => {
      seen.push(args, runContext?.context, details?.toolCall, details?.signal instanceof AbortSignal);
      seen.push(runContext?.usage.totalTokens, runContext?.isToolApproved({ toolName: "get", callId: "c1" }));
      runContext?.toJSON();
      return "fine";
    },
  });
  const { result } = play([toolCall("get", { city: "Oslo" }, { id: "c1" }), text("Done.")], {
    tools: [importTool(made)],
    middleware: [approve()],
    context: { user: 7 },
  });
  expect(outcomesOf(await result)).toEqual(["c1: completed"]);
  expect(seen).toEqual([
    { city: "Oslo" },
    { user: 7 },
    { type: "function_call", callId: "c1", name: "get", arguments: '{"city":"Oslo"}', status: "completed" },
    true,
    0,
    true,
  ]);
});

const outputs: readonly (readonly [string, unknown, unknown])[] = [
  ["a string", "seven", { kind: "completed", data: "seven" }],
  ["plain data", { celsius: 7 }, { kind: "completed", data: { celsius: 7 } }],
  ["data with a type field", { type: "file", size: 7 }, { kind: "completed", data: { type: "file", size: 7 } }],
  ["an empty array", [], { kind: "completed", data: [] }],
  ["an array of data", [1, { type: "text", text: "x" }], { kind: "completed", data: [1, { type: "text", text: "x" }] }],
  ["a text part", { type: "text", text: "seven" }, { kind: "completed", data: "seven" }],
  [
    "images and files",
    [
      { type: "text", text: "Here." },
      { type: "image", image: "https://example.com/a.png" },
      { type: "image", image: { data: "AAAA", mediaType: "image/png" } },
      { type: "image", image: { data: new Uint8Array([1, 2, 3]), mediaType: "image/png" } },
      { type: "image", image: "data:image/gif;base64,AAAA" },
      { type: "file", file: { data: "JVBERg==", mediaType: "application/pdf", filename: "a.pdf" } },
      { type: "file", file: { url: "https://example.com/a.pdf" } },
      { type: "image", image: { fileId: "f1" } },
    ],
    {
      kind: "completed",
      data: 'Here.\n(a part of type "image" that cannot be shown here)',
      content: [
        { type: "image", mediaType: "image/*", data: "https://example.com/a.png" },
        { type: "image", mediaType: "image/png", data: "AAAA" },
        { type: "image", mediaType: "image/png", data: "AQID" },
        { type: "image", mediaType: "image/gif", data: "data:image/gif;base64,AAAA" },
        { type: "file", mediaType: "application/pdf", data: "JVBERg==" },
        { type: "file", mediaType: "application/octet-stream", data: "https://example.com/a.pdf" },
      ],
    },
  ],
];
it.for(outputs)("importTool: an OpenAI Agents tool can return %s", async ([, output, outcome]) => {
  const made = tool({ ...described, execute: async () => output });
  expect(await runTool(importTool(made), { city: "Oslo" })).toMatchObject(outcome as object);
});

describe("importTool: an OpenAI Agents tool that throws or times out", () => {
  const broken = async (): Promise<string> => {
    throw new Error("out of order");
  };
  it("fails with the library's default error text", async () => {
    expect(await runTool(importTool(tool({ ...described, execute: broken })), { city: "Oslo" })).toMatchObject({
      kind: "failed",
      error: { message: "An error occurred while running the tool. Please try again." },
    });
  });

  it("fails with its own error message if errorFunction is null", async () => {
    const made = tool({ ...described, execute: broken, errorFunction: null });
    expect(await runTool(importTool(made), { city: "Oslo" })).toMatchObject({
      kind: "failed",
      error: { message: "out of order" },
    });
  });

  it("completes with a custom errorFunction's result", async () => {
    const made = tool({ ...described, execute: broken, errorFunction: () => "Try Bergen." });
    expect(await runTool(importTool(made), { city: "Oslo" })).toMatchObject({ kind: "completed", data: "Try Bergen." });
  });

  it("fails with the library's error text after a timeout", async () => {
    const made = tool({ ...described, execute: () => new Promise<string>(() => {}), timeoutMs: 1 });
    const imported = importTool(made, { timeoutMs: 5_000 });
    expect(await runTool(imported, { city: "Oslo" })).toMatchObject({
      kind: "failed",
      error: { message: "Tool 'get' timed out after 1ms." },
    });
  });
});

it("importTool: takes timeoutMs from an OpenAI Agents tool", () => {
  const made = tool({ ...described, execute: async () => "", timeoutMs: 1_234 });
  expect(importTool(made).timeoutMs).toBe(1_234);
});

it.for<[string, boolean | (() => Promise<boolean>), string]>([
  ["runs if isEnabled is true", true, "completed"],
  ["does not run if isEnabled is false", false, "failed"],
  ["does not run if isEnabled returns false", async () => false, "failed"],
])("importTool: an OpenAI Agents tool %s", async ([, isEnabled, kind]) => {
  const ran: unknown[] = [];
  const made = tool({ ...described, isEnabled, execute: async () => String(ran.push(1)) });
  expect((await runTool(importTool(made), { city: "Oslo" })).kind).toBe(kind);
  expect(ran.length).toBe(kind === "completed" ? 1 : 0);
});

describe("importTool: an OpenAI Agents tool's needsApproval field", () => {
  const parameters = z.object({ amount: z.number() });
  const calls = [toolCall("pay", { amount: 1 }, { id: "small" }), toolCall("pay", { amount: 9_000 }, { id: "large" })];
  type Needs = boolean | ((run: RunContext, input: z.infer<typeof parameters>, callId?: string) => Promise<boolean>);
  it.for<[string, Needs | undefined, readonly string[]]>([
    ["absent", undefined, ["small: completed", "large: completed"]],
    ["true", true, ["small: awaiting-approval", "large: awaiting-approval"]],
    ["a function", async (_, { amount }) => amount > 1_000, ["small: completed", "large: awaiting-approval"]],
    [
      "a function of the context and the call",
      async ({ context }, _, callId) => (context as { strict: string }).strict === callId,
      ["small: awaiting-approval", "large: completed"],
    ],
  ])("decides whether a call needs approval if the value is %s", async ([, needsApproval, outcomes]) => {
    const made = tool({
      name: "pay",
      description: "",
      parameters,
      execute: async () => "paid",
      ...(needsApproval === undefined ? {} : { needsApproval }),
    });
    const { result } = play([calls, text("Done.")], {
      tools: [importTool(made)],
      middleware: [approve()],
      context: { strict: "small" },
    });
    expect(outcomesOf(await result)).toEqual(outcomes);
  });

  it("is not called if the arguments fail a second validation", async () => {
    let checks = 0;
    const inputSchema = parameters.refine(() => (checks += 1) === 1);
    const made = tool({
      name: "pay",
      description: "",
      parameters,
      execute: async () => "paid",
      needsApproval: async () => false,
    });
    const { result } = play([toolCall("pay", { amount: 1 }, { id: "p1" })], {
      tools: [importTool(made, { inputSchema })],
      middleware: [approve()],
    });
    expect(outcomesOf(await result)).toEqual(["p1: awaiting-approval"]);
  });
});

it("importTool: options.inputSchema validates an OpenAI Agents tool's arguments", async () => {
  const made = tool({ ...described, execute: async ({ city }) => city });
  const imported = importTool(made, { inputSchema: fromJsonSchema(made.parameters as JsonSchema) });
  expect(await runTool(imported, { city: 1 })).toMatchObject({ kind: "invalid-input", issues: [{ path: ["city"] }] });
  expect(await runTool(imported, { city: "Oslo" })).toMatchObject({ kind: "completed", data: "Oslo" });
});

it("importTool: an OpenAI Agents tool receives the original arguments even with options.inputSchema", async () => {
  const made = tool({ ...described, execute: async ({ city }) => city });
  const inputSchema = z.object({ city: z.string().transform((name) => name.length) });
  expect(await runTool(importTool(made, { inputSchema }), { city: "Oslo" })).toMatchObject({ kind: "completed", data: "Oslo" });
});

it("importTool: an OpenAI Agents tool's arguments are unchecked without options.inputSchema", () => {
  const registry = createToolRegistry([importTool(tool({ ...described, execute: async () => "" }))]);
  expect(registry.validate("get", { city: 1 })).toEqual({ value: { city: 1 }, unchecked: true });
});
