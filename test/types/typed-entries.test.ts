import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  defineAgentTool,
  defineTool,
  type Json,
  type LoopEvent,
  type LoopResult,
  type LoopStream,
  memoryJournal,
  runToolLoop,
  structuredOutput,
  type Tool,
  type ToolContext,
  unwrap,
  runNested,
} from "turnwright";
import { type Conversation, createConversation, memoryConversationStore } from "turnwright/conversation";
import { defineDurableHost as defineDbosHost, defineDurableLoop as defineDbosLoop } from "turnwright/dbos";
import { diagnostics, tracing } from "turnwright/observe";
import { type AgentFacts, createHandoffs, createTeam, type MemberReport } from "turnwright/middleware";
import { createRunHost, type HostedLoopOptions } from "turnwright/host";
import { rerunFrom, runLog } from "turnwright/inspect";
import type { ContextOf, RunCall } from "turnwright/kit";
import { defineDurableHost as defineRestateHost, defineDurableLoop as defineRestateLoop } from "turnwright/restate";
import { createMockProvider, runTool, text, toolCall } from "turnwright/testing";

interface App {
  readonly user: string;
}

interface Shop {
  readonly currency: string;
}

const inputSchema = z.object({ short: z.boolean() });
const described = { description: "", inputSchema };
const whoAmI = defineTool({
  ...described,
  name: "who_am_i",
  execute: ({ short }, { context }: ToolContext<App>) => ({ user: short ? "" : context.user }),
});
const priceOf = defineTool({ ...described, name: "price_of", execute: (_, { context }: ToolContext<Shop>) => context.currency });
const anything = defineTool({ ...described, name: "anything", execute: (): Json => [1, { a: null }] });

const app: App = { user: "Ada" };
const shop: Shop = { currency: "EUR" };
const output = structuredOutput(z.object({ at: z.date() }), { jsonSchema: { type: "object" } });
const messages = [{ role: "user" as const, content: "Go." }];
const provider = () => createMockProvider([toolCall("who_am_i", { short: false }), text("Done.")]);
const base = { provider: createMockProvider([]) };
const id = "chat";

type Typed = LoopResult<{ at: string }, typeof whoAmI>;
type Event = LoopEvent<typeof whoAmI>;

/** Reads the calls of a result as typed data. */
function usersOf({ calls }: Pick<LoopResult<unknown, typeof whoAmI>, "calls">): readonly string[] {
  return calls.flatMap((call) => (call.outcome === "completed" ? [call.result.user] : []));
}

it("runToolLoop: accepts a tool that returns Json", async () => {
  const stream = createMockProvider([toolCall("anything", { short: true }), text("Done.")]);
  const { calls } = await runToolLoop({ provider: stream, messages, tools: [anything, whoAmI], context: app });
  for (const call of calls)
    if (call.outcome === "completed" && call.name === "anything") expectTypeOf(call.result).toEqualTypeOf<Json>();
  expect(calls[0]?.result).toEqual([1, { a: null }]);
});

