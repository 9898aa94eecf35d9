import type { AssistantMessage, Message, ToolResultPart } from "../core/index.ts";
import { checkFields, type Checks, hasSucceeded, type ToolCallPart } from "../core/kit.ts";
import { locateMedia } from "../shared/media-source.ts";
import type { UserPart } from "../core/types/common.ts";
import { isWaiting, toCallFailureText, toPlain } from "../web/page-values.ts";
import { type AGUIOptions, optionChecks } from "./ag-ui-options.ts";
import type { AGUIContentPart, AGUIMessage, AGUIToolCall } from "./ag-ui-event.ts";
import { toPrefix, toResultMessageId } from "./page-ids.ts";

/** The options that a stored conversation has in common with the stream of a run. */
export type HistoryOptions = Pick<AGUIOptions, "sendReasoning" | "onError">;

export const historyChecks: Checks<HistoryOptions> = {
  sendReasoning: optionChecks.sendReasoning,
  onError: optionChecks.onError,
};

/**
 * Converts a stored conversation to AG-UI messages, for a page that loads an old conversation. Returns an empty array if `status`
 * is undefined. The new messages of a live run are not included, because the page receives them from the stream. First check that the
 * user may see the conversation, because the page receives the whole conversation, except for provider metadata, files in tool
 * results and the messages of errors. Pass the same `sendReasoning` and `onError` as for the stream. Throws LoopError "invalid-option" or
 * "unknown-option" if an option is invalid.
 *
 * @example
 * const agent = new HttpAgent({ url, threadId, initialMessages: toAGUIMessages(await host.status(threadId)) });
 */
export function toAGUIMessages(
  status: { readonly runId: string; readonly messages: readonly Message[] } | undefined,
  options: Pick<AGUIOptions, "sendReasoning" | "onError"> = {},
): AGUIMessage[] {
  checkFields("options", options, historyChecks);
  if (status === undefined) return [];
  const prefix = toPrefix(status.runId);
  return status.messages.flatMap((message: Message, index): AGUIMessage[] => {
    const id = `${prefix}message-${index}`;
    if (message.role === "user") return [{ id: message.id ?? id, role: "user", content: toUserContent(message.content) }];
    if (message.role === "assistant") return toAssistantMessages(message, { id, prefix, options });
    return message.results.filter((result) => !isWaiting(result)).map((result) => toToolMessage(result, { prefix, options }));
  });
}

interface Shown {
  readonly prefix: string;
  readonly options: HistoryOptions;
}

function toAssistantMessages(
  { content }: AssistantMessage,
  { id, prefix, options: { sendReasoning = true } }: Shown & { readonly id: string },
): AGUIMessage[] {
  const textOf = (type: "text" | "reasoning"): string => content.map((part) => (part.type === type ? part.text : "")).join("");
  const [text, reasoning] = [textOf("text"), sendReasoning ? textOf("reasoning") : ""];
  const toolCalls = content.flatMap((part): AGUIToolCall[] =>
    part.type === "tool-call"
      ? [{ id: prefix + part.callId, type: "function", function: { name: part.name, arguments: argumentsOf(part) } }]
      : [],
  );
  const said = { ...(text !== "" && { content: text }), ...(toolCalls.length > 0 && { toolCalls }) };
  return [
    ...(reasoning === "" ? [] : [{ id: `${id}-reasoning`, role: "reasoning" as const, content: reasoning }]),
    ...(text === "" && toolCalls.length === 0 ? [] : [{ id, role: "assistant" as const, ...said }]),
  ];
}

/** Returns the arguments that the tool received, which are those that a person approved. */
export function argumentsOf({ args, approvedArgs = args }: ToolCallPart): string {
  return JSON.stringify(approvedArgs);
}

function toToolMessage(result: ToolResultPart, { prefix, options }: Shown): AGUIMessage {
  const toolCallId = prefix + result.callId;
  return { id: toResultMessageId(toolCallId), role: "tool", toolCallId, ...toEnd(result, options) };
}

/** Returns the result that the page shows. A failed call's result may contain secrets, so the page gets the same text as in the stream. */
export function toEnd(part: ToolResultPart, { onError }: HistoryOptions): { readonly content: string; readonly error?: string } {
  if (hasSucceeded(part)) return { content: toContent(part.result) };
  return { content: toCallFailureText(part, onError), error: part.outcome };
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
    const { mediaType: mimeType, filename } = media;
    const named = filename === undefined ? {} : { metadata: { filename } };
    if (media.kind === "base64") return { type, source: { type: "data", value: media.data, mimeType }, ...named };
    return { type, source: { type: "url", value: media.kind === "url" ? media.url : String(part.data), mimeType }, ...named };
  });
}
