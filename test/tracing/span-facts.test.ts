import { SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { createLoopEvents, type LoopOptions, withFallback } from "turnwright";
import type { TracingOptions } from "turnwright/otel";
import { createMockProvider, endEarly, fail, type MockScript, reasoning, stall, text, toolCall, usage } from "turnwright/testing";
import { never, tool } from "../loop/play.ts";
import { question, type Scene, settle, trace } from "./trace.ts";

const tokens = usage({ inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, cacheWriteTokens: 10, reasoningTokens: 5 });

/** A run that has everything. */
function traceAll(how: TracingOptions = {}, more: Partial<LoopOptions> = {}): Scene {
  const script = [
    [reasoning("private thought"), toolCall("look", { at: "private argument" }), tokens],
    [text("private answer"), tokens],
  ];
  const options: Partial<LoopOptions> = {
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "private question" },
          { type: "image", mediaType: "image/png", data: "cHJpdmF0ZQ==" },
          { type: "file", mediaType: "application/pdf", data: new URL("https://me:hidden@example.com/a.pdf") },
          { type: "file", mediaType: "audio/mpeg", data: "cHJpdmF0ZQ==" },
        ],
      },
    ],
    system: "private system",
    tools: [tool("look", () => ({ seen: "private result", token: "sk-abc12345678" }))],
    session: { conversationId: "c1" },
    runId: "r1",
    modelSettings: { temperature: 0.5, maxOutputTokens: 99, topP: 1, seed: 7, stopSequences: ["END"] },
    limits: { maxIterations: 4, maxCostUSD: 1, maxTokens: Number.POSITIVE_INFINITY },
    pricing: () => 0.01,
    ...more,
  };
  return trace(script, options, how);
}

function attributesOf({ tracing }: Scene, name: string): readonly object[] {
  return tracing.spans().flatMap((span) => (span.name === name ? [span.attributes] : []));
}

