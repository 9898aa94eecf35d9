import { tracingChannel } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { defineAgentTool, type LoopOptions, memoryJournal, runToolLoop } from "turnwright";
import {
  type IterationMessage,
  iterationChannel,
  runChannel,
  type RunMessage,
  toolChannel,
  type ToolMessage,
  diagnostics,
  tracing,
} from "turnwright/observe";
import { createMockProvider, fail, text, toolCall, usage } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { question } from "./trace.ts";
import { addWatchers } from "../add-watchers.ts";

const kinds = { run: runChannel, iteration: iterationChannel, tool: toolChannel };
type Kind = keyof typeof kinds;
const edges = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;

interface Heard {
  readonly lines: readonly string[];
  /** The last message of each channel. The run goes on changing these objects. */
  readonly last: { readonly run?: RunMessage; readonly iteration?: IterationMessage; readonly tool?: ToolMessage };
}

async function listen(work: () => Promise<unknown>, wanted: readonly Kind[] = ["run", "iteration", "tool"]): Promise<Heard> {
  const lines: string[] = [];
  const last: Record<string, object> = {};
  const stops = wanted.map((kind) => {
    const channel = tracingChannel<unknown, object>(kinds[kind]);
    const listeners = Object.fromEntries(
      edges.map((edge) => [
        edge,
        (message: object) => {
          lines.push(`${kind} ${edge}`);
          last[kind] = message;
        },
      ]),
    ) as never;
    channel.subscribe(listeners);
    return () => channel.unsubscribe(listeners);
  });
  try {
    await work();
  } finally {
    for (const stop of stops) stop();
  }
  return { lines, last };
}

const spent = usage({ inputTokens: 3, outputTokens: 4 });
const look = tool("look", () => "private result");

