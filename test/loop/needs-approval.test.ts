import { describe, expect, it } from "vitest";
import {
  approve,
  type Approve,
  type Json,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  type Tool,
  eagerTools,
} from "turnwright";
import type { NeedsApproval } from "../../src/core/types/tool.ts";
import { finish, text, toolCall } from "turnwright/testing";
import { savedOf } from "./asking-stage.ts";
import { answersOf, never, outcomesOf, play, type Playing, tool } from "./play.ts";

const amountOf = (args: Json): number => Number((args as { readonly amount?: number }).amount);

function setUp(needsApproval: Tool["needsApproval"]): {
  readonly ran: string[];
  readonly start: (more?: Partial<LoopOptions>) => Playing;
} {
  const ran: string[] = [];
  const act = (name: string, traits: Partial<Tool> = {}): Tool =>
    tool(name, (args, { callId }) => void ran.push(`${callId} ${amountOf(args as Json)}`), traits);
  const tools = [act("pay", needsApproval === undefined ? {} : { needsApproval }), act("look")];
  const calls = [toolCall("pay", { amount: 900 }), toolCall("look", { amount: 0 }), toolCall("pay", { amount: 9 })];
  let begun = false;
  const start = (more: Partial<LoopOptions> = {}): Playing => {
    const script = begun ? [text("Done.")] : [calls, text("Done.")];
    begun = true;
    return play(script, { runId: "r", tools, ...more });
  };
  return { ran, start };
}

const dear: NeedsApproval<unknown> = (args) => amountOf(args as Json) > 100;

describe("needsApproval", () => {
  it.for<[what: string, needs: Tool["needsApproval"], outcomes: readonly string[]]>([
    ["the value true makes every call wait", true, ["awaiting-approval", "completed", "awaiting-approval"]],
    ["a function selects the calls that wait", dear, ["awaiting-approval", "completed", "completed"]],
    [
      "an async function selects the calls that wait",
      (args: unknown, view) => Promise.resolve(dear(args, view)),
      ["awaiting-approval", "completed", "completed"],
    ],
    [
      "a function that returns undefined makes every call wait",
      (() => undefined) as unknown as NeedsApproval,
      ["awaiting-approval", "completed", "awaiting-approval"],
    ],
    [
      "a function that rejects fails its calls",
      () => Promise.reject(new Error("Who knows?")),
      ["approval-failed", "completed", "approval-failed"],
    ],
    ["the value false lets every call run", false, ["completed", "completed", "completed"]],
  ])("without approve(): %s", async ([, needs, outcomes]) => {
    const playing = setUp(needs).start(typeof needs === "function" ? { middleware: [approve()] } : {});
    const result = await playing.result;
    expect(answersOf(result).map(({ outcome }) => outcome)).toEqual(outcomes);
    const waits = outcomes.includes("awaiting-approval");
    expect(result.reason.kind).toBe(waits ? "approval-required" : "answered");
    expect(playing.recording.of("approval-asked").map(({ name }) => name)).toEqual(needs === false ? [] : ["pay", "pay"]);
    expect(playing.clock.pending).toBe(0);
  });

  it("lets a resumed run apply decisions without running completed calls again", async () => {
    const { ran, start } = setUp(dear);
    const middleware = [approve()];
    const journal = await savedOf(start({ middleware }));
    expect(ran).toEqual(["call_i0_1 0", "call_i0_2 9"]);
    const result = await start({ middleware, journal, answers: { call_i0_0: { kind: "approve" } } }).result;
    expect([result.text, ran]).toEqual(["Done.", ["call_i0_1 0", "call_i0_2 9", "call_i0_0 900"]]);
    const refused = start({ middleware, journal: memoryJournal(), answers: { call_i0_2: { kind: "approve" } } });
    await expect(refused.result).rejects.toMatchObject({ code: "unknown-decision" });
  });

  it("is passed to approve, which decides about the calls", async () => {
    const { ran, start } = setUp(true);
    const policy: Approve = (_, { tool: called }) =>
      called.needsApproval === true ? { kind: "deny", reason: "Not today." } : { kind: "approve" };
    const result = await start({ middleware: [approve(policy)] }).result;
    expect([result.text, ran, outcomesOf(result)]).toEqual([
      "Done.",
      ["call_i0_1 0"],
      ["call_i0_0: denied", "call_i0_1: completed", "call_i0_2: denied"],
    ]);
  });

  it("prevents a call from starting early even if a registry marks the tool as eager", async () => {
    const ran: string[] = [];
    const registry: LoopOptions["tools"] = {
      definitions: () => definitions,
      executeTool: (name) => ran.push(name),
    };
    const definitions = [
      { name: "look", description: "", inputSchema: {}, eager: true },
      { name: "pay", description: "", inputSchema: {}, eager: true, needsApproval: true },
    ];
    const { result } = play([[toolCall("look"), toolCall("pay"), finish("length")], text("Done.")], {
      tools: registry,
      middleware: [eagerTools()],
    });
    expect([outcomesOf(await result), ran]).toEqual([["call_i0_0: completed", "call_i0_1: truncated"], ["look"]]);
  });

  it("is rejected if its value is a string or if the tool also has eager: true", () => {
    const make = (): Tool => tool("t", () => 1, { eager: true, needsApproval: dear });
    expect(make).toThrow('Tool "t" has both "eager" and "needsApproval", which exclude each other. Remove one.');
    expect(() => tool("t", () => 1, { needsApproval: "yes" as unknown as boolean })).toThrow(
      'Tool "t" has an invalid "needsApproval": it is "yes", but must be true, false or a function.',
    );
  });
});

