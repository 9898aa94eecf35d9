import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  contextRestart,
  contextRestarts,
  createContextStash,
  defineAgentTool,
  FatalToolError,
  type LoopOptions,
  type LoopResult,
  type NestedLoopOptions,
  type Tool,
  toolResult,
  runNested,
} from "turnwright";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { answersOf, never, outcomesOf, play, type Playing } from "../play.ts";
import { question, tokens } from "./nesting.ts";

type Prepare = () => unknown;

function agent(prepare: Prepare, toResult?: (result: LoopResult) => unknown, traits: Partial<Tool> = {}): Tool {
  const { execute: _, ...rest } = { ...traits };
  const fields = { name: "agent", description: "", inputSchema: { type: "object" }, prepare: prepare as () => NestedLoopOptions };
  return defineAgentTool({ ...fields, ...rest, toResult });
}

const answers = (said = "c") => ({ messages: question, provider: createMockProvider(() => text(said)) });
const playAgent = (one: Tool, more: Partial<LoopOptions> = {}): Playing =>
  play([toolCall("agent"), text("Done.")], { tools: [one], ...more });
const broken = (message: string) => (): never => {
  throw new Error(message);
};

describe("defineAgentTool's prepare function", () => {
  it.for<[what: string, prepare: Prepare, reason: string]>([
    ["throws", broken("no"), "no"],
    ["rejects", () => Promise.reject(new Error("no")), "no"],
    ["rejects with a string", () => Promise.reject("no"), "no"],
    ["returns undefined", () => undefined, "An agent tool's prepare() must return an object with the nested run's options."],
    [
      "resolves to null",
      () => Promise.resolve(null),
      "An agent tool's prepare() must return an object with the nested run's options.",
    ],
    ["returns a string", () => "options", "An agent tool's prepare() must return an object with the nested run's options."],
    ["returns an array", () => [], "An agent tool's prepare() must return an object with the nested run's options."],
    ["returns an empty object", () => ({}), 'Option "messages" is undefined, but must be a non-empty array of messages.'],
    [
      "returns an empty list of messages",
      () => ({ messages: [] }),
      'Option "messages" is an array of 0 items, but must be a non-empty array of messages.',
    ],
    ["returns an unknown option", () => ({ ...answers(), maxIteration: 3 }), 'There is no option "maxIteration".'],
    [
      "returns an invalid limit",
      () => ({ ...answers(), limits: { maxTokens: -1 } }),
      'Option "limits.maxTokens" is -1, but must be',
    ],
    ["takes too long", () => never, "The hook took longer than 30000 ms."],
  ])("fails the call if it %s", async ([, prepare, reason]) => {
    const playing = playAgent(agent(prepare));
    await playing.clock.runAll();
    const result = await playing.result;
    expect(answersOf(result)).toMatchObject([{ outcome: "failed", result: { reason: expect.stringContaining(reason) } }]);
    expect([result.text, playing.provider.calls, playing.clock.pending]).toEqual(["Done.", 2, 0]);
    expect(playing.recording.of("run-start")).toHaveLength(1);
  });

  it.for(["stop", "kill"] as const)("that hangs is abandoned immediately after a %s", async (verb) => {
    const signals: AbortSignal[] = [];
    const hangs = defineAgentTool({
      name: "agent",
      description: "",
      inputSchema: {},
      prepare: (_, { signal }) => {
        signals.push(signal);
        return never;
      },
    });
    const playing = playAgent(hangs);
    await playing.clock.flush();
    playing.control[verb]();
    const result = await playing.result;
    expect([outcomesOf(result), playing.clock.now(), playing.clock.pending]).toEqual([["call_i0_0: interrupted"], 0, 0]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it("can itself start a nested run whose usage counts once", async () => {
    const used = (total: number) => ({ messages: question, provider: createMockProvider([[text("x"), tokens(total)]]) });
    const asks = defineAgentTool({
      name: "agent",
      description: "",
      inputSchema: {},
      prepare: async (_, context) => {
        await runNested(context, used(10));
        return used(100);
      },
    });
    const playing = play(
      [
        [toolCall("agent"), tokens(1)],
        [text("Done."), tokens(2)],
      ],
      { tools: [asks] },
    );
    expect((await playing.result).usage.totalTokens).toBe(113);
  });

  it("receives the validated arguments and the call's context", async () => {
    const seen: unknown[] = [];
    const asks = defineAgentTool({
      name: "agent",
      description: "",
      inputSchema: z.object({ city: z.string().toUpperCase(), days: z.number().default(3) }),
      prepare: ({ city, days }, { callId, name, iteration, depth, idempotencyKey, context, session, messages, signal }) => {
        seen.push([
          city,
          days,
          callId,
          name,
          iteration,
          depth,
          idempotencyKey,
          context,
          session,
          messages.length,
          signal.aborted,
        ]);
        return answers(city);
      },
    });
    const script = [[toolCall("agent", { city: "Oslo" }), toolCall("agent", { city: 7 })], text("Done.")];
    const playing = play(script, { tools: [asks], context: "mine", session: { userId: "Ada" } });
    const result = await playing.result;
    expect(answersOf(result).map(({ outcome, result: said }) => [outcome, said])).toMatchObject([
      ["completed", "OSLO"],
      ["invalid-input", {}],
    ]);
    const key = `${playing.options.runId}/i0/call/0/agent`;
    expect(seen).toEqual([["OSLO", 3, "call_i0_0", "agent", 0, 0, key, "mine", { userId: "Ada" }, 2, false]]);
  });

  it("cannot set the nested run's journal or runId", async () => {
    const journal = { durable: false, step: broken("journal"), read: broken("journal") };
    const playing = playAgent(agent(() => ({ ...answers(), journal, runId: "mine" })));
    expect(answersOf(await playing.result)[0]?.result).toBe("c");
    expect(playing.recording.of("run-end")[0]?.runId).toBe(`${playing.options.runId}/i0/call/0/agent/tool/run`);
  });
});

describe("defineAgentTool's toResult function", () => {
  it.for<[what: string, toResult: ((result: LoopResult) => unknown) | undefined, outcome: string, data: unknown]>([
    ["is not defined", undefined, "completed", "c"],
    ["returns an object", ({ text: said, iterations }) => ({ said, iterations }), "completed", { said: "c", iterations: 1 }],
    ["returns undefined", () => undefined, "completed", null],
    ["is async", async ({ text: said }) => said, "completed", "c"],
    ["returns a failed result", () => toolResult({ success: false, error: "not good" }), "failed", { reason: "not good" }],
    ["throws", broken("no"), "failed", { reason: "no" }],
    ["returns a BigInt", () => 1n, "failed", { reason: expect.stringContaining("BigInt") }],
    ["never settles", () => never, "timed-out", { reason: "timed out after 50 ms" }],
  ])("gives the call the expected outcome if toResult %s", async ([, toResult, outcome, data]) => {
    const playing = playAgent(
      agent(() => answers(), toResult),
      { timeouts: { toolMs: 50 } },
    );
    await playing.clock.runAll();
    const result = await playing.result;
    expect(answersOf(result)).toMatchObject([
      typeof data === "object" && data !== null ? { outcome, result: data } : { outcome },
    ]);
    if (typeof data !== "object") expect(answersOf(result)[0]?.result).toBe(data);
    expect([result.text, result.toolCallsExecuted, playing.clock.pending]).toEqual(["Done.", 1, 0]);
  });

  it("by default, reports how a failed nested run ended and the run's text", async () => {
    const said = createMockProvider([[text("Half an answer"), fail({ status: 503 })]]);
    const result = await playAgent(agent(() => ({ messages: question, provider: said }))).result;
    expect(answersOf(result)[0]).toMatchObject({
      outcome: "failed",
      result: { reason: "The agent agent ended as error (provider-error: The request failed.). It had said: Half an answer" },
    });
  });

  it("ends the run and delivers the content if it returns endTurn: true", async () => {
    const content = [{ type: "text" as const, text: "For you." }];
    const one = agent(
      () => answers(),
      ({ text: said }) => toolResult({ success: true, data: said, content, endTurn: true, metadata: { secret: 1 } }),
    );
    const playing = playAgent(one);
    const result = await playing.result;
    expect([result.reason.kind, playing.provider.calls]).toEqual(["end-turn", 1]);
    expect(result.functionHistory[0]?.content).toEqual(content);
    expect(playing.recording.of("tool-end")[0]?.metadata).toEqual({ secret: 1 });
  });

  it("ends the run by throwing a FatalToolError", async () => {
    const one = agent(
      () => answers(),
      () => {
        throw new FatalToolError("over");
      },
    );
    const playing = playAgent(one);
    const result = await playing.result;
    expect([result.reason, playing.provider.calls]).toMatchObject([{ kind: "fatal-tool-error", toolName: "agent" }, 1]);
  });

  it("restarts the context once by returning contextRestart with a stashed item", async () => {
    const stash = createContextStash();
    const pending_context_key = stash.put({ more: "facts" });
    const answer = contextRestart({
      type: "context_restart_deep",
      enhanced_context_item: { fact: 7 },
      pending_context_key,
      disable_tools: ["agent"],
    });
    const playing = playAgent(
      agent(
        () => answers(),
        () => answer,
      ),
      { middleware: [contextRestarts({ stash })] },
    );
    const result = await playing.result;
    expect(playing.recording.of("restart")).toMatchObject([{ suffix: "deep", pendingContext: "found", disableTools: ["agent"] }]);
    expect(playing.provider.requests[1]?.messages.at(-1)).toEqual({
      role: "user",
      content: 'Context:\n{"fact":7}\n{"more":"facts"}',
    });
    expect([answersOf(result)[0]?.result, playing.provider.requests[1]?.tools]).toEqual([{ status: "context_restarted" }, []]);
  });
});
