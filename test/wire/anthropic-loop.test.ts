import { contextRestarts, defineTool, type LoopOptions, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectAnthropic } from "./anthropic-client.ts";
import { block, call, start, stop, text, thinking } from "./anthropic-frames.ts";
import { checkMessagesContract } from "./messages-contract.ts";
import { startRawServer, type RawReply } from "./raw-sse-server.ts";

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: readonly { readonly [field: string]: unknown }[] }[];
  readonly [field: string]: unknown;
}

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly Body[];
  readonly again: (options: Partial<LoopOptions>) => Promise<LoopResult>;
}

const weather = defineTool({
  name: "get_weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  execute: () => ({ celsius: 3 }),
});

async function play(
  replies: readonly RawReply[],
  more: Partial<LoopOptions> = {},
  settings: Partial<AnthropicMessagesOptions> = {},
): Promise<Played> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  const { client, bodies } = connectAnthropic(server.url);
  const again = async (options: Partial<LoopOptions>): Promise<LoopResult> => {
    const provider = anthropicMessages({ client, model: "m", ...settings });
    const result = await runToolLoop({ provider, tools: [weather], messages: [{ role: "user", content: "Oslo?" }], ...options });
    expect(bodies.map(checkMessagesContract)).toEqual(bodies.map(() => []));
    return result;
  };
  const result = await again(more);
  return {
    result,
    again,
    get bodies() {
      return bodies as readonly Body[];
    },
  };
}

const answer: RawReply = { frames: [start(), text(0, "Mild."), stop("end_turn")] };
const asksAt = (index: number, id = "toolu_a"): string => call(index, [id, "get_weather", '{"city":"Oslo"}']);
const asked = { type: "tool_use", id: "toolu_a", name: "get_weather", input: { city: "Oslo" } };
const answered = { type: "tool_result", tool_use_id: "toolu_a", content: '{"celsius":3}' };
const question = { role: "user", content: [{ type: "text", text: "Oslo?" }] };

const search = block(
  0,
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
  {
    type: "input_json_delta",
    partial_json: '{"query":"Oslo"}',
  },
);
const searched = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "Oslo" } };
const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "u" }] };

