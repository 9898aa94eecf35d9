import { expect, it } from "vitest";
import { stepCountIs, hasToolCall as aiHasToolCall } from "ai";
import { z } from "zod";
import { defineTool, generateWithTools, type LoopError, type StopCondition, stopWhen, toolResult } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { answersOf, play, tool } from "./play.ts";
import { refusal } from "./refusal.ts";

it.for<[bad: object, nearest: string, instead: string | undefined]>([
  [{ prompt: "Hi." }, "messages", 'messages: [{ role: "user", content: "..." }]'],
  [{ maxSteps: 5 }, "limits.maxIterations", "limits: { maxIterations: 10 }"],
  [{ maxTurns: 5 }, "limits.maxIterations", "limits: { maxIterations: 10 }"],
  [{ limits: { maxSteps: 5 } }, "limits.maxIterations", "maxIterations: 10"],
  [{ stopWhen: stepCountIs(5) }, "middleware", "middleware: [stopWhen(iterationCountIs(5))]"],
  [{ onStepFinish: () => {} }, "middleware", "middleware: [onIteration((finished, state) => {})]"],
  [{ experimental_prepareStep: () => {} }, "middleware", "middleware: [prepareIteration((view) => ({}))]"],
  [{ experimental_output: {} }, "middleware", "middleware: [structuredOutput(schema)]"],
  [{ experimental_context: {} }, "context", undefined],
  [{ experimental_telemetry: {} }, "events", 'middleware: [tracing()], from "turnwright/observe"'],
  [{ instructions: "Be brief." }, "system", 'system: "..."'],
  [{ model: "gpt-5" }, "provider", 'provider: openaiChat({ client, model: "..." })'],
  [{ abortSignal: undefined }, "signal", "signal: controller.signal"],
  [{ temperature: 0 }, "modelSettings.temperature", "modelSettings: { temperature }"],
  [{ modelSettings: { maxTokens: 5 } }, "modelSettings.maxOutputTokens", undefined],
  [
    { maxTokens: 500 },
    "modelSettings.maxOutputTokens",
    "modelSettings: { maxOutputTokens } to limit each answer, or limits: { maxTokens } to limit all tokens of the run",
  ],
  [
    { max_tokens: 500 },
    "modelSettings.maxOutputTokens",
    "modelSettings: { maxOutputTokens } to limit each answer, or limits: { maxTokens } to limit all tokens of the run",
  ],
  [{ onFinish: () => {} }, "events", 'events: createLoopEvents(), then events.on("run-end", listener)'],
])('runToolLoop with %o, as in another library, throws an error that suggests "%s"', async ([bad, nearest, instead]) => {
  const { code, details, message } = await refusal(bad);
  expect([code, details]).toMatchObject(["unknown-option", { nearest, instead }]);
  expect(message).toContain(`Did you mean "${nearest}"?${instead === undefined ? "" : ` Write: ${instead}`}`);
});

it("generateWithTools suggests only its own options in the error for an unknown option", async () => {
  const executor = { definitions: [], execute: () => 1 };
  const ask = async (more: object): Promise<LoopError> => {
    const asked: unknown = await Promise.resolve()
      .then(() => Reflect.apply(generateWithTools, undefined, [createMockProvider([]), { prompt: "Hi." }, executor, more]))
      .catch((error: unknown) => error);
    return asked as LoopError;
  };
  expect((await ask({ maxSteps: 5 })).details).toMatchObject({ nearest: "maxIterations", instead: "maxIterations: 10" });
  expect((await ask({ signal: 1 })).details).toMatchObject({ nearest: "abortSignal" });
  expect((await ask({ prompt: "Hi." })).message).toBe('There is no option "prompt".');
});

it.for<[title: string, fields: object, problem: string]>([
  [
    "parameters",
    { parameters: z.object({}) },
    'has an invalid "inputSchema": it is undefined, but must be a Standard Schema or a JSON Schema, such as z.object({}) or { type: "object" }. Rename "parameters" to "inputSchema"',
  ],
  ["input_schema", { input_schema: {} }, 'Rename "input_schema" to "inputSchema"'],
  [
    "handler",
    { inputSchema: z.object({}), execute: undefined, handler: () => 1 },
    'has an invalid "execute": it is undefined, but must be a function. Rename "handler" to "execute"',
  ],
  [
    "parameters` beside `inputSchema",
    { inputSchema: z.object({}), parameters: z.object({}) },
    'has an unknown field "parameters" (write: inputSchema: z.object({ ... }))',
  ],
])("defineTool suggests inputSchema or execute in the error for the `%s` field", ([, fields, problem]) => {
  const make = (): unknown => Reflect.apply(defineTool, undefined, [{ name: "t", description: "", execute: () => 1, ...fields }]);
  expect(make).toThrow(problem);
});