it("createConversation: types the context and the calls", async () => {
  const store = memoryConversationStore();
  const chat = createConversation({ id, store, options: { provider: provider(), tools: [whoAmI], context: app } });
  const result = await chat.send("Who am I?");
  expectTypeOf(result).toEqualTypeOf<LoopResult<unknown, typeof whoAmI>>();
  expect(usersOf(result)).toEqual(["Ada"]);
  const general: Conversation = chat;
  const uses = [
    () => createConversation({ id, store, options: base }),
    () => createConversation({ id, store, options: { ...base, context: 5 } }),
    () => chat.send("Hi", { limits: { maxIterations: 1 } }),
    () => chat.send("Hi", { tools: [priceOf], context: shop }),
    () => chat.send("Hi", { tools: [anything] }),
    () => general.send("Hi", { tools: [anything] }),
    // @ts-expect-error the context is missing
    () => createConversation({ id, store, options: { ...base, tools: [whoAmI] } }),
    // @ts-expect-error the context has no user
    () => createConversation({ id, store, options: { ...base, tools: [whoAmI], context: shop } }),
    // @ts-expect-error the context has no user
    () => chat.send("Hi", { context: shop }),
    // @ts-expect-error the context of the conversation has no currency
    () => chat.send("Hi", { tools: [priceOf] }),
    // @ts-expect-error the context of the conversation has no currency
    () => chat.resumeStream({ tools: [priceOf] }),
  ];
  const typed = async (): Promise<void> => {
    const own = await chat.send("Hi", { tools: [priceOf], context: shop, middleware: [output] });
    expectTypeOf(own).toEqualTypeOf<LoopResult<{ at: string }, typeof priceOf>>();
    expectTypeOf(chat.stream("Hi", { middleware: [output] })).toEqualTypeOf<LoopStream<{ at: string }, typeof whoAmI>>();
    expectTypeOf(await chat.resume({ answers: {} })).toEqualTypeOf<LoopResult<unknown, typeof whoAmI>>();
    expectTypeOf((await chat.fork("copy")).send("Hi")).toEqualTypeOf<Promise<LoopResult<unknown, typeof whoAmI>>>();
    expectTypeOf((await general.send("Hi")).calls).toEqualTypeOf<LoopResult<unknown, Tool>["calls"]>();
  };
  expect([uses.length, typeof typed, general]).toEqual([11, "function", chat]);
});

it("createRunHost: types the context, the calls and the events of each start and resume", async () => {
  const host = createRunHost();
  const started = await host.start(id, { provider: provider(), tools: [whoAmI], context: app, message: "Who am I?" });
  if (started.kind !== "started") throw new Error(started.kind);
  expectTypeOf(started.result).toEqualTypeOf<Promise<LoopResult<unknown, typeof whoAmI>>>();
  for await (const { event } of started.join()) expectTypeOf(event).toEqualTypeOf<Event>();
  expect(usersOf(await started.result)).toEqual(["Ada"]);
  const shared: HostedLoopOptions = { ...base, tools: [whoAmI, priceOf] };
  const uses = [
    () => host.start(id, { ...base, message: "Hi" }),
    () => host.start(id, { ...shared, message: "Hi" }),
    () => host.resume(id, { ...base, tools: [whoAmI], context: app, answers: {} }),
    // @ts-expect-error the context is missing
    () => host.start(id, { ...base, tools: [whoAmI], message: "Hi" }),
    // @ts-expect-error the context has no currency
    () => host.start(id, { ...base, tools: [whoAmI, priceOf], context: app, message: "Hi" }),
    // @ts-expect-error the context is missing
    () => host.resume(id, { ...base, tools: [whoAmI], answers: {} }),
  ];
  const typed = async (): Promise<void> => {
    const resumed = await host.resume(id, { ...base, tools: [whoAmI], context: app, middleware: [output] });
    if (resumed.kind === "started") expectTypeOf(await resumed.result).toEqualTypeOf<Typed>();
  };
  expect([uses.length, typeof typed]).toEqual([6, "function"]);
  await host.close();
});

