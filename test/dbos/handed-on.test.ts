// Tests of the facts that one run of a durable host hands to the next. test/host/handed-on.test.ts has conversations and run hosts.

import { describe, expect, it } from "vitest";
import { defineTool, type Message, type ModelRequest, type UserMessage } from "turnwright";
import { compactMessages, guardrails, type InputCheck, createHandoffs, withoutToolCalls } from "turnwright/middleware";
import { defineDurableHost } from "turnwright/dbos";
import type { DurableStartOptions } from "../../src/host/durable/durable-host.ts";
import { createMockProvider, fail, type MockPart, text, toolCall, usage } from "turnwright/testing";
import { show } from "../conversation/stage.ts";
import { useWorker } from "./use-database.ts";

useWorker();

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object" },
  execute: () => "a secret result",
});
const pay = defineTool({
  name: "pay",
  description: "Pays",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});
let counted = 0;
const count = defineTool({
  name: "count",
  description: "Counts",
  inputSchema: { type: "object" },
  execute: () => (counted += 1),
});
const agents = createHandoffs({
  start: "triage",
  agents: {
    triage: { description: "Finds the topic", system: "You are triage.", tools: [look, pay, count], handoffs: ["billing"] },
    billing: { description: "Knows invoices", system: "You are billing.", history: withoutToolCalls },
  },
});
const topic: InputCheck = { name: "topic", check: ({ text: said }) => ({ kind: said.includes("evil") ? "refuse" : "pass" }) };
const long = "The answer has many words. ".repeat(100);

let requests: {
  readonly system: string | undefined;
  readonly messages: readonly Message[];
  readonly purpose: string | undefined;
}[] = [];

const userTextOf = ({ content }: UserMessage): string => (typeof content === "string" ? content : "");

const calls: { readonly [said: string]: string } = { "Invoice.": "look", "Pay.": "pay", "Count.": "count" };

let failuresLeft = 2;

const afterCall: { readonly [tool: string]: () => MockPart | readonly MockPart[] } = {
  look: () => toolCall("transfer_to_billing", {}),
  count: () => {
    failuresLeft -= 1;
    return failuresLeft < 0 ? text("Counted.") : [text("Coun"), fail({ status: 503, message: "Overloaded" })];
  },
};

function answer({ system, purpose, messages: given }: ModelRequest): MockPart | readonly MockPart[] {
  const messages = [...given];
  requests.push({ system, messages, purpose });
  if (purpose === "summary") return text("A summary.");
  const last = messages.at(-1);
  const done = last?.role === "tool" ? last.results.map(({ name }) => afterCall[name]).find(Boolean) : undefined;
  if (done !== undefined) return done();
  const said = last?.role === "user" ? userTextOf(last) : "";
  const called = said === "Invoice." && system !== "You are triage." ? undefined : calls[said];
  if (called !== undefined) return toolCall(called, {});
  return [text(said.startsWith("Long") ? long : "Yes."), usage({ inputTokens: 9, outputTokens: 1 })];
}

const desk = defineDurableHost({
  name: "handing desk",
  options: () => ({
    provider: createMockProvider(answer),
    pricing: ({ totalTokens }) => totalTokens / 10,
    tools: agents.tools,
    middleware: [agents, compactMessages({ when: 4_000, keep: 400 }), guardrails({ input: [topic] })],
  }),
});

async function ask(id: string, message: string, more: Partial<DurableStartOptions> = {}): Promise<string> {
  const answer = await desk.start(id, { message, ...more } as DurableStartOptions);
  if (answer.kind !== "started") return answer.kind;
  return (await answer.result()).reason.kind;
}

describe("a durable host", () => {
  it("begins each run with the last summary", async () => {
    requests = [];
    for (let turn = 1; turn <= 12; turn += 1) await ask("long", `Long question ${turn}`);
    const summaries = requests.filter(({ purpose }) => purpose === "summary").length;
    expect(summaries).toBeGreaterThan(0);
    expect(summaries).toBeLessThan(4);
    expect(requests.at(-1)?.messages.length).toBeLessThan(20);
  });

  it("continues as the agent of the last handoff, with its filter, and adds up the cost", async () => {
    requests = [];
    for (const message of ["Invoice.", "And now?", "Sure?"]) await ask("agent", message);
    const last = requests.at(-1);
    expect(last?.system).toBe("You are billing.");
    expect(show(last?.messages ?? [])).toEqual(["user: Invoice.", "model: Yes.", "user: And now?", "model: Yes.", "user: Sure?"]);
    const { runs, usage: spent, costUSD, knownCostUSD } = (await desk.status("agent")) ?? {};
    expect([runs, costUSD]).toEqual([3, knownCostUSD]);
    expect(knownCostUSD).toBeCloseTo((spent?.totalTokens ?? 0) / 10);
  });

  it("answers the next message after a message that an input check has refused", async () => {
    const endings = [];
    for (const message of ["Hello.", "An evil plan.", "Sorry."]) endings.push(await ask("refused", message));
    expect(endings).toEqual(["answered", "input-guardrail", "answered"]);
    expect(show((await desk.status("refused"))?.messages ?? [])).toEqual([
      "user: Hello.",
      "model: Yes.",
      "user: Sorry.",
      "model: Yes.",
    ]);
  });

  it("answers a message that arrives twice only once", async () => {
    const message = { role: "user", content: "Hello.", id: "m1" } as const;
    const first = await desk.start("twice", { message });
    const second = await desk.start("twice", { message });
    expect([first.kind, second]).toEqual([
      "started",
      expect.objectContaining({ kind: "started", repeated: true, runId: "twice/1" }),
    ]);
    if (second.kind === "started") await second.result();
    expect(await desk.start("twice", { message })).toMatchObject({ kind: "started", repeated: true, runId: "twice/1" });
    await ask("twice", "And now?");
    expect(await desk.start("twice", { message })).toEqual({ kind: "repeated", runId: "twice/2" });
    expect((await desk.status("twice"))?.messages.length).toBe(4);
  });

  it("keeps a run's call results if the run was interrupted during its answer and its message arrives again", async () => {
    const message: UserMessage = { role: "user", content: "Count.", id: "m1" };
    const reasons: string[] = [];
    for (let turn = 1; turn <= 3; turn += 1) {
      const answer = await desk.start("broken", { message });
      reasons.push(answer.kind === "started" ? (await answer.result()).reason.kind : answer.kind);
    }
    expect(reasons).toEqual(["provider-error", "provider-error", "answered"]);
    expect(counted).toBe(1);
  });

  it("refuses or queues a message while a call is waiting", async () => {
    await desk.start("waits", { message: "Pay." });
    for await (const { event } of (await desk.join("waits")) ?? []) void event;
    const refused = await desk.start("waits", { message: "Hello." });
    expect(refused).toMatchObject({ kind: "waiting", error: { message: expect.stringContaining('"pay" (id "call_i0_0")') } });
    const queued = ask("waits", "Hello.", { whenSuspended: "queue", whenBusy: "queue" });
    await desk.resume("waits", { answers: { call_i0_0: { kind: "approve" } } });
    expect(await queued).toBe("answered");
    expect(show((await desk.status("waits"))?.messages ?? [])).toEqual([
      "user: Pay.",
      "model: pay()",
      "tool: pay completed",
      "model: Yes.",
      "user: Hello.",
      "model: Yes.",
    ]);
  });
});
