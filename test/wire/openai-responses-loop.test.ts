import { defineTool, runToolLoop, toolResult, type LoopOptions, type LoopResult } from "turnwright";
import { openaiResponses, type OpenAIResponsesOptions } from "turnwright/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectOpenAI } from "./openai-client.ts";
import { startRawServer, type RawReply } from "./raw-sse-server.ts";
import { checkResponsesContract } from "./responses-contract.ts";
import {
  call,
  created,
  customCall,
  cutOff,
  message,
  reasoning,
  refusal,
  respond,
  wholeItem,
  type ResponseItem,
} from "./responses-frames.ts";

interface Body {
  readonly input: readonly { readonly [field: string]: unknown }[];
  readonly [field: string]: unknown;
}

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly Body[];
  readonly again: (options: Partial<LoopOptions>, settings?: Partial<OpenAIResponsesOptions>) => Promise<LoopResult>;
}

const weather = defineTool({
  name: "get_weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  execute: () => ({ celsius: 3 }),
});
const queries: unknown[] = [];
const sql = defineTool({
  name: "run_sql",
  description: "Runs a query",
  inputSchema: { type: "object", properties: { input: { type: "string" } } },
  execute: (args) => {
    queries.push(args);
    return toolResult({ success: true, data: "1 row", content: [{ type: "image", mediaType: "image/png", data: "eA==" }] });
  },
});

