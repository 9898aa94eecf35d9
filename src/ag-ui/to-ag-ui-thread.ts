import type { EndReason, Message, ToolResultPart } from "../core/index.ts";
import type { UserPart } from "../core/types/common.ts";
import { isWaiting } from "../web/page-values.ts";
import { toContent, toUserContent } from "./to-ag-ui-messages.ts";
import type { AGUIInterrupt } from "./ag-ui-event.ts";
import { toPrefix } from "./page-ids.ts";
import { toInterrupt, waitingCallsOf } from "./to-interrupts.ts";

/** A conversation's state, as returned by `host.status`. */
export interface AGUIThreadStatus {
  readonly runId: string;
  /** True if the run is live, so that a page can join the run. */
  readonly isLive: boolean;
  readonly reason?: EndReason | undefined;
  readonly messages: readonly Message[];
}

/** A conversation in the format that TanStack AI's client loads. */
export interface AGUIThread {
  readonly messages: AGUIThreadMessage[];
  /** The live run, which the page can join. Null if no run is live. */
  readonly activeRun: { readonly runId: string } | null;
  /** The tool calls that are waiting for the page. Null if there are none. */
  readonly interrupts: { readonly runId: string; readonly pending: AGUIInterrupt[] } | null;
}

/** A message in TanStack AI's format. */
export interface AGUIThreadMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: AGUIThreadPart[];
}

/** A part of a message in TanStack AI's format. */
export type AGUIThreadPart =
  | { readonly type: "text" | "thinking"; readonly content: string }
  | {
      readonly type: "image" | "document";
      readonly source: { readonly type: "data" | "url"; readonly value: string; readonly mimeType: string };
    }
  | {
      readonly type: "tool-call";
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
      readonly state: "input-complete";
    }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly content: string;
      readonly state: "complete" | "error";
      /** How the tool call ended. Set only if the call did not complete. */
      readonly error?: string;
    };

/**
 * Converts a conversation's state to the response that TanStack AI expects for `GET ?threadId=`: the messages, the live run,
 * and the waiting calls. If `status` is undefined, there are no messages. First check that the user may see the conversation,
 * because the page receives the whole conversation, except for provider metadata.
 *
 * @example
 * const answer = Response.json(toAGUIThread(await host.status(threadId)));
 */
export function toAGUIThread(status: AGUIThreadStatus | undefined): AGUIThread {
  if (status === undefined) return { messages: [], activeRun: null, interrupts: null };
  const { runId, isLive, reason, messages } = status;
  const pending = waitingCallsOf(reason).map((call) => toInterrupt(call, runId));
  return {
    messages: toMessages(messages, toPrefix(runId)),
    activeRun: isLive ? { runId } : null,
    interrupts: pending.length > 0 ? { runId, pending } : null,
  };
}

function toMessages(messages: readonly Message[], prefix: string): AGUIThreadMessage[] {
  return messages.flatMap((message, index): AGUIThreadMessage[] => {
    const id = `${prefix}message-${index}`;
    if (message.role === "user") return [{ id: message.id ?? id, role: "user", parts: toUserParts(message.content) }];
    if (message.role === "tool") return [];
    const next = messages[index + 1];
    const results = next?.role === "tool" ? next.results : [];
    return [{ id, role: "assistant", parts: message.content.flatMap((part) => toAssistantParts(part, results, prefix)) }];
  });
}

type AssistantParts = Extract<Message, { readonly role: "assistant" }>["content"];

function toAssistantParts(part: AssistantParts[number], results: readonly ToolResultPart[], prefix: string): AGUIThreadPart[] {
  if (part.type === "text") return [{ type: "text", content: part.text }];
  if (part.type === "reasoning") return [{ type: "thinking", content: part.text }];
  const { callId, name, args } = part;
  const call = {
    type: "tool-call",
    id: prefix + callId,
    name,
    arguments: JSON.stringify(args),
    state: "input-complete",
  } as const;
  const result = results.find((one) => one.callId === callId);
  return result === undefined || isWaiting(result) ? [call] : [call, toResultPart(result, prefix)];
}

function toResultPart({ callId, outcome, result }: ToolResultPart, prefix: string): AGUIThreadPart {
  const isFine = outcome === "completed" || outcome === "restarted";
  const facts = { type: "tool-result", toolCallId: prefix + callId, content: toContent(result) } as const;
  return isFine ? { ...facts, state: "complete" } : { ...facts, state: "error", error: outcome };
}

function toUserParts(content: string | readonly UserPart[]): AGUIThreadPart[] {
  const parts = toUserContent(content);
  if (typeof parts === "string") return [{ type: "text", content: parts }];
  return parts.map((part) => (part.type === "text" ? { type: "text", content: part.text } : part));
}
