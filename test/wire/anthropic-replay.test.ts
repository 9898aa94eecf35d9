import { defineTool, type LoopResult, runToolLoop, type Tool } from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { expect, it } from "vitest";
import { createAnthropicService, type WirePart } from "./anthropic-service.ts";

const make = (name: string, deferred = true): Tool =>
  defineTool({ name, description: name, inputSchema: { type: "object", properties: {} }, deferred, execute: () => "ok" });

interface Setup extends Partial<Omit<AnthropicMessagesOptions, "client">> {
  readonly tools: readonly string[];
  readonly headers?: { readonly [name: string]: string };
}

interface Found {
  readonly tool_references?: readonly { readonly tool_name: string }[];
}

/** Runs one conversation with the first setup, continues it with the second, and returns the blocks and results of the last request. */
async function replay(first: readonly WirePart[], before: Setup, after: Setup): Promise<readonly unknown[]> {
  const service = createAnthropicService({
    refuse: () => undefined,
    answer: ({ body }) => ({ blocks: body.messages.length === 1 ? first : [{ type: "text", text: "Done." }] }),
  });
  const run = ({ tools, headers, ...options }: Setup, messages: LoopResult["messages"]): Promise<LoopResult> => {
    const client = headers === undefined ? service.client : service.client.withOptions({ defaultHeaders: headers });
    const provider = anthropicMessages({ client, model: "claude-opus-5", ...options });
    return runToolLoop({ provider, tools: [make("look", false), ...tools.map((name) => make(name))], messages });
  };
  const { messages } = await run(before, [{ role: "user", content: "Hi" }]);
  await run(after, [...structuredClone(messages), { role: "user", content: "And now?" }]);
  const sent =
    service.requests
      .at(-1)
      ?.body.messages.slice(1, 3)
      .flatMap(({ content }) => content) ?? [];
  return sent.map(({ type, id, signature, tool_use_id: answered, content }) => {
    const references = (content as Found | undefined)?.tool_references;
    return [type, id ?? signature ?? answered, ...(references ?? []).map(({ tool_name: name }) => name)].join(" ").trim();
  });
}

const think = (signature: string): WirePart => ({ type: "thinking", thinking: signature, signature });
const use = (id: string): WirePart => ({ type: "tool_use", id, name: "look", input: {} });
const search: WirePart = { type: "server_tool_use", id: "s1", name: "web_search", input: {} };
const found: WirePart = { type: "web_search_tool_result", tool_use_id: "s1", content: [] };
const fallback: WirePart = { type: "fallback", from: { model: "claude-opus-5" }, to: { model: "claude-opus-4-8" } };
const beta = "server-side-fallback-2026-07-01";

it.for<[what: string, blocks: readonly WirePart[], setup: Partial<Setup>, sent: readonly string[]]>([
  [
    "keeps thinking around the marker",
    [think("A"), fallback, think("B"), use("t1")],
    { betas: [beta] },
    ["thinking A", "fallback", "thinking B", "tool_use t1", "tool_result t1"],
  ],
  [
    "leaves out a call before the marker, and its result",
    [think("A"), use("t0"), fallback, think("B"), use("t1")],
    { betas: [beta] },
    ["thinking A", "fallback", "thinking B", "tool_use t1", "tool_result t1"],
  ],
  [
    "leaves out calls before the last of two markers",
    [use("t0"), fallback, use("t2"), fallback, use("t1")],
    { betas: [beta] },
    ["fallback", "fallback", "tool_use t1", "tool_result t1"],
  ],
  [
    "leaves out an open server call before the marker",
    [search, fallback, use("t1")],
    { betas: [beta] },
    ["fallback", "tool_use t1", "tool_result t1"],
  ],
  [
    "keeps an answered server call before the marker",
    [search, found, fallback, use("t1")],
    { betas: [beta] },
    ["server_tool_use s1", "web_search_tool_result s1", "fallback", "tool_use t1", "tool_result t1"],
  ],
  [
    "keeps the marker if the client sends the beta",
    [fallback, use("t1")],
    { headers: { "anthropic-beta": `a-1,${beta}` } },
    ["fallback", "tool_use t1", "tool_result t1"],
  ],
  [
    "leaves out the marker and the thinking without the beta",
    [think("A"), use("t0"), fallback, think("B"), use("t1")],
    { betas: ["a-1"] },
    ["tool_use t1", "tool_result t1"],
  ],
])("anthropicMessages: after a server-side fallback, the next request %s", async ([, blocks, setup, sent]) => {
  const serverTools = [{ type: "web_search_20250305", name: "web_search" }];
  expect(await replay(blocks, { tools: [], betas: [beta] }, { tools: [], serverTools, ...setup })).toEqual(sent);
});

const searchTools: WirePart = { type: "server_tool_use", id: "s1", name: "tool_search_tool_bm25", input: { query: "a" } };
const results = (...names: readonly string[]): WirePart => ({
  type: "tool_search_tool_result",
  tool_use_id: "s1",
  content: {
    type: "tool_search_tool_search_result",
    tool_references: names.map((name) => ({ type: "tool_reference", tool_name: name })),
  },
});
const call: readonly string[] = ["tool_use t1", "tool_result t1"];

it.for<[what: string, found: readonly string[], left: readonly string[], sent: readonly string[]]>([
  ["all found tools", ["a", "b"], ["a", "b"], ["server_tool_use s1", "tool_search_tool_result s1 a b", ...call]],
  ["one of the found tools", ["a", "b"], ["b"], ["server_tool_use s1", "tool_search_tool_result s1 b", ...call]],
  ["none of the found tools", ["a", "b"], ["c"], call],
  ["other tools, after a search without results", [], ["c"], ["server_tool_use s1", "tool_search_tool_result s1", ...call]],
])(
  "anthropicMessages: in a request with %s, sends tool search references only to the tools in that request",
  async ([, names, left, sent]) => {
    const blocks = [searchTools, results(...names), use("t1")];
    const setup = { toolSearch: "bm25", model: "claude-opus-4-8" } as const;
    expect(await replay(blocks, { ...setup, tools: ["a", "b"] }, { ...setup, tools: left })).toEqual(sent);
  },
);
