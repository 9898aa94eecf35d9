// Writes the messages of a request, without those that earlier iterations have shown.

import { assertNever, type AssistantPart, type Message, type UserPart } from "../../core/entry-kit.ts";
import { isSummary, newMessagesOf } from "../analysis/request-messages.ts";
import type { LoggedIteration, LoggedRequest } from "../log/run-log.ts";
import { toCode, toDataBlock, toFolded } from "./markdown-blocks.ts";

export interface MarkdownPlace {
  readonly system: boolean;
  readonly reasoning: boolean;
  readonly maxChars: number;
  /** False for a run of a journal, whose times begin at 0. */
  readonly hasDates: boolean;
}

interface MessagesPlace {
  /** The newest request that was sent before this iteration. */
  readonly before: LoggedRequest | undefined;
  readonly place: MarkdownPlace;
}

/**
 * Writes all messages of the first request. Of later requests, writes only new user messages: the iterations already show the
 * outputs and results.
 */
export function writeMessages({ request }: LoggedIteration, { before, place }: MessagesPlace): readonly string[] {
  if (request === undefined) return [];
  const { system } = request;
  const isNew = place.system && system !== undefined && system !== before?.system;
  const added = before === undefined ? request.messages() : newMessagesOf(request, before).filter(({ role }) => role === "user");
  const changed = request.replaced.length;
  return [
    ...(isNew ? [toFolded("System text", toDataBlock(system, place.maxChars))] : []),
    ...(changed > 0 ? [`_Earlier messages that this request has in a changed form: ${changed}._`] : []),
    ...added.flatMap((message) => writeMessage(message, place.maxChars)),
  ];
}

function writeMessage(message: Message, maxChars: number): readonly string[] {
  switch (message.role) {
    case "user":
      return [
        isSummary(message) ? "**Summary, in place of old messages**" : "**User**",
        ...toParts(message.content).map((part) => writeUserPart(part, maxChars)),
      ];
    case "assistant":
      return message.content.flatMap((part) => writeAssistantPart(part, maxChars));
    case "tool":
      return message.results.flatMap(({ name, result }) => [
        `**Earlier result of ${toCode(name)}**`,
        toDataBlock(result, maxChars),
      ]);
    default:
      return assertNever(message);
  }
}

function toParts(content: string | readonly UserPart[]): readonly UserPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Images and files are only named, so that a viewer loads nothing. */
function writeUserPart(part: UserPart, maxChars: number): string {
  if (part.type === "text") return toDataBlock(part.text, maxChars);
  return `_${part.type === "image" ? "Image" : "File"} of type_ ${toCode(part.mediaType)}`;
}

function writeAssistantPart(part: AssistantPart, maxChars: number): readonly string[] {
  if (part.type === "tool-call") return [`**Earlier call of ${toCode(part.name)}**`, toDataBlock(part.args, maxChars)];
  return part.type === "text" ? ["**Earlier answer**", toDataBlock(part.text, maxChars)] : [];
}
