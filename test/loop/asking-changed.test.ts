import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type ApprovalDecision, approve, type Approve, type LoopOptions, type Middleware, type Tool } from "turnwright";
import type { ToolChange } from "../../src/core/types/tool-outcome.ts";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { outcomesOf, play, type Playing, tool } from "./play.ts";

const schema = { type: "object", properties: { amount: { type: "number", description: "in cents" } } };
const approved = { kind: "approve" } as const;

interface Stage {
  readonly ran: string[];
  start(more: Partial<LoopOptions> & { readonly change?: Partial<Tool> }): Playing;
}

function setUp(traits: Partial<Tool> = {}): Stage {
  const ran: string[] = [];
  const store = createDurableStore();
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay", { amount: 5 }) : text("Done.")));
  const start: Stage["start"] = ({ change = {}, ...more }) => {
    const act = (args: unknown): void => void ran.push(`${change.description ?? "Pays"} ${JSON.stringify(args)}`);
    const pay = tool("pay", act, { description: "Pays", inputSchema: schema, ...traits, ...change });
    return play([], { runId: "r", provider, tools: [pay], journal: store.open(), ...more });
  };
  return { ran, start };
}

const ask: readonly Middleware[] = [approve(() => ({ kind: "ask" }))];
const pendingOf = async ({ result }: Playing): Promise<readonly (readonly ToolChange[] | undefined)[]> => {
  const { reason } = await result;
  return reason.kind === "approval-required" ? reason.calls.map(({ toolChanges }) => toolChanges) : [];
};

const field = (change: object): Partial<Tool> => ({
  inputSchema: { type: "object", properties: { amount: { ...schema.properties.amount, ...change } } },
});

describe("options.answers for calls to changed tools", () => {
  it.for<[what: string, change: Partial<Tool>, kinds: readonly string[]]>([
    ["a different description", { description: "Pays at once" }, ["description-changed"]],
    ["a different parameter description", field({ description: "in euros" }), ["description-changed"]],
    ["a different parameter default", field({ default: 7 }), ["default-changed"]],
    ["a different parameter type", field({ type: "string" }), ["type-changed"]],
    ["one fewer parameter", { inputSchema: { type: "object" } }, ["field-removed"]],
    ["one more required parameter", { inputSchema: { ...schema, required: ["to"] } }, ["required-field-added"]],
    ["needsApproval: true", { needsApproval: true }, ["trait-changed"]],
    ["a different origin", { origin: "pay.now" }, ["source-changed"]],
  ])("are ignored, and the call waits again, if the tool now has %s", async ([, change, kinds]) => {
    const { ran, start } = setUp();
    expect(await pendingOf(start({ middleware: ask }))).toEqual([undefined]);
    const again = start({ middleware: ask, change, answers: { call_i0_0: approved } });
    expect((await pendingOf(again)).map((changes) => changes?.map(({ kind }) => kind))).toEqual([kinds]);
    expect([ran, again.recording.of("approval-asked").length]).toEqual([[], 1]);
    // The second resume reports the changes again. If the call is then approved under its new id, the changed tool runs.
    expect((await pendingOf(start({ middleware: ask, change })))[0]?.map(({ kind }) => kind)).toEqual(kinds);
    const done = await start({ middleware: ask, change, answers: { "call_i0_0~2": approved } }).result;
    expect([done.text, outcomesOf(done), ran.length]).toEqual(["Done.", ["call_i0_0: completed"], 1]);
    const told = await start({ middleware: ask, change, answers: { "call_i0_0~2": approved } }).result;
    expect([told.messages, ran.length]).toEqual([done.messages, 1]);
  });

  it.for<[what: string, change: Partial<Tool>]>([
    [
      "one more optional parameter",
      { inputSchema: { ...schema, properties: { ...schema.properties, note: { type: "string" } } } },
    ],
    [
      "schema keys in a different order",
      { inputSchema: JSON.parse(`{"properties":${JSON.stringify(schema.properties)},"type":"object"}`) },
    ],
    ["a different timeoutMs and sequential: true", { timeoutMs: 5, sequential: true }],
    ["needsApproval: false", { needsApproval: false }],
    ["a wider parameter type", field({ type: ["number", "string"] })],
  ])("take effect if the tool now has %s", async ([, change]) => {
    const { ran, start } = setUp({ needsApproval: true });
    await start({}).result;
    const done = await start({ change, answers: { call_i0_0: approved } }).result;
    expect([done.text, ran.length]).toEqual(["Done.", 1]);
  });

  it("cause the arguments to be validated against the new schema", async () => {
    for (const [decision, outcome, did] of [
      [approved, "invalid-input", []],
      [{ kind: "modify", args: { to: "Ann" } }, "completed", ['Sends {"to":"Ann"}']],
    ] as const satisfies readonly (readonly [ApprovalDecision, string, readonly string[]])[]) {
      const { ran, start } = setUp();
      const change = { description: "Sends", inputSchema: z.object({ to: z.string() }) };
      await start({ middleware: ask }).result;
      await start({ middleware: ask, change, answers: { call_i0_0: approved } }).result;
      const done = await start({ middleware: ask, change, answers: { "call_i0_0~2": decision } }).result;
      expect([outcomesOf(done), ran]).toEqual([[`call_i0_0: ${outcome}`], did]);
      const told = await start({ middleware: ask, change, journal: replayJournal(done.journal) }).result;
      expect(told.messages).toEqual(done.messages);
    }
  });

  it("are ignored even if the process crashes after they are recorded", async () => {
    for (const middleware of [ask, [approve((): ApprovalDecision => approved)]]) {
      const ran: string[] = [];
      const store = createDurableStore();
      const start = (description: string, more: Partial<LoopOptions>): Playing =>
        play([toolCall("pay"), text("Done.")], {
          runId: "r",
          tools: [tool("pay", () => void ran.push(description), { description })],
          journal: store.open(),
          provider: createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay") : text("Done."))),
          middleware,
          ...more,
        });
      const answers = { call_i0_0: approved };
      const isAsked = middleware === ask;
      if (isAsked) await start("Pays", {}).result;
      const key = isAsked ? "wait/call_i0_0/1/answer" : "i0/call/0/pay/@approve/decision";
      await start("Pays", { journal: store.open({ after: key }), ...(isAsked && { answers }) }).result.catch(() => undefined);
      expect([store.records.has(key), ran]).toEqual([true, []]);
      const asked: string[] = [];
      const policy: Approve = (_, { tool: { description } }) => {
        asked.push(description);
        return { kind: "ask" };
      };
      const again = start("REAL", { middleware: [approve(policy)], ...(isAsked && { answers }) });
      expect([(await again.result).reason.kind, asked, ran]).toEqual(["approval-required", ["REAL"], []]);
      const about = isAsked ? { "call_i0_0~2": approved } : answers;
      const done = await start("REAL", { middleware: [approve(policy)], answers: about }).result;
      expect([done.text, ran]).toEqual(["Done.", ["REAL"]]);
    }
  });
});

