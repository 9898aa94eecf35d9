import { type Tool as AiTool, tool } from "ai";
import { tool as toolV7 } from "ai-v7";
import { describe, expect, it } from "vitest";
import { approve, memoryJournal } from "turnwright";
import { runTool, text, toolCall } from "turnwright/testing";
import { importTool } from "turnwright/interop";
import { z } from "zod";
import { answersOf, never, outcomesOf, play } from "../loop/play.ts";

const city = z.object({ city: z.string() });
const pixel = "iVBORw0KGgo=";

async function dataOf(made: object, args: unknown = { city: "Oslo" }): Promise<unknown> {
  return runTool(importTool(made, { name: "get" }), args);
}

describe("importTool: the result from an AI SDK tool", () => {
  it("is the last value that a generator yields", async () => {
    const made = tool({
      inputSchema: city,
      async *execute() {
        yield { status: "loading" };
        yield { status: "ready", celsius: 7 };
      },
    });
    const { recording, result } = play([toolCall("get", { city: "Oslo" }), text("Done.")], {
      tools: [importTool(made, { name: "get" })],
    });
    expect(answersOf(await result)[0]?.result).toEqual({ status: "ready", celsius: 7 });
    expect(recording.of("tool-progress").map(({ data, preliminary }) => [data, preliminary])).toEqual([
      [{ status: "loading" }, true],
      [{ status: "ready", celsius: 7 }, true],
    ]);
  });

  it("is a failure if the generator throws", async () => {
    const made = tool({
      inputSchema: city,
      async *execute() {
        yield 1;
        throw new Error("cut off");
      },
    });
    expect(await dataOf(made)).toMatchObject({ kind: "failed", error: { message: "cut off" } });
  });

  it("is no longer awaited after the run is stopped", async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const made = tool({
      inputSchema: city,
      async *execute(_, { abortSignal }) {
        try {
          yield "first";
          await new Promise((resolve) => abortSignal?.addEventListener("abort", resolve));
          yield "after the stop";
          await never;
        } finally {
          closed();
        }
      },
    });
    const { control, recording, result } = play([toolCall("get", { city: "Oslo" }), text("Done.")], {
      tools: [importTool(made, { name: "get" })],
    });
    await new Promise<void>((resolve) => void recording.emitter.on("tool-progress", () => resolve()));
    control.stop();
    expect((await result).reason.kind).toBe("stopped");
    await isClosed;
    expect(recording.of("tool-progress").map(({ data }) => data)).toEqual(["first"]);
  });

  const outputs: readonly (readonly [string, Awaited<ReturnType<NonNullable<AiTool["toModelOutput"]>>>, unknown])[] = [
    ["a text", { type: "text", value: "seven" }, { kind: "completed", data: "seven" }],
    ["JSON", { type: "json", value: { c: 7 } }, { kind: "completed", data: { c: 7 } }],
    ["an error text", { type: "error-text", value: "closed" }, { kind: "failed", error: { message: "closed" } }],
    ["an error as JSON", { type: "error-json", value: { code: 4 } }, { kind: "failed", error: { message: '{"code":4}' } }],
    ["a denial", { type: "execution-denied", reason: "not you" }, { kind: "failed", error: { message: "not you" } }],
    [
      "a denial without a reason",
      { type: "execution-denied" },
      { kind: "failed", error: { message: "The execution was denied." } },
    ],
    [
      "content parts",
      {
        type: "content",
        value: [
          { type: "text", text: "one" },
          { type: "image-data", data: pixel, mediaType: "image/png" },
          { type: "image-url", url: "https://example.com/a.png" },
          { type: "file-data", data: "JVBERg==", mediaType: "application/pdf" },
          { type: "file-url", url: "https://example.com/a.pdf" },
          { type: "text", text: "two" },
          { type: "file-id", fileId: "f1" },
        ],
      },
      {
        kind: "completed",
        data: 'one\ntwo\n(a part of type "file-id" that cannot be shown here)',
        content: [
          { type: "image", mediaType: "image/png", data: pixel },
          { type: "image", mediaType: "image/*", data: "https://example.com/a.png" },
          { type: "file", mediaType: "application/pdf", data: "JVBERg==" },
          { type: "file", mediaType: "application/octet-stream", data: "https://example.com/a.pdf" },
        ],
      },
    ],
  ];
  it.for(outputs)("is made from the value that toModelOutput() returns: %s", async ([, output, outcome]) => {
    const seen: unknown[] = [];
    const told: unknown[] = [];
    const made = tool({
      inputSchema: city,
      execute: async () => ({ celsius: 7 }),
      toModelOutput: async (given) => {
        seen.push(given);
        return output;
      },
    });
    const ended = await runTool(importTool(made, { name: "get" }), { city: "Oslo" }, { onMetadata: (data) => told.push(data) });
    expect(ended).toMatchObject(outcome as object);
    expect(seen).toEqual([{ toolCallId: "call_1", input: { city: "Oslo" }, output: { celsius: 7 } }]);
    expect(told).toEqual([{ celsius: 7 }]);
  });

  it.for<[what: string, url: string | URL]>([
    ["gs:", "gs://bucket/a.pdf"],
    ["file:", "file:///etc/passwd"],
    ["s3:", "s3://bucket/a"],
    ["ftp:", "ftp://example.com/a"],
    ["file: in a URL object", new URL("file:///etc/passwd")],
  ])("omits a file whose URL has the unsupported protocol %s", async ([, url]) => {
    const value = [
      { type: "image-url", url },
      { type: "file-data", data: url, mediaType: "application/pdf" },
      { type: "file", mediaType: "application/pdf", data: { type: "url", url } },
      { type: "file-url", url: "data:application/pdf;base64,JVBERg==" },
    ];
    const made = { inputSchema: city, execute: () => 1, toModelOutput: () => ({ type: "content", value }) };
    expect(await dataOf(made)).toMatchObject({
      data: ["image-url", "file-data", "file"].map((type) => `(a part of type "${type}" that cannot be shown here)`).join("\n"),
      content: [{ type: "file", mediaType: "application/pdf", data: "data:application/pdf;base64,JVBERg==" }],
    });
  });

  it("accepts files in AI SDK 7 format", async () => {
    const made = toolV7({
      inputSchema: city,
      execute: async () => 1,
      toModelOutput: () => ({
        type: "content",
        value: [
          { type: "file", mediaType: "image", data: { type: "data", data: new Uint8Array([1, 2, 3]) } },
          { type: "file", mediaType: "application/pdf", data: { type: "url", url: new URL("https://example.com/a.pdf") } },
          { type: "file", mediaType: "text/plain", data: { type: "text", text: "plain" } },
        ],
      }),
    });
    expect(await dataOf(made)).toMatchObject({
      data: "plain",
      content: [
        { type: "image", mediaType: "image/*", data: "AQID" },
        { type: "file", mediaType: "application/pdf", data: "https://example.com/a.pdf" },
      ],
    });
  });

  it("is a failure if toModelOutput returns an invalid output", async () => {
    const made = { inputSchema: city, execute: () => 1, toModelOutput: () => "seven" };
    expect(await dataOf(made)).toMatchObject({
      kind: "failed",
      error: { message: /returned a value that is not an AI SDK ToolResultOutput/ },
    });
  });
});

