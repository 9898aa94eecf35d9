// Makes the messages of a chat for a page that loads. The page gets a live or suspended run from its stream, so that run is omitted.

import type { AssistantMessage, Message, ToolResultPart } from "turnwright";
import type { RunHost } from "turnwright/host";
import type { AssistantPart, ToolCallPart } from "turnwright/parts";

export interface LoadedChat {
  readonly messages: readonly PageMessage[];
  /** True if the page must read the last message from the stream. */
  readonly isOpen: boolean;
}

interface PageMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly object[];
  readonly metadata?: object;
}

/** GET /api/chat/:id */
export async function loadChat(host: RunHost, id: string): Promise<LoadedChat> {
  const status = await host.status(id);
  if (status === undefined) return { messages: [], isOpen: false };
  const isOpen = status.status === "running" || status.status === "suspended";
  const end = isOpen ? status.messages.findLastIndex(({ role }) => role === "user") + 1 : status.messages.length;
  const messages = toPageMessages(status.messages.slice(0, end));
  const last = messages.at(-1);
  if (isOpen || last?.role !== "assistant") return { messages, isOpen };
  const metadata = { status: status.status, reason: { kind: status.reason?.kind } };
  return { messages: [...messages.slice(0, -1), { ...last, metadata }], isOpen };
}

/** Makes one message for each user message, and one assistant message for everything up to the next user message. */
function toPageMessages(transcript: readonly Message[]): readonly PageMessage[] {
  const messages: PageMessage[] = [];
  for (const [index, message] of transcript.entries()) {
    const id = `history-${index}`;
    if (message.role === "user") messages.push({ id, role: "user", parts: toUserParts(message.content) });
    else if (message.role === "assistant") {
      const next = transcript[index + 1];
      addStep(messages, id, toStep(message, id, next?.role === "tool" ? next.results : []));
    }
  }
  return messages;
}

function addStep(messages: PageMessage[], id: string, step: readonly object[]): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") messages.push({ id, role: "assistant", parts: step });
  else messages.splice(-1, 1, { ...last, parts: [...last.parts, ...step] });
}

function toUserParts(content: Extract<Message, { role: "user" }>["content"]): readonly object[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.flatMap((part) => (part.type === "text" ? [{ type: "text", text: part.text }] : []));
}

/** Converts an assistant message to message parts. Call ids are unique only within a run, so they are prefixed with the message id. */
function toStep({ content }: AssistantMessage, id: string, results: readonly ToolResultPart[]): readonly object[] {
  const toPart = (part: AssistantPart): object => {
    if (part.type !== "tool-call") return { type: part.type, text: part.text, state: "done" };
    return toCard(
      part,
      id,
      results.find(({ callId }) => callId === part.callId),
    );
  };
  return [{ type: "step-start" }, ...content.map(toPart)];
}

function toCard({ callId, name, args, approvedArgs }: ToolCallPart, id: string, result: ToolResultPart | undefined): object {
  const card = { type: `tool-${name}`, toolCallId: `${id}:${callId}`, input: approvedArgs ?? args, providerExecuted: true };
  if (result?.outcome === "completed") return { ...card, state: "output-available", output: result.result };
  if (result?.outcome === "denied")
    return { ...card, state: "output-denied", approval: { id: card.toolCallId, approved: false } };
  return { ...card, state: "output-error", errorText: "The call did not complete." };
}
