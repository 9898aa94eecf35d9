import { describe, expect, it } from "vitest";
import {
  defineAgentTool,
  defineTool,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  type Tool,
  type ToolContext,
  withFallback,
  withRetry,
} from "turnwright";
import { withTracing } from "turnwright/otel";
import { createMockProvider, endEarly, fail, type MockScript, stall, text, toolCall, usage, wait } from "turnwright/testing";
import { play, type Playing, tool } from "../loop/play.ts";
import { setUpTracing, type TracingStage } from "./stage.ts";

const inputSchema = { type: "object" } as const;
const question = [{ role: "user", content: "Well?" }] as const;

interface Scene {
  readonly tracing: TracingStage;
  readonly playing: Playing;
}

/** Starts a traced run over scripted turns. */
function trace(script: MockScript, more: Partial<LoopOptions> = {}): Scene {
  const tracing = setUpTracing({ agentName: "bot" });
  // What `play` makes of the options is traced as it stands.
  const playing = play(script, (stage) => {
    const provider = more.provider ?? createMockProvider(script);
    const options = {
      provider,
      messages: question,
      clock: stage.clock,
      control: stage.control,
      signal: stage.abort.signal,
      ...more,
    };
    const { provider: watched, tools, events, hooks } = withTracing<unknown>(options, tracing.options);
    return { ...more, provider: watched, tools, events, ...(hooks && { hooks }) };
  });
  return { tracing, playing };
}

async function settle({ tracing, playing }: Scene): Promise<LoopResult> {
  await playing.clock.runAll();
  const result = await playing.result;
  expect(tracing.spans(), "each span has ended").toHaveLength(tracing.started());
  return result;
}

const shown = ["turnwright.run.status", "turnwright.run.reason", "turnwright.pass.status", "turnwright.tool.outcome"];

async function treeOf(scene: Scene, attributes: readonly string[] = shown): Promise<string> {
  await settle(scene);
  return `\n${scene.tracing.tree(attributes)}\n`;
}

const later = (name: string, ms: number, clockOf: () => Playing, traits: Partial<Tool> = {}): Tool =>
  tool(name, () => new Promise((resolve) => clockOf().clock.setTimeout(() => resolve(name), ms)), traits);