describe("importTool: an AI SDK tool's needsApproval field", () => {
  const amount = z.object({ amount: z.number().default(5_000) });
  const script = [
    [toolCall("pay", { amount: 1 }, { id: "small" }), toolCall("pay", {}, { id: "default" })],
    text("Done."),
  ] as const;

  it.for<[string, boolean | ((input: { amount: number }) => unknown), readonly string[]]>([
    ["true", true, ["small: awaiting-approval", "default: awaiting-approval"]],
    ["false", false, ["small: completed", "default: completed"]],
    ["a function of the parsed arguments", (input) => input.amount > 1_000, ["small: completed", "default: awaiting-approval"]],
    ["an async function", async (input) => input.amount > 1_000, ["small: completed", "default: awaiting-approval"]],
    ["a function that returns undefined", () => undefined, ["small: awaiting-approval", "default: awaiting-approval"]],
  ])("decides whether a call needs approval if the value is %s", async ([, needsApproval, outcomes]) => {
    const made = { inputSchema: amount, execute: async () => "paid", needsApproval };
    const journal = memoryJournal();
    const { result } = play(script, { middleware: [approve()], tools: [importTool(made, { name: "pay" })], journal });
    expect(outcomesOf(await result)).toEqual(outcomes);
  });

  it("is not called if the arguments fail a second validation", async () => {
    let checks = 0;
    const once = amount.refine(() => (checks += 1) === 1);
    const made = tool({ inputSchema: once, execute: async () => "paid", needsApproval: () => false });
    const { result } = play([toolCall("pay", {}, { id: "p1" })], {
      middleware: [approve()],
      tools: [importTool(made, { name: "pay" })],
    });
    expect(outcomesOf(await result)).toEqual(["p1: awaiting-approval"]);
  });

  it("receives the call, the conversation and the run's context", async () => {
    let seen: Record<string, unknown> = {};
    const made = tool({
      inputSchema: amount,
      execute: async () => "paid",
      needsApproval: async (_, options) => {
        seen = { ...options };
        return false;
      },
    });
    const { result } = play([toolCall("pay", {}, { id: "p1" }), text("Done.")], {
      middleware: [approve()],
      tools: [importTool(made, { name: "pay" })],
      context: { user: 7 },
    });
    expect(outcomesOf(await result)).toEqual(["p1: completed"]);
    expect(seen).toMatchObject({
      toolCallId: "p1",
      messages: [{ role: "user", content: "Go." }],
      experimental_context: { user: 7 },
      context: { user: 7 },
    });
  });
});
