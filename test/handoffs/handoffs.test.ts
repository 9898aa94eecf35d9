import { describe, expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { tracing } from "turnwright/observe";
import { createHandoffs, withoutToolCalls } from "turnwright/middleware";
import { createMockProvider, recordEvents, text, toolCall } from "turnwright/testing";
import { createAgents, facts, messages, outline, shared, toBilling, tool, toTriage } from "./stage.ts";
import { addWatchers } from "../add-watchers.ts";

describe("a run with createHandoffs", () => {
  it("is refused if the agents are not in `middleware`, because a handoff would have no effect", async () => {
    const provider = createMockProvider([toBilling, text("Done.")]);
    await expect(runToolLoop({ provider, messages, tools: createAgents().tools })).rejects.toThrow(
      'Option "middleware" is undefined, but must be an array with the agents if "tools" contains tools from createHandoffs because a handoff has no effect without it. Write: middleware: [agents].',
    );
    expect(provider.calls).toBe(0);
  });

  it("is refused if an agent names a tool that the run does not have", async () => {
    const agents = createHandoffs({ start: "a", agents: { a: { description: "A", tools: ["get_tiem"] } } });
    const provider = createMockProvider([text("Done.")]);
    const run = (tools: readonly (typeof shared)[]) =>
      runToolLoop({ provider, messages, tools: [...tools, ...agents.tools], middleware: [agents] });
    await expect(run([shared])).rejects.toThrow(
      `Option "agents.a.tools" is an array with the unknown name "get_tiem", but must be an array of tools or names of the run's tools.`,
    );
  });

  it("continues after a handoff with the other agent's system text and tools", async () => {
    const agents = createAgents();
    const provider = createMockProvider([
      toolCall("search", {}),
      toBilling,
      toolCall("find_invoice", {}),
      toTriage,
      text("Done."),
    ]);
    const recording = recordEvents();
    const result = await runToolLoop({
      provider,
      messages,
      tools: [shared, ...agents.tools],
      middleware: [agents],
      events: recording.emitter,
    });
    expect(facts(provider)).toEqual([
      ["You are triage.", ["get_time", "search", "transfer_to_billing"]],
      ["You are triage.", ["get_time", "search", "transfer_to_billing"]],
      ["You are billing.", ["get_time", "find_invoice", "transfer_to_triage"]],
      ["You are billing.", ["get_time", "find_invoice", "transfer_to_triage"]],
      ["You are triage.", ["get_time", "search", "transfer_to_billing"]],
    ]);
    expect(result).toMatchObject({
      status: "completed",
      text: "Done.",
      agent: "triage",
      handoffs: [
        { from: "triage", to: "billing", reason: "an invoice", iteration: 1 },
        { from: "billing", to: "triage", iteration: 3 },
      ],
    });
    expect(recording.types().filter((type) => type === "handoff")).toHaveLength(2);
    expect(recording.of("iteration-start").map(({ agent }) => agent)).toEqual([
      "triage",
      "triage",
      "billing",
      "billing",
      "triage",
    ]);
    expect(provider.requests[4]?.messages).toHaveLength(9);
  });

  it("calls an agent's system function for each request, with the run's context", async () => {
    const system = ({ context }: { readonly context: unknown }): string => `You help ${String(context)}.`;
    const agents = createHandoffs({ start: "a", agents: { a: { description: "", system } } });
    const provider = createMockProvider([text("Hi.")]);
    await runToolLoop({ provider, messages, context: "Ada", middleware: [agents] });
    expect(provider.requests[0]?.system).toBe("You help Ada.");
    const broken = createHandoffs({ start: "a", agents: { a: { description: "", system: () => 5 as never } } });
    const { reason } = await runToolLoop({ provider, messages, middleware: [broken] });
    expect(reason).toMatchObject({ kind: "hook-failed", hook: "handoffs.request" });
  });

  it("uses the run's provider only for agents without their own provider", async () => {
    const main = createMockProvider([toBilling]);
    const own = createMockProvider([text("Done.")], { model: "own" });
    const agents = createHandoffs({
      start: "triage",
      agents: { triage: { description: "", handoffs: ["billing"] }, billing: { description: "", provider: own } },
    });
    const result = await runToolLoop({ provider: main, messages, tools: agents.tools, middleware: [agents] });
    expect({ calls: [main.calls, own.calls], model: result.streamResults[1]?.model }).toEqual({ calls: [1, 1], model: "own" });
  });

  it("with `history`, filters the earlier messages for the new agent only", async () => {
    const agents = createAgents(10, withoutToolCalls);
    const provider = createMockProvider([
      [text("Let me look."), toolCall("search", {})],
      toBilling,
      toolCall("find_invoice", {}),
      toTriage,
      text("Done."),
    ]);
    const result = await runToolLoop({ provider, messages, tools: agents.tools, middleware: [agents] });
    // A request must end with a message of the user, so the text before the handoff is left out.
    expect(outline(provider.requests[2]?.messages ?? [])).toEqual(["user My invoice"]);
    expect(outline(provider.requests[3]?.messages ?? [])).toEqual([
      "user My invoice",
      "assistant find_invoice",
      "tool find_invoice",
    ]);
    expect(outline(provider.requests[4]?.messages ?? [])).toEqual(outline(result.messages.slice(0, -1)));
  });

  it("carries out only the first handoff in a message", async () => {
    const agents = createAgents();
    const provider = createMockProvider([[toBilling, toBilling], text("Done.")]);
    const result = await runToolLoop({ provider, messages, tools: agents.tools, middleware: [agents] });
    expect(result.handoffs).toHaveLength(1);
    expect(result.functionHistory.map(({ outcome }) => outcome)).toEqual(["completed", "failed"]);
  });

  it("carries out a handoff after a call to an ordinary tool named transfer_to_account", async () => {
    const agents = createAgents();
    const tools = [...agents.tools, tool("transfer_to_account")];
    const provider = createMockProvider([[toolCall("transfer_to_account", {}), toBilling], text("Done.")]);
    const result = await runToolLoop({ provider, messages, tools, middleware: [agents] });
    expect(result).toMatchObject({ agent: "billing", calls: [{ outcome: "completed" }, { outcome: "completed" }] });
  });

  it("lets an agent hand over only to agents in its list", async () => {
    const agents = createAgents();
    const provider = createMockProvider([toTriage, text("Done.")]);
    const result = await runToolLoop({ provider, messages, tools: agents.tools, middleware: [agents] });
    expect({ outcome: result.functionHistory[0]?.outcome, agent: result.agent }).toEqual({
      outcome: "unknown-tool",
      agent: "triage",
    });
  });

  it('ends with the reason "handoff-cap" after more than maxHandoffs handoffs', async () => {
    const agents = createAgents(2);
    const provider = createMockProvider((_, index) => (index % 2 === 0 ? toBilling : toTriage));
    const result = await runToolLoop({ provider, messages, tools: agents.tools, middleware: [agents] });
    expect({ reason: result.reason, calls: provider.calls }).toEqual({ reason: { kind: "handoff-cap", count: 3 }, calls: 3 });
  });

  it("begins with the last result's agent if startWith() is used", async () => {
    const agents = createAgents();
    const first = await runToolLoop({
      provider: createMockProvider([toBilling, text("Done.")]),
      messages,
      tools: agents.tools,
      middleware: [agents],
    });
    const provider = createMockProvider([text("Again.")]);
    const next = agents.startWith(first.agent);
    await runToolLoop({ provider, messages: [...first.messages, ...messages], tools: next.tools, middleware: [next] });
    expect(facts(provider)).toEqual([["You are billing.", ["find_invoice", "transfer_to_triage"]]]);
  });

  it("traces each stream with the agent and the agent's provider", async () => {
    const own = createMockProvider([text("Done.")], { model: "own" });
    const agents = createHandoffs({
      start: "triage",
      agents: { triage: { description: "", handoffs: ["billing"] }, billing: { description: "", provider: own } },
    });
    const names: unknown[] = [];
    const span = { setAttributes: (set: object) => void names.push(set), end: () => {}, isRecording: () => true } as never;
    const tracer = {
      startSpan: (name: string, { attributes = {} }: { attributes?: object } = {}) => (names.push(name, attributes), span),
    } as never;
    await runToolLoop(
      addWatchers(
        { provider: createMockProvider([toBilling]), messages, tools: agents.tools, middleware: [agents] },
        tracing({ tracer }),
      ),
    );
    expect(JSON.stringify(names)).toContain('"chat own"');
    expect(JSON.stringify(names)).toContain('"gen_ai.agent.name":"billing"');
  });
});
