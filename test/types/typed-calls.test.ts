import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  approve,
  type Approve,
  createToolRegistry,
  defineAgentTool,
  defineTool,
  isCallOf,
  type Json,
  type LoopEvent,
  type LoopOptions,
  type LoopResult,
  runToolLoop,
  streamToolLoop,
  type Tool,
  type ToolContext,
  toolResult,
} from "turnwright";
import type { ContextOf, RunCall, WaitingCall } from "turnwright/kit";
import type { ApprovalContext } from "../../src/core/types/middleware-options.ts";
import type { CallArgs, CallResult } from "../../src/core/types/typed-call.ts";
import { createHandoffs } from "turnwright/middleware";
import { createMockProvider, text, toolCall as call } from "turnwright/testing";

interface App {
  readonly user: string;
}

interface Shop {
  readonly currency: string;
}

const defineAppTool = defineTool<App>();
const weather = defineTool({
  name: "get_weather",
  description: "Weather",
  inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
  execute: async ({ city, days }) => ({ city, at: new Date(days) }),
});
const whoAmI = defineTool({
  name: "who_am_i",
  description: "The user",
  inputSchema: z.object({ short: z.boolean() }),
  execute: ({ short }, context: ToolContext<App>) => (short ? context.context.user.slice(0, 1) : context.context.user),
});
const priceOf = defineTool<Shop>()({
  name: "price_of",
  description: "A price",
  inputSchema: z.object({ article: z.string() }),
  needsApproval: ({ article }, view) => article === view.context.currency,
  execute: ({ article }, { context }) => `${article.length} ${context.currency}`,
});
const messages = [{ role: "user" as const, content: "Go." }];
const provider = () =>
  createMockProvider([
    [call("get_weather", { city: "Oslo" }), call("nothing", { n: 1 }), call("get_weather", { city: 7 })],
    text("Done."),
  ]);

it("defineTool: accepts a context type annotated in execute or set by a call without arguments", () => {
  expectTypeOf<ContextOf<typeof weather>>().toBeUnknown();
  expectTypeOf<ContextOf<typeof whoAmI>>().toEqualTypeOf<App>();
  expectTypeOf<ContextOf<typeof priceOf>>().toEqualTypeOf<Shop>();
  expectTypeOf<ContextOf<Tool>>().toBeUnknown();
  expectTypeOf<Parameters<typeof whoAmI.execute>[0]>().toEqualTypeOf<{ short: boolean }>();
  const bound = defineAppTool({
    name: "bound",
    description: "Bound",
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }, { context }) => {
      expectTypeOf(context).toEqualTypeOf<App>();
      return n;
    },
  });
  const page = defineAppTool<{ zone: string }>({
    name: "page",
    description: "A page",
    inputSchema: { type: "object" },
    execute: ({ zone }, { context }) => zone + context.user,
  });
  const agent = defineAgentTool<App>()({
    name: "agent",
    description: "An agent",
    inputSchema: z.object({ question: z.string() }),
    prepare: ({ question }, { context }) => ({ messages: [{ role: "user", content: question + context.user }] }),
  });
  const annotated = defineAgentTool({
    name: "annotated",
    description: "An agent",
    inputSchema: z.object({ question: z.string() }),
    prepare: ({ question }, { context }: ToolContext<App>) => ({
      messages: [{ role: "user", content: question + context.user }],
    }),
  });
  expectTypeOf<ContextOf<typeof agent | typeof annotated | typeof bound | typeof page>>().toEqualTypeOf<App>();
  expectTypeOf(bound.name).toEqualTypeOf<"bound">();
  expectTypeOf(agent.name).toEqualTypeOf<"agent">();
  // @ts-expect-error an App has no currency
  defineAppTool({ ...weather, execute: (_, { context }) => context.currency });
  expect([bound.name, page.name, agent.name, annotated.name]).toEqual(["bound", "page", "agent", "annotated"]);
  expect(() => (defineTool as (tool: undefined) => unknown)(undefined)).toThrow("must be an object");
  expect(() => (defineAgentTool as (fields: undefined) => unknown)(undefined)).toThrow("must be an object");
});

