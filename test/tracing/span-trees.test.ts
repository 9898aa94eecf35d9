import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  contextRestarts,
  defineAgentTool,
  defineTool,
  detectLoops,
  type Tool,
  type ToolContext,
  withFallback,
  withRetry,
  eagerTools,
  runNested,
} from "turnwright";
import { createMockProvider, fail, text, toolCall, wait } from "turnwright/testing";
import { type Playing, tool } from "../loop/play.ts";
import { question, type Scene, trace, treeOf } from "./trace.ts";

const inputSchema = { type: "object" } as const;

const later = (name: string, ms: number, clockOf: () => Playing): Tool =>
  tool(name, () => new Promise((resolve) => clockOf().clock.setTimeout(() => resolve(name), ms)));

describe("tracing: the span tree", () => {
  it("has one stream span if the model answers without a call", async () => {
    expect(await treeOf(trace([text("Hello")]))).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.iteration.status="completed"
      "
    `);
  });

  it("has a span for each call next to the stream's span", async () => {
    const scene: Scene = trace([[toolCall("slow"), toolCall("fast")], text("Done.")], {
      tools: [later("slow", 50, () => scene.playing), later("fast", 10, () => scene.playing)],
    });
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.iteration.status="tool-calls"
        execute_tool slow turnwright.tool.outcome="completed"
        execute_tool fast turnwright.tool.outcome="completed"
        chat mock-model turnwright.iteration.status="completed"
      "
    `);
  });

  it("has spans for calls that fail, time out, are denied or name an unknown tool", async () => {
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
        middleware: [approve(({ name }) => (name === "secret" ? { kind: "deny", reason: "not you" } : { kind: "approve" }))],
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
        chat mock-model turnwright.iteration.status="tool-calls"
        execute_tool ! "unknown-tool" turnwright.tool.outcome="unknown-tool"
        execute_tool secret turnwright.tool.outcome="denied"
        execute_tool broken ! "failed" turnwright.tool.outcome="failed"
        execute_tool deaf ! "timed-out" turnwright.tool.outcome="timed-out"
        chat mock-model turnwright.iteration.status="completed"
      "
    `);
  });

  it("contains nested runs of agent tools and of runNested, two levels deep", async () => {
    const inner = defineTool({
      name: "summarize",
      description: "",
      inputSchema,
      execute: async (_: unknown, context: ToolContext) =>
        (
          await runNested(context, {
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
        provider: createMockProvider([toolCall("summarize"), text("Found.")]),
        tools: [inner],
      }),
    });
    const scene = trace([[toolCall("research"), toolCall("research")], text("Done.")], { tools: [research] });
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.iteration.status="tool-calls"
        execute_tool research turnwright.tool.outcome="completed"
          invoke_agent research turnwright.run.status="completed" turnwright.run.reason="answered"
            chat mock-model turnwright.iteration.status="tool-calls"
            execute_tool summarize turnwright.tool.outcome="completed"
              invoke_agent summarize turnwright.run.status="completed" turnwright.run.reason="answered"
                chat mock-model turnwright.iteration.status="tool-calls"
                execute_tool look turnwright.tool.outcome="completed"
                chat mock-model turnwright.iteration.status="completed"
            chat mock-model turnwright.iteration.status="completed"
        execute_tool research turnwright.tool.outcome="completed"
          invoke_agent research turnwright.run.status="completed" turnwright.run.reason="answered"
            chat mock-model turnwright.iteration.status="tool-calls"
            execute_tool summarize turnwright.tool.outcome="completed"
              invoke_agent summarize turnwright.run.status="completed" turnwright.run.reason="answered"
                chat mock-model turnwright.iteration.status="tool-calls"
                execute_tool look turnwright.tool.outcome="completed"
                chat mock-model turnwright.iteration.status="completed"
            chat mock-model turnwright.iteration.status="completed"
        chat mock-model turnwright.iteration.status="completed"
      "
    `);
  });

  it("contains a nested run that inherits the outer run's provider", async () => {
    const ask = tool("ask", async (_, context) => (await runNested(context, { messages: question })).text);
    expect(await treeOf(trace([toolCall("ask"), text("Inside."), text("Outside.")], { tools: [ask] }))).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.iteration.status="tool-calls"
        execute_tool ask turnwright.tool.outcome="completed"
          invoke_agent ask turnwright.run.status="completed" turnwright.run.reason="answered"
            chat mock-model turnwright.iteration.status="completed"
        chat mock-model turnwright.iteration.status="completed"
      "
    `);
  });

  it("shows eager calls as children of the run", async () => {
    const first = createMockProvider([[toolCall("peek"), wait(20), fail({ status: 503, message: "busy" })]]);
    const second = createMockProvider([[toolCall("peek")], text("Peeked.")], { id: "other", model: "other-model" });
    const scene = trace([], {
      provider: withFallback([first, second]),
      tools: [tool("peek", () => "seen", { eager: true })],
      middleware: [eagerTools()],
    });
    expect(await treeOf(scene, ["gen_ai.provider.name", "gen_ai.response.model", "turnwright.tool.outcome"]))
      .toMatchInlineSnapshot(`
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

  it("has one stream span for all attempts of withRetry", async () => {
    const provider = withRetry(createMockProvider([fail({ status: 429, message: "slow down" }), text("Now.")]));
    expect(await treeOf(trace([], { provider }))).toMatchInlineSnapshot(`
      "
      invoke_agent bot turnwright.run.status="completed" turnwright.run.reason="answered"
        chat mock-model turnwright.iteration.status="completed"
          - turnwright.attempt_discarded
      "
    `);
  });

  it("shows loops, restarts, approvals and emitted data as events of the run's span", async () => {
    const scene = trace([toolCall("look"), toolCall("look"), toolCall("enrich"), text("So.")], {
      tools: [
        tool("look", (_, { emit }) => {
          emit({ type: "text", text: "no event" });
          emit({ type: "data", name: "chart", data: 1 });
          return 1;
        }),
        tool("enrich", () => contextRestart({ type: "context_restart_profile", enhanced_context_item: {} })),
      ],
      middleware: [contextRestarts(), detectLoops({ threshold: 2 }), approve(() => ({ kind: "approve" }))],
    });
    expect(await treeOf(scene, [])).toMatchInlineSnapshot(`
      "
      invoke_agent bot
        - turnwright.approval_asked
        - turnwright.approval_decided
        - turnwright.tool_emit
        - turnwright.loop_detected
        - turnwright.approval_asked
        - turnwright.approval_decided
        - turnwright.tool_emit
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
});
