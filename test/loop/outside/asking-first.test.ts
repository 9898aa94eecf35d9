import { describe, expect, it } from "vitest";
import { approve, defer, type Json, type LoopOptions, type Tool } from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { answersOf, outcomesOf, play, type Playing, tool } from "../play.ts";
import { nesting, question } from "../nested/nesting.ts";

type Decisions = NonNullable<LoopOptions["answers"]>;

function setUp(more: Partial<LoopOptions> = {}): { readonly ran: Json[]; start(options?: Partial<LoopOptions>): Playing } {
  const ran: Json[] = [];
  const pay = tool("pay", (args) => (ran.push(args as Json), defer()), { needsApproval: true });
  const store = createDurableStore();
  let count = 0;
  const start = (options: Partial<LoopOptions> = {}): Playing =>
    play(count++ === 0 ? [toolCall("pay", { amount: 900 })] : [text("Done.")], {
      runId: "r",
      tools: [pay],
      journal: store.open(),
      ...more,
      ...options,
    });
  return { ran, start };
}

const waiting = async ({ result }: Playing): Promise<unknown> => {
  const { reason } = await result;
  return "calls" in reason ? [reason.kind, ...reason.calls.map(({ id, waitsFor }) => [id, waitsFor])] : reason.kind;
};

describe("a call waiting for an approval and then for its result", () => {
  const edit: Decisions = { call_i0_0: { kind: "modify", args: { amount: 90 } } };
  const paid: Decisions = { "call_i0_0#2": { kind: "result", result: "paid" } };

  it("is reported twice, with a different id each time", async () => {
    const { ran, start } = setUp();
    expect(await waiting(start())).toEqual(["approval-required", ["call_i0_0", "approval"]]);
    expect(await waiting(start({ answers: edit }))).toEqual(["result-required", ["call_i0_0#2", "result"]]);
    expect(await waiting(start({ answers: edit }))).toEqual(["result-required", ["call_i0_0#2", "result"]]);
    const last = await start({ answers: { ...edit, ...paid } }).result;
    expect([last.reason.kind, outcomesOf(last), ran]).toEqual(["answered", ["call_i0_0: completed"], [{ amount: 90 }]]);
    const [, message] = last.messages;
    expect(message?.role === "assistant" && message.content[0]).toMatchObject({ approvedArgs: { amount: 90 } });
  });

  it("accepts a result only after the approval", async () => {
    const { ran, start } = setUp();
    const short: Decisions = { call_i0_0: { kind: "result", result: "paid" } };
    await start().result;
    await expect(start({ answers: short }).result).rejects.toMatchObject({ code: "invalid-decision" });
    await start({ answers: edit }).result;
    const last = await start({ answers: short }).result;
    expect([outcomesOf(last), ran]).toEqual([["call_i0_0: completed"], [{ amount: 90 }]]);
    for (const again of [short, edit, paid]) expect((await start({ answers: again }).result).messages).toEqual(last.messages);
    const other: Decisions = { call_i0_0: { kind: "result", result: "other" } };
    await expect(start({ answers: other }).result).rejects.toMatchObject({ code: "unknown-decision" });
  });

  it("waits only for its result if approve decides immediately", async () => {
    const { start } = setUp({ middleware: [approve(() => ({ kind: "approve" }))] });
    expect(await waiting(start())).toEqual(["result-required", ["call_i0_0", "result"]]);
    const last = await start({ answers: { call_i0_0: { kind: "result", result: "paid" } } }).result;
    expect(last.reason.kind).toBe("answered");
  });
});

it('a run with calls waiting for an approval and for a result ends as "approval-required"', async () => {
  const store = createDurableStore();
  const ran: string[] = [];
  const tools = [tool("job", () => (ran.push("job"), defer())), tool("pay", () => void ran.push("pay"), { needsApproval: true })];
  const start = (answers: Decisions | undefined, first = false): Playing =>
    play(first ? [[toolCall("job"), toolCall("pay")]] : [text("Done.")], { runId: "r", tools, journal: store.open(), answers });
  expect(await waiting(start(undefined, true))).toEqual([
    "approval-required",
    ["call_i0_0", "result"],
    ["call_i0_1", "approval"],
  ]);
  const all: Decisions = { call_i0_0: { kind: "result", result: 1 }, call_i0_1: { kind: "approve" } };
  // A wrong decision must reject the run before the approved call starts.
  await expect(start({ ...all, call_i0_0: { kind: "approve" } }).result).rejects.toMatchObject({ code: "invalid-decision" });
  expect(ran).toEqual(["job"]);
  expect(outcomesOf(await start(all).result)).toEqual(["call_i0_0: completed", "call_i0_1: completed"]);
  expect(ran).toEqual(["job", "pay"]);
});

describe("a nested run with a call waiting for its result", () => {
  const nested = (levels: number): { readonly ran: string[]; start(more: Partial<LoopOptions>): Playing } => {
    const ran: string[] = [];
    let inside: Tool = tool("job", (_, { callId }) => (ran.push(callId), defer()));
    for (let level = 0; level < levels; level += 1) {
      const innermost = inside;
      const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall(innermost.name) : text("Inside.")));
      inside = nesting("agent tool", `agent${level}`, () => ({ messages: question, provider, tools: [innermost] }));
    }
    const { name } = inside;
    const start = (more: Partial<LoopOptions>): Playing =>
      play(({ messages }) => (messages.length === 1 ? [toolCall(name), toolCall("look")] : text("Done.")), {
        runId: "r",
        tools: [inside, tool("look", (_, { callId }) => void ran.push(callId))],
        ...more,
      });
    return { ran, start };
  };
  it.for([1, 2])("suspends the outer run, and receives the result by the path of the call (levels: %d)", async (levels) => {
    const store = createDurableStore();
    const { ran, start } = nested(levels);
    const id = Array.from({ length: levels + 1 }, () => "call_i0_0").join("/");
    expect(await waiting(start({ journal: store.open() }))).toEqual(["result-required", [id, "result"]]);
    const answers: Decisions = { [id]: { kind: "result", result: "made" } };
    const wrong = start({ journal: store.open(), answers: { [id]: { kind: "approve" } } });
    await expect(wrong.result).rejects.toMatchObject({ code: "invalid-decision", details: { call: id, waitsFor: "result" } });
    const result = await start({ journal: store.open(), answers }).result;
    expect(answersOf(result).map(({ result: given }) => given)).toEqual(["Inside.", null]);
    expect(ran).toHaveLength(2);
    const replayed = start({ journal: replayJournal(store.open()) });
    expect((await replayed.result).messages).toEqual(result.messages);
    expect(ran).toHaveLength(2);
  });

  it("accepts the same result again after a crash", async () => {
    const store = createDurableStore();
    const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("job") : text("Inside.")));
    const job = tool("job", () => defer());
    const agent = nesting("agent tool", "agent", () => ({ messages: question, provider, tools: [job] }));
    const start = (answers: Decisions, after?: string): Playing => {
      return play(({ messages }) => (messages.length === 1 ? [toolCall("job"), toolCall("agent")] : text("Done.")), {
        runId: "r",
        tools: [job, agent],
        journal: store.open({ after }),
        answers,
      });
    };
    await start({}).result;
    const inside: Decisions = { "call_i0_1/call_i0_0": { kind: "result", result: "inside" } };
    await expect(start(inside, "i0/call/1/agent/tool/run/i1/answered").result).rejects.toThrow("died");
    const result = await start({ ...inside, call_i0_0: { kind: "result", result: "outside" } }).result;
    expect(answersOf(result).map(({ result: given }) => given)).toEqual(["outside", "Inside."]);
  });
});
