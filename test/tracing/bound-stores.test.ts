import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { context } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { type Provider, runToolLoop, type ToolContext, runNested } from "turnwright";
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
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { keepContexts, setUpTracing } from "./stage.ts";
import { question } from "./trace.ts";
import { addWatchers } from "../add-watchers.ts";

const kinds = { run: runChannel, inner: iterationChannel, tool: toolChannel };
type Kind = keyof typeof kinds;

describe("diagnostics: an AsyncLocalStorage that is bound to a channel", () => {
  it.each(["function", "generator"])("is available in streams, in nested runs and in a tool that is a %s", async (kind) => {
    const stop = keepContexts();
    const stage = setUpTracing();
    const stores = {
      run: new AsyncLocalStorage<RunMessage>(),
      inner: new AsyncLocalStorage<IterationMessage>(),
      tool: new AsyncLocalStorage<ToolMessage>(),
    };
    const unbind = (Object.keys(stores) as Kind[]).map((kind) => {
      const { start } = tracingChannel<unknown, object>(kinds[kind]);
      start.bindStore(stores[kind]);
      return () => {
        start.unbindStore(stores[kind]);
        stores[kind].disable();
      };
    });
    const seen: string[] = [];
    const see = (where: string): void => {
      const {
        run,
        inner,
        tool: call,
      } = { run: stores.run.getStore(), inner: stores.inner.getStore(), tool: stores.tool.getStore() };
      seen.push(
        `${where}: ${run?.runId ?? "-"} ${inner === undefined ? "-" : `iteration ${inner.iteration}`} ${call?.name ?? "-"}`,
      );
    };
    const watched = (where: string, provider: Provider): Provider => ({
      ...provider,
      id: "watched",
      async *stream(...request) {
        see(where);
        yield* provider.stream(...request);
        see(`${where} later`);
      },
    });
    const work = async (call: ToolContext): Promise<void> => {
      await Promise.resolve();
      see("tool");
      const active = context.active();
      const provider = watched("inner", createMockProvider([text("In.")]));
      await runNested(call, { messages: question, provider, runId: "inner" });
      seen.push(`span ${active === context.active() && stage.started() > 0}`);
    };
    const ask = tool("ask", (_, call) => {
      if (kind === "function") return work(call);
      return (async function* () {
        yield 1;
        await work(call);
      })();
    });
    const provider = watched("outer", createMockProvider([toolCall("ask"), text("Out.")]));
    const options = { provider, messages: question, tools: [ask], runId: "outer" };
    await runToolLoop(addWatchers(addWatchers(options, tracing(stage.options)), diagnostics()));
    for (const free of unbind) free();
    stop();
    expect(seen).toEqual([
      "outer: outer iteration 0 -",
      "outer later: outer iteration 0 -",
      "tool: outer iteration 0 ask",
      "inner: inner iteration 0 ask",
      "inner later: inner iteration 0 ask",
      "span true",
      "outer: outer iteration 1 -",
      "outer later: outer iteration 1 -",
    ]);
    expect(stores.run.getStore()).toBeUndefined();
    expect(stage.tree()).toBe(
      [
        "invoke_agent",
        "  chat mock-model",
        "  execute_tool ask",
        "    invoke_agent ask",
        "      chat mock-model",
        "  chat mock-model",
      ].join("\n"),
    );
  });
});