it("runToolLoop: requires the context that all tools need", () => {
  const app: App = { user: "Ada" };
  const both = { user: "Ada", currency: "EUR" };
  const base = { provider: provider(), messages };
  const untyped: readonly Tool[] = [weather, whoAmI];
  const isShop = base.messages.length > 0;
  const uses = [
    () => runToolLoop({ ...base }),
    () => runToolLoop({ ...base, context: 5 }),
    () => runToolLoop({ ...base, tools: [weather] }),
    () => runToolLoop({ ...base, tools: [weather], context: app }),
    () => runToolLoop({ ...base, tools: [weather, whoAmI], context: app }),
    () => streamToolLoop({ ...base, tools: [whoAmI, ...(isShop ? [priceOf] : [])], context: both }),
    () => runToolLoop({ ...base, tools: untyped }),
    () => runToolLoop({ ...base, tools: [...untyped, weather] }),
    () => runToolLoop({ ...base, tools: createToolRegistry([weather, whoAmI]) }),
    () => runToolLoop({ ...base, tools: isShop ? [weather] : createToolRegistry(untyped) }),
    () => runToolLoop({ ...base, tools: [] }),
    () => runToolLoop({ ...base, tools: undefined }),
    // @ts-expect-error the context is missing
    () => runToolLoop({ ...base, tools: [weather, whoAmI] }),
    // @ts-expect-error the context has no user
    () => runToolLoop({ ...base, tools: [whoAmI], context: { name: "Ada" } }),
    // @ts-expect-error the context has no currency
    () => runToolLoop({ ...base, tools: [whoAmI, priceOf], context: app }),
    // @ts-expect-error the context is missing
    () => streamToolLoop({ ...base, tools: [priceOf] }),
  ];
  const typed: LoopOptions<unknown, typeof whoAmI | typeof weather> = { ...base, tools: [whoAmI], context: app };
  const general: LoopOptions = typed;
  // @ts-expect-error the context is missing
  const incomplete: LoopOptions<unknown, typeof whoAmI> = base;
  expect([uses.length, general, incomplete.provider]).toEqual([16, typed, base.provider]);
});

it("approve: takes a function with the context that the tools need", () => {
  const options: LoopOptions<unknown, typeof whoAmI> = {
    provider: provider(),
    messages,
    tools: [whoAmI],
    context: { user: "Ada" },
    middleware: [
      approve((asked, { context }: ApprovalContext<App>) => {
        expectTypeOf(context).toEqualTypeOf<App>();
        if (isCallOf(whoAmI, asked)) expectTypeOf(asked.args).toEqualTypeOf<{ short: boolean }>();
        return { kind: "approve" };
      }),
    ],
  };
  const own: Approve<App> = (_, context: ApprovalContext<App>) => ({ kind: context.context.user === "" ? "deny" : "approve" });
  expect([options.middleware, approve(own)]).toHaveLength(2);
});

it("result.calls: name and outcome select the types of args and result", async () => {
  const result = await runToolLoop({ provider: provider(), messages, tools: [weather, whoAmI], context: { user: "Ada" } });
  const found = result.calls.map((entry) => {
    expectTypeOf(entry.result).toExtend<Json>();
    if (entry.name === "get_weather" && entry.outcome === "completed") {
      expectTypeOf(entry.args).toEqualTypeOf<{ city: string; days?: number | undefined }>();
      expectTypeOf(entry.result).toEqualTypeOf<{ city: string; at: string }>();
      // @ts-expect-error the result has no town
      return [entry.args.city, entry.result.at, entry.result.town];
    }
    // @ts-expect-error the outcome may be another one
    if (entry.name === "get_weather") return [entry.outcome, entry.result.at];
    // @ts-expect-error no tool of the run has this name
    return [entry.outcome, entry.outcome === "completed" && entry.name === "price_of"];
  });
  expect(found).toEqual([
    ["Oslo", "1970-01-01T00:00:00.001Z", undefined],
    ["unknown-tool", false],
    ["invalid-input", undefined],
  ]);
  const general: LoopResult = result;
  expectTypeOf(general.calls).toEqualTypeOf<readonly RunCall[]>();
  expectTypeOf<RunCall["args"]>().toEqualTypeOf<Json>();
  expectTypeOf<RunCall["result"]>().toEqualTypeOf<Json>();
});