describe("what is on a span", () => {
  it("of a run are its settings, limits, usage and ending", async () => {
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

  it("of a stream are its settings, usage and finish", async () => {
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
      "turnwright.hop": 0,
      "turnwright.iteration": 0,
      "turnwright.pass.calls": 1,
      "turnwright.pass.status": "function_call",
      "turnwright.usage.cost_usd": 0.01,
    });
  });

  it.for<[what: string, turn: MockScript, reasons: readonly string[] | undefined]>([
    ["nobody answered", [fail({ status: 400, message: "no" })], undefined],
    ["it was cut off", [[text("Par"), endEarly()]], ["error"]],
    ["it fell silent", [[text("Par"), stall()]], ["error"]],
  ])("of a stream says of its finish, where %s", async ([, script, reasons]) => {
    const scene = trace(script);
    await settle(scene);
    const [chat] = attributesOf(scene, "chat mock-model") as readonly Record<string, unknown>[];
    expect(chat?.["gen_ai.response.finish_reasons"]).toEqual(reasons);
  });

  it("is short, also where a model makes names up", async () => {
    const scene = trace(() => [toolCall("x".repeat(10_000))], { policies: { loopDetection: { threshold: 2, action: "stop" } } });
    await settle(scene);
    const [run] = attributesOf(scene, "invoke_agent bot") as readonly Record<string, unknown>[];
    expect(run?.["turnwright.run.reason"]).toBe("loop-detected");
    for (const { attributes, events } of scene.tracing.spans()) {
      const values = [attributes, ...events.map((event) => event.attributes ?? {})].flatMap((each) => Object.values(each));
      for (const value of values) expect(String(value).length).toBeLessThanOrEqual(128);
    }
  });

  it("of a call are its tool and its outcome", async () => {
    const scene = traceAll();
    await settle(scene);
    expect(attributesOf(scene, "execute_tool look")).toEqual([
      {
        "gen_ai.conversation.id": "c1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.id": "call_p0_0",
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

describe("content", () => {
  it("is on no span and in no metric unless it is asked for, not even where things fail", async () => {
    const broken = tool("look", () => {
      throw new Error("private failure");
    });
    const failing = createMockProvider([
      [text("private half"), toolCall("look", { at: "private argument" })],
      fail({ status: 400, message: "private complaint" }),
    ]);
    for (const more of [{}, { tools: [broken] }, { provider: failing, tools: [broken] }]) {
      const scene = traceAll({}, more);
      await settle(scene);
      const told = scene.tracing.spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
      expect(JSON.stringify([told, await scene.tracing.metrics()])).not.toMatch(/private|cHJpdmF0ZQ|hidden/);
    }
  });

  it("is written as the conventions have it, without credentials and without bytes", async () => {
    const scene = traceAll({ captureContent: true });
    await settle(scene);
    const [first, second] = attributesOf(scene, "chat mock-model") as readonly Record<string, string>[];
    const [call] = attributesOf(scene, "execute_tool look") as readonly Record<string, string>[];
    const asked = {
      role: "user",
      parts: [
        { type: "text", content: "private question" },
        { type: "image", mime_type: "image/png", modality: "image" },
        { type: "uri", mime_type: "application/pdf", modality: "document", uri: "https://[redacted]@example.com/a.pdf" },
        { type: "file", mime_type: "audio/mpeg", modality: "audio" },
      ],
    };
    const called = { type: "tool_call", name: "look", arguments: { at: "private argument" } };
    const result = { seen: "private result", token: "[redacted]" };
    const read = (text: string | undefined): unknown => JSON.parse(text ?? "null");
    expect(read(first?.["gen_ai.system_instructions"])).toEqual([{ type: "text", content: "private system" }]);
    expect(read(first?.["gen_ai.input.messages"])).toEqual([asked]);
    expect(read(first?.["gen_ai.output.messages"])).toEqual([
      { role: "assistant", parts: [{ type: "reasoning", content: "private thought" }, called] },
    ]);
    expect(read(second?.["gen_ai.input.messages"])).toEqual([
      asked,
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "private thought" },
          { ...called, id: "call_p0_0" },
        ],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "call_p0_0", response: result }] },
    ]);
    expect(read(call?.["gen_ai.tool.call.arguments"])).toEqual({ at: "private argument" });
    expect(read(call?.["gen_ai.tool.call.result"])).toEqual(result);
  });

  it("is what `redact` makes of it, and nothing where that throws", async () => {
    const scene = traceAll({
      captureContent: true,
      redact: (_, kind) => {
        if (kind === "system") return "mine";
        if (kind === "tool-result") return undefined;
        throw new Error("redact is broken");
      },
    });
    await settle(scene);
    const content = scene.tracing.spans().flatMap(({ attributes }) => Object.entries(attributes));
    expect(content.filter(([key]) => /messages|instructions|arguments|result/.test(key))).toEqual([
      ["gen_ai.system_instructions", '"mine"'],
      ["gen_ai.system_instructions", '"mine"'],
    ]);
  });

  it("is a copy where `redact` gets it, which it may change", async () => {
    let given: unknown;
    const look = tool("look", (args) => {
      given = args;
      return { deep: { secret: "y" } };
    });
    const emptied = (content: unknown): void => {
      if (typeof content !== "object" || content === null) return;
      for (const [key, value] of Object.entries(content)) {
        emptied(value);
        Reflect.deleteProperty(content, key);
      }
    };
    const scene = trace(
      [toolCall("look", { deep: { secret: "x" } }), text("So.")],
      { tools: [look] },
      { captureContent: true, redact: (content) => (emptied(content), content) },
    );
    const { messages } = await settle(scene);
    expect(given).toEqual({ deep: { secret: "x" } });
    expect(messages).toMatchObject([
      question[0],
      { content: [{ args: { deep: { secret: "x" } } }] },
      { results: [{ result: { deep: { secret: "y" } } }] },
      { content: [{ text: "So." }] },
    ]);
    const [call] = attributesOf(scene, "execute_tool look") as readonly Record<string, unknown>[];
    expect([call?.["gen_ai.tool.call.arguments"], call?.["gen_ai.tool.call.result"]]).toEqual(["{}", "{}"]);
  });

  it("of errors goes through `redact` as well: of a call as its result, of the others as what it is", async () => {
    const script = [toolCall("look"), fail({ status: 400, message: "Ada is unknown" })];
    const fails = (): never => {
      throw new Error("Ada has no orders");
    };
    const statuses = async (redact: TracingOptions["redact"]): Promise<readonly (string | undefined)[]> => {
      const scene = trace(script, { tools: [tool("look", fails)] }, { captureContent: true, redact });
      await settle(scene);
      return scene.tracing.spans().flatMap(({ status }) => (status.code === SpanStatusCode.ERROR ? [status.message] : []));
    };
    expect(await statuses((content, kind) => (kind === "tool-result" ? undefined : content))).toEqual([
      undefined,
      "Ada is unknown",
      "Ada is unknown",
    ]);
    expect(await statuses((content, kind) => (kind === "error" ? String(content).replace("Ada", "somebody") : content))).toEqual([
      "Ada has no orders",
      "somebody is unknown",
      "somebody is unknown",
    ]);
  });

  it("is without what a discarded attempt had said", async () => {
    const provider = withFallback([
      createMockProvider([[reasoning("Hm"), fail({ status: 503, message: "busy" })]]),
      createMockProvider([text("Now.")]),
    ]);
    const scene = trace([], { provider }, { captureContent: true });
    await settle(scene);
    expect(attributesOf(scene, "chat mock-model")).toMatchObject([
      { "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Now."}]}]' },
    ]);
  });

  it("is what errors say, without credentials", async () => {
    const fails = (): never => {
      throw new Error("bad: sk-abc12345678");
    };
    const script = [toolCall("look"), fail({ status: 400, message: "no: sk-abc12345678" })];
    const scene = trace(script, { tools: [tool("look", fails)] }, { captureContent: true });
    await settle(scene);
    const messages = scene.tracing.spans().map(({ name, status }) => `${name}: ${status.message ?? ""}`);
    expect(messages).toEqual([
      "execute_tool look: bad: [redacted]",
      "chat mock-model: ",
      "chat mock-model: no: [redacted]",
      "invoke_agent bot: no: [redacted]",
    ]);
  });
});

