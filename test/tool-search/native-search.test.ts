import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { createToolRegistry, deferTools, type LoopOptions, type LoopResult, type Provider, runToolLoop } from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { openaiResponses, type OpenAIResponsesOptions } from "turnwright/openai";
import { withToolSearch } from "turnwright/middleware";
import { outcomesOf, tool } from "../loop/play.ts";
import { block, call as anthropicCall, start, stop, text } from "../wire/anthropic-frames.ts";
import { checkMessagesContract } from "../wire/messages-contract.ts";
import { checkResponsesContract } from "../wire/responses-contract.ts";
import { createCall } from "../wire/provider-iteration.ts";
import { call, message, respond } from "../wire/responses-frames.ts";
import { deferredTool } from "./catalog.ts";

interface Body {
  readonly tools: readonly { readonly [field: string]: unknown }[];
  readonly [field: string]: unknown;
}

interface FakeFetch {
  readonly fetch: typeof fetch;
  readonly bodies: readonly Body[];
}

/** Answers each request with the frames of the next reply. Uses no network. */
function createFetch(replies: readonly (readonly string[])[]): FakeFetch {
  const bodies: Body[] = [];
  return {
    bodies,
    fetch: async (_input, init) => {
      const frames = replies[bodies.length] ?? [];
      bodies.push(JSON.parse(typeof init?.body === "string" ? init.body : "{}") as Body);
      return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
    },
  };
}

const clock = tool("clock", () => "noon");
const tools = [clock, deferredTool("alpha"), deferredTool("beta")];

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly Body[];
}

async function playAnthropic(
  replies: readonly (readonly string[])[],
  settings: Partial<AnthropicMessagesOptions>,
  more: Partial<LoopOptions> = {},
): Promise<Played> {
  const { fetch, bodies } = createFetch(replies);
  const client = new Anthropic({ apiKey: "test", maxRetries: 0, logLevel: "off", fetch });
  const provider = anthropicMessages({ client, model: "m", ...settings });
  const result = await runToolLoop({
    provider,
    tools: withToolSearch(tools),
    middleware: [deferTools()],
    messages: [{ role: "user", content: "Go." }],
    ...more,
  });
  expect(bodies.map(checkMessagesContract)).toEqual(bodies.map(() => []));
  return { result, bodies };
}

async function playOpenAI(
  replies: readonly (readonly string[])[],
  settings: Partial<OpenAIResponsesOptions>,
  more: Partial<LoopOptions> = {},
): Promise<Played> {
  const { fetch, bodies } = createFetch(replies);
  const client = new OpenAI({ apiKey: "test", maxRetries: 0, logLevel: "off", fetch });
  const provider = openaiResponses({ client, model: "m", ...settings });
  const result = await runToolLoop({
    provider,
    tools: withToolSearch(tools),
    middleware: [deferTools()],
    messages: [{ role: "user", content: "Go." }],
    ...more,
  });
  expect(bodies.map(checkResponsesContract)).toEqual(bodies.map(() => []));
  return { result, bodies };
}

const namesOf = ({ tools: sent }: Body): readonly string[] =>
  sent.map(({ name, type, defer_loading: isDeferred }) => `${String(name ?? type)}${isDeferred === true ? "*" : ""}`);

it.for<[name: string, connect: (given: FakeFetch) => Provider]>([
  ["anthropicMessages", ({ fetch }) => anthropicMessages({ client: new Anthropic({ apiKey: "test", fetch }), model: "m" })],
  ["openaiResponses", ({ fetch }) => openaiResponses({ client: new OpenAI({ apiKey: "test", fetch }), model: "m" })],
])("%s without toolSearch ignores which tools are marked as deferred", async ([, connect]) => {
  const fake = createFetch([[]]);
  const request = {
    messages: [{ role: "user" as const, content: "Go." }],
    tools: [...createToolRegistry(tools.slice(1, 2)).definitions()],
    iteration: 0,
  };
  for await (const chunk of connect(fake).stream(request, createCall())) expect(chunk.type).not.toBe("text-delta");
  expect(fake.bodies.map(namesOf)).toEqual([["alpha"]]);
});