it.each([
  ["dbos", defineDbosLoop, defineDbosHost],
  ["restate", defineRestateLoop, defineRestateHost],
] as const)("%s: types the context, the calls and the events of durable loops and hosts", (_, defineLoop, defineHost) => {
  const ofUser = ({ user }: App) => ({ ...base, messages, tools: [whoAmI], context: { user }, middleware: [output] });
  const uses = [
    () => defineLoop({ name: "a", options: ofUser }),
    () => defineLoop({ name: "a", options: async (input: App) => ofUser(input) }),
    () => defineLoop({ name: "a", options: () => ({ ...base, messages }) }),
    () => defineHost({ name: "a", options: ({ id: user }) => ({ ...base, tools: [whoAmI], context: { user } }) }),
    // @ts-expect-error the context is missing
    () => defineLoop({ name: "a", options: () => ({ ...base, messages, tools: [whoAmI] }) }),
    // @ts-expect-error the context has no user
    () => defineLoop({ name: "a", options: async () => ({ ...base, messages, tools: [whoAmI], context: shop }) }),
    // @ts-expect-error the context is missing
    () => defineHost({ name: "a", options: () => ({ ...base, tools: [whoAmI] }) }),
    // @ts-expect-error the context has no user
    () => defineHost({ name: "a", options: async () => ({ ...base, tools: [whoAmI], context: shop }) }),
  ];
  const typedInput = (): readonly unknown[] => {
    const host = defineHost({
      name: "c",
      options: ({ input }: { readonly input: App }) => ({ ...ofUser(input), messages: undefined }),
    });
    return [
      () => host.start(id, { message: "Hi", input: app }),
      // @ts-expect-error the input is missing
      () => host.start(id, { message: "Hi" }),
      // @ts-expect-error the input has no user
      () => host.start(id, { message: "Hi", input: shop }),
    ];
  };
  const typed = async (): Promise<void> => {
    const loop = defineLoop({ name: "a", options: ofUser });
    await loop.start(id, { user: "Ada" });
    expectTypeOf(await loop.result(id)).toEqualTypeOf<Omit<Typed, "journal">>();
    expectTypeOf(unwrap(await loop.result(id))).toEqualTypeOf<Omit<Typed, "journal">>();
    for await (const { event } of loop.events(id)) expectTypeOf(event).toEqualTypeOf<Event>();
    const host = defineHost({ name: "b", options: () => ({ ...base, tools: [whoAmI], context: app, middleware: [output] }) });
    const started = await host.start(id, { message: "Hi" });
    if (started.kind !== "started") return;
    expectTypeOf(await started.result()).toEqualTypeOf<Omit<Typed, "journal">>();
    for await (const { event } of started.join()) expectTypeOf(event).toEqualTypeOf<Event>();
  };
  expect([uses.length, typeof typed, typeof typedInput]).toEqual([8, "function", "function"]);
});

it("runLog, tracing and diagnostics: keep the types of the options", async () => {
  const middleware = [diagnostics(), tracing(), runLog({ to: { write: (): void => {} } })];
  const options = { provider: provider(), messages, tools: [whoAmI], context: app, middleware };
  expect(usersOf(await runToolLoop(options))).toEqual(["Ada"]);
  const uses = [
    () => rerunFrom(memoryJournal(), { iteration: 1 }, { ...base, tools: [whoAmI], context: app }),
    // @ts-expect-error the context is missing
    () => runToolLoop({ ...base, messages, tools: [whoAmI], middleware }),
    // @ts-expect-error the context is missing
    () => rerunFrom(memoryJournal(), { iteration: 1 }, { ...base, tools: [whoAmI] }),
  ];
  const typed = async (): Promise<void> => {
    const again = rerunFrom(memoryJournal(), { iteration: 1 }, { ...base, tools: [whoAmI], context: app, middleware: [output] });
    expectTypeOf(await runToolLoop(await again)).toEqualTypeOf<Typed>();
  };
  expect([uses.length, typeof typed]).toEqual([3, "function"]);
});

it("runNested: requires a context if the outer context lacks what the nested tools need", async () => {
  const nested = { messages, provider: provider(), tools: [whoAmI] };
  const inherits = defineTool({
    ...described,
    name: "inherits",
    execute: async (_, context: ToolContext<App>) => {
      const result = await runNested(context, nested);
      expectTypeOf(result).toEqualTypeOf<LoopResult<unknown, typeof whoAmI>>();
      // @ts-expect-error the outer context has no currency
      void (() => runNested(context, { messages, tools: [priceOf] }));
      void (() => runNested(context, { messages, tools: [priceOf], context: shop }));
      return usersOf(result);
    },
  });
  const needsNone = defineTool({
    ...described,
    name: "needs_none",
    // @ts-expect-error the outer context is unknown
    execute: (_, context) => runNested(context, nested),
  });
  expect(needsNone.name).toBe("needs_none");
  expect(await runTool(inherits, { short: true }, { context: app })).toMatchObject({ data: ["Ada"] });
});

