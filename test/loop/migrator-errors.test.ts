import { expect, it } from "vitest";
import { defineTool, isLoopError, iterationCountIs, type LoopResult, runToolLoop, unwrap, withRetry } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { fileJournal } from "turnwright/journal";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { createMockProvider, toolCall } from "turnwright/testing";

type Mistake = readonly [written: string, write: () => unknown, said: string];

const run = (options: object): unknown =>
  runToolLoop({ provider: createMockProvider([]), messages: [{ role: "user", content: "?" }], ...options });

const call = { type: "tool-call", toolCallId: "a", toolName: "f", input: {} };
const answer = { type: "tool-result", toolCallId: "a", toolName: "f", output: { type: "text", value: "x" } };
const adapters = { openaiChat, openaiResponses, anthropicMessages, googleGenerateContent };

const write = (make: unknown, ...given: readonly unknown[]): unknown => Reflect.apply(make as () => unknown, undefined, given);

const pay = defineTool({
  name: "pay",
  description: "Pays",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => 1,
});

async function decideWrongly(): Promise<unknown> {
  const options = { provider: createMockProvider([toolCall("pay", {}, { id: "a" })]), tools: [pay], runId: "r" };
  const { journal } = (await run(options)) as LoopResult;
  return run({ ...options, journal, answers: { a: { kind: "approved" } } });
}

it.for<Mistake>([
  ...Object.entries(adapters).map(([name, make]): Mistake => [
    `an API key passed to ${name}`,
    () => write(make, { apiKey: "sk-abc12345678", model: "m" }),
    'Did you mean "client"? Write: client, an SDK client created with your key and base URL',
  ]),
  [
    "maxRetries passed to withRetry",
    () => write(withRetry, createMockProvider([]), { maxRetries: 2 }),
    'Did you mean "maxAttempts"?',
  ],
  [
    "an AI SDK tool call",
    () => run({ messages: [{ role: "assistant", content: [call] }] }),
    'write calls as { type: "tool-call", callId',
  ],
  [
    "an AI SDK tool result",
    () => run({ messages: [{ role: "tool", content: [answer] }] }),
    'their results as { role: "tool", results:',
  ],
  ["an unknown kind of decision", decideWrongly, 'is "approved"'],
  ["a URL passed to fileJournal", () => write(fileJournal, new URL("file:///runs/a.jsonl")), "fileURLToPath"],
  ["a file URL string passed to fileJournal", () => fileJournal("file:///runs/a.jsonl"), "fileURLToPath"],
  [
    "a promise passed to unwrap",
    () => write(unwrap, Promise.resolve()),
    "is a promise, but must be the awaited result of runToolLoop",
  ],
  ["undefined passed to unwrap", () => write(unwrap), "is undefined, but must be the awaited result of runToolLoop"],
  [
    "a string passed to iterationCountIs",
    () => write(iterationCountIs, "5"),
    'Option "iterationCountIs" is "5", but must be a whole number',
  ],
])("%s is rejected with an error that says what to pass instead", async ([, mistake, said]) => {
  const error: unknown = await new Promise((resolve) => resolve(mistake())).catch((thrown: unknown) => thrown);
  expect(isLoopError(error)).toBe(true);
  expect(String(error)).toContain(said);
  expect(String(error)).not.toContain("sk-abc12345678");
});
