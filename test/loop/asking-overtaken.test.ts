import { describe, expect, it } from "vitest";
import { type ApprovalDecision, approve, type Approve, defineAgentTool, FatalToolError, type LoopOptions } from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, type MockPart, text, toolCall } from "turnwright/testing";
import { createDurableStore, type DurableStore } from "./durable-store.ts";
import { outcomesOf, play, type Playing, tool } from "./play.ts";

const policy: Approve = ({ name }) => ({ kind: name === "gone" || name === "pay" ? "ask" : "approve" });
const gone = tool("gone", () => Promise.reject(new FatalToolError("gone")));

interface Stage {
  readonly ran: string[];
  readonly store: DurableStore;
  start(more?: Partial<LoopOptions>): Playing;
}

function setUp(calls: readonly MockPart[], more: Partial<LoopOptions> = {}): Stage {
  const ran: string[] = [];
  const note = (name: string): void => void ran.push(name);
  const agent = defineAgentTool({
    name: "agent",
    description: "agent",
    inputSchema: { type: "object" },
    prepare: () => ({
      provider: createMockProvider(() => (note("agent"), text("Found."))),
      messages: [{ role: "user", content: "Look." }],
    }),
  });
  const tools = [gone, tool("look", () => note("look")), tool("pay", () => note("pay")), agent];
  const limits = { toolConcurrency: 1, ...more.limits };
  const store = createDurableStore();
  const start: Stage["start"] = (options) =>
    play([calls], { runId: "r", tools, middleware: [approve(policy)], journal: store.open(), ...more, limits, ...options });
  return { ran, store, start };
}

const approved = { kind: "approve" } as const;

async function endOf({ start, store }: Stage, answers: LoopOptions["answers"]): Promise<readonly string[]> {
  const result = await start({ answers }).result;
  for (const journal of [store.open(), replayJournal(store.open())]) {
    const again = await start({ journal }).result;
    expect([again.reason, again.messages]).toEqual([result.reason, result.messages]);
  }
  return [result.reason.kind, ...outcomesOf(result)];
}

describe("a FatalToolError thrown by a call that was approved on resume", () => {
  it.for(["look", "agent"])('does not change the result of a later call to "%s" that has already run', async (name) => {
    const stage = setUp([toolCall("gone"), toolCall(name)]);
    expect(outcomesOf(await stage.start().result).at(-1)).toBe("call_i0_1: completed");
    expect(await endOf(stage, { call_i0_0: approved })).toEqual([
      "fatal-tool-error",
      "call_i0_0: failed",
      "call_i0_1: completed",
    ]);
    expect(stage.ran).toEqual([name]);
  });

  it('does not change the outcome "interrupted" of a later call that a crash interrupted', async () => {
    const stage = setUp([toolCall("gone"), toolCall("look")]);
    await stage.start({ journal: stage.store.open({ within: "i0/call/1/look/outcome" }) }).result.catch(() => undefined);
    expect(await endOf(stage, { call_i0_0: approved })).toEqual([
      "fatal-tool-error",
      "call_i0_0: failed",
      "call_i0_1: interrupted",
    ]);
    expect(stage.ran).toEqual(["look"]);
  });

  it("prevents later calls from starting, even calls that were approved at the same time", async () => {
    const middleware = [approve((): ApprovalDecision => ({ kind: "ask" }))];
    const stage = setUp([toolCall("gone"), toolCall("pay"), toolCall("agent")], { middleware });
    await stage.start().result;
    const answers = { call_i0_0: approved, call_i0_1: approved, call_i0_2: approved };
    expect(await endOf(stage, answers)).toEqual([
      "fatal-tool-error",
      "call_i0_0: failed",
      "call_i0_1: not-run",
      "call_i0_2: not-run",
    ]);
    expect(stage.ran).toEqual([]);
  });
});

it("limits.maxToolCalls counts a call that stays undecided after a fatal error", async () => {
  const fatal = tool("look", () => Promise.reject(new FatalToolError("gone")));
  const pay = tool("pay", () => 1);
  const stage = setUp([toolCall("look"), toolCall("pay"), toolCall("pay")], { tools: [fatal, pay], limits: { maxToolCalls: 2 } });
  expect(await endOf(stage, undefined)).toEqual([
    "fatal-tool-error",
    "call_i0_0: failed",
    "call_i0_1: not-run",
    "call_i0_2: limit",
  ]);
});

it("a lowered limits.maxToolCalls does not refuse a call that was waiting when the run ended, even in a replay", async () => {
  const stage = setUp([toolCall("gone"), toolCall("pay")], { limits: { maxToolCalls: 2 } });
  await stage.start().result;
  const smaller: Stage = { ...stage, start: (more) => stage.start({ ...more, limits: { toolConcurrency: 1, maxToolCalls: 1 } }) };
  expect(await endOf(smaller, { call_i0_0: approved })).toEqual(["fatal-tool-error", "call_i0_0: failed", "call_i0_1: not-run"]);
});

it("options.answers accepts the same decision again after the run has ended", async () => {
  const { start } = setUp([toolCall("pay"), toolCall("gone")]);
  await start().result;
  const answers = { call_i0_0: { kind: "ask" }, call_i0_1: approved } as const;
  const result = await start({ answers }).result;
  expect([result.reason.kind, ...outcomesOf(result)]).toEqual(["fatal-tool-error", "call_i0_0: not-run", "call_i0_1: failed"]);
  expect((await start({ answers }).result).messages).toEqual(result.messages);
});
