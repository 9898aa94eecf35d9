// A page edits an earlier question, asks for another answer, or sends a request again. The routes are those of the guides.

import { HttpAgent } from "@ag-ui/client";
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { LoopEvents, Message } from "turnwright";
import { createAGUIMapper, readAGUIRequest, toAGUIResponse } from "turnwright/ag-ui";
import { createRunHost, type RunHost } from "turnwright/host";
import { createMockProvider, type MockScript, text, toolCall, usage } from "turnwright/testing";
import {
  createUIMessageMapper,
  readUIChatRequest,
  toUIMessages,
  toUIMessageStreamResponse,
  type UIMessageChunk,
} from "turnwright/ui-message-stream";
import { createStage, readAll, readStart, tool } from "../host/stage.ts";

const textOf = (message: Message | undefined): string => {
  if (message === undefined || message.role === "tool") return "";
  const { content } = message;
  return typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("");
};
let answers = 0;
const echo: MockScript = ({ messages }) => text(`Answer ${(answers += 1)} to ${textOf(messages.at(-1))}`);

async function post(host: RunHost, request: Request, script: MockScript): Promise<Response> {
  const { id, message } = await readUIChatRequest(request);
  if (message === undefined) return new Response("no message", { status: 400 });
  const tools = [tool("pay", () => "paid")];
  const answer = await host.start(id, { provider: createMockProvider(script), tools, message });
  if (answer.kind !== "started") return new Response(answer.kind, { status: 409 });
  return toUIMessageStreamResponse(answer.join(), { version: 6 });
}

function openChat(id: string, script: MockScript = echo, times: number = 1) {
  const host = createRunHost();
  const fetchSome = async (url: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    let response = await post(host, new Request(url, init), script);
    for (let time = 1; time < times; time += 1) {
      await response.text();
      response = await post(host, new Request(url, init), script);
    }
    return response;
  };
  const chat = new Chat({ id, transport: new DefaultChatTransport({ api: "http://localhost/api", fetch: fetchSome }) });
  const shown = () =>
    chat.messages.map(({ role, parts }) => `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`);
  const stored = async () =>
    ((await host.status(id))?.messages ?? []).filter(({ role }) => role !== "tool").map((one) => `${one.role}: ${textOf(one)}`);
  return { host, chat, shown, stored };
}

describe("a chat UI with useChat", () => {
  it.each<[title: string, change: (chat: Chat<UIMessage>) => Promise<void>, users: readonly string[]]>([
    ["edits the first question", (chat) => chat.sendMessage({ text: "birds", messageId: chat.messages[0]?.id ?? "" }), ["birds"]],
    [
      "edits the last question",
      (chat) => chat.sendMessage({ text: "birds", messageId: chat.messages[2]?.id ?? "" }),
      ["cats", "birds"],
    ],
    ["asks for a new first answer", (chat) => chat.regenerate({ messageId: chat.messages[1]?.id ?? "" }), ["cats"]],
    ["asks for a new last answer", (chat) => chat.regenerate(), ["cats", "dogs"]],
    [
      "asks for a new answer to the first question",
      (chat) => chat.regenerate({ messageId: chat.messages[0]?.id ?? "" }),
      ["cats"],
    ],
  ])("%s, and the conversation contains what the UI shows", async (title, change, users) => {
    const { chat, shown, stored } = openChat(title);
    await chat.sendMessage({ text: "cats" });
    await chat.sendMessage({ text: "dogs" });
    const before = answers;
    await change(chat);
    expect([answers, chat.error]).toEqual([before + 1, undefined]);
    expect(shown()).toEqual(await stored());
    expect(shown().filter((line) => line.startsWith("user"))).toEqual(users.map((said) => `user: ${said}`));
  });

  it("changes messages that it has loaded with toUIMessages", async () => {
    const { host, chat, shown, stored } = openChat("loaded");
    for (const message of ["cats", "dogs"])
      await readStart(host.start("loaded", { provider: createMockProvider(echo), message }));
    const { messages = [], turns } = (await host.status("loaded")) ?? {};
    chat.messages = toUIMessages(messages, { turns }).messages;
    await chat.regenerate({ messageId: chat.messages[1]?.id ?? "" });
    expect(shown()).toEqual(await stored());
    expect((await stored()).length).toBe(2);
  });

  it("receives only one answer even if each request arrives twice", async () => {
    let requests = 0;
    const paying: MockScript = ({ messages }) => {
      requests += 1;
      return messages.at(-1)?.role === "user" ? toolCall("pay") : text("Paid.");
    };
    const { chat, shown, stored } = openChat("proxy", paying, 2);
    await chat.sendMessage({ text: "Pay 10 EUR." });
    expect([requests, shown()]).toEqual([2, ["user: Pay 10 EUR.", "assistant: Paid."]]);
    expect(await stored()).toEqual(["user: Pay 10 EUR.", "assistant: ", "assistant: Paid."]);
    await chat.regenerate({ messageId: chat.messages[1]?.id ?? "" });
    expect([requests, (await stored()).length]).toEqual([4, 3]);
  });
});

