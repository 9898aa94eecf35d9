import { describe, expect, it } from "vitest";
import {
  approve,
  type Approve,
  type CallDecision,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type Middleware,
  runToolLoop,
} from "turnwright";
import { createHandoffs } from "turnwright/middleware";
import { inspectJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { outcomesOf } from "../loop/play.ts";
import { messages } from "./stage.ts";

const agents = createHandoffs({
  start: "a",
  agents: {
    a: { description: "A", handoffs: ["b", "c"] },
    b: { description: "B", handoffs: ["d"] },
    c: { description: "C" },
    d: { description: "D" },
  },
});
const [toB, toC] = [toolCall("transfer_to_b", {}), toolCall("transfer_to_c", {})];
const decide =
  (kind: "deny" | "ask"): Approve =>
  ({ name }) => ({ kind: name === "transfer_to_b" ? kind : "approve" });

function start(calls: MockMessage, more: Partial<LoopOptions> = {}): Promise<LoopResult> {
  const provider = createMockProvider(({ iteration }) => (iteration === 0 ? calls : text("Hi.")));
  return runToolLoop({ provider, tools: agents.tools, messages, middleware: [agents], ...more });
}

describe("the second handoff in a message", () => {
  it.for<[title: string, calls: MockMessage, middleware: readonly Middleware[], outcome: string]>([
    ["has an invalid reason", [toolCall("transfer_to_b", { reason: 5 }), toC], [], "invalid-input"],
    ["is malformed", [toolCall("transfer_to_b", {}, { rawArgs: "{" }), toC], [], "malformed"],
    ["is denied", [toB, toC], [approve(decide("deny"))], "denied"],
    ["is not a handoff of this agent", [toolCall("transfer_to_d", {}), toC], [], "unknown-tool"],
  ])("is carried out if the first one %s", async ([, calls, middleware, outcome]) => {
    const result = await start(calls, { middleware: [agents, ...middleware] });
    expect([result.agent, result.handoffs?.length, outcomesOf(result)]).toEqual([
      "c",
      1,
      [`call_i0_0: ${outcome}`, "call_i0_1: completed"],
    ]);
  });

  it("fails if the first one is carried out", async () => {
    const result = await start([toB, toC]);
    expect([result.agent, outcomesOf(result)]).toEqual(["b", ["call_i0_0: completed", "call_i0_1: failed"]]);
  });

  it.for<[title: string, decision: CallDecision, agent: string, outcomes: readonly string[]]>([
    ["is carried out if the first one is denied later", { kind: "deny" }, "c", ["call_i0_0: denied", "call_i0_1: completed"]],
    ["fails if the first one is approved later", { kind: "approve" }, "b", ["call_i0_0: completed", "call_i0_1: failed"]],
  ])("%s", async ([, decision, agent, outcomes]) => {
    const middleware = [agents, approve(decide("ask"))];
    const journal = memoryJournal();
    const waiting = await start([toB, toC], { middleware, journal, runId: "r" });
    expect(waiting).toMatchObject({ status: "suspended", agent: "a" });
    const resumed = memoryJournal(JSON.parse(JSON.stringify(journal)));
    const result = await start([toB, toC], { middleware, journal: resumed, runId: "r", answers: { call_i0_0: decision } });
    expect([result.agent, result.handoffs?.length, outcomesOf(result)]).toEqual([agent, 1, outcomes]);
    const { messages: inspected, agent: found } = await inspectJournal(resumed);
    expect([inspected, found]).toEqual([result.messages, agent]);
    const again = await start([], { middleware, journal: replayJournal(resumed), runId: "r" });
    expect(again.messages).toEqual(result.messages);
  });
});
