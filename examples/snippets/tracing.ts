// Observes runs with spans, metrics and diagnostics channels.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, tracingChannel, unsubscribe } from "node:diagnostics_channel";
import {
  BasicTracerProvider,
  ConsoleSpanExporter,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { z } from "zod";
import { defineTool, type Message, runToolLoop, streamToolLoop } from "turnwright";
import { diagnostics, runChannel, toolChannel, type ToolMessage, tracing } from "turnwright/observe";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Where is order A-1042?" }];
const findOrder = defineTool({
  name: "find_order",
  description: "Status of an order",
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, status: "shipped" }),
});
const tools = [findOrder];
const model = createMockProvider(({ messages: sent }) =>
  sent.length === 1 ? toolCall("find_order", { id: "A-1042" }) : text("It has shipped."),
);

{
  const provider = model;
  const names: string[] = [];
  const { dir } = console;
  console.dir = ({ name }: { readonly name: string }) => void names.push(name);
  {
    // #region tracing
    const exporter = new ConsoleSpanExporter(); // or the exporter of your backend
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    const middleware = [tracing({ agentName: "support", tracerProvider })];
    const result = await runToolLoop({ provider, tools, messages, middleware });
    // #endregion tracing
    assert.equal(result.text, "It has shipped.");
    assert.deepEqual(names, ["execute_tool find_order", "chat mock-model", "chat mock-model", "invoke_agent support"]);
  }
  console.dir = dir;
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  {
    // #region content
    const traced = tracing({
      tracerProvider,
      captureContent: true,
      redact: (content, kind) => (kind === "tool-result" ? undefined : content), // undefined omits it
    });
    const stream = streamToolLoop({ provider, tools, messages, middleware: [traced] });
    for await (const event of stream) if (event.type === "text-delta") process.stdout.write(event.text);
    // #endregion content
    process.stdout.write("\n");
    const call = exporter.getFinishedSpans().find(({ name }) => name === "execute_tool find_order");
    assert.equal(call?.attributes["gen_ai.tool.call.arguments"], '{"id":"A-1042"}');
    assert.equal(call?.attributes["gen_ai.tool.call.result"], undefined);
  }
}

{
  const provider = model;
  const lines: string[] = [];
  const console = { log: (line: string): void => void lines.push(line) };
  // #region channels
  const onEnd = (message: unknown): void => {
    const { name, outcome, durationMs } = message as ToolMessage;
    console.log(`${name}: ${outcome} after ${durationMs?.toFixed(0)} ms`);
  };
  subscribe(`tracing:${toolChannel}:asyncEnd`, onEnd);
  await runToolLoop({ provider, tools, messages, middleware: [diagnostics()] });
  // #endregion channels
  unsubscribe(`tracing:${toolChannel}:asyncEnd`, onEnd);
  assert.match(lines.join(), /^find_order: completed after \d+ ms$/);
}

{
  const provider = model;
  // #region store
  const currentRun = new AsyncLocalStorage<object>();
  tracingChannel<object, object>(runChannel).start.bindStore(currentRun);
  // In a tool, `currentRun.getStore()` is now the RunMessage of the run that its call belongs to.
  // #endregion store

  const whoAsks = defineTool({
    name: "find_order",
    description: "Status of an order",
    inputSchema: z.object({ id: z.string() }),
    execute: () => currentRun.getStore(),
  });
  const options = { provider, tools: [whoAsks], messages, middleware: [diagnostics()], runId: "r1" };
  const { functionHistory } = await runToolLoop(options);
  assert.match(JSON.stringify(functionHistory[0]?.functionResponse), /"runId":"r1"/);
}
