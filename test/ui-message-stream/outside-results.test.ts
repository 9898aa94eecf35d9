import { expect, it } from "vitest";
import { defineTool, type LoopEvent } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { readUIChatRequest, type UIChatRequest } from "turnwright/ui-message-stream";
import { tool } from "../loop/play.ts";
import { ChatServer } from "./chat-server.ts";
import { toChunks } from "./check-chunks.ts";
import { check } from "./mapping-stage.ts";
import { callsOf, lastOf, openPage, settle } from "./page.ts";
import { readMessage, textOf, vendors } from "./vendors.ts";

const base = { runId: "r", iteration: 0 };
const call = { ...base, callId: "c", name: "locate", index: 0 };
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const end = { ...base, usage, costUSD: undefined, iterations: 1, toolCallsExecuted: 1, durationMs: 1 };
const calls = [{ id: "c", callId: "c", name: "locate", args: { exact: true }, waitsFor: "result" }];

const first = [
  { type: "run-start", ...base, provider: "mock", model: "m" },
  { type: "iteration-start", ...base, continuation: 0 },
  { type: "tool-args-end", ...call, args: { exact: true } },
  { type: "tool-start", ...call, args: { exact: true } },
  { type: "tool-end", ...call, outcome: "deferred", result: null, durationMs: 1 },
  { type: "run-end", ...end, status: "suspended", reason: { kind: "result-required", calls } },
] as unknown as readonly LoopEvent[];
const second = [
  { type: "run-start", ...base, provider: "mock", model: "m" },
  { type: "iteration-start", ...base, continuation: 0, replayed: true },
  { type: "tool-args-end", ...call, args: { exact: true }, replayed: true },
  { type: "tool-start", ...call, args: { exact: true }, replayed: true },
  { type: "tool-end", ...call, outcome: "deferred", result: null, durationMs: 1, replayed: true },
  { type: "tool-start", ...call, args: { exact: true } },
  { type: "tool-end", ...call, outcome: "completed", result: { city: "Bern" }, durationMs: 1 },
  { type: "iteration-start", ...base, iteration: 1, continuation: 0 },
  { type: "text-delta", ...base, iteration: 1, text: "Bern." },
  { type: "run-end", ...end, status: "completed", reason: { kind: "answered" } },
] as unknown as readonly LoopEvent[];

it.each(vendors)(
  "a call to a tool without execute: an AI SDK $version UI adds the result and continues the message",
  async (vendor) => {
    const { version } = vendor;
    const chunks = toChunks(first, { version });
    await check(chunks, version);
    expect(chunks.at(-1)).toMatchObject({ finishReason: "tool-calls", messageMetadata: { reason: { kind: "result-required" } } });
    const waiting = await readMessage(vendor, chunks);
    expect(waiting?.parts.at(-1)).toMatchObject({ toolCallId: "r:c", state: "input-available", input: { exact: true } });

    const sent: UIChatRequest[] = [];
    const live = toChunks(second, { version, from: "live" });
    await check(live, version, waiting);
    const lines = [...live.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((line) => `data: ${line}\n\n`);
    const fetch = async (_: unknown, init: RequestInit = {}): Promise<Response> => {
      sent.push(await readUIChatRequest(init.body as string));
      return new Response(lines.join(""));
    };
    const user = { id: "u", role: "user", parts: [{ type: "text", text: "Where am I?" }] };
    if (waiting === undefined) throw new Error("There is no message.");
    const page = openPage({ version, fetch, messages: [user, waiting] });
    await page.addToolOutput({ tool: "locate", toolCallId: "r:c", output: { city: "Bern" } });
    await page.sendMessage();
    expect(sent).toMatchObject([{ continues: "r", answers: { c: { kind: "result", result: { city: "Bern" } } } }]);
    expect(lastOf(page).parts).toMatchObject([
      { type: "step-start" },
      { toolCallId: "r:c", state: "output-available", output: { city: "Bern" } },
      { type: "step-start" },
      { type: "text", text: "Bern." },
    ]);

    // After the server has confirmed the result, the page does not send it again.
    await page.sendMessage().catch(() => undefined);
    expect(sent).toHaveLength(1);
    expect(page.error?.message).toContain("no decisions or results");
    const reloads = [toChunks([...first, ...second], { version }), toChunks(second, { version })];
    for (const reload of reloads) expect((await readMessage(vendor, reload))?.parts).toEqual(lastOf(page).parts);
  },
);

it.each(vendors)(
  "a call to a tool without execute: an AI SDK $version UI sends the result automatically, and only once",
  async ({ version }) => {
    const ask = defineTool({ name: "ask", description: "Asks the user", inputSchema: { type: "object" } });
    const turns = [[text("Tell me."), toolCall("look"), toolCall("ask"), toolCall("ask")], text("Thanks.")];
    const provider = createMockProvider(({ messages }) => turns[messages.filter(({ role }) => role === "assistant").length]);
    const server = new ChatServer({ run: { provider, tools: [ask, tool("look", () => 1)] }, stream: { version } });
    const page = openPage({ version, fetch: server.fetch, sendsAfter: "results" });
    await page.sendMessage({ text: "Go." });
    const waiting = callsOf(page).filter(({ state }) => state === "input-available");
    for (const { toolCallId = "" } of waiting) {
      await settle(page);
      expect(server.requests).toHaveLength(1);
      await page.addToolOutput({ tool: "ask", toolCallId, output: "Jazz." });
    }
    await settle(page);
    expect([page.error, waiting.length, server.requests.length]).toEqual([undefined, 2, 2]);
    expect(textOf(lastOf(page))).toBe("Tell me.Thanks.");
    expect(server.requests.at(-1)?.answers).toEqual({
      call_i0_1: { kind: "result", result: "Jazz.", fromPage: true },
      call_i0_2: { kind: "result", result: "Jazz.", fromPage: true },
    });
  },
);
