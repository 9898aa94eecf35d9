import { describe, expect, it } from "vitest";
import { createLoopEvents, detectLoops } from "turnwright";
import { createMockProvider, endEarly, fail, type MockScript, stall, text, toolCall } from "turnwright/testing";
import { never, tool } from "../loop/play.ts";
import { settle, trace } from "./trace.ts";
import { attributesOf, traceAll } from "./trace-all.ts";

describe("tracing: span attributes", () => {
  it("contain a run's settings, limits, usage and ending", async () => {
    const scene = traceAll();
    await settle(scene);
    expect(attributesOf(scene, "invoke_agent bot")).toEqual([
      {
        "gen_ai.agent.name": "bot",
        "gen_ai.conversation.id": "c1",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "mock",
        "gen_ai.request.max_tokens": 99,
        "gen_ai.request.model": "mock-model",
        "gen_ai.request.seed": 7,
        "gen_ai.request.stop_sequences": ["END"],
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 1,
        "gen_ai.usage.cache_read.input_tokens": 80,
        "gen_ai.usage.cache_write.input_tokens": 20,
        "gen_ai.usage.input_tokens": 200,
        "gen_ai.usage.output_tokens": 40,
        "gen_ai.usage.reasoning.output_tokens": 10,
        "turnwright.limit.max_cost_usd": 1,
        "turnwright.limit.max_iterations": 4,
        "turnwright.run.id": "r1",
        "turnwright.run.iterations": 2,
        "turnwright.run.reason": "answered",
        "turnwright.run.status": "completed",
        "turnwright.run.tool_calls": 1,
        "turnwright.usage.cost_usd": 0.02,
      },
    ]);
  });

  it("contain a stream's settings, usage and finish reason", async () => {
    const scene = traceAll();
    await settle(scene);
    expect(attributesOf(scene, "chat mock-model")[0]).toEqual({
      "gen_ai.conversation.id": "c1",
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "mock",
      "gen_ai.request.max_tokens": 99,
      "gen_ai.request.model": "mock-model",
      "gen_ai.request.seed": 7,
      "gen_ai.request.stop_sequences": ["END"],
      "gen_ai.request.stream": true,
      "gen_ai.request.temperature": 0.5,
      "gen_ai.request.top_p": 1,
      "gen_ai.response.finish_reasons": ["tool_call"],
      "gen_ai.response.model": "mock-model",
      "gen_ai.response.time_to_first_chunk": expect.any(Number) as number,
      "gen_ai.usage.cache_read.input_tokens": 40,
      "gen_ai.usage.cache_write.input_tokens": 10,
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 20,
      "gen_ai.usage.reasoning.output_tokens": 5,
      "turnwright.continuation": 0,
      "turnwright.iteration": 0,
      "turnwright.iteration.calls": 1,
      "turnwright.iteration.status": "tool-calls",
      "turnwright.usage.cost_usd": 0.01,
    });
  });

  it.for<[what: string, turn: MockScript, reasons: readonly string[] | undefined]>([
    ["contain no finish reason for a request that fails", [fail({ status: 400, message: "no" })], undefined],
    ['contain the finish reason "error" for a stream that ends early', [[text("Par"), endEarly()]], ["error"]],
    ['contain the finish reason "error" for a stream that falls silent', [[text("Par"), stall()]], ["error"]],
  ])("%s", async ([, script, reasons]) => {
    const scene = trace(script);
    await settle(scene);
    const [chat] = attributesOf(scene, "chat mock-model");
    expect(chat?.["gen_ai.response.finish_reasons"]).toEqual(reasons);
  });

  it("have at most 128 characters, even for tool names invented by the model", async () => {
    const scene = trace(() => [toolCall("x".repeat(10_000))], {
      middleware: [detectLoops({ threshold: 2, action: "stop" })],
    });
    await settle(scene);
    const [run] = attributesOf(scene, "invoke_agent bot");
    expect(run?.["turnwright.run.reason"]).toBe("loop-detected");
    for (const { attributes, events } of scene.stage.spans()) {
      const values = [attributes, ...events.map((event) => event.attributes ?? {})].flatMap((each) => Object.values(each));
      for (const value of values) expect(String(value).length).toBeLessThanOrEqual(128);
    }
  });

  it("do not contain credentials, even in a tool name or a call id from the model", async () => {
    const scene = trace([toolCall("look sk-abc12345678", {}, { id: "call sk-abc12345678" }), text("So.")]);
    await settle(scene);
    expect(attributesOf(scene, "execute_tool")).toMatchObject([
      { "gen_ai.tool.name": "look [redacted]", "gen_ai.tool.call.id": "call [redacted]" },
    ]);
    const facts = scene.stage.spans().map(({ name, attributes, events }) => [name, attributes, events]);
    expect(JSON.stringify(facts)).not.toContain("sk-abc");
  });

  it("contain the tool and the outcome of a call", async () => {
    const scene = traceAll();
    await settle(scene);
    expect(attributesOf(scene, "execute_tool look")).toEqual([
      {
        "gen_ai.conversation.id": "c1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.id": "call_i0_0",
        "gen_ai.tool.description": "look",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "turnwright.iteration": 0,
        "turnwright.tool.executed": true,
        "turnwright.tool.index": 0,
        "turnwright.tool.outcome": "completed",
      },
    ]);
  });
});

