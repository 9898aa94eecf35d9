// A bundle of the loop alone does not have the code that reads journals or starts nested runs. Its records can be resumed all the same.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  defineTool,
  enableJournals,
  type Journal,
  type LoopEvent,
  memoryJournal,
  runNested,
  type SavedJournal,
} from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { build } from "esbuild";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { inLockstep } from "../../src/core/loop/replay/lockstep.ts";
import { pasts } from "../../src/core/loop/run.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";

const whole = { ...pasts };
beforeEach(() => {
  for (const name of Object.keys(pasts)) Reflect.deleteProperty(pasts, name);
});
afterEach(() => void Object.assign(pasts, whole));

const messages = [{ role: "user", content: "Go." }] as const;
const pay = defineTool({
  name: "pay",
  description: "",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});
const mine = (): Journal => ({ read: () => undefined, step: async (_, body) => body() });

it("runToolLoop: without a journal, a suspended run returns records from which a later run continues", async () => {
  const provider = createMockProvider([toolCall("pay", {}), text("Done.")]);
  const options = { provider, tools: [pay], messages };
  const first = await runToolLoop(options);
  expect(first).toMatchObject({ status: "suspended", pendingCalls: [{ name: "pay", waitsFor: "approval" }] });
  const id = first.pendingCalls[0]?.callId ?? "";
  const saved = JSON.parse(JSON.stringify(first.journal)) as SavedJournal;
  expect(Object.keys(saved.steps)[0]).toBe("run");
  const answers = { [id]: { kind: "approve" } };
  const again = await runToolLoop({ ...options, journal: memoryJournal(saved), answers });
  expect(again).toMatchObject({ status: "completed", text: "Done.", toolCallsExecuted: 1 });
});

it("runToolLoop: without a journal, calls that need no approval run beside one that waits", async () => {
  const provider = createMockProvider([[toolCall("pay", {}), toolCall("read", {})], text("Done.")]);
  const { needsApproval: _, ...read } = { ...pay, name: "read" };
  const events: string[] = [];
  const result = await runToolLoop({
    provider,
    tools: [pay, read],
    messages,
    middleware: [{ name: "watch", pure: true, on: ({ type }) => void events.push(type) }],
  });
  expect(result).toMatchObject({ status: "suspended", calls: [{ name: "read", outcome: "completed" }] });
  expect(result.pendingCalls).toMatchObject([{ name: "pay", waitsFor: "approval" }]);
  expect(events.filter((type) => type.startsWith("approval"))).toEqual(["approval-asked"]);
});

it("runToolLoop: without a journal, denies a call that needs approval in a nested run of an ordinary tool", async () => {
  const inner = createMockProvider([toolCall("pay", {}), text("Not paid.")]);
  const helper = defineTool({
    name: "helper",
    description: "",
    inputSchema: { type: "object" },
    execute: async (_, context) => (await runNested(context, { provider: inner, tools: [pay], messages })).calls,
  });
  const events: object[] = [];
  const on = (event: LoopEvent): void => void (event.type.startsWith("approval") && events.push(event));
  const provider = createMockProvider([toolCall("helper", {}), text("Done.")]);
  const { calls } = await runToolLoop({ provider, tools: [helper], messages, middleware: [{ name: "watch", pure: true, on }] });
  expect(calls).toMatchObject([{ result: [{ name: "pay", outcome: "denied" }] }]);
  expect(events).toMatchObject([{ type: "approval-asked" }, { type: "approval-decided", decision: "deny" }]);
});

it.each([
  ["journal", { journal: mine() }],
  ["answers", { answers: { c: { kind: "approve" } } }],
])("runToolLoop: refuses the option %s and names the function to call", async (option, more) => {
  const provider = createMockProvider([text("Done.")]);
  const run = (): Promise<unknown> => runToolLoop({ provider, messages, ...more });
  await expect(run()).rejects.toMatchObject({
    code: "invalid-option",
    details: { option, expected: expect.stringContaining("enableJournals") },
  });
  expect(provider.requests).toHaveLength(0);
  enableJournals();
  if (option === "journal") expect(await run()).toMatchObject({ status: "completed" });
  else await expect(run()).rejects.toMatchObject({ code: "unknown-decision" });
});

describe("enableJournals", () => {
  it.each<[name: string, make: () => unknown]>([
    ["memoryJournal", () => memoryJournal()],
    ["fileJournal", () => fileJournal("never-opened.jsonl")],
    ["replayJournal", () => replayJournal(mine())],
    [
      "createConversation",
      () => createConversation({ id: "a", store: memoryConversationStore(), options: { provider: createMockProvider([]) } }),
    ],
    ["createRunHost", () => createRunHost()],
    ["inLockstep", () => inLockstep({ all: async () => [] })],
  ])("is called by %s", (_, make) => {
    make();
    expect(pasts.begin).toBeDefined();
  });
});

describe("a bundle of runToolLoop", () => {
  const bundle = async (program: string): Promise<string> => {
    const stdin = { contents: program, resolveDir: "src/core", loader: "ts" as const };
    const { outputFiles } = await build({ stdin, bundle: true, write: false, format: "esm", mainFields: ["module", "main"] });
    return outputFiles[0]?.text ?? "";
  };
  const loop = 'export { runToolLoop } from "./loop/run-tool-loop.ts";';
  it.each([
    ["reads journals", "memoryJournal", "./journal/memory-journal.ts", "journal-mismatch"],
    ["decides about calls", "memoryJournal", "./journal/memory-journal.ts", "returned no valid decision"],
    ["decides about calls", "approve", "./middleware/approve.ts", "returned no valid decision"],
    ["runs calls while their message streams", "eagerTools", "./loop/eager-tools.ts", "isEarly: true"],
    ["starts nested runs", "runNested", "./loop/nested/run-nested.ts", "cannot start a nested run"],
    ["starts nested runs", "defineAgentTool", "./loop/nested/define-agent-tool.ts", "cannot start a nested run"],
  ])("contains the code that %s only with %s", async (...[, name, file, text]) => {
    expect(await bundle(loop)).not.toContain(text);
    expect(await bundle(`${loop} export { ${name} } from "${file}";`)).toContain(text);
  });
});
