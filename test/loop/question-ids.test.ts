import { describe, expect, it } from "vitest";
import { createToolRegistry, defineAgentTool, type LoopOptions, type NestedLoopOptions, type Tool } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { outcomesOf, play, type Playing, tool } from "./play.ts";

const approved = { kind: "approve" } as const;

interface Stage {
  readonly ran: string[];
  start(description: string, answers?: LoopOptions["answers"]): Playing;
}

function setUp(): Stage {
  const ran: string[] = [];
  const store = createDurableStore();
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay", {}) : text("Done.")));
  const start: Stage["start"] = (description, answers) => {
    const pay = tool("pay", () => void ran.push(description), { description, needsApproval: true });
    return play([], { runId: "r", provider, tools: [pay], journal: store.open(), answers });
  };
  return { ran, start };
}

describe("options.answers", () => {
  it("that approve a call have no effect after the call's tool changes", async () => {
    const { ran, start } = setUp();
    const again = (answers: LoopOptions["answers"], description = "Pays the bank"): Playing => start(description, answers);
    await start("Pays").result;
    const mistyped = again({ call_i0_0: approved, call_i0_1: approved });
    await expect(mistyped.result).rejects.toMatchObject({ code: "unknown-decision", details: { call: "call_i0_1" } });
    for (let times = 0; times < 2; times += 1) {
      const { reason } = await again({ call_i0_0: approved }).result;
      expect(reason).toMatchObject({ kind: "approval-required", calls: [{ id: "call_i0_0~2", callId: "call_i0_0" }] });
    }
    expect(ran).toEqual([]);
    const third = "Pays the bank twice";
    expect((await again({ "call_i0_0~2": approved }, third).result).reason).toMatchObject({ calls: [{ id: "call_i0_0~3" }] });
    const all = { call_i0_0: approved, "call_i0_0~2": approved, "call_i0_0~3": approved };
    expect((await again(all, third).result).text).toBe("Done.");
    expect(ran).toEqual(["Pays the bank twice"]);
    // After the call has completed, the run accepts only the same decisions again.
    expect((await again(all, third).result).text).toBe("Done.");
    const late = again({ "call_i0_0~3": { kind: "deny" } }, third);
    await expect(late.result).rejects.toMatchObject({ code: "unknown-decision", details: { call: "call_i0_0~3" } });
    // A decision about an older tool still has no effect.
    expect((await again({ call_i0_0: { kind: "deny" } }, third).result).text).toBe("Done.");
    expect(ran.length).toBe(1);
  });

  it.each(["Pays", "Pays the bank"])(
    "that deny a call still apply after the call's tool changes (tool in the last execution: %j)",
    async (before) => {
      const { ran, start } = setUp();
      await start("Pays").result;
      await start(before).result;
      const { result } = start("Pays the bank", { call_i0_0: { kind: "deny", reason: "Never." } });
      expect([outcomesOf(await result), ran]).toEqual([["call_i0_0: denied"], []]);
      expect(outcomesOf(await start("Pays the bank").result)).toEqual(["call_i0_0: denied"]);
    },
  );

  it("need a numbered id for a repeated approval request, even in a nested run", async () => {
    const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("agent", {}) : text("Done.")));
    const inner = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay", {}) : text("Paid.")));
    const ran: string[] = [];
    const store = createDurableStore();
    const start = (description: string, answers?: LoopOptions["answers"]): Playing => {
      const pay = tool("pay", () => void ran.push(description), { description, needsApproval: true });
      const prepare = (): NestedLoopOptions => ({ provider: inner, tools: [pay], messages: [{ role: "user", content: "Pay." }] });
      const agent = defineAgentTool({ name: "agent", description: "Asks an agent", inputSchema: { type: "object" }, prepare });
      return play([], { runId: "r", provider, tools: [agent], journal: store.open(), answers });
    };
    const idsOf = async ({ result }: Playing): Promise<unknown> => {
      const { reason } = await result;
      return reason.kind === "approval-required" ? reason.calls.map(({ id }) => id) : reason.kind;
    };
    const own = "call_i0_0/call_i0_0";
    expect(await idsOf(start("old"))).toEqual([own]);
    for (let times = 0; times < 2; times += 1) expect(await idsOf(start("new", { [own]: approved }))).toEqual([`${own}~2`]);
    expect(ran).toEqual([]);
    expect((await start("new", { [own]: approved, [`${own}~2`]: approved }).result).text).toBe("Done.");
    expect(ran).toEqual(["new"]);
  });

  it("do not run a tool that was replaced between the decision and the call", async () => {
    const ran: string[] = [];
    const store = createDurableStore();
    const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay", {}) : text("Done.")));
    const pay = (description: string): Tool =>
      tool("pay", () => void ran.push(description), { description, needsApproval: true });
    const start = (answers?: LoopOptions["answers"], swapped = false): Playing => {
      const tools = createToolRegistry([pay(swapped ? "new" : "old")]);
      const playing = play([], { runId: "r", provider, tools, journal: store.open(), answers });
      playing.recording.emitter.once("approval-decided", () => {
        tools.unregister("pay");
        tools.register(pay("new"));
      });
      return playing;
    };
    await start().result;
    const result = await start({ call_i0_0: approved }).result;
    expect([result.text, outcomesOf(result)]).toEqual(["Done.", ["call_i0_0: invalid-input"]]);
    expect(JSON.stringify(result.messages)).toContain("the tool changed after this call was made");
    expect((await start({ call_i0_0: approved }, true).result).messages).toEqual(result.messages);
    expect(ran).toEqual([]);
  });

  it('cannot name a call "a#2", because a provider id that contains "#" is replaced by a generated id', async () => {
    const script = [toolCall("pay", {}, { id: "a#2" }), text("Done.")];
    const { result } = play(script, { tools: [tool("pay", () => 1)] });
    expect((await result).messages.at(1)).toMatchObject({ content: [{ callId: "call_i0_0", providerCallId: "a#2" }] });
  });

  it('are rejected with "unknown-decision" for a call beyond maxToolCalls', async () => {
    const store = createDurableStore();
    const provider = createMockProvider(({ messages }) =>
      messages.length === 1 ? [toolCall("look"), toolCall("pay")] : text("Done."),
    );
    const tools = [tool("look", () => 1), tool("pay", () => 1, { needsApproval: true })];
    const start = (answers?: LoopOptions["answers"]): Playing =>
      play([], { runId: "r", provider, tools, journal: store.open(), limits: { maxToolCalls: 1 }, answers });
    expect((await start().result).text).toBe("Done.");
    await expect(start({ call_i0_1: approved }).result).rejects.toMatchObject({ code: "unknown-decision" });
    const { size } = store.records;
    expect((await start().result).text).toBe("Done.");
    expect(store.records.size).toBe(size);
  });

  it("are refused for a call beyond maxToolCalls, even if an earlier call is denied later", async () => {
    const ran: unknown[] = [];
    const store = createDurableStore();
    const pay = toolCall("pay", { n: 1 });
    const script = [pay, toolCall("pay", { n: 2 })];
    const provider = createMockProvider(({ messages }) => (messages.length === 1 ? script : text("Done.")));
    const tools = [tool("pay", (args) => void ran.push(args), { needsApproval: true })];
    const start = (answers?: LoopOptions["answers"]): Playing =>
      play([], { runId: "r", provider, tools, journal: store.open(), limits: { maxToolCalls: 1 }, answers });
    expect((await start().result).reason).toMatchObject({ calls: [{ id: "call_i0_0" }] });
    await expect(start({ call_i0_1: approved }).result).rejects.toMatchObject({ code: "unknown-decision" });
    const last = await start({ call_i0_0: { kind: "deny" } }).result;
    expect([last.text, outcomesOf(last)]).toEqual(["Done.", ["call_i0_0: denied", "call_i0_1: limit"]]);
    expect(ran).toEqual([]);
  });
});