describe("metrics", () => {
  it("count tokens and time by the conventions' dimensions", async () => {
    const scene = traceAll();
    await settle(scene);
    const stream = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "mock" };
    const model = { ...stream, "gen_ai.request.model": "mock-model", "gen_ai.response.model": "mock-model" };
    const counted = { ...model, "gen_ai.token.modality": "unknown" };
    expect([...(await scene.tracing.metrics())].sort(([a], [b]) => a.localeCompare(b))).toEqual([
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

  it("count no tokens that nobody has told", async () => {
    const scene = trace([], { provider: createMockProvider([text("So.")], { usage: false }) });
    await settle(scene);
    expect((await scene.tracing.metrics()).map(([name]) => name)).toEqual([
      "gen_ai.client.inference.duration",
      "gen_ai.client.inference.time_to_first_chunk",
      "gen_ai.invoke_agent.duration",
    ]);
  });

  it("name errors, and leave out calls that have not run", async () => {
    const events = createLoopEvents();
    const scene = trace([[toolCall("deaf"), toolCall("nope")], fail({ status: 429, message: "slow down" })], {
      tools: [tool("deaf", () => never, { timeoutMs: 10 })],
      events,
    });
    await settle(scene);
    const errors = (await scene.tracing.metrics()).flatMap(([name, attributes, count]) => {
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
