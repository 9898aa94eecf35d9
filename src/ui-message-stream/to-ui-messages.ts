import {
  type AssistantMessage,
  checkFields,
  is,
  type Message,
  type ToolCallPart,
  type ToolOutcome,
  type ToolResultPart,
} from "../core/entry-kit.ts";
import { isWaiting, toFailureText } from "../core/web-kit.ts";
import { findLostMessages, type LostContent } from "../core/history-kit.ts";
import { readUIMessages } from "./read-ui-messages.ts";
import { toUserParts } from "./to-user-parts.ts";
import type { UIMessage, UIMessagePart } from "./ui-message.ts";
import type { UIVersion } from "./ui-message-chunk.ts";
import { messageChecks, type UIMessageOptions } from "./ui-message-options.ts";

/** The options of `toUIMessages`. */
export interface UIHistoryOptions extends Pick<UIMessageOptions, "version" | "sendReasoning" | "onError"> {
  /** The beginning of each message id. A "-" and the position in the transcript follow. Default "history". */
  readonly idPrefix?: string | undefined;
}

/** A transcript as messages of `useChat`. */
export interface UIHistory<Version extends UIVersion = UIVersion> {
  readonly messages: UIMessage<Version>[];
  /** The content that the messages do not have in the same form. Empty if `fromUIMessages` can restore the transcript. */
  readonly lost: readonly LostContent[];
}

/**
 * Converts a transcript to the messages of `useChat`, for a page that loads an old conversation. All assistant messages up to the
 * next user message become one message. Messages that the loop wrote in the role of the user are shown as user messages. Provider
 * metadata and the files of tool results are omitted. A waiting call has the state "input-available": the page gets the request
 * for a decision from the stream of the run.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const { messages } = await runToolLoop({ provider, tools, messages: history });
 * const { messages: shown } = toUIMessages(messages, { version: 7 });
 */
export function toUIMessages<Version extends UIVersion = 6>(
  messages: readonly Message[],
  options: UIHistoryOptions & { readonly version?: Version | undefined } = {},
): UIHistory<Version> {
  const { version, sendReasoning, onError } = messageChecks;
  checkFields("options", options, { version, sendReasoning, onError, idPrefix: is.name });
  const lost = findLostMessages(messages, {
    joins: [],
    write: (unit) => writeUIMessages(unit, options),
    read: (shown) =>
      readUIMessages(
        shown.map((message) => ({ ...message })),
        undefined,
      ).draft.finish(undefined).messages,
    keepsMetadata: () => false,
  });
  return { messages: writeUIMessages(messages, options), lost };
}

export function writeUIMessages(messages: readonly Message[], options: UIHistoryOptions): UIMessage[] {
  const { idPrefix = "history" } = options;
  const shown: UIMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const id = `${idPrefix}-${index}`;
    const last = shown.at(-1);
    if (message.role === "user") shown.push({ id, role: "user", parts: toFilledParts(message.content) });
    else if (message.role === "assistant") {
      const next = messages[index + 1];
      const step = toStep(message, { id, results: next?.role === "tool" ? next.results : [] }, options);
      if (last?.role === "assistant") for (const part of step) last.parts.push(part);
      else shown.push({ id, role: "assistant", parts: step });
    }
  }
  return shown;
}

/** Returns at least one part, because `useChat` rejects a message without parts. */
function toFilledParts(content: Parameters<typeof toUserParts>[0]): UIMessagePart[] {
  return toUserParts(content.length === 0 ? "" : content);
}

interface Step {
  /** The id of the message. Every call id in the message begins with this id, because call ids are unique only within a run. */
  readonly id: string;
  readonly results: readonly ToolResultPart[];
}

function toStep({ content }: AssistantMessage, { id, results }: Step, options: UIHistoryOptions): UIMessagePart[] {
  const parts: UIMessagePart[] = [{ type: "step-start" }];
  for (const part of content) {
    if (part.type === "tool-call") {
      const result = results.find(({ callId }) => callId === part.callId);
      parts.push(toToolPart(part, { toolCallId: `${id}:${part.callId}`, result }, options));
    } else if (part.type === "text" || options.sendReasoning !== false)
      parts.push({ type: part.type, text: part.text, state: "done" });
  }
  return parts;
}

interface Called {
  readonly toolCallId: string;
  readonly result: ToolResultPart | undefined;
}

const completed: ReadonlySet<string> = new Set(["completed", "restarted"]);

function toToolPart(call: ToolCallPart, { toolCallId, result }: Called, options: UIHistoryOptions): UIMessagePart {
  const { name, args, approvedArgs = args } = call;
  const called = { type: `tool-${name}`, toolCallId, input: approvedArgs, providerExecuted: true } as const;
  const { outcome, result: output } = result ?? { outcome: "not-run", result: null };
  if (completed.has(outcome)) return { ...called, state: "output-available", output };
  if (isWaiting({ outcome })) return { ...called, state: "input-available" };
  if (outcome === "denied" && options.version !== 5)
    return { ...called, state: "output-denied", approval: { id: toolCallId, approved: false } };
  const failure = { kind: "tool", toolName: name, outcome: outcome as ToolOutcome["kind"], result: output } as const;
  return { ...called, state: "output-error", errorText: toFailureText(failure, options.onError) };
}