it("a run with a needsApproval function needs approve()", async () => {
  const tools = [tool("pay", () => "paid", { needsApproval: dear })];
  await expect(play([], { tools }).result).rejects.toThrow(
    'is an array without approve(), but must be an array that includes it because the tool "pay" has a function as "needsApproval"',
  );
});

describe("the needsApproval field that approve receives", () => {
  it.for<[what: string, needs: Tool["needsApproval"], asked: readonly boolean[]]>([
    ["is true for a tool with needsApproval: true", true, [true, false, true]],
    ["is false for a tool without needsApproval", undefined, [false, false, false]],
    ["is the result of a function of the arguments", dear, [true, false, false]],
    [
      "is the result of an async function of the arguments",
      async (args: unknown, view) => dear(args, view),
      [true, false, false],
    ],
    ["is true if the function returns undefined", (() => undefined) as unknown as NeedsApproval, [true, false, true]],
  ])("%s", async ([, needs, wanted]) => {
    const seen: boolean[] = [];
    const { ran, start } = setUp(needs);
    const middleware: readonly Middleware[] = [
      approve((_, { needsApproval }) => {
        seen.push(needsApproval);
        return { kind: needsApproval ? "deny" : "approve" };
      }),
    ];
    await start({ middleware }).result;
    const order = (one: boolean, other: boolean): number => Number(one) - Number(other);
    expect([seen.toSorted(order), ran.length]).toEqual([wanted.toSorted(order), wanted.filter((want) => !want).length]);
  });
});

describe("an approval that fails", () => {
  const secret = new Error("The office at 10.0.0.7 is closed");
  const throwing: readonly Middleware[] = [
    approve(() => {
      throw secret;
    }),
  ];
  it.for<[what: string, needs: Tool["needsApproval"], more: Partial<LoopOptions>, message: string]>([
    ["approve throws", undefined, { middleware: throwing }, secret.message],
    ["approve rejects", undefined, { middleware: [approve(() => Promise.reject(secret))] }, secret.message],
    ["needsApproval rejects", () => Promise.reject(secret), { middleware: [approve()] }, secret.message],
    [
      "needsApproval rejects, even if approve would approve",
      () => Promise.reject(secret),
      { middleware: [approve(() => ({ kind: "approve" }))] },
      secret.message,
    ],
    [
      "needsApproval takes too long",
      () => never,
      { middleware: [approve()], timeouts: { approvalMs: 50 } },
      "No decision was made within 50 ms.",
    ],
    [
      "approve takes too long",
      undefined,
      { middleware: [approve(() => never)], timeouts: { approvalMs: 50 } },
      "No decision was made within 50 ms.",
    ],
  ])("skips the call without ending the run if %s", async ([, needs, more, message]) => {
    const { ran, start } = setUp(needs);
    const playing = start(more);
    await playing.clock.advance(50);
    const result = await playing.result;
    const [answer] = answersOf(result);
    expect([result.text, answer?.outcome, ran.filter((line) => line.startsWith("call_i0_0"))]).toEqual([
      "Done.",
      "approval-failed",
      [],
    ]);
    expect(JSON.stringify(answer)).not.toContain(message);
    expect(result.functionHistory[0]).toMatchObject({ outcome: "approval-failed", error: { message } });
    const told = playing.recording.of("approval-decided").find(({ callId }) => callId === "call_i0_0");
    expect([told?.decision, told?.error?.message]).toEqual(["failed", message]);
    const again = start({ ...more, journal: memoryJournal(JSON.parse(JSON.stringify(result.journal))) });
    const { messages, functionHistory } = await again.result;
    expect([messages, functionHistory[0]]).toEqual([result.messages, result.functionHistory[0]]);
  });
});
