// A bundle of the loop alone does not have the code that records runs, waits, reads journals or starts nested runs.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  approve,
  ask,
  createToolRegistry,
  defineTool,
  enableJournals,
  type Journal,
  memoryJournal,
  type Middleware,
  runNested,
  type SavedJournal,
  type Tool,
  type ToolContext,
} from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { build } from "esbuild";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { inLockstep } from "../../src/core/loop/replay/lockstep.ts";
import { parts } from "../../src/core/loop/run.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";

const whole = { ...parts };
beforeEach(() => {
  for (const name of Object.keys(parts)) Reflect.deleteProperty(parts, name);
});
afterEach(() => void Object.assign(parts, whole));

const messages = [{ role: "user", content: "Go." }] as const;
const pay = defineTool({
  name: "pay",
  description: "",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});
const mine = (): Journal => ({ read: () => undefined, step: async (_, body) => body() });

const later = expect.stringContaining("enableJournals");

it("runToolLoop: refuses a tool that needs an approval nobody can give, and names the function to call", async () => {
  const provider = createMockProvider([toolCall("pay", {}), text("Done.")]);
  const options = { provider, tools: [pay], messages };
  await expect(runToolLoop(options)).rejects.toMatchObject({
    code: "invalid-option",
    details: { option: "tools.pay.needsApproval", expected: later },
  });
  expect(provider.requests).toHaveLength(0);
  enableJournals();
  const first = await runToolLoop(options);
  expect(first).toMatchObject({ status: "suspended", pendingCalls: [{ name: "pay", waitsFor: "approval" }] });
  const saved = JSON.parse(JSON.stringify(first.journal)) as SavedJournal;
  expect(Object.keys(saved.steps)[0]).toBe("run");
  const answers = { [first.pendingCalls[0]?.callId ?? ""]: { kind: "approve" } };
  const again = await runToolLoop({ ...options, journal: memoryJournal(saved), answers });
  expect(again).toMatchObject({ status: "completed", text: "Done.", toolCallsExecuted: 1 });
});

it("runToolLoop: ends a run whose registry adds such a tool", async () => {
  const registry = createToolRegistry([
    defineTool({
      name: "open",
      description: "",
      inputSchema: { type: "object" },
      execute: () => registry.register(pay),
    }),
  ]);
  const provider = createMockProvider([toolCall("open", {}), toolCall("pay", {}), text("Done.")]);
  const result = await runToolLoop({ provider, tools: registry, messages });
  expect(result).toMatchObject({ status: "error", reason: { kind: "hook-failed", error: { message: later } }, iterations: 1 });
});

it("runToolLoop: applies the decisions of a policy, and ends a run whose policy asks a person", async () => {
  let count = 0;
  const run = (kind: "approve" | "deny" | "ask"): Promise<unknown> =>
    runToolLoop({
      provider: createMockProvider([toolCall("pay", {}), text("Done.")]),
      tools: [{ ...pay, execute: () => (count += 1) }],
      messages,
      middleware: [approve(() => ({ kind }))],
    });
  expect(await run("approve")).toMatchObject({ status: "completed", calls: [{ result: 1 }] });
  expect(await run("deny")).toMatchObject({ status: "completed", calls: [{ outcome: "denied" }] });
  expect(await run("ask")).toMatchObject({
    status: "error",
    reason: { kind: "hook-failed", hook: "approve.call", error: { message: later } },
  });
  expect(count).toBe(1);
});

it("runToolLoop: runs a durable tool, and fails its call if it waits", async () => {
  const helper = createMockProvider([text("Found.")]);
  const tool = (name: string, execute: (args: unknown, context: ToolContext) => unknown): Tool =>
    defineTool({ name, description: "", inputSchema: { type: "object" }, durable: true, execute });
  const tools = [
    tool("count", (_, { step }) => step("one", () => 1)),
    tool("nest", async (_, context) => (await runNested(context, { provider: helper, messages })).text),
    tool("wait", (_, { wait }) => wait("permission", {})),
    tool("ask", (_, context) => ask(context, { question: "Which?" })),
    tool("call", (_, { call }) => call("count", {})),
  ];
  const provider = createMockProvider([tools.map(({ name }) => toolCall(name, {})), text("Done.")]);
  const { calls } = await runToolLoop({ provider, tools, messages });
  const failed = { outcome: "failed", result: { reason: later } };
  expect(calls).toMatchObject([{ result: 1 }, { result: "Found." }, failed, failed, failed]);
});

it("runToolLoop: fails a call whose result is deferred", async () => {
  const later = defineTool({ name: "later", description: "", inputSchema: { type: "object" } });
  const provider = createMockProvider([toolCall("later", {}), text("Done.")]);
  const { calls } = await runToolLoop({ provider, tools: [later], messages });
  expect(calls).toMatchObject([{ outcome: "failed", result: { reason: expect.stringContaining("defer") } }]);
});

it("runToolLoop: records nothing, and says so when the journal is read", async () => {
  const bodies: string[] = [];
  const middleware: Middleware = {
    name: "watch",
    request: async (request, next, at) => {
      await at.step("look", () => void bodies.push("look"));
      return next(request);
    },
  };
  const { journal } = await runToolLoop({ provider: createMockProvider([text("Done.")]), messages, middleware: [middleware] });
  expect(bodies).toEqual(["look"]);
  expect(() => journal.read("run")).toThrow(
    expect.objectContaining({ code: "invalid-option", details: { option: "journal", expected: later, received: "an object" } }),
  );
});

it("runToolLoop: refuses such a tool in a nested run too", async () => {
  const helper = defineTool({
    name: "helper",
    description: "",
    inputSchema: { type: "object" },
    execute: (_, context) => runNested(context, { tools: [pay], messages }),
  });
  const provider = createMockProvider([toolCall("helper", {}), text("Done.")]);
  const { calls } = await runToolLoop({ provider, tools: [helper], messages });
  expect(calls).toMatchObject([{ outcome: "failed", result: { reason: later } }]);
});

it.each([
  ["journal", { journal: mine() }],
  ["answers", { answers: { c: { kind: "approve" } } }],
])("runToolLoop: refuses the option %s and names the function to call", async (option, more) => {
  const provider = createMockProvider([text("Done.")]);
  const run = (): Promise<unknown> => runToolLoop({ provider, messages, ...more });
  await expect(run()).rejects.toMatchObject({
    code: "invalid-option",
    details: { option, expected: later },
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
    expect(parts.durability).toBeDefined();
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
    ["waits", "memoryJournal", "./journal/memory-journal.ts", "This nested run cannot wait for answers"],
    ["decides about calls", "approve", "./middleware/approve.ts", "returned no valid decision"],
    ["runs calls while their message streams", "eagerTools", "./loop/eager-tools.ts", "isEarly: true"],
    ["starts nested runs", "runNested", "./loop/nested/run-nested.ts", "cannot start a nested run"],
    ["starts nested runs", "defineAgentTool", "./loop/nested/define-agent-tool.ts", "cannot start a nested run"],
  ])("contains the code that %s only with %s", async (...[, name, file, text]) => {
    expect(await bundle(loop)).not.toContain(text);
    expect(await bundle(`${loop} export { ${name} } from "${file}";`)).toContain(text);
  });
});
