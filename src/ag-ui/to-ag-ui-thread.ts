import type { AssistantMessage, EndReason, Message, ToolResultPart } from "../core/index.ts";
import type { UserPart } from "../core/types/common.ts";
import { checkFields } from "../core/kit.ts";
import { isWaiting } from "../web/page-values.ts";
import type { AGUIOptions } from "./ag-ui-options.ts";
import { argumentsOf, historyChecks, type HistoryOptions, toEnd, toUserContent } from "./to-ag-ui-messages.ts";
import type { AGUIInterrupt } from "./ag-ui-event.ts";
import { toPrefix } from "./page-ids.ts";
import { toInterrupt } from "./to-interrupts.ts";
import { waitingCallsOf } from "../shared/wait-ids.ts";

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
      readonly metadata?: { readonly filename: string };
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
 * because the page receives the whole conversation, except for provider metadata, files in tool results and the messages of errors. Pass
 * the same `sendReasoning` and `onError` as for the stream. Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const answer = Response.json(toAGUIThread(await host.status(threadId)));
 */
export function toAGUIThread(
  status: AGUIThreadStatus | undefined,
  options: Pick<AGUIOptions, "sendReasoning" | "onError"> = {},
): AGUIThread {
  checkFields("options", options, historyChecks);
  if (status === undefined) return { messages: [], activeRun: null, interrupts: null };
  const { runId, isLive, reason, messages } = status;
  const pending = waitingCallsOf(reason).map((call) => toInterrupt(call, runId));
  return {
    messages: toMessages(messages, toPrefix(runId), options),
    activeRun: isLive ? { runId } : null,
    interrupts: pending.length > 0 ? { runId, pending } : null,
  };
}

function toMessages(messages: readonly Message[], prefix: string, options: HistoryOptions): AGUIThreadMessage[] {
  return messages.flatMap((message, index): AGUIThreadMessage[] => {
    const id = `${prefix}message-${index}`;
    if (message.role === "user") return [{ id: message.id ?? id, role: "user", parts: toUserParts(message.content) }];
    if (message.role === "tool") return [];
    const next = messages[index + 1];
    const place = { prefix, options, results: next?.role === "tool" ? next.results : [] };
    return [{ id, role: "assistant", parts: message.content.flatMap((part) => toAssistantParts(part, place)) }];
  });
}

interface ShownAnswer {
  readonly prefix: string;
  readonly options: HistoryOptions;
  readonly results: readonly ToolResultPart[];
}

function toAssistantParts(
  part: AssistantMessage["content"][number],
  { prefix, options, results }: ShownAnswer,
): AGUIThreadPart[] {
  if (part.type === "text") return [{ type: "text", content: part.text }];
  if (part.type === "reasoning") return options.sendReasoning === false ? [] : [{ type: "thinking", content: part.text }];
  const id = prefix + part.callId;
  const call = { type: "tool-call", id, name: part.name, arguments: argumentsOf(part), state: "input-complete" } as const;
  const result = results.find(({ callId }) => callId === part.callId);
  if (result === undefined || isWaiting(result)) return [call];
  const end = toEnd(result, options);
  return [call, { type: "tool-result", toolCallId: id, ...end, state: end.error === undefined ? "complete" : "error" }];
}

function toUserParts(content: string | readonly UserPart[]): AGUIThreadPart[] {
  const parts = toUserContent(content);
  if (typeof parts === "string") return [{ type: "text", content: parts }];
  return parts.map((part) => (part.type === "text" ? { type: "text", content: part.text } : part));
}