describe("diagnostics: the channels", () => {
  it("remove credentials from tool names and call ids", async () => {
    const provider = createMockProvider([toolCall("look sk-abc12345678", {}, { id: "call sk-abc12345678" }), text("Done.")]);
    const { last } = await listen(() => runToolLoop(addWatchers({ provider, messages: question, tools: [] }, diagnostics())));
    expect(last.tool).toMatchObject({ name: "look [redacted]", callId: "call [redacted]" });
  });

  it("shorten long tool names and call ids to 128 characters", async () => {
    const [name, id] = ["my password is hunter2 ".repeat(1_000), "i".repeat(1_000)];
    const provider = createMockProvider([toolCall(name, {}, { id }), text("Done.")]);
    const { last } = await listen(() => runToolLoop(addWatchers({ provider, messages: question, tools: [] }, diagnostics())));
    expect([last.tool?.name, last.tool?.callId]).toEqual([name.slice(0, 128), id.slice(0, 128)]);
  });

  it("publish the start and end of runs, iterations and calls", async () => {
    const provider = createMockProvider([
      [toolCall("look"), spent],
      [text("private answer"), spent],
    ]);
    const session = { conversationId: "c1" };
    const options = { provider, messages: question, tools: [look], runId: "r1", session };
    const { lines, last } = await listen(() => runToolLoop(addWatchers(options, diagnostics())));
    const [begins, ends] = [
      ["start", "end"],
      ["asyncStart", "asyncEnd"],
    ] as const;
    const of = (kind: Kind, of: readonly string[]): readonly string[] => of.map((edge) => `${kind} ${edge}`);
    expect(lines).toEqual([
      ...of("run", begins),
      ...of("iteration", begins),
      ...of("tool", begins),
      ...of("tool", ends),
      ...of("iteration", ends),
      ...of("iteration", begins),
      ...of("iteration", ends),
      ...of("run", ends),
    ]);
    const anyNumber: unknown = expect.any(Number);
    const tokens = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
    expect(last).toEqual({
      run: {
        runId: "r1",
        provider: "mock",
        model: "mock-model",
        conversationId: "c1",
        status: "completed",
        reason: "answered",
        usage: { inputTokens: 6, outputTokens: 8, totalTokens: 14 },
        iterations: 2,
        toolCallsExecuted: 1,
        durationMs: anyNumber,
      },
      iteration: {
        runId: "r1",
        iteration: 1,
        continuation: 0,
        replayed: false,
        status: "completed",
        provider: "mock",
        model: "mock-model",
        finish: "stop",
        usage: expect.objectContaining(tokens) as object,
        calls: 0,
        durationMs: anyNumber,
      },
      tool: {
        runId: "r1",
        iteration: 0,
        callId: "call_i0_0",
        name: "look",
        index: 0,
        replayed: false,
        outcome: "completed",
        durationMs: anyNumber,
      },
    });
    expect(JSON.stringify(last)).not.toContain("private");
  });

  it("publish arguments and results if captureContent is true", async () => {
    const provider = createMockProvider([toolCall("look", { at: "x" }), text("So.")]);
    const options = { provider, messages: question, tools: [look] };
    const { last } = await listen(() => runToolLoop(addWatchers(options, diagnostics({ captureContent: true }))), ["tool"]);
    expect(last.tool).toMatchObject({ args: { at: "x" }, result: "private result" });
  });

  it("publish an error before the iteration or run ends", async () => {
    const failing = createMockProvider([[toolCall("nope")], fail({ status: 401, message: "private" })]);
    const { lines, last } = await listen(() =>
      runToolLoop(addWatchers({ provider: failing, messages: question }, diagnostics())),
    );
    expect(lines.filter((line) => line.endsWith("error"))).toEqual(["tool error", "iteration error", "run error"]);
    expect([last.tool?.errorType, last.iteration?.errorType, last.run?.errorType]).toEqual(["unknown-tool", "error", "auth"]);
    const journal = memoryJournal();
    const broken: LoopOptions["journal"] = {
      ...journal,
      step: (key, body) => (key.endsWith("/outcome") ? ([] as never) : journal.step(key, body)),
    };
    const options = {
      provider: createMockProvider([[toolCall("look"), toolCall("look")]]),
      messages: question,
      tools: [look],
      journal: broken,
    };
    const heard = await listen(() => runToolLoop(addWatchers(options, diagnostics())).catch(() => {}));
    expect(heard.last.run).toMatchObject({ errorType: "TypeError", error: expect.any(Error) as Error });
    expect(heard.lines.slice(-6)).toEqual([
      "iteration error",
      "iteration asyncStart",
      "iteration asyncEnd",
      "run error",
      "run asyncStart",
      "run asyncEnd",
    ]);
  });

  it("publish the start and end of both executions if a journal executes an iteration twice", async () => {
    const journal = memoryJournal();
    const again: LoopOptions["journal"] = {
      ...journal,
      step: (key, body) => journal.step(key, key.endsWith("/model") ? async () => (await body(), body()) : body),
    };
    const options = { provider: createMockProvider(() => text("So.")), messages: question, journal: again };
    const { lines } = await listen(() => runToolLoop(addWatchers(options, diagnostics())), ["iteration"]);
    expect(lines.filter((line) => line !== "iteration end" && line !== "iteration asyncStart")).toEqual([
      "iteration start",
      "iteration asyncEnd",
      "iteration start",
      "iteration asyncEnd",
    ]);
  });

  it("name the call that contains a nested run", async () => {
    const agent = defineAgentTool({
      name: "agent",
      description: "",
      inputSchema: { type: "object" },
      prepare: () => ({ messages: question, provider: createMockProvider([text("In.")]) }),
    });
    const inside: RunMessage["inside"][] = [];
    const channel = tracingChannel<unknown, RunMessage>(runChannel);
    const listeners = { start: (message: RunMessage) => void inside.push(message.inside) } as never;
    channel.subscribe(listeners);
    const provider = createMockProvider([toolCall("agent", {}, { id: "i".repeat(1_000) }), text("Out.")]);
    await runToolLoop(addWatchers({ provider, messages: question, tools: [agent], runId: "outer" }, diagnostics()));
    channel.unsubscribe(listeners);
    expect(inside).toEqual([undefined, { runId: "outer", callId: "i".repeat(128), name: "agent" }]);
  });

  it("publish nothing about a run that started without subscribers", async () => {
    const lines: string[] = [];
    const channel = tracingChannel<unknown, object>(toolChannel);
    const listeners = { start: () => void lines.push("start") } as never;
    const subscribes = tool("look", () => channel.subscribe(listeners));
    const provider = createMockProvider([toolCall("look"), toolCall("look"), text("So.")]);
    await runToolLoop(addWatchers({ provider, messages: question, tools: [subscribes] }, diagnostics()));
    channel.unsubscribe(listeners);
    expect(lines).toEqual([]);
  });

  it("reject unknown options", () => {
    const options = { provider: createMockProvider([]), messages: question };
    expect(() => addWatchers(options, diagnostics({ captureContents: true } as never))).toThrow("captureContents");
    expect(() => addWatchers(options, tracing({ tracer: 7 } as never))).toThrow("tracer");
    expect(() => addWatchers(options, tracing({ agentNames: "x" } as never))).toThrow("agentName");
  });
});