it("runToolLoop suggests importTools in the error for tools in an object", async () => {
  const { message } = await refusal({ tools: { t: tool("t", () => 1) } });
  expect(message).toContain('for tools in an object: importTools(tools) from "turnwright/interop"');
});

const bytes = new Uint8Array([1, 2, 3]);
const hello = { role: "user", content: "Hello." };
const fromUI = 'Write: messages: fromUIMessages(messages).messages, from "turnwright/ui-message-stream"';
const fromOpenAI = 'Write: messages: fromOpenAIMessages(messages).messages, from "turnwright/openai"';
const fromAnthropic = 'Write: messages: fromAnthropicMessages(messages).messages, from "turnwright/anthropic"';
it.for<[what: string, messages: readonly object[], advice: string]>([
  ["an image as bytes", [{ role: "user", content: [{ type: "image", image: bytes }] }], "Bytes must be base64 text"],
  [
    "a file as bytes",
    [{ role: "user", content: [{ type: "file", mediaType: "a/b", data: bytes.buffer }] }],
    "Bytes must be base64 text",
  ],
  [
    "an image_url part",
    [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://a.b" } }] }],
    'Write: { type: "image", mediaType: "image/png", data }',
  ],
  [
    "an image with a url",
    [{ role: "user", content: [{ type: "image", mediaType: "image/png", url: "https://a.b" }] }],
    'Write: { type: "image", mediaType: "image/png", data }',
  ],
  ["a system message", [{ role: "system", content: "Be brief." }], 'Pass system text in the option "system"'],
  ["a developer message", [{ role: "developer", content: "Be brief." }], 'Pass system text in the option "system"'],
  ["messages from useChat", [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi." }] }], fromUI],
  ["an answer from useChat", [hello, { id: "2", role: "assistant", parts: [{ type: "text", text: "Hi." }] }], fromUI],
  [
    "OpenAI calls",
    [
      hello,
      { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "t", arguments: "{}" } }] },
    ],
    fromOpenAI,
  ],
  ["an OpenAI result", [hello, { role: "tool", tool_call_id: "a", content: "12" }], fromOpenAI],
  ["OpenAI input text", [{ role: "user", content: [{ type: "input_text", text: "Hi." }] }], fromOpenAI],
  ["a Responses API item", [{ type: "function_call_output", call_id: "a", output: "12" }], fromOpenAI],
  [
    "an Anthropic call",
    [hello, { role: "assistant", content: [{ type: "tool_use", id: "a", name: "t", input: {} }] }],
    fromAnthropic,
  ],
  ["an Anthropic result", [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "12" }] }], fromAnthropic],
  ["Google contents", [{ role: "user", parts: [{ text: "Hi." }] }], 'Write: { role: "user", content: "..." }'],
  [
    "a call without a result",
    [{ role: "assistant", content: [{ type: "tool-call", callId: "a", name: "t", args: {} }] }],
    'let "repairMessages" add "not-run" results',
  ],
  [
    "a result without a call",
    [{ role: "tool", results: [{ callId: "a", name: "t", result: 1 }] }],
    'Remove extra results, or use "repairMessages"',
  ],
])("runToolLoop says what to write instead in the error for messages with %s", async ([, messages, advice]) => {
  const { code, message } = await refusal({ messages });
  expect([code, message]).toEqual(["invalid-messages", expect.stringContaining(advice)]);
});

it("a call that returns a toolResult with bytes fails with an error that asks for base64 text", async () => {
  const give = (): unknown =>
    Reflect.apply(toolResult, undefined, [{ content: [{ type: "image", mediaType: "image/png", data: bytes }] }]);
  const playing = play([toolCall("t"), text("Done.")], { tools: [tool("t", give)] });
  expect(JSON.stringify(answersOf(await playing.result)[0])).toContain("Bytes must be base64 text");
});

it.for([stepCountIs(5), aiHasToolCall("t")])(
  'stopWhen with an AI SDK condition (case %#) ends the run as "hook-failed", and the error suggests iterationCountIs',
  async (condition) => {
    const { result } = play([text("Hi.")], { middleware: [stopWhen(condition as unknown as StopCondition)] });
    const error = { message: expect.stringContaining("Use iterationCountIs") };
    expect((await result).reason).toMatchObject({ kind: "hook-failed", hook: "stop-when.request", error });
  },
);