describe("a chat UI with AG-UI", () => {
  const open = (threadId: string) => {
    const host = createRunHost();
    let breaks = 0;
    const fetchBroken = async (url: string, init: RequestInit): Promise<Response> => {
      const { runId, message } = await readAGUIRequest(new Request(url, init));
      if (message === undefined) return new Response("no message", { status: 400 });
      const answer = await host.start(threadId, { provider: createMockProvider(echo), message });
      const response =
        answer.kind === "started" ? toAGUIResponse(answer.join(), { threadId, runId }) : new Response("", { status: 409 });
      if (breaks === 0) return response;
      breaks -= 1;
      await response.text();
      throw new TypeError("network error");
    };
    const agent = new HttpAgent({ url: "http://localhost/api", threadId, fetch: fetchBroken });
    return { host, agent, breakOnce: () => (breaks = 1) };
  };

  it("creates only one turn, with the same answer, for a question that it sends twice", async () => {
    const { host, agent, breakOnce } = open("again");
    agent.addMessage({ id: "u1", role: "user", content: "How high is the tide?" });
    breakOnce();
    await agent.runAgent().catch(() => {});
    await agent.runAgent();
    agent.setMessages(agent.messages.filter(({ id }) => id === "u1"));
    await agent.runAgent();
    expect((await host.status("again"))?.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });
});

describe("toUIMessages", () => {
  it("returns the metadata of user messages and, given the conversation's runs, of answers", async () => {
    const { host, id } = createStage();
    const script: MockScript = () => [text("Yes."), usage({ inputTokens: 9, outputTokens: 1 })];
    for (const content of ["one", "two"]) {
      const message = { role: "user", content, id: `page-${content}`, metadata: { author: "Ann" } } as const;
      await readStart(host.start(id, { provider: createMockProvider(script), pricing: () => 2, message }));
    }
    const { messages = [], turns } = (await host.status(id)) ?? {};
    const metadata = {
      status: "completed",
      reason: { kind: "answered" },
      costUSD: 2,
      usage: { inputTokens: 9, outputTokens: 1, totalTokens: 10 },
    };
    const { messages: shown, lost } = toUIMessages(messages, { turns });
    expect(shown).toMatchObject([
      { id: "page-one", role: "user", metadata: { author: "Ann" } },
      { id: `${id}/1`, role: "assistant", metadata },
      { id: "page-two", role: "user", metadata: { author: "Ann" } },
      { id: `${id}/2`, role: "assistant", metadata },
    ]);
    expect(lost).toEqual([]);
    const live = toUIMessages(messages.slice(0, 2)).messages[1];
    expect(live).toMatchObject({ id: "history-1" });
    expect(live?.metadata).toBeUndefined();
  });
});

describe("a stream after a resume", () => {
  const pay = tool("pay", () => "paid", { needsApproval: true });
  const script: MockScript = ({ messages }) => [
    messages.length === 1 ? toolCall("pay") : text("Paid."),
    usage({ inputTokens: 9, outputTokens: 1 }),
  ];
  const run = { provider: createMockProvider(script), tools: [pay], pricing: () => 2 };
  const decisions = { call_i0_0: { kind: "approve" } } as const;
  const costsOf = (chunks: readonly UIMessageChunk[]) =>
    chunks.flatMap((chunk) => (chunk.type === "data-cost" ? [(chunk.data as { costUSD: number }).costUSD] : []));

  it.each(["start", "live"] as const)("includes the streams from before the resume in data-cost, with from: %s", async (from) => {
    const { host, id } = createStage();
    await readStart(host.start(id, { ...run, message: "Pay." }));
    const resumed = await host.resume(id, { ...run, answers: decisions });
    const events = resumed.kind === "started" ? await readAll(resumed.join()) : [];
    const mapper = createUIMessageMapper({ from });
    const chunks = [...events.flatMap((item) => mapper.map(item)), ...mapper.end()];
    expect(costsOf(chunks).at(-1)).toBe(4);
  });

  it.each(["start", "live"] as const)(
    "includes the streams from before the resume in the AG-UI cost event, with from: %s",
    async (from) => {
      const { host, id } = createStage();
      await readStart(host.start(id, { ...run, message: "Pay." }));
      const resumed = await host.resume(id, { ...run, answers: decisions });
      const events = resumed.kind === "started" ? await readAll(resumed.join()) : [];
      const mapper = createAGUIMapper({ from });
      const sent = events.flatMap((item) => mapper.map(item));
      const costs = sent.flatMap((event) => (event.type === "CUSTOM" && event.name === "cost" ? [event.value] : []));
      expect(costs.at(-1)).toMatchObject({ streams: 2, costUSD: 4 });
    },
  );

  it("does not show the suspended run's metadata while the resumed run is live", async () => {
    const { host, id } = createStage();
    await readStart(host.start(id, { ...run, message: "Pay." }));
    const resumed = await host.resume(id, { ...run, answers: decisions });
    const events = resumed.kind === "started" ? await readAll(resumed.join()) : [];
    const mapper = createUIMessageMapper({ from: "live", metadata: { chat: 1 } });
    const chunks = [...events.flatMap((item) => mapper.map(item)), ...mapper.end()];
    expect(chunks[0]).toMatchObject({
      type: "start",
      messageMetadata: { chat: 1, status: "running", reason: { kind: "running" } },
    });
    expect(chunks.at(-1)).toMatchObject({
      type: "finish",
      messageMetadata: { status: "completed", reason: { kind: "answered" } },
    });
    const first: LoopEvents["run-end"]["status"] = "suspended";
    expect(JSON.stringify(chunks)).not.toContain(first);
  });
});
