import { setImmediate } from "node:timers/promises";
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai-v7";
import { Window } from "happy-dom";
import { createElement, type FunctionComponent } from "react";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ChatServer } from "./chat-server.ts";
import { setUpPayment } from "./payment.ts";

const window = new Window({ url: "http://chat.test" });
const globals = { window, document: window.document, navigator: window.navigator };
const before = Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);

beforeAll(() => {
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
});

afterAll(async () => {
  for (const [name, descriptor] of before) {
    if (descriptor === undefined) Reflect.deleteProperty(globalThis, name);
    else Object.defineProperty(globalThis, name, descriptor);
  }
  await window.happyDOM.close();
});

type Chat = ReturnType<typeof useChat>;

function toLines({ role, parts }: UIMessage): string[] {
  return parts.flatMap((part) => {
    if (part.type === "text" || part.type === "reasoning") return [`${role} ${part.type}: ${part.text}`];
    if (!("toolCallId" in part)) return [];
    const output = "output" in part && part.output !== undefined ? ` ${JSON.stringify(part.output)}` : "";
    return [`${part.type} ${JSON.stringify(part.input)} ${part.state}${output}`];
  });
}

interface Seen {
  chat: Chat | undefined;
  readonly texts: Set<string>;
}

const shown = (): string[] => [...window.document.querySelectorAll("li")].map((line) => line.textContent);

async function until(seen: Seen, isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2_000 && !isTrue(); turn += 1) {
    await setImmediate();
    seen.texts.add(shown().join("\n"));
  }
  expect(isTrue()).toBe(true);
}

function makePage(server: ChatServer, seen: Seen): FunctionComponent {
  const transport = new DefaultChatTransport({ fetch: server.fetch });
  const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
  return () => {
    const chat = useChat({ id: "chat", transport, sendAutomaticallyWhen });
    seen.chat = chat;
    const lines = chat.messages.flatMap(toLines);
    return createElement("ol", null, ...lines.map((line, index) => createElement("li", { key: index }, line)));
  };
}

function approvalOf({ chat }: Seen): string {
  for (const part of chat?.messages.at(-1)?.parts ?? [])
    if ("approval" in part && part.approval !== undefined) return part.approval.id;
  throw new Error("Nothing waits.");
}

it("useChat: shows a run, requests approval, and continues in the same message", async () => {
  const { createRoot } = await import("react-dom/client");
  const { run, ran } = setUpPayment();
  const server = new ChatServer({ run, stream: { version: 7 } });
  const seen: Seen = { chat: undefined, texts: new Set() };
  const root = createRoot(window.document.body.appendChild(window.document.createElement("div")) as unknown as Element);
  root.render(createElement(makePage(server, seen)));
  await until(seen, () => seen.chat !== undefined);
  await seen.chat?.sendMessage({ text: "Buy tea." });
  const first = [
    "user text: Buy tea.",
    "assistant reasoning: Look first.",
    "assistant text: One moment.",
    'tool-look {"name":"tea"} output-available {"price":5}',
    "assistant text: Paying.",
  ];
  const isReady = (count: number) => (): boolean => seen.chat?.status === "ready" && shown().length === count;
  await until(seen, isReady(first.length + 1));
  expect(shown()).toEqual([...first, 'tool-pay {"amount":5} approval-requested']);
  await seen.chat?.addToolApprovalResponse({ id: approvalOf(seen), approved: true });
  const last = [...first, 'tool-pay {"amount":5} output-available {"paid":5}', "assistant text: It is paid."];
  await until(seen, isReady(last.length));
  expect(shown()).toEqual(last);
  expect(ran).toEqual(["look tea", "pay 5"]);
  for (const text of seen.texts) expect(text).not.toMatch(/(One moment\.|Paying\.|It is paid\.)[^]*\1/);
  root.unmount();
  // React needs several turns of the event loop to finish its work.
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
});