describe("anthropicMessages: the `toolSearch` option", () => {
  const searched = { type: "server_tool_use", id: "srvtoolu_1", name: "tool_search_tool_bm25", input: { query: "beta" } };
  const found = {
    type: "tool_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: { type: "tool_search_tool_search_result", tool_references: [{ type: "tool_reference", tool_name: "beta" }] },
  };
  const finding = [
    start(),
    block(0, { ...searched, input: {} }, { type: "input_json_delta", partial_json: '{"query":"beta"}' }),
    block(1, found),
    anthropicCall(2, ["toolu_1", "beta", '{"id":"1"}']),
    stop("tool_use"),
  ];
  const answer = [start(), text(0, "Done."), stop("end_turn")];

  it("sends the search tool and the deferred tools with defer_loading", async () => {
    const { result, bodies } = await playAnthropic([finding, answer], { toolSearch: "bm25" });
    expect([result.status, outcomesOf(result)]).toEqual(["completed", ["toolu_1: completed"]]);
    expect(bodies[0]?.tools).toEqual([
      { name: "clock", description: "clock", input_schema: { type: "object", properties: {} } },
      { name: "alpha", description: "alpha", input_schema: tools[1]?.inputSchema, defer_loading: true },
      { name: "beta", description: "beta", input_schema: tools[2]?.inputSchema, defer_loading: true },
      { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
    ]);
    expect(bodies[1]?.tools).toEqual(bodies[0]?.tools);
    const sent = bodies[1]?.["messages"] as readonly { readonly content: unknown }[];
    expect(sent[1]?.content).toEqual([searched, found, { type: "tool_use", id: "toolu_1", name: "beta", input: { id: "1" } }]);
  });

  it("never puts a cache mark on a deferred tool", async () => {
    const serverTools = [{ type: "web_search_20250305", name: "web_search" }];
    const { bodies } = await playAnthropic([answer], { toolSearch: "regex", cache: true, serverTools });
    expect(bodies[0]?.tools.at(-1)).toEqual({
      type: "tool_search_tool_regex_20251119",
      name: "tool_search_tool_regex",
      cache_control: { type: "ephemeral" },
    });
    const marked = bodies.flatMap(({ tools: all }) => all).filter((sent) => "cache_control" in sent);
    expect(marked.filter((sent) => sent["defer_loading"] === true)).toEqual([]);
    expect(marked).toHaveLength(1);
  });

  it("sends no search tool if no tool is deferred", async () => {
    const { bodies } = await playAnthropic([answer], { toolSearch: "bm25" }, { tools: [clock] });
    expect(bodies.map(namesOf)).toEqual([["clock"]]);
  });

  it("sends find_tools if the option is not set", async () => {
    const { bodies } = await playAnthropic([answer], {});
    expect(bodies.map(namesOf)).toEqual([["clock", "find_tools"]]);
  });

  it("throws for an invalid value", () => {
    const client = new Anthropic({ apiKey: "test" });
    const options = { client, model: "m", toolSearch: "glob" } as unknown as AnthropicMessagesOptions;
    expect(() => anthropicMessages(options)).toThrow(expect.objectContaining({ code: "invalid-option" }));
  });
});

describe("openaiResponses: the `toolSearch` option", () => {
  const searched = {
    type: "tool_search_call",
    id: "tsc_1",
    call_id: null,
    execution: "server",
    status: "completed",
    arguments: { paths: ["beta"] },
  };
  const found = {
    type: "tool_search_output",
    id: "tso_1",
    call_id: null,
    execution: "server",
    status: "completed",
    tools: [{ type: "function", name: "beta", parameters: {}, defer_loading: true }],
  };
  const finding = respond(searched, found, call(["call_1", "beta", '{"id":"1"}']));
  const answer = respond(message("Done."));

  it("sends tool_search and the deferred tools with defer_loading", async () => {
    const { result, bodies } = await playOpenAI([finding, answer], { toolSearch: true });
    expect([result.status, outcomesOf(result)]).toEqual(["completed", ["call_1: completed"]]);
    expect(bodies.map(namesOf)).toEqual(Array.from({ length: 2 }, () => ["clock", "alpha*", "beta*", "tool_search"]));
    expect(bodies[0]?.tools[2]).toEqual({
      type: "function",
      name: "beta",
      description: "beta",
      parameters: tools[2]?.inputSchema,
      strict: false,
      defer_loading: true,
    });
    const { id: _, ...sentSearch } = searched;
    const { id: __, ...sentOutput } = found;
    const input = bodies[1]?.["input"] as readonly { readonly type?: string }[];
    expect(input.slice(1, 4)).toMatchObject([sentSearch, sentOutput, { type: "function_call", call_id: "call_1", name: "beta" }]);
  });

  it("defers custom tools too", async () => {
    const custom = await playOpenAI([answer], { toolSearch: true, customTools: { beta: { type: "text" } } });
    expect(custom.bodies[0]?.tools[2]).toMatchObject({ type: "custom", name: "beta", defer_loading: true });
    const plain = await playOpenAI([answer], { toolSearch: true }, { tools: [clock] });
    expect(plain.bodies.map(namesOf)).toEqual([["clock"]]);
  });

  it("sends find_tools if the option is not set", async () => {
    const { bodies } = await playOpenAI([answer], { toolSearch: false });
    expect(bodies.map(namesOf)).toEqual([["clock", "find_tools"]]);
  });
});
