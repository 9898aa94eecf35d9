import { describe, expect, it } from "vitest";
import {
  approve,
  defineAgentTool,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  type NestedLoopOptions,
  prepareIteration,
  runToolLoop,
  type Tool,
} from "turnwright";
import { tracing } from "turnwright/observe";
import { createMockProvider, type MockScript, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { setUpTracing } from "./stage.ts";
import { question, settle, trace, treeOf } from "./trace.ts";

describe("tracing: a resumed nested run", () => {
  const policy: readonly Middleware[] = [approve(({ name }) => ({ kind: name === "pay" ? "ask" : "approve" }))];
  const shown = ["turnwright.run.resumed", "turnwright.run.replayed_iterations"];
  const agentOf = (middleware: readonly Middleware[], turns: MockScript): Tool =>
    defineAgentTool({
      name: "agent",
      description: "An agent",
      inputSchema: { type: "object" },
      prepare: () => ({
        provider: createMockProvider(turns),
        tools: [tool("leaf", () => 1), tool("pay", () => 1)],
        messages: question,
        middleware,
      }),
    });

  it("has no span and no metric if it is replayed completely", async () => {
    const journal = memoryJournal();
    const agent = agentOf([], [toolCall("leaf"), text("Done.")]);
    const more = { tools: [agent, tool("pay", () => 1)], middleware: policy, journal, runId: "whole" };
    await settle(trace([[toolCall("agent"), toolCall("pay")]], more));
    const answers = { call_i0_1: { kind: "approve" } } as const;
    const resumed = trace([], { ...more, answers, provider: createMockProvider([text("Paid.")]) });
    expect(await treeOf(resumed, shown)).toBe(`
invoke_agent bot turnwright.run.resumed=true turnwright.run.replayed_iterations=1
  - turnwright.approval_decided
  execute_tool pay
  chat mock-model
`);
    const agents = (await resumed.stage.metrics()).filter(([name]) => name === "gen_ai.invoke_agent.duration");
    expect(agents).toHaveLength(1);
  });

  it("has a span, like its outer runs, if it continues", async () => {
    const journal = memoryJournal();
    const middleOf = (turns: MockScript, inner: MockScript): Tool =>
      defineAgentTool({
        name: "middle",
        description: "An agent of an agent",
        inputSchema: { type: "object" },
        prepare: () => ({ provider: createMockProvider(turns), tools: [agentOf(policy, inner)], messages: question }),
      });
    const first = trace([toolCall("middle")], {
      tools: [middleOf([toolCall("agent")], [toolCall("leaf"), toolCall("pay")])],
      journal,
      runId: "deep",
    });
    const { reason } = await settle(first);
    const [call] = reason.kind === "approval-required" ? reason.calls : [];
    const resumed = trace([], {
      tools: [middleOf([text("Middle.")], [text("Inner.")])],
      journal,
      runId: "deep",
      answers: { [call?.id ?? ""]: { kind: "approve" } },
      provider: createMockProvider([text("Outer.")]),
    });
    expect(await treeOf(resumed, shown)).toBe(`
invoke_agent bot turnwright.run.resumed=true turnwright.run.replayed_iterations=1
  invoke_agent middle turnwright.run.resumed=true turnwright.run.replayed_iterations=1
    invoke_agent agent turnwright.run.resumed=true turnwright.run.replayed_iterations=2
      - turnwright.approval_decided
      execute_tool pay
      chat mock-model
    chat mock-model
  chat mock-model
`);
  });
});

describe("tracing: a resumed nested run that fails before its first stream", () => {
  it("has a span", async () => {
    const journal = memoryJournal();
    const breaks: LoopOptions["journal"] = {
      ...journal,
      step: (key, body) => {
        if (key.endsWith("/tool/run/i0/next")) throw new Error("lost");
        return journal.step(key, body);
      },
    };
    const fails = (): never => {
      throw new Error("no");
    };
    const agentOf = (more: Partial<NestedLoopOptions>): Tool =>
      defineAgentTool({
        name: "agent",
        description: "An agent",
        inputSchema: { type: "object" },
        prepare: () => ({
          provider: createMockProvider([toolCall("leaf")]),
          tools: [tool("leaf", () => 1)],
          messages: question,
          ...more,
        }),
      });
    const broken = trace([toolCall("agent")], {
      tools: [agentOf({ middleware: [prepareIteration(() => {})] })],
      journal: breaks,
      runId: "fails",
    });
    await expect(broken.playing.result).rejects.toThrow("lost");
    const resumed = trace([], {
      tools: [agentOf({ middleware: [prepareIteration(fails)] })],
      journal,
      runId: "fails",
      provider: createMockProvider([text("So.")]),
    });
    expect(await treeOf(resumed, ["turnwright.run.resumed"])).toBe(`
invoke_agent bot turnwright.run.resumed=true
  invoke_agent agent ! "hook-failed" turnwright.run.resumed=true
  chat mock-model
`);
  });
});

describe("tracing: a stream", () => {
  it("has one span if a hook returns the run's provider", async () => {
    const stage = setUpTracing();
    const provider = createMockProvider([text("So.")]);
    const middleware = [prepareIteration(() => ({ provider })), tracing(stage.options)];
    await runToolLoop({ provider, messages: question, middleware });
    expect(`\n${stage.tree()}\n`).toBe("\ninvoke_agent\n  chat mock-model\n");
    expect(stage.spans()).toHaveLength(stage.started());
  });

  it("has a separate span for each execution if the journal runs a step twice", async () => {
    const journal = memoryJournal();
    const again: LoopOptions["journal"] = {
      ...journal,
      step: (key, body) => journal.step(key, key.endsWith("/model") ? async () => (await body(), body()) : body),
    };
    expect(await treeOf(trace([text("Once."), text("Twice.")], { journal: again }))).toBe(`
invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
  chat mock-model ! "_OTHER"
  chat mock-model turnwright.iteration.status="completed"
`);
  });
});