describe("the span tree of a run", () => {
  it("is a stream where the model answers", async () => {
    expect(await treeOf(trace([text("Hello")]))).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.pass.status="completed"
      "
    `);
  });

  it("has calls beside the streams that ask for them", async () => {
    const scene: Scene = trace([[toolCall("slow"), toolCall("fast")], text("Done.")], {
      tools: [later("slow", 50, () => scene.playing), later("fast", 10, () => scene.playing)],
    });
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.pass.status="function_call"
        execute_tool slow turnwright.tool.outcome="completed"
        execute_tool fast turnwright.tool.outcome="completed"
        chat mock-model turnwright.pass.status="completed"
      "
    `);
  });

  it("tells calls that fail, time out, are refused, or are none", async () => {
    const scene = trace(
      [[toolCall("broken"), toolCall("deaf"), toolCall("secret"), toolCall("nope, said the model")], text("Well.")],
      {
        tools: [
          tool("broken", () => {
            throw new Error("out of order");
          }),
          tool("deaf", () => new Promise(() => {}), { timeoutMs: 100 }),
          tool("secret", () => "never told"),
        ],
        policies: { approve: ({ name }) => (name === "secret" ? { kind: "deny", reason: "not you" } : { kind: "approve" }) },
      },
    );
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        - turnwright.approval_asked
        - turnwright.approval_asked
        - turnwright.approval_asked
        - turnwright.approval_decided
        - turnwright.approval_decided
        - turnwright.approval_decided
        chat mock-model turnwright.pass.status="function_call"
        execute_tool secret turnwright.tool.outcome="denied"
        execute_tool ! "unknown-tool" turnwright.tool.outcome="unknown-tool"
        execute_tool broken ! "failed" turnwright.tool.outcome="failed"
        execute_tool deaf ! "timed-out" turnwright.tool.outcome="timed-out"
        chat mock-model turnwright.pass.status="completed"
      "
    `);
  });

  it("nests runs two deep, of both kinds", async () => {
    const inner = defineTool({
      name: "summarise",
      description: "",
      inputSchema,
      execute: async (_: unknown, context: ToolContext) =>
        (
          await context.runToolLoop({
            messages: question,
            provider: createMockProvider([toolCall("look"), text("Short.")]),
            tools: [tool("look", () => 1)],
          })
        ).text,
    });
    const research = defineAgentTool({
      name: "research",
      description: "",
      inputSchema,
      prepare: () => ({
        messages: question,
        provider: createMockProvider([toolCall("summarise"), text("Found.")]),
        tools: [inner],
      }),
    });
    const scene = trace([[toolCall("research"), toolCall("research")], text("Done.")], { tools: [research] });
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.pass.status="function_call"
        execute_tool research turnwright.tool.outcome="completed"
          invoke_agent research turnwright.run.status="completed" turnwright.run.reason="answered"
            chat mock-model turnwright.pass.status="function_call"
            execute_tool summarise turnwright.tool.outcome="completed"
              invoke_agent summarise turnwright.run.status="completed" turnwright.run.reason="answered"
                chat mock-model turnwright.pass.status="function_call"
                execute_tool look turnwright.tool.outcome="completed"
                chat mock-model turnwright.pass.status="completed"
            chat mock-model turnwright.pass.status="completed"
        execute_tool research turnwright.tool.outcome="completed"
          invoke_agent research turnwright.run.status="completed" turnwright.run.reason="answered"
            chat mock-model turnwright.pass.status="function_call"
            execute_tool summarise turnwright.tool.outcome="completed"
              invoke_agent summarise turnwright.run.status="completed" turnwright.run.reason="answered"
                chat mock-model turnwright.pass.status="function_call"
                execute_tool look turnwright.tool.outcome="completed"
                chat mock-model turnwright.pass.status="completed"
            chat mock-model turnwright.pass.status="completed"
        chat mock-model turnwright.pass.status="completed"
      "
    `);
  });

  it("nests a run over the provider of the run around it", async () => {
    const ask = tool("ask", async (_, context) => (await context.runToolLoop({ messages: question })).text);
    expect(await treeOf(trace([toolCall("ask"), text("Inside."), text("Outside.")], { tools: [ask] }))).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.pass.status="function_call"
        execute_tool ask turnwright.tool.outcome="completed"
          invoke_agent ask turnwright.run.status="completed" turnwright.run.reason="answered"
            chat mock-model turnwright.pass.status="completed"
        chat mock-model turnwright.pass.status="completed"
      "
    `);
  });

  it("has a call that starts early below the run, and a discarded attempt on its stream", async () => {
    const first = createMockProvider([[toolCall("peek"), wait(20), fail({ status: 503, message: "busy" })]]);
    const second = createMockProvider([[toolCall("peek")], text("Peeked.")], { id: "other", model: "other-model" });
    const scene = trace([], { provider: withFallback([first, second]), tools: [tool("peek", () => "seen", { eager: true })] });
    expect(
      await treeOf(scene, ["gen_ai.provider.name", "gen_ai.response.model", "turnwright.tool.outcome"]),
    ).toMatchInlineSnapshot(`
      "
      invoke_agent bot gen_ai.provider.name="mock"
        chat mock-model gen_ai.provider.name="other" gen_ai.response.model="other-model"
          - turnwright.attempt_discarded
        execute_tool peek turnwright.tool.outcome="completed"
        execute_tool peek turnwright.tool.outcome="completed"
        chat mock-model gen_ai.provider.name="other" gen_ai.response.model="other-model"
          - turnwright.attempt_discarded
      "
    `);
  });

  it("has one stream for all attempts of a retry", async () => {
    const provider = withRetry(createMockProvider([fail({ status: 429, message: "slow down" }), text("Now.")]));
    expect(await treeOf(trace([], { provider }))).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.pass.status="completed"
          - turnwright.attempt_discarded
      "
    `);
  });

  it.for<[ending: string, script: MockScript, more: Partial<LoopOptions>]>([
    ["a limit", () => [text("Again. "), toolCall("look")], { limits: { maxIterations: 2 } }],
    ["a provider that fails", [fail({ status: 401, message: "key sk-abc12345678 is wrong" })], {}],
    ["a stream that is cut", [[text("Par"), endEarly()]], {}],
    ["a model that is silent", [[text("Hm"), stall()]], {}],
    [
      "a stop condition that throws",
      [text("So.")],
      {
        policies: {
          stopWhen: () => {
            throw new Error("no");
          },
        },
      },
    ],
  ])("ends with %s", async ([, script, more], { expect: expectHere }) => {
    const scene = trace(script, { tools: [tool("look", () => "seen")], ...more });
    expectHere(await treeOf(scene)).toMatchSnapshot();
  });

  it.for<[verb: "stop" | "kill" | "abort"]>([["stop"], ["kill"], ["abort"]])(
    "ends with a %s while a tool runs",
    async ([verb], { expect: expectHere }) => {
      const scene = trace([[toolCall("deaf")]], { tools: [tool("deaf", () => new Promise(() => {}))] });
      await scene.playing.clock.advance(10);
      if (verb === "abort") scene.playing.abort.abort("enough");
      else scene.playing.control[verb]();
      expectHere(await treeOf(scene)).toMatchSnapshot();
    },
  );

  it("ends with a stop while the model speaks", async () => {
    const scene = trace([[text("Let me "), stall({ ignoreSignal: true })]]);
    await scene.playing.clock.advance(10);
    scene.playing.control.stop();
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="stopped_by_user" turnwright.run.reason="stopped"
        chat mock-model turnwright.pass.status="stopped_by_user"
      "
    `);
  });

  it("notes loops, restarts and approvals on the run", async () => {
    const scene = trace([toolCall("look"), toolCall("look"), toolCall("enrich"), text("So.")], {
      tools: [tool("look", () => 1), tool("enrich", () => ({ type: "context_restart_profile", enhanced_context_item: {} }))],
      policies: { loopDetection: { threshold: 2 }, approve: () => ({ kind: "approve" }) },
    });
    expect(await treeOf(scene, [])).toMatchInlineSnapshot(`
      "
      invoke_agent bot
        - turnwright.approval_asked
        - turnwright.approval_decided
        - turnwright.loop_detected
        - turnwright.approval_asked
        - turnwright.approval_decided
        - turnwright.approval_asked
        - turnwright.approval_decided
        - turnwright.restart
        chat mock-model
        execute_tool look
        chat mock-model
        execute_tool look
        chat mock-model
        execute_tool enrich
        chat mock-model
      "
    `);
  });

  it("tells of a suspension and, resumed, only of what is new", async () => {
    const journal = memoryJournal();
    const tools = [tool("pay", () => "paid"), tool("look", () => "seen")];
    const policies: LoopOptions["policies"] = { approve: ({ name }) => ({ kind: name === "pay" ? "ask" : "approve" }) };
    const asked = trace([toolCall("look"), toolCall("pay")], { tools, policies, journal });
    const before = await treeOf(asked);
    const decisions = { call_p1_0: { kind: "approve" } } as const;
    const provider = createMockProvider([text("Paid.")]);
    const resumed = trace([], { tools, policies, journal, decisions, provider });
    const after = await treeOf(resumed, [...shown, "turnwright.run.resumed", "turnwright.run.replayed_passes"]);
    expect(`${before}resumed${after}`).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="suspended" turnwright.run.reason="approval-required"
        - turnwright.approval_asked
        - turnwright.approval_decided
        - turnwright.approval_asked
        chat mock-model turnwright.pass.status="function_call"
        execute_tool look turnwright.tool.outcome="completed"
        chat mock-model turnwright.pass.status="function_call"
      resumed
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered" turnwright.run.resumed=true turnwright.run.replayed_passes=2
        - turnwright.approval_decided
        execute_tool pay turnwright.tool.outcome="completed"
        chat mock-model turnwright.pass.status="completed"
      "
    `);
  });
});