it("defineAgentTool: needs the context of the nested tools, unless prepare returns one", async () => {
  const inherits = defineAgentTool({
    ...described,
    name: "inherits",
    prepare: async () => ({ messages, provider: provider(), tools: [whoAmI] }),
    toResult: (result) => {
      expectTypeOf(result).toEqualTypeOf<LoopResult<unknown, typeof whoAmI>>();
      return usersOf(result);
    },
  });
  const both = defineAgentTool({
    ...described,
    name: "both",
    prepare: (_, { context }: ToolContext<Shop>) => ({ messages, system: context.currency, tools: [whoAmI] }),
  });
  const own = defineAgentTool({ ...described, name: "own", prepare: () => ({ messages, tools: [whoAmI], context: app }) });
  const bound = defineAgentTool<Shop>()({ ...described, name: "bound", prepare: () => ({ messages, tools: [whoAmI] }) });
  const none = defineAgentTool({ ...described, name: "none", prepare: () => ({ messages, tools: [anything] }) });
  expectTypeOf<ContextOf<typeof inherits>>().toEqualTypeOf<App>();
  expectTypeOf<ContextOf<typeof both>>().toEqualTypeOf<Shop & App>();
  expectTypeOf<ContextOf<typeof bound>>().toEqualTypeOf<Shop & App>();
  expectTypeOf<ContextOf<typeof own | typeof none>>().toBeUnknown();
  // @ts-expect-error the context has no user
  defineAgentTool({ ...described, name: "wrong", prepare: () => ({ messages, tools: [whoAmI], context: shop }) });
  // @ts-expect-error the context is missing
  void (() => runToolLoop({ ...base, messages, tools: [inherits] }));
  const stream = createMockProvider([toolCall("inherits", { short: true }), text("Done.")]);
  const { calls } = await runToolLoop({ provider: stream, messages, tools: [inherits, own], context: app });
  expect(calls.map(({ result }) => result)).toEqual([["Ada"]]);
});

it("createTeam: requires the context that all tools need, and types the lead's calls", async () => {
  const team = createTeam({
    lead: { tools: [priceOf] },
    members: {
      scout: { description: "Scouts", system: "Scout.", tools: [whoAmI], provider: provider() },
      writer: { description: "Writes", system: "Write." },
    },
  });
  expectTypeOf<ContextOf<(typeof team.tools)[number]>>().toEqualTypeOf<Shop & App>();
  const stream = createMockProvider([toolCall("scout", { task: "Go." }), text("Done.")]);
  const { calls } = await runToolLoop({ provider: stream, messages, ...team, context: { ...app, ...shop } });
  const [call] = calls;
  if (call?.outcome === "completed" && call.name === "scout") expectTypeOf(call.result).toEqualTypeOf<MemberReport>();
  expectTypeOf(call?.name).not.toEqualTypeOf<"scout" | undefined>();
  expect(call?.result).toEqual({ status: "completed", report: "Done." });
  const solo = createTeam({ members: { writer: { description: "Writes", system: "Write." } } });
  const uses = [
    () => runToolLoop({ ...base, messages, ...solo }),
    // @ts-expect-error the context has no user
    () => runToolLoop({ ...base, messages, ...team, context: shop }),
    // @ts-expect-error the context is missing
    () => createConversation({ id, store: memoryConversationStore(), options: { ...base, ...team } }),
  ];
  expect(uses).toHaveLength(3);
});

it("createHandoffs: requires the context that its system functions and tools need", async () => {
  const agents = createHandoffs({
    start: "first",
    agents: {
      first: { description: "", system: ({ context }: AgentFacts<Shop>) => context.currency, handoffs: ["second"] },
      second: { description: "", tools: [whoAmI], system: (facts) => typeof facts.context },
    },
  });
  const stream = createMockProvider([text("Done.")]);
  const options = { provider: stream, messages, tools: agents.tools, middleware: [agents] };
  const result = await runToolLoop({ ...options, context: { ...app, ...shop } });
  expectTypeOf(result.calls).toExtend<readonly RunCall[]>();
  expect(stream.requests[0]?.system).toBe("EUR");
  // @ts-expect-error the context has no currency
  void (() => runToolLoop({ ...options, context: app }));
  // @ts-expect-error the context has no user
  void (() => createRunHost().start(id, { ...options, messages, context: shop }));
  const plain = createHandoffs({ start: "a", agents: { a: { description: "", system: "A." } } });
  void (() => runToolLoop({ ...base, messages, tools: plain.tools, middleware: [plain] }));
});
