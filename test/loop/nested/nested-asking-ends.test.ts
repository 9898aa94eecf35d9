import { describe, expect, it } from "vitest";
import {
  approve,
  type Approve,
  createLoopControl,
  createToolRegistry,
  defineAgentTool,
  FatalToolError,
  type LoopOptions,
  type LoopResult,
  type NestedLoopOptions,
  type Tool,
} from "turnwright";
import { inspectJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, type MockPart, text, toolCall } from "turnwright/testing";
import { createDurableStore, type DurableStore } from "../durable-store.ts";
import { outcomesOf, play, type Playing, tool } from "../play.ts";
import { nesting, question } from "./nesting.ts";

const policy: Approve = ({ name }) => ({ kind: name.startsWith("pay") ? "ask" : "approve" });
const calls = (...names: readonly string[]): readonly MockPart[] => names.map((name) => toolCall(name));

interface Stage {
  readonly ran: string[];
  readonly store: DurableStore;
  start(more?: Partial<LoopOptions>): Playing;
}

/** `make` creates the tools with the function `work`. `ran` lists the runs of these tools. */
function setUp(names: readonly string[], make: (work: (name: string, traits?: Partial<Tool>) => Tool) => readonly Tool[]): Stage {
  const ran: string[] = [];
  const store = createDurableStore();
  const tools = make((name, traits) => tool(name, () => void ran.push(name), traits));
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? calls(...names) : text("Done.")));
  const start = (more: Partial<LoopOptions> = {}): Playing =>
    play([], {
      runId: "r",
      provider,
      tools,
      middleware: [approve(policy)],
      journal: store.open(),
      timeouts: { toolCleanupMs: 0 },
      ...more,
    });
  return { ran, store, start };
}

function agent(names: readonly string[], more: Partial<NestedLoopOptions> = {}): Tool {
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? calls(...names) : text("Inside.")));
  return nesting("agent tool", "agent", () => ({ messages: question, provider, middleware: [approve(policy)], ...more }));
}

const broken = tool("broken", () => {
  throw new FatalToolError("No.");
});

async function checkOver({ start, ran, store }: Stage, ended: LoopResult): Promise<void> {
  const before = [...ran];
  for (const journal of [store.open(), replayJournal(store.open())]) {
    const again = await start({ journal }).result;
    expect([again.reason, again.messages]).toEqual([ended.reason, ended.messages]);
  }
  const seen = await inspectJournal(store.open());
  expect([seen.status, seen.pendingCalls]).toEqual([ended.status, []]);
  const answers: LoopOptions["answers"] = Object.fromEntries(
    ["call_i0_0", "call_i0_1", "call_i0_2", "call_i0_0/call_i0_1"].map((id) => [id, { kind: "approve" }]),
  );
  await expect(start({ answers }).result).rejects.toMatchObject({ code: "unknown-decision" });
  expect(ran).toEqual(before);
}

it("a FatalToolError inside an agent cancels the agent's waiting calls", async () => {
  const said: string[] = [];
  const stage = setUp(["agent", "look"], (work) => [agent(["broken", "pay"], { tools: [broken, work("pay")] }), work("look")]);
  const provider = createMockProvider(({ messages }) => {
    if (messages.length > 1) said.push(playing.control.stop());
    return messages.length === 1 ? calls("agent", "look") : calls("look");
  });
  const playing = stage.start({ provider });
  const result = await playing.result;
  expect([said, result.reason.kind, stage.ran]).toEqual([["accepted"], "stopped", ["look"]]);
});

describe("a resumed run with a call waiting for approval", () => {
  it.for(["stop", "kill", "abort"] as const)(`never runs the outer run's waiting call after "%s"`, async (verb) => {
    let end = (): void => {};
    const stage = setUp(["agent", "pay"], (work) => [
      agent(["payIn", "payToo"], {
        tools: [tool("payIn", () => end()), work("payToo")],
      }),
      work("pay"),
    ]);
    const first = await stage.start().result;
    expect(first.reason.kind).toBe("approval-required");
    const second = stage.start({ answers: { "call_i0_0/call_i0_0": { kind: "approve" } } });
    end = () => (verb === "abort" ? second.abort.abort() : void second.control[verb]());
    const result = await second.result;
    expect([result.status, outcomesOf(result).at(-1)]).toEqual(["stopped-by-user", "call_i0_1: not-run"]);
    await checkOver(stage, result);
    expect(stage.ran).toEqual([]);
  });

  it(`never runs the nested run's waiting call after "stop"`, async () => {
    let end = (): void => {};
    const stage = setUp(["agent", "pay"], (work) => [
      agent(["look", "payIn"], { tools: [work("look"), work("payIn")] }),
      tool("pay", () => end()),
    ]);
    await stage.start().result;
    const second = stage.start({ answers: { call_i0_1: { kind: "approve" } } });
    end = () => void second.control.stop();
    const result = await second.result;
    expect([result.status, outcomesOf(result)]).toEqual([
      "stopped-by-user",
      ["call_i0_0: interrupted", "call_i0_1: interrupted"],
    ]);
    await checkOver(stage, result);
    expect(stage.ran).toEqual(["look"]);
  });
});