describe("tracing: metrics", () => {
  it("count tokens and durations with the attributes of the semantic conventions", async () => {
    const scene = traceAll();
    await settle(scene);
    const stream = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "mock" };
    const model = { ...stream, "gen_ai.request.model": "mock-model", "gen_ai.response.model": "mock-model" };
    const counted = { ...model, "gen_ai.token.modality": "unknown" };
    expect([...(await scene.stage.metrics())].sort(([a], [b]) => a.localeCompare(b))).toEqual([
      ["gen_ai.client.inference.duration", model, 2],
      ["gen_ai.client.inference.operation.input_tokens", model, 2],
      ["gen_ai.client.inference.operation.output_tokens", model, 2],
      ["gen_ai.client.inference.time_to_first_chunk", model, 2],
      ["gen_ai.client.inference.usage.cache_read.input_tokens", counted, 80],
      ["gen_ai.client.inference.usage.cache_write.input_tokens", counted, 20],
      ["gen_ai.client.inference.usage.input_tokens", counted, 200],
      ["gen_ai.client.inference.usage.output_tokens", counted, 40],
      ["gen_ai.client.inference.usage.reasoning.output_tokens", counted, 10],
      [
        "gen_ai.execute_tool.duration",
        { "gen_ai.agent.name": "bot", "gen_ai.tool.name": "look", "gen_ai.tool.type": "function" },
        1,
      ],
      ["gen_ai.invoke_agent.duration", { "gen_ai.agent.name": "bot", "gen_ai.request.model": "mock-model" }, 1],
    ]);
  });

  it.for<[told: string, turn: MockScript, how: { readonly usage: boolean }, tokens: readonly string[]]>([
    ["count no tokens if the provider reports no usage", [text("So.")], { usage: false }, []],
    [
      "count input and output tokens if the provider reports both",
      [text("So.")],
      { usage: true },
      ["operation.input_tokens", "operation.output_tokens", "usage.input_tokens", "usage.output_tokens"],
    ],
  ])("%s", async ([, script, how, tokens]) => {
    const scene = trace([], { provider: createMockProvider(script, how) });
    await settle(scene);
    const names = (await scene.stage.metrics()).map(([name]) => name.replace("gen_ai.client.inference.", ""));
    expect(names.filter((name) => name.endsWith("tokens")).sort()).toEqual(tokens);
  });

  it("contain error types", async () => {
    const events = createLoopEvents();
    const scene = trace([[toolCall("deaf"), toolCall("nope")], fail({ status: 429, message: "slow down" })], {
      tools: [tool("deaf", () => never, { timeoutMs: 10 })],
      events,
    });
    await settle(scene);
    const errors = (await scene.stage.metrics()).flatMap(([name, attributes, count]) => {
      const error = attributes["error.type"];
      return error === undefined ? [] : [`${name} ${String(error)} ${count}`];
    });
    expect(errors).toEqual([
      "gen_ai.client.inference.duration rate-limit 1",
      "gen_ai.invoke_agent.duration rate-limit 1",
      "gen_ai.execute_tool.duration timed-out 1",
    ]);
  });
});
