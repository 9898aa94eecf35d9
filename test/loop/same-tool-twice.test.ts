import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  deferTools,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  type SavedJournal,
  type Tool,
} from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { createDurableStore } from "./durable-store.ts";
import { answersOf, outcomesOf, tool } from "./play.ts";

const valid = toolCall("pay", { amount: 5 });
const invalid = toolCall("pay", { amount: "7" });
const orders: readonly (readonly [where: string, calls: MockMessage, index: number])[] = [
  ["before a refused call", [valid, invalid], 0],
  ["after a refused call", [invalid, valid], 1],
  ["between refused calls", [invalid, valid, invalid], 1],
];
const keys = ["call_i0_0", "call_i0_1"] as const;

interface Shop {
  readonly ran: string[];
  readonly tool: Tool;
}

function openShop(traits: Partial<Tool> = {}): Shop {
  const ran: string[] = [];
  const pay = tool("pay", (_, { idempotencyKey }) => ran.push(idempotencyKey), {
    inputSchema: z.object({ amount: z.number() }),
    ...traits,
  });
  return { ran, tool: pay };
}

function start(calls: MockMessage, more: Partial<LoopOptions>): Promise<LoopResult> {
  const provider = createMockProvider(({ iteration }) => (iteration === 0 ? calls : text("Paid.")));
  return runToolLoop({
    provider,
    runId: "shop",
    messages: [{ role: "user", content: "Pay." }],
    middleware: [deferTools()],
    ...more,
  });
}

const reopen = (journal: unknown): SavedJournal => JSON.parse(JSON.stringify(journal));

describe.for(orders)("a call to a deferred tool that the model has not seen, %s to the same tool", ([, calls, index]) => {
  const find = (traits?: Partial<Tool>): Shop & Pick<LoopOptions, "tools"> => {
    const shop = openShop({ deferred: true, ...traits });
    return { ...shop, tools: withToolSearch([shop.tool]) };
  };

  it("has the same outcome in a replay", async () => {
    const journal = memoryJournal();
    const first = await start(calls, { tools: find().tools, journal });
    const again = await start(calls, { tools: find().tools, journal: replayJournal(memoryJournal(reopen(journal))) });
    expect(answersOf(first)[index]?.outcome).toBe("completed");
    expect([again.messages, again.functionHistory]).toEqual([first.messages, first.functionHistory]);
  });

  it("runs once if the process dies right after the call", async () => {
    const store = createDurableStore();
    const [before, after] = [find(), find()];
    const dying = start(calls, { tools: before.tools, journal: store.open({ after: `i0/call/${index}/pay/outcome` }) });
    await expect(dying).rejects.toThrow("The process died.");
    const result = await start(calls, { tools: after.tools, journal: store.open() });
    expect([before.ran.length, after.ran]).toEqual([1, []]);
    expect(answersOf(result)[index]?.outcome).toBe("completed");
  });

  it("runs after a later approval", async () => {
    const journal = memoryJournal();
    const traits = { needsApproval: true };
    const { reason } = await start(calls, { tools: find(traits).tools, journal });
    const id = keys[index] ?? "";
    expect(reason).toMatchObject({ kind: "approval-required", calls: [{ id }] });
    const { ran, tools } = find(traits);
    const answers = { [id]: { kind: "approve" } } as const;
    const result = await start(calls, { tools, journal: memoryJournal(reopen(journal)), answers });
    expect([ran.length, answersOf(result)[index]?.outcome]).toEqual([1, "completed"]);
  });
});

describe.for(orders)("a resumed run after a tool change, with an unexecuted call %s to the same tool", ([, calls, index]) => {
  const changed = z.object({ amount: z.number(), currency: z.string() });

  it.for([
    ["changed", { inputSchema: changed }, { kind: "required-field-added", field: "currency" }],
    ["removed", undefined, { kind: "removed" }],
  ] as const)("is rejected if the tool was %s", async ([, traits, change]) => {
    const store = createDurableStore();
    const dying = start(calls, { tools: [openShop().tool], journal: store.open({ after: "i0/request/model" }) });
    await expect(dying).rejects.toThrow("The process died.");
    const { ran, tool: now } = openShop(traits);
    const tools = traits === undefined ? [] : [now];
    await expect(start(calls, { tools, journal: store.open() })).rejects.toMatchObject({
      code: "tools-changed",
      details: { changed: ["pay"], changes: expect.arrayContaining([expect.objectContaining({ toolName: "pay", ...change })]) },
    });
    expect(ran).toEqual([]);
  });

  it("asks `allowToolChange` only once about each change", async () => {
    const store = createDurableStore();
    const dying = start(calls, { tools: [openShop().tool], journal: store.open({ after: "i0/request/model" }) });
    await expect(dying).rejects.toThrow("The process died.");
    const asked: unknown[] = [];
    const allowToolChange = (change: unknown): boolean => asked.push(change) > 0;
    const { tool: now } = openShop({ inputSchema: changed });
    const result = await start(calls, { tools: [now], journal: store.open(), allowToolChange });
    expect(asked).toHaveLength(1);
    expect(outcomesOf(result)[index]).toBe(`${keys[index]}: invalid-input`);
  });
});