async function play(
  replies: readonly RawReply[],
  more: Partial<LoopOptions> = {},
  settings: Partial<OpenAIResponsesOptions> = {},
): Promise<Played> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  const { client, bodies } = connectOpenAI(server.url);
  const again: Played["again"] = async (options, changes = {}) => {
    const provider = openaiResponses({ client, model: "m", ...settings, ...changes });
    const result = await runToolLoop({
      provider,
      tools: [weather, sql],
      messages: [{ role: "user", content: "Oslo?" }],
      ...options,
    });
    expect(bodies.map(checkResponsesContract)).toEqual(bodies.map(() => []));
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

const reply = (...items: readonly ResponseItem[]): RawReply => ({ frames: respond(...items) });
const mild = message("Mild.", { phase: "final_answer" });
const answer = reply(mild);
const asks = call(["call_a", "get_weather", '{"city":"Oslo"}']);
const asked = { type: "function_call", call_id: "call_a", name: "get_weather", arguments: '{"city":"Oslo"}' };
const answered = { type: "function_call_output", call_id: "call_a", output: '{"celsius":3}' };
const question = { role: "user", content: "Oslo?" };
const thought = (encrypted: string, summary = ""): object => ({
  type: "reasoning",
  summary: summary === "" ? [] : [{ type: "summary_text", text: summary }],
  encrypted_content: encrypted,
});
const said = (text: string, phase: string): object => ({
  type: "message",
  role: "assistant",
  phase,
  content: [{ type: "output_text", text, annotations: [] }],
});

describe("runToolLoop with openaiResponses", () => {
  it("sends reasoning, commentary, service items and calls back in the original order", async () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "Oslo" } };
    const first = reply(
      reasoning("Hm.", "x1"),
      message("One moment.", { phase: "commentary" }),
      reasoning("", "x2"),
      search,
      reasoning("", "x3"),
      asks,
      call(["call_b", "get_weather", "{}"]),
    );
    const { result, bodies, again } = await play([first, answer, answer], {}, { serverTools: [{ type: "web_search" }] });
    expect(result).toMatchObject({ status: "completed", text: "Mild.", toolCallsExecuted: 2 });
    const sent = [
      question,
      thought("x1", "Hm."),
      said("One moment.", "commentary"),
      thought("x2"),
      { type: "web_search_call", status: "completed", action: { type: "search", query: "Oslo" } },
      thought("x3"),
      asked,
      { type: "function_call", call_id: "call_b", name: "get_weather", arguments: "{}" },
      answered,
      { ...answered, call_id: "call_b" },
    ];
    expect(bodies[1]).toMatchObject({ store: false, include: ["reasoning.encrypted_content"], stream: true });
    expect(bodies[1]?.input).toEqual(sent);
    await again({ messages: [...result.messages, { role: "user", content: "And Rome?" }] });
    expect(bodies[2]?.input).toEqual([...sent, said("Mild.", "final_answer"), { role: "user", content: "And Rome?" }]);
    expect(bodies[2]?.tools).toEqual(bodies[0]?.tools);
  });

  it("repeats the input of each earlier request byte for byte", async () => {
    const replies = [0, 1, 2].map((iteration) =>
      reply(reasoning("", `x${iteration}`), call([`call_${iteration}`, "get_weather", '{ "city": "Oslo" }'])),
    );
    const { bodies } = await play([...replies, answer], { system: "Be brief." });
    for (const [iteration, body] of bodies.entries()) {
      const next = bodies[iteration + 1];
      if (next === undefined) continue;
      expect(JSON.stringify(next.input.slice(0, body.input.length))).toBe(JSON.stringify(body.input));
      expect(JSON.stringify([next.tools, next.instructions])).toBe(JSON.stringify([body.tools, body.instructions]));
    }
  });

  it("sends item ids only if store is true", async () => {
    const { result, bodies, again } = await play(
      [reply(reasoning("", "x", { encrypted_content: null }), asks), answer, answer],
      {},
      { store: true },
    );
    expect(bodies[1]).toMatchObject({
      store: true,
      input: [question, { type: "reasoning", id: "rs_x" }, { ...asked, id: "fc_call_a" }, answered],
    });
    await again({ messages: [...result.messages, { role: "user", content: "Go on." }] }, { store: false });
    expect(bodies[2]?.input.slice(0, 3)).toEqual([question, asked, answered]);
  });

  it("runs a custom tool with text input and sends its result as custom output", async () => {
    const query = 'SELECT "x"\nFROM t';
    const { result, bodies, again } = await play(
      [reply(reasoning("", "x"), customCall(["call_a", "run_sql", query])), answer, answer],
      {},
      { customTools: { run_sql: { type: "text" } } },
    );
    expect(queries.splice(0)).toEqual([{ input: query }]);
    expect(bodies[0]?.tools).toMatchObject([
      { type: "function", name: "get_weather" },
      { type: "custom", name: "run_sql", format: { type: "text" } },
    ]);
    const image = { type: "input_image", image_url: "data:image/png;base64,eA==", detail: "auto" };
    const items = [
      { type: "custom_tool_call", call_id: "call_a", name: "run_sql", input: query },
      { type: "custom_tool_call_output", call_id: "call_a", output: [{ type: "input_text", text: "1 row" }, image] },
    ];
    expect(bodies[1]?.input).toEqual([question, thought("x"), ...items]);
    // A model cannot decrypt the reasoning of another model.
    await again({ messages: [...result.messages, { role: "user", content: "Go on." }] }, { model: "n" });
    expect(bodies[2]?.input).toEqual([
      question,
      ...items,
      { role: "assistant", content: "Mild." },
      { role: "user", content: "Go on." },
    ]);
  });

  it("continues from messages stored as JSON without losing reasoning", async () => {
    const { result, bodies, again } = await play([reply(reasoning("", "x"), asks), answer, answer]);
    const saved: LoopResult["messages"] = JSON.parse(JSON.stringify(result.messages));
    await again({ messages: [...saved, { role: "user", content: "Again." }] });
    expect(bodies[2]?.input.slice(0, 4)).toEqual([question, thought("x"), asked, answered]);
  });

  it("replaces a repeated call id", async () => {
    const turn = reply(reasoning("", "x"), asks);
    const { bodies } = await play([turn, turn, answer]);
    const id = "call_i1_0";
    expect(bodies[2]?.input).toEqual([
      question,
      thought("x"),
      asked,
      answered,
      { ...asked, call_id: id },
      { ...answered, call_id: id },
    ]);
  });

  it("does not run calls from a cut-off response", async () => {
    const { result, bodies } = await play([
      {
        frames: [
          created,
          wholeItem(reasoning("", "x")),
          wholeItem(message("Let me see."), 1),
          wholeItem(asks, 2),
          cutOff("max_output_tokens"),
        ],
      },
      answer,
    ]);
    expect(result).toMatchObject({ status: "completed", text: "Mild.", toolCallsExecuted: 0 });
    expect(result.functionHistory).toMatchObject([{ outcome: "truncated" }]);
    expect(bodies[1]?.input).toEqual([
      question,
      { role: "assistant", content: "Let me see." },
      asked,
      { ...answered, output: expect.stringContaining("cut") },
    ]);
  });

  it("sends malformed arguments back inside valid JSON", async () => {
    const { result, bodies } = await play([reply(call(["call_a", "get_weather", '{"city":'])), answer]);
    expect(result.functionHistory).toMatchObject([{ outcome: "malformed" }]);
    expect(bodies[1]?.input[1]).toEqual({ ...asked, arguments: '{"INVALID_JSON":"{\\"city\\":"}' });
  });

  it("returns messages that can be sent again after a refusal", async () => {
    const { result, bodies, again } = await play([reply(refusal("Not this."), asks), answer]);
    expect(result).toMatchObject({ status: "completed", reason: { kind: "refusal" }, text: "Not this.", toolCallsExecuted: 0 });
    await again({ messages: [...result.messages, { role: "user", content: "Then what?" }] });
    expect(bodies[1]?.input[1]).toEqual({
      type: "message",
      role: "assistant",
      content: [{ type: "refusal", refusal: "Not this." }],
    });
  });

  it("separates the commentary from the answer with a blank line", async () => {
    const { result } = await play([reply(message("I look.", { phase: "commentary", id: "msg_0" }), mild)]);
    expect(result.text).toBe("I look.\n\nMild.");
  });
});