it("a sequential call that follows an agent call runs even if the agent was drained and then stopped", async () => {
  const control = createLoopControl();
  const drain = tool("drain", () => void control.drain());
  let finish = (): void => {};
  const slow = tool("slow", () => new Promise<void>((resolve) => (finish = resolve)));
  const stage = setUp(["agent", "slow", "alone"], (work) => [
    agent(["drain", "look"], { tools: [drain, work("look")], control }),
    slow,
    work("alone", { sequential: true }),
  ]);
  const playing = stage.start();
  await playing.clock.flush();
  expect(control.stop()).toBe("accepted");
  finish();
  const result = await playing.result;
  expect([result.text, stage.ran]).toEqual(["Done.", ["look", "alone"]]);
  await checkOver(stage, result);
});

it("a FatalToolError from an agent's toResult cancels the waiting calls in the same batch", async () => {
  const control = createLoopControl();
  let finish = (): void => {};
  const stage = setUp(["agent", "pay", "slow"], (work) => [
    defineAgentTool({
      name: "agent",
      description: "agent",
      inputSchema: { type: "object" },
      prepare: () => ({
        messages: question,
        provider: createMockProvider([toolCall("pay"), text("Inside.")]),
        middleware: [approve(policy)],
        tools: [work("pay")],
        control,
      }),
      toResult: () => {
        throw new FatalToolError("No.");
      },
    }),
    work("pay"),
    tool("slow", () => new Promise<void>((resolve) => (finish = resolve))),
  ]);
  const playing = stage.start();
  await playing.clock.flush();
  expect(control.stop()).toBe("accepted");
  finish();
  const result = await playing.result;
  expect([result.reason.kind, outcomesOf(result)]).toEqual([
    "fatal-tool-error",
    ["call_i0_0: failed", "call_i0_1: not-run", "call_i0_2: completed"],
  ]);
  await checkOver(stage, result);
});

describe("sequential calls", () => {
  it("do not start after an agent with a waiting call", async () => {
    const stage = setUp(["agent", "alone", "look"], (work) => [
      agent(["payIn"], { tools: [work("payIn")] }),
      work("alone", { sequential: true }),
      work("look"),
    ]);
    const first = await stage.start().result;
    expect([first.reason.kind, stage.ran]).toEqual(["approval-required", []]);
    const told = await stage.start({ journal: replayJournal(stage.store.open()) }).result;
    expect(told.messages).toEqual(first.messages);
    const second = await stage.start({ answers: { "call_i0_0/call_i0_0": { kind: "approve" } } }).result;
    expect([second.text, stage.ran]).toEqual(["Done.", ["payIn", "alone", "look"]]);
  });

  it("do not start after a sequential agent with a waiting call", async () => {
    const provider = createMockProvider(({ messages }) => (messages.length === 1 ? calls("payIn") : text("Inside.")));
    const stage = setUp(["look", "agent", "late"], (work) => [
      work("look"),
      work("late"),
      defineAgentTool({
        name: "agent",
        description: "agent",
        inputSchema: { type: "object" },
        sequential: true,
        prepare: () => ({ messages: question, provider, middleware: [approve(policy)], tools: [work("payIn")] }),
        toResult: ({ text: said }) => said,
      }),
    ]);
    const first = await stage.start().result;
    expect([first.reason.kind, stage.ran]).toEqual(["approval-required", ["look"]]);
    const second = await stage.start({ answers: { "call_i0_1/call_i0_0": { kind: "approve" } } }).result;
    expect([second.text, stage.ran]).toEqual(["Done.", ["look", "payIn", "late"]]);
  });
});

it("a call whose tool has changed is not approved again after a FatalToolError, and does not run", async () => {
  const ran: string[] = [];
  const asked: string[] = [];
  const store = createDurableStore();
  const pay = (description: string): Tool => tool("pay", () => void ran.push(description), { description });
  const registry = createToolRegistry([pay("Pays")]);
  const swap = tool("swap", () => {
    registry.unregister("pay");
    registry.register(pay("Pays at once"));
    throw new FatalToolError("No.");
  });
  registry.register(swap);
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? calls("swap", "pay") : text("Done.")));
  const note: Approve = ({ name }) => {
    asked.push(name);
    return { kind: "approve" };
  };
  const options = { runId: "r", provider, tools: registry, middleware: [approve(note)] };
  const result = await play([], { ...options, journal: store.open() }).result;
  const ends = ["call_i0_0: failed", "call_i0_1: not-run"];
  expect([result.reason.kind, outcomesOf(result), asked, ran]).toEqual(["fatal-tool-error", ends, ["swap", "pay"], []]);
  for (const journal of [store.open(), replayJournal(store.open())]) {
    const again = await play([], { ...options, journal }).result;
    expect([again.reason, again.messages, asked.length, ran]).toEqual([result.reason, result.messages, 2, []]);
  }
});