it("CallArgs and CallResult: are Json if the type is `unknown` or is not plain data", () => {
  const plain = defineTool({ ...weather, inputSchema: { type: "object" }, execute: () => undefined });
  const marked = defineTool({ ...weather, execute: () => toolResult({ data: 1 }) });
  const outside = defineTool({ name: "ask", description: "Asks", inputSchema: z.object({ why: z.string().optional() }) });
  interface Row {
    readonly id: number;
    readonly note?: string | undefined;
  }
  const rows = defineTool({ ...weather, execute: (): readonly Row[] | undefined => [{ id: 1 }] });
  expectTypeOf<CallArgs<typeof plain>>().toEqualTypeOf<Json>();
  expectTypeOf<CallResult<typeof plain>>().toEqualTypeOf<null>();
  expectTypeOf<CallResult<typeof marked>>().toEqualTypeOf<Json>();
  expectTypeOf<CallArgs<typeof outside>>().toEqualTypeOf<{ why?: string | undefined }>();
  expectTypeOf<CallResult<typeof outside>>().toEqualTypeOf<Json>();
  expectTypeOf<CallResult<typeof rows>>().toEqualTypeOf<
    readonly { readonly id: number; readonly note?: string | undefined }[] | null
  >();
  expect([plain, marked, outside, rows]).toHaveLength(4);
});

it("isCallOf: narrows a stream's events", async () => {
  const seen: unknown[] = [];
  const tools = [weather, priceOf];
  const context = { currency: "EUR" };
  const stream = streamToolLoop({ provider: provider(), messages, tools, context, middleware: [approve()] });
  const see = (event: Extract<LoopEvent<typeof weather | typeof priceOf>, { readonly type: "tool-end" }>): void => {
    if (isCallOf(weather, event) && event.outcome === "completed") {
      expectTypeOf(event.result).toEqualTypeOf<{ city: string; at: string }>();
      seen.push([event.type, event.result.city]);
    }
    if (event.path === undefined && event.outcome === "completed" && event.name === "get_weather") {
      expectTypeOf(event.result).toEqualTypeOf<{ city: string; at: string }>();
      seen.push(event.durationMs >= 0);
    }
    // @ts-expect-error a nested run may have other tools
    if (event.outcome === "completed" && event.name === "get_weather") seen.push(event.result.city);
  };
  for await (const event of stream) {
    if (event.type === "tool-end") see(event);
    if (event.type !== "tool-start" || !isCallOf(weather, event)) continue;
    expectTypeOf(event.args).toEqualTypeOf<CallArgs<typeof weather>>();
    seen.push([event.type, event.args.city]);
  }
  expect(seen).toEqual([["tool-start", "Oslo"], ["tool-end", "Oslo"], true, "Oslo"]);
  expectTypeOf<LoopEvent<typeof weather>>().toExtend<LoopEvent>();
});

it("isCallOf: narrows entries in result.calls, pending calls and waiting calls", async () => {
  const { calls, pendingCalls } = await runToolLoop({ provider: provider(), messages, tools: [weather] });
  for (const entry of calls)
    if (isCallOf(weather, entry)) {
      expectTypeOf(entry.name).toEqualTypeOf<"get_weather">();
      if (entry.outcome === "completed") expectTypeOf(entry.result.city).toBeString();
      else expectTypeOf(entry.result).toEqualTypeOf<Json>();
    }
  for (const pending of pendingCalls) if (isCallOf(weather, pending)) expectTypeOf(pending.args.city).toBeString();
  const waiting: WaitingCall = { id: "a", callId: "a", name: "price_of", args: { article: "tea" }, waitsFor: "approval" };
  if (!isCallOf(priceOf, waiting)) throw new Error("The names are equal.");
  expectTypeOf(waiting.args).toEqualTypeOf<{ article: string }>();
  expect([isCallOf(weather, waiting), isCallOf(weather, {})]).toEqual([false, false]);
});

it("createHandoffs: keeps the types of its tools and the names of its agents", () => {
  const invoice = defineTool({
    name: "find_invoice",
    description: "",
    inputSchema: z.object({ id: z.string() }),
    execute: ({ id }, { context }: ToolContext<{ readonly db: string }>) => ({ amount: id.length, db: context.db }),
  });
  const agents = createHandoffs({
    start: "triage",
    agents: { triage: { description: "", handoffs: ["billing"] }, billing: { description: "", tools: [invoice, "search"] } },
  });
  const options = {
    provider: createMockProvider([text("Hi")]),
    messages: [],
    tools: agents.tools,
    middleware: [agents],
  };
  // @ts-expect-error The tool of an agent needs a context.
  void ((): unknown => runToolLoop(options));
  void (async () => {
    const { calls } = await runToolLoop({ ...options, context: { db: "a" } });
    for (const call of calls) {
      if (call.name === "find_invoice" && call.outcome === "completed") expectTypeOf(call.result.amount).toEqualTypeOf<number>();
    }
  });
  // @ts-expect-error No agent has this name.
  expect(() => createHandoffs({ start: "a", agents: { a: { description: "", handoffs: ["b"] } } })).toThrow("the unknown agent");
});
