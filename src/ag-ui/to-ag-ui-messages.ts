import type { AssistantMessage, Message, ToolResultPart } from "../core/index.ts";
import { locateMedia } from "../shared/media-source.ts";
import type { UserPart } from "../core/types/common.ts";
import { isWaiting, toPlain } from "../web/page-values.ts";
import { toPrefix, toResultMessageId } from "./page-ids.ts";

/** A message in AG-UI format. Pass such messages to a client as `initialMessages`, or send them in a `MESSAGES_SNAPSHOT` event. */
export type AGUIMessage =
  | { readonly id: string; readonly role: "user"; readonly content: string | AGUIContentPart[] }
  | { readonly id: string; readonly role: "reasoning"; readonly content: string }
  | { readonly id: string; readonly role: "assistant"; readonly content?: string; readonly toolCalls?: AGUIToolCall[] }
  | {
      readonly id: string;
      readonly role: "tool";
      readonly toolCallId: string;
      readonly content: string;
      /** How the tool call ended. Set only if the call did not complete. */
      readonly error?: string;
    };

/** A part of a user message. */
export type AGUIContentPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image" | "document";
      readonly source:
        | { readonly type: "data"; readonly value: string; readonly mimeType: string }
        | { readonly type: "url"; readonly value: string; readonly mimeType: string };
    };

/** A tool call in an assistant message. */
export interface AGUIToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/**
 * Converts a stored conversation to AG-UI messages, for a page that loads an old conversation. Returns an empty array if `status`
 * is undefined. The new messages of a live run are not included, because the page receives them from the stream. First check that the
 * user may see the conversation, because the page receives the whole conversation, except for provider metadata and files in tool
 * results.
 *
 * @example
 * const agent = new HttpAgent({ url, threadId, initialMessages: toAGUIMessages(await host.status(threadId)) });
 */
export function toAGUIMessages(
  status: { readonly runId: string; readonly messages: readonly Message[] } | undefined,
): AGUIMessage[] {
  if (status === undefined) return [];
  const prefix = toPrefix(status.runId);
  return status.messages.flatMap((message: Message, index): AGUIMessage[] => {
    const id = `${prefix}message-${index}`;
    if (message.role === "user") return [{ id: message.id ?? id, role: "user", content: toUserContent(message.content) }];
    if (message.role === "assistant") return toAssistantMessages(message, { id, prefix });
    return message.results.filter((result) => !isWaiting(result)).map((result) => toToolMessage(result, prefix));
  });
}

interface Ids {
  readonly id: string;
  readonly prefix: string;
}

function toAssistantMessages({ content }: AssistantMessage, { id, prefix }: Ids): AGUIMessage[] {
  const textOf = (type: "text" | "reasoning"): string => content.map((part) => (part.type === type ? part.text : "")).join("");
  const [text, reasoning] = [textOf("text"), textOf("reasoning")];
  const toolCalls = content.flatMap((part): AGUIToolCall[] => {
    if (part.type !== "tool-call") return [];
    const { callId, name, args, approvedArgs = args } = part;
    return [{ id: prefix + callId, type: "function", function: { name, arguments: JSON.stringify(approvedArgs) } }];
  });
  const said = { ...(text !== "" && { content: text }), ...(toolCalls.length > 0 && { toolCalls }) };
  return [
    ...(reasoning === "" ? [] : [{ id: `${id}-reasoning`, role: "reasoning" as const, content: reasoning }]),
    ...(text === "" && toolCalls.length === 0 ? [] : [{ id, role: "assistant" as const, ...said }]),
  ];
}

function toToolMessage({ callId, outcome, result }: ToolResultPart, prefix: string): AGUIMessage {
  const toolCallId = prefix + callId;
  const isFine = outcome === "completed" || outcome === "restarted";
  const message = { id: toResultMessageId(toolCallId), role: "tool", toolCallId, content: toContent(result) } as const;
  return isFine ? message : { ...message, error: outcome };
}

export function toContent(result: unknown): string {
  return typeof result === "string" ? result : JSON.stringify(toPlain(result));
}

export function toUserContent(content: string | readonly UserPart[]): string | AGUIContentPart[] {
  if (typeof content === "string") return content;
  return content.map((part): AGUIContentPart => {
    if (part.type === "text") return { type: "text", text: part.text };
    const type = part.type === "image" ? "image" : "document";
    const media = locateMedia(part);
    const { mediaType: mimeType } = media;
    if (media.kind === "base64") return { type, source: { type: "data", value: media.data, mimeType } };
    return { type, source: { type: "url", value: media.kind === "url" ? media.url : String(part.data), mimeType } };
  });
}
