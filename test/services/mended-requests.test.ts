// Requests that a strict service once refused in a random program.

import { describe, expect, it } from "vitest";
import { defineTool, type LoopOptions, type Message, prepareIteration, runToolLoop, toolResult } from "turnwright";
import { strictService, text, toolCall } from "turnwright/testing";
import { allRows, titleOf } from "./connect-strict.ts";
import { pdf } from "./rule-case.ts";

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
  execute: () => "seen",
});
const user: Message = { role: "user", content: "Look." };
const file: Message = { role: "user", content: [{ type: "file", mediaType: "application/pdf", data: pdf }] };
const blank: Message = {
  role: "user",
  content: [
    { type: "text", text: " " },
    { type: "text", text: "Look." },
  ],
};
const asks: Message = { role: "assistant", content: [{ type: "tool-call", callId: "c1", name: "look", args: {} }] };
const results: Message = { role: "tool", results: [{ callId: "c1", name: "look", outcome: "completed", result: "seen" }] };
const bmp = { type: "image" as const, mediaType: "image/bmp", data: "Qk0AAA==" };
const drawn: Message = {
  role: "tool",
  results: [{ callId: "c1", name: "look", outcome: "completed", result: "seen", content: [bmp] }],
};
const silent: Message = { role: "assistant", content: [{ type: "text", text: " " }] };
const thinks: Message = { role: "assistant", content: [{ type: "reasoning", text: "Hm." }] };
const hello: Message = { role: "assistant", content: [{ type: "text", text: "Hello." }] };

/** The adapters refuse a new file of the user, because these services take no PDFs. */
const withoutFiles = ["deepseek", "groq", "llama-server", "ollama", "vllm"];

const cases: readonly (readonly [title: string, options: Partial<LoopOptions>])[] = [
  ["has a seed", { modelSettings: { seed: 1 } }],
  ['has the tool choice "none"', { tools: [look], middleware: [prepareIteration(() => ({ toolChoice: "none" }))] }],
  ["has a file without text", { messages: [file] }],
  ["has a blank text part", { messages: [blank] }],
  ["begins with an assistant message", { messages: [hello, user] }],
  ["ends with an assistant message", { messages: [user, hello] }],
  ["has two assistant messages in a row", { messages: [user, hello, asks, results, user] }],
  ["has a blank answer after a history that begins with a call", { messages: [asks, results, user, silent, user] }],
  ["ends with reasoning", { messages: [user, thinks, user] }],
  [
    "forces a call",
    { tools: [look], middleware: [prepareIteration(({ iteration }) => (iteration === 0 ? { toolChoice: "required" } : {}))] },
  ],
  [
    "forces a specific call",
    {
      tools: [look],
      middleware: [prepareIteration(({ iteration }) => (iteration === 0 ? { toolChoice: { name: "look" } } : {}))],
    },
  ],
  ["has a BMP image from a tool", { messages: [user, asks, drawn, user] }],
];

describe.each(cases)("a request that %s", (_title, options) => {
  const rows = allRows.filter(({ kind }) => !withoutFiles.includes(kind) || options.messages?.[0] !== file);

  it.each(rows.map((row) => [titleOf(row), row] as const))("is accepted by %s", async (_name, { kind, connect }) => {
    const service = strictService(kind);
    const result = await runToolLoop({ provider: connect(service), messages: [user], ...options });
    expect([result.status, service.refusals.map(({ message }) => message)]).toEqual(["completed", []]);
  });
});

it.each(withoutFiles)("%s receives text instead of a tool's PDF", async (local) => {
  const row = allRows.find(({ kind }) => kind === local);
  if (row === undefined) throw new Error("There is no such row.");
  const service = strictService(row.kind, { answers: [toolCall("read"), text("Done.")] });
  const content = [{ type: "file" as const, mediaType: "application/pdf", data: pdf }];
  const read = defineTool({ ...look, name: "read", execute: () => toolResult({ data: "read", content }) });
  const result = await runToolLoop({ provider: row.connect(service), messages: [user], tools: [read] });
  expect([result.status, service.refusals]).toEqual(["completed", []]);
  expect(JSON.stringify(service.requests[1]?.body)).toContain("which cannot be shown to you");
});

it("Mistral receives the seed as random_seed", async () => {
  const service = strictService("mistral", { answers: [toolCall("look"), text("Done.")] });
  const row = allRows.find(({ kind }) => kind === "mistral");
  if (row === undefined) throw new Error("There is no row for Mistral.");
  await runToolLoop({ provider: row.connect(service), messages: [user], tools: [look], modelSettings: { seed: 7 } });
  expect(service.requests.map(({ body }) => body["random_seed"])).toEqual([7, 7]);
});
