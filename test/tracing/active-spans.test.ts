import { context, trace as traceApi } from "@opentelemetry/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  defineAgentTool,
  type ModelChunk,
  type Provider,
  runToolLoop,
  streamToolLoop,
  type ToolContext,
  runNested,
} from "turnwright";
import { tracing } from "turnwright/observe";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { keepContexts, setUpTracing } from "./stage.ts";
import { question } from "./trace.ts";
import { addWatchers } from "../add-watchers.ts";

let stop: () => void;
beforeAll(() => {
  stop = keepContexts();
});
afterAll(() => stop());

/** Calls `http` at the start and the end of the stream, as an instrumented HTTP client does. */
function askOver(http: () => void, chunks: readonly ModelChunk[]): Provider {
  return {
    id: "wire",
    model: "wire-model",
    async *stream() {
      http();
      yield* chunks;
      await Promise.resolve();
      http();
    },
  };
}

const answer: readonly ModelChunk[] = [
  { type: "text-delta", text: "Hi" },
  { type: "finish", reason: "stop" },
];

describe("tracing: the active span", () => {
  it("is the stream's span in a provider and the call's span in a tool", async () => {
    const stage = setUpTracing();
    const tracer = stage.provider.getTracer("test");
    const http = (): void => tracer.startSpan("HTTP POST").end();
    const look = tool("look", async () => {
      await Promise.resolve();
      tracer.startSpan("SELECT").end();
    });
    const turns = [
      [
        { type: "call-ready", key: "k", name: "look", args: {} },
        { type: "finish", reason: "tool-calls" },
      ],
      answer,
    ] as const;
    let turn = 0;
    const provider: Provider = {
      id: "wire",
      model: "wire-model",
      stream: (...request) => askOver(http, turns[turn++ % 2] ?? answer).stream(...request),
    };
    const request = tracer.startSpan("GET /chat");
    const active = traceApi.setSpan(context.active(), request);
    const options = addWatchers({ provider, tools: [look], messages: question }, tracing(stage.options));
    await context.with(active, () => runToolLoop(options));
    await context.with(active, async () => {
      const stream = streamToolLoop(options);
      for await (const event of stream) void event;
    });
    request.end();
    const run = [
      "  invoke_agent",
      "    chat wire-model",
      "      HTTP POST",
      "      HTTP POST",
      "    execute_tool look",
      "      SELECT",
      "    chat wire-model",
      "      HTTP POST",
      "      HTTP POST",
    ];
    expect(stage.tree()).toBe(["GET /chat", ...run, ...run].join("\n"));
  });

  it("is the parent of nested runs that a tool or an agent tool starts", async () => {
    const stage = setUpTracing();
    const tracer = stage.provider.getTracer("test");
    const nested = (): object => ({ messages: question, provider: createMockProvider([text("In.")]) });
    const ask = tool("ask", (_, call: ToolContext) =>
      context.with(traceApi.setSpan(context.active(), tracer.startSpan("lookup")), () =>
        runNested(call, { messages: question, ...nested() }),
      ),
    );
    const agent = defineAgentTool({
      name: "agent",
      description: "",
      inputSchema: { type: "object" },
      prepare: async () => {
        tracer.startSpan("prepare").end();
        return { messages: question, ...nested() };
      },
    });
    const provider = createMockProvider([[toolCall("ask"), toolCall("agent")], text("Out.")]);
    await runToolLoop(addWatchers({ provider, tools: [ask, agent], messages: question }, tracing(stage.options)));
    // The tool never ends its own span, so that span is not in the tree.
    expect(stage.tree()).toMatchInlineSnapshot(`
      "invoke_agent
        chat mock-model
        execute_tool ask
        execute_tool agent
          prepare
          invoke_agent agent
            chat mock-model
        chat mock-model
      invoke_agent ask
        chat mock-model"
    `);
    const ids = stage.spans().map((span) => span.spanContext().traceId);
    expect(new Set(ids).size).toBe(1);
  });
});