describe("a run that breaks", () => {
  it("leaves no span open, and says what was thrown", async () => {
    const journal = memoryJournal();
    const broken: LoopOptions["journal"] = {
      durable: false,
      step: (step) => {
        if (step.key !== "p1/inbox") return journal.step(step);
        throw Object.assign(new Error("the disk is full of sk-abc12345678"), { code: "ENOSPC" });
      },
      all: (steps) => journal.all(steps),
    };
    const scene = trace([toolCall("look")], { tools: [tool("look", () => 1)], journal: broken });
    await expect(scene.playing.result).rejects.toThrow("the disk is full");
    expect(scene.tracing.spans()).toHaveLength(scene.tracing.started());
    expect(`\n${scene.tracing.tree(["turnwright.run.broken"])}\n`).toMatchInlineSnapshot(`
      "
      invoke_agent bot ! "ENOSPC" turnwright.run.broken=true
        chat mock-model
        execute_tool look
      "
    `);
  });

  it("ends streams and calls that nobody says the end of", async () => {
    const journal = memoryJournal();
    let wave = 0;
    const broken: LoopOptions["journal"] = {
      durable: false,
      step: (step) => journal.step(step),
      all: (steps) => {
        wave += steps.length;
        for (const step of steps) void step.run({});
        throw new Error("lost");
      },
    };
    const scene = trace([[toolCall("deaf"), toolCall("deaf")]], {
      tools: [tool("deaf", () => new Promise(() => {}))],
      journal: broken,
    });
    await expect(scene.playing.result).rejects.toThrow("lost");
    expect(wave).toBe(2);
    expect(scene.tracing.spans()).toHaveLength(scene.tracing.started());
    expect(`\n${scene.tracing.tree()}\n`).toMatchInlineSnapshot(`
      "
      invoke_agent bot ! "Error"
        chat mock-model ! "Error"
        execute_tool deaf ! "Error"
        execute_tool deaf ! "Error"
      "
    `);
  });

  it("has no span where it was refused before it began", async () => {
    const tracing = setUpTracing();
    const options = { provider: createMockProvider([]), messages: question, limits: { maxIterations: 0 } };
    await expect(runToolLoop(withTracing(options, tracing.options))).rejects.toThrow("maxIterations");
    expect(tracing.started()).toBe(0);
  });
});

describe("what is on the spans", () => {
  it("is what the conventions name", async () => {
    const tokens = usage({ inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, cacheWriteTokens: 10, reasoningTokens: 5 });
    const scene = trace(
      [
        [toolCall("look", { at: "x" }), tokens],
        [text("So."), tokens],
      ],
      {
        tools: [tool("look", () => "seen")],
        session: { conversationId: "c1" },
        runId: "r1",
        modelSettings: { temperature: 0.5, maxOutputTokens: 99, topP: 1, seed: 7, stopSequences: ["END"] },
        limits: { maxIterations: 4, maxCostUSD: 1, maxTokens: Number.POSITIVE_INFINITY },
        pricing: () => 0.01,
      },
    );
    await settle(scene);
    const facts = scene.tracing.spans().map(({ name, kind, attributes }) => ({ name, kind, attributes }));
    expect(facts).toMatchSnapshot();
  });
});