describe("a call waiting for approval in the journal", () => {
  const none: Partial<LoopOptions> = {};
  it.for<
    [what: string, first: Partial<Tool>, before: Partial<LoopOptions>, after: Partial<LoopOptions> & { change?: Partial<Tool> }]
  >([
    ["without approve", {}, { middleware: ask }, none],
    ["with approve middleware that approves everything", {}, { middleware: ask }, { middleware: [approve(() => approved)] }],
    ["whose tool has needsApproval: false", { needsApproval: true }, none, { change: { needsApproval: false } }],
    [
      "whose needsApproval function returns false",
      { needsApproval: () => true },
      { middleware: [approve()] },
      { change: { needsApproval: () => false }, middleware: [approve()] },
    ],
    [
      "with approve, whose tool has needsApproval: false",
      { needsApproval: true },
      none,
      { change: { needsApproval: false }, middleware: [approve(() => approved)] },
    ],
  ])("keeps waiting in a resumed run %s", async ([, first, before, after]) => {
    const { ran, start } = setUp(first);
    await start(before).result;
    for (let times = 0; times < 2; times += 1)
      expect([(await start(after).result).reason.kind, ran]).toEqual(["approval-required", []]);
    expect((await start({ ...after, answers: { call_i0_0: approved } }).result).text).toBe("Done.");
    expect(ran).toHaveLength(1);
  });
});

it("a resumed run calls a new approve function only for calls that have not run", async () => {
  const store = createDurableStore();
  const ran: string[] = [];
  const asked: string[] = [];
  const start = (more: Partial<LoopOptions>): Playing =>
    play([[toolCall("look"), toolCall("pay")], text("Done.")], {
      runId: "r",
      tools: ["look", "pay"].map((name) => tool(name, () => void ran.push(name))),
      limits: { toolConcurrency: 1 },
      provider: createMockProvider(({ messages }) =>
        messages.length === 1 ? [toolCall("look"), toolCall("pay")] : text("Done."),
      ),
      journal: store.open(),
      ...more,
    });
  await start({ journal: store.open({ after: "i0/call/0/look/outcome" }) }).result.catch(() => undefined);
  expect(ran).toEqual(["look"]);
  const middleware: readonly Middleware[] = [approve(({ name }) => (asked.push(name), { kind: "ask" }))];
  expect((await start({ middleware }).result).reason.kind).toBe("approval-required");
  const done = await start({ middleware, answers: { call_i0_1: approved } }).result;
  expect([asked, ran, done.text]).toEqual([["pay"], ["look", "pay"], "Done."]);
  expect((await start({}).result).messages).toEqual(done.messages);
});