describe("runToolLoop with anthropicMessages", () => {
  it("sends thinking, unknown blocks and calls back unchanged and in order", async () => {
    const frames = [
      start(),
      thinking(0, "Hm.", "sig-1"),
      block(1, { type: "redacted_thinking", data: "opaque" }),
      thinking(2, "", "sig-2"),
      text(3, "One moment."),
      block(4, { type: "novelty", nested: { list: [1, null] } }),
      asksAt(5),
      stop("tool_use"),
    ];
    const { result, bodies } = await play([{ frames }, answer]);
    expect(result).toMatchObject({ status: "completed", text: "Mild.", toolCallsExecuted: 1 });
    expect(bodies[1]?.messages).toEqual([
      question,
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "sig-1" },
          { type: "redacted_thinking", data: "opaque" },
          { type: "thinking", thinking: "", signature: "sig-2" },
          { type: "text", text: "One moment." },
          { type: "novelty", nested: { list: [1, null] } },
          asked,
        ],
      },
      { role: "user", content: [answered] },
    ]);
  });

  it("sends only text and calls, without provider metadata, to a different model", async () => {
    const frames = [start(), thinking(0, "Hm.", "sig-1"), text(1, "One moment."), asksAt(2), stop("tool_use")];
    const { result } = await play([{ frames }, answer]);
    const { bodies } = await play(
      [answer],
      { messages: [...result.messages, { role: "user", content: "Rome?" }] },
      { model: "other", thinking: { type: "enabled", budget_tokens: 1_024 } },
    );
    expect(bodies[0]?.messages).toEqual([
      question,
      { role: "assistant", content: [{ type: "text", text: "One moment." }, asked] },
      { role: "user", content: [answered] },
      { role: "assistant", content: [{ type: "text", text: "Mild." }] },
      { role: "user", content: [{ type: "text", text: "Rome?" }] },
    ]);
    expect(bodies[0]?.thinking).toEqual({ type: "enabled", budget_tokens: 1_024 });
  });

  it("sends a paused message back unchanged as the last message", async () => {
    const paused: RawReply = { frames: [start(), text(1, "Let me look. "), search, stop("pause_turn")] };
    const resumed: RawReply = { frames: [start(), block(0, found), text(1, "It is mild."), stop("end_turn")] };
    const tools = { serverTools: [{ type: "web_search_20250305", name: "web_search" }] };
    const { result, bodies, again } = await play(
      [paused, resumed, answer],
      { middleware: [contextRestarts({ items: ["It is noon."] })] },
      tools,
    );
    expect(result).toMatchObject({ status: "completed", text: "Let me look. It is mild.", iterations: 1 });
    const context = { type: "text", text: "Context:\nIt is noon." };
    const said = { type: "text", text: "Let me look. " };
    expect(bodies[1]?.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "Oslo?" }, context] },
      { role: "assistant", content: [said, searched] },
    ]);
    expect(JSON.stringify(bodies[1]?.messages[0])).toBe(JSON.stringify(bodies[0]?.messages[0]));
    await again({ messages: [...result.messages, { role: "user", content: "Thanks." }] });
    expect(bodies[2]?.messages[1]).toEqual({
      role: "assistant",
      content: [said, searched, found, { type: "text", text: "It is mild." }],
    });
  });

  it("sends messages back without server tool calls that have no result", async () => {
    const paused: RawReply = { frames: [start(), search, text(1, "Let me look."), stop("pause_turn")] };
    const { result, bodies, again } = await play([paused, paused, answer], { limits: { maxPauses: 1 } });
    expect(result.reason).toMatchObject({ kind: "max-pauses" });
    await again({ messages: [...result.messages, { role: "user", content: "Thanks." }] });
    const [, turn] = bodies[2]?.messages ?? [];
    expect(turn?.content.map(({ type }) => type)).toEqual(["text", "text"]);
  });

  it("leaves calls to MCP tools to the server", async () => {
    const mcp = block(0, { type: "mcp_tool_use", id: "mcptoolu_1", name: "get_weather", server_name: "s", input: {} });
    const told = block(1, { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [] });
    const { result } = await play([{ frames: [start(), mcp, told, text(2, "Mild."), stop("end_turn")] }]);
    expect(result).toMatchObject({ status: "completed", text: "Mild.", toolCallsExecuted: 0, functionHistory: [] });
  });

  it("sends an earlier message's container id, even in another run", async () => {
    const delta = { container: { id: "container_1", expires_at: "2999-01-01T00:00:00Z" } };
    const first: RawReply = { frames: [start(), asksAt(0), stop("tool_use", delta)] };
    const journal = memoryJournal();
    const { result, bodies, again } = await play([first, answer, answer], { journal, runId: "r" });
    const saved: LoopResult["messages"] = JSON.parse(JSON.stringify(result.messages));
    await again({ messages: [...saved, { role: "user", content: "Again." }] });
    expect(bodies.map(({ container }) => container)).toEqual([undefined, "container_1", "container_1"]);
  });

  it("sends a cut-off call's partial arguments back inside an object", async () => {
    const cut: RawReply = { frames: [start(), call(0, ["toolu_a", "get_weather", '{"city":"Os']), stop("max_tokens")] };
    const { result, bodies } = await play([cut, answer]);
    expect(result).toMatchObject({ text: "Mild.", functionHistory: [{ outcome: "truncated" }], toolCallsExecuted: 0 });
    expect(bodies[1]?.messages.slice(1)).toEqual([
      { role: "assistant", content: [{ ...asked, input: { INVALID_JSON: '{"city":"Os' } }] },
      { role: "user", content: [{ ...answered, content: expect.stringContaining("truncated"), is_error: true }] },
    ]);
  });

  it("replaces a repeated call id in the message and in the result", async () => {
    const turn: RawReply = { frames: [start(), thinking(0, "Hm.", "s"), asksAt(1), stop("tool_use")] };
    const { bodies } = await play([turn, turn, answer]);
    const id = "call_i1_0";
    expect(bodies[2]?.messages.slice(3)).toEqual([
      { role: "assistant", content: [{ ...asked, id }] },
      { role: "user", content: [{ ...answered, tool_use_id: id }] },
    ]);
  });

  it("does not run tool calls from a message that is a refusal", async () => {
    const details = { stop_details: { type: "refusal", category: "cyber", explanation: "Not this." } };
    const refused: RawReply = {
      frames: [start(), thinking(0, "Hm.", "s"), text(1, "Sure"), asksAt(2), stop("refusal", details)],
    };
    const { result, bodies, again } = await play([refused, answer]);
    expect(result).toMatchObject({
      status: "completed",
      reason: { kind: "refusal" },
      text: "Sure\n\nNot this. Category: cyber.",
    });
    expect(result.toolCallsExecuted).toBe(0);
    await again({ messages: [...result.messages, { role: "user", content: "Then what?" }] });
    expect(bodies[1]?.messages[1]).toEqual({
      role: "assistant",
      content: [{ type: "text", text: "Sure\n\nNot this. Category: cyber." }, asked],
    });
  });

  it.for<[what: string, args: string, input: object]>([
    ["its complete arguments", '{"city":"Oslo"}', { city: "Oslo" }],
    ["an empty object in place of incomplete arguments", '{"city":"Os', {}],
    ["an empty object in place of a list of arguments", "[1]", {}],
  ])("sends a call from a cut-off stream back with %s", async ([, args, input]) => {
    const cut: RawReply = { frames: [start(), call(0, ["toolu_a", "get_weather", args])] };
    const { result, bodies, again } = await play([cut, answer]);
    expect([result.status, result.toolCallsExecuted]).toEqual(["error", 0]);
    await again({ messages: [...result.messages, { role: "user", content: "Again." }] });
    expect(bodies[1]?.messages[1]).toEqual({ role: "assistant", content: [{ ...asked, input }] });
  });

  it("repeats each earlier message byte for byte, except for cache marks", async () => {
    const turn = (iteration: number): RawReply => {
      const calls = Array.from({ length: 12 }, (_, index) =>
        call(index, [`toolu_${iteration}_${index}`, "get_weather", `{"city":"Oslo ${index}"}`]),
      );
      return { frames: [start(), ...calls, stop("tool_use")] };
    };
    const replies = [...Array.from({ length: 4 }, (_, iteration) => turn(iteration)), answer];
    const { bodies } = await play(
      replies,
      { system: "Be brief.", middleware: [contextRestarts({ items: ["Noon."] })] },
      { cache: { ttl: "1h" } },
    );
    const unmarked = (value: unknown): string =>
      JSON.stringify(value, (key, field: unknown) => (key === "cache_control" ? undefined : field));
    const marked = (body: Body): readonly string[] =>
      body.messages.flatMap(({ content }, at) =>
        content.flatMap((item, position) => (item.cache_control === undefined ? [] : [`${at}:${position}`])),
      );
    // Each request repeats the last cache mark of the previous request, and adds a mark before the context items.
    expect(bodies.map(marked)).toEqual([["0:0"], ["0:0", "2:11"], ["2:11", "4:11"], ["4:11", "6:11"], ["6:11", "8:11"]]);
    for (const [iteration, body] of bodies.entries()) {
      const next = bodies[iteration + 1];
      if (next === undefined) continue;
      const kept = body.messages.slice(0, -1);
      expect(unmarked(next.messages.slice(0, kept.length))).toBe(unmarked(kept));
      expect(JSON.stringify([next.tools, next.system])).toBe(JSON.stringify([body.tools, body.system]));
    }
  });
});
