// The loop end to end: the real SDK, servers that are not ours or that misbehave, and every body that leaves checked.

import { LLMock } from "@copilotkit/aimock";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  createLoopControl,
  createLoopEvents,
  defineTool,
  runToolLoop,
  type LoopOptions,
  type LoopResult,
  type ProviderErrorCode,
  type Tool,
} from "turnwright";
import { openaiChat } from "turnwright/openai";
import { createTestClock } from "turnwright/testing";
import { connectOpenAI, type WireClient } from "./openai-client.ts";
import { done, json, sse, startRawServer, type RawReply, type RawServer } from "./raw-sse-server.ts";
import { checkWireContract } from "./wire-contract.ts";

const text = (content: string): string => sse({ choices: [{ index: 0, delta: { content } }] });
const finish = (reason: string): string => sse({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const fragment = (index: number, args: string, head: object = {}): string =>
  sse({ choices: [{ index: 0, delta: { tool_calls: [{ index, ...head, function: { ...nameOf(head), arguments: args } }] } }] });
const nameOf = (head: object): object => ("id" in head ? { name: "get_weather" } : {});
const tokens = sse({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });

interface Setup {
  readonly ran: string[];
  readonly wire: WireClient;
  readonly options: LoopOptions;
}

function setUp(url: string): Setup {
  const ran: string[] = [];
  const wire = connectOpenAI(url);
  const weather: Tool = defineTool({
    name: "get_weather",
    description: "Weather of a city",
    inputSchema: z.object({ city: z.string() }),
    async execute({ city }) {
      ran.push(city);
      return { city, celsius: city === "Oslo" ? 3 : 19 };
    },
  });
  const provider = openaiChat({ client: wire.client, model: "gpt-5" });
  return { ran, wire, options: { provider, tools: [weather], messages: [{ role: "user", content: "Oslo or Rome?" }] } };
}

async function serve(...replies: RawReply[]): Promise<Setup & { readonly server: RawServer }> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  return { ...setUp(server.url), server };
}

/** The next question over a finished run's transcript, as a caller would ask it: its body must be sendable too. */
async function askOn(result: LoopResult): Promise<readonly string[]> {
  const { options, wire } = await serve({ frames: [text("Yes."), finish("stop"), done] });
  const next = await runToolLoop({ ...options, messages: [...result.messages, { role: "user", content: "Sure?" }] });
  expect(next.text).toBe("Yes.");
  return wire.bodies.flatMap(checkWireContract);
}

describe("the loop over a vendor's mock", () => {
  it("runs two parallel calls and answers", async () => {
    const mock = new LLMock({ port: 0, chunkSize: 7, strict: true });
    onTestFinished(() => mock.stop());
    const call = (id: string, city: string): { id: string; name: string; arguments: string } => ({
      id,
      name: "get_weather",
      arguments: JSON.stringify({ city }),
    });
    mock.on(
      { userMessage: "Oslo or Rome?", hasToolResult: false },
      { toolCalls: [call("call_oslo", "Oslo"), call("call_rome", "Rome")] },
    );
    mock.on({ userMessage: "Oslo or Rome?", hasToolResult: true }, { content: "Rome is warmer." });
    await mock.start();
    const { ran, wire, options } = setUp(`${mock.url}/v1`);
    const result = await runToolLoop({ ...options, system: "Be brief.", pricing: (usage) => usage.totalTokens / 1_000 });
    expect([result.status, result.reason.kind, result.text, ran]).toEqual([
      "completed",
      "answered",
      "Rome is warmer.",
      ["Oslo", "Rome"],
    ]);
    expect(result.functionHistory.map(({ functionResponse }) => functionResponse.response.result)).toEqual([
      { city: "Oslo", celsius: 3 },
      { city: "Rome", celsius: 19 },
    ]);
    expect(wire.bodies.map(checkWireContract)).toEqual([[], []]);
    expect(result.usage.totalTokens).toBeGreaterThan(0);
    expect(result.costUSD).toBeCloseTo(result.usage.totalTokens / 1_000);
    expect(await askOn(result)).toEqual([]);
  });
});

describe("the loop over a server that misbehaves", () => {
  it.for<[what: string, reply: RawReply, code: ProviderErrorCode, said: string, facts: object]>([
    [
      "429 with Retry-After",
      json(429, { error: { message: "Slow." } }, { "retry-after": "7" }),
      "rate-limit",
      "",
      { retryAfterMs: 7_000, retryable: true },
    ],
    ["529", json(529, { error: { message: "Busy." } }), "overloaded", "", { status: 529 }],
    ["401", json(401, { error: { message: "Incorrect API key provided: sk-abc123def456." } }), "auth", "", { retryable: false }],
    ["a reset", { frames: [text("Par")], ending: "drop" }, "network", "Par", { retryable: true }],
    ["an early end", { frames: [text("Par")] }, "stream-ended-early", "Par", {}],
    ["an early end after a whole call", { frames: [fragment(0, '{"city":"Oslo"}', { id: "a" })] }, "stream-ended-early", "", {}],
    [
      "an error in the stream",
      { frames: [text("Par"), sse({ error: { message: "It broke.", type: "server_error" } })] },
      "server",
      "Par",
      { message: "It broke." },
    ],
    [
      "an HTML page with status 200",
      { headers: { "content-type": "text/html" }, frames: ["<!doctype html><title>Sign in</title>\n\n"] },
      "stream-ended-early",
      "",
      {},
    ],
  ])("ends with one error and keeps what was said after %s", async ([, reply, code, said, facts]) => {
    const { ran, wire, options } = await serve(reply);
    const result = await runToolLoop(options);
    expect([result.status, result.text, ran]).toEqual(["error", said, []]);
    expect(result.reason).toMatchObject({ kind: "provider-error", error: { code, ...facts } });
    expect(JSON.stringify(result)).not.toContain("sk-abc");
    expect(wire.bodies.flatMap(checkWireContract)).toEqual([]);
    expect(await askOn(result)).toEqual([]);
  });

  it.for<[what: string, frames: readonly string[], outcome: string]>([
    ["truncated at the length limit", [fragment(0, '{"city":"Os', { id: "a" }), finish("length"), tokens, done], "truncated"],
    ["whole at the length limit", [fragment(0, '{"city":"Oslo"}', { id: "a" }), finish("length"), tokens, done], "truncated"],
    ["malformed", [fragment(0, '{"city":Oslo}', { id: "a" }), finish("tool_calls"), tokens, done], "malformed"],
    ["of another shape", [fragment(0, '{"town":"Oslo"}', { id: "a" }), finish("tool_calls"), tokens, done], "invalid-input"],
  ])("does not run a call whose arguments are %s, and asks again", async ([, frames, outcome]) => {
    const { ran, wire, options } = await serve({ frames }, { frames: [text("Sorry."), finish("stop"), tokens, done] });
    const result = await runToolLoop(options);
    expect([result.status, result.text, ran, result.usage.totalTokens]).toEqual(["completed", "Sorry.", [], 30]);
    expect(result.functionHistory.map((entry) => entry.outcome)).toEqual([outcome]);
    expect(wire.bodies.map(checkWireContract)).toEqual([[], []]);
  });

  it("runs parallel calls whose fragments interleave, without ids", async () => {
    const frames = [
      fragment(0, '{"city":', { id: "" }),
      fragment(1, '{"ci', { id: "" }),
      fragment(0, '"Oslo"}'),
      fragment(1, 'ty":"Rome"}'),
      finish("tool_calls"),
      done,
    ];
    const { ran, wire, options } = await serve({ frames }, { frames: [text("Rome."), finish("stop"), done] });
    const result = await runToolLoop(options);
    expect([result.text, ran]).toEqual(["Rome.", ["Oslo", "Rome"]]);
    expect(wire.bodies.map(checkWireContract)).toEqual([[], []]);
  });

  it("leaves a server that falls silent, hangs up, and says so", async () => {
    const { options, server } = await serve({ frames: [text("And then")], ending: "stall" });
    const clock = createTestClock();
    const events = createLoopEvents();
    const spoke = new Promise<unknown>((resolve) => events.once("text-delta", resolve));
    const running = runToolLoop({ ...options, clock, events });
    await spoke;
    await clock.advance(125_000);
    const result = await running;
    expect([result.reason, result.text]).toEqual([{ kind: "stream-idle", limitMs: 120_000 }, "And then"]);
    await server.left;
    expect(clock.pending).toBe(0);
  });

  it("hangs up when it is killed", async () => {
    const { options, server } = await serve({ frames: [text("And then")], ending: "stall" });
    const control = createLoopControl();
    const events = createLoopEvents();
    events.once("text-delta", () => control.kill());
    const result = await runToolLoop({ ...options, control, events });
    expect([result.status, result.reason.kind, result.text]).toEqual(["stopped_by_user", "killed", "And then"]);
    await server.left;
  });
});
