// Decides which messages a summary replaces. A call and its result stay together, and a waiting call is never replaced, because
// services would refuse the request otherwise.

import {
  type CompactedMessages,
  type ContentPart,
  estimateMedia,
  estimateMetadata,
  estimateTokens,
  malformedNote,
  memoize,
  type Message,
  misfitNote,
  type UserMessage,
  warnOfLoop,
} from "../core/entry-kit.ts";

export interface CutRules {
  readonly keepTokens: number;
  /**
   * The last message stays, with the calls that it answers, if it has at most this number of estimated tokens. Default: the last
   * message always stays.
   */
  readonly keepLastTokens?: number | undefined;
  readonly earlier: CompactedMessages | undefined;
  /** The minimum number of messages that the summary replaces. Default: no minimum. */
  readonly minCount?: number | undefined;
  /** True if a message of the user may stay beside the summary. Default: each may. */
  readonly mayStay?: ((index: number) => boolean) | undefined;
}

export interface Cut extends Omit<CompactedMessages, "summary"> {
  /** The indexes of the messages that the new summary replaces, without those that the earlier summary already replaces. */
  readonly replaced: readonly number[];
  readonly tokens: number;
}

export function findCut(messages: readonly Message[], rules: CutRules): Cut | undefined {
  const { earlier, minCount = 0, mayStay = () => true } = rules;
  const found = findCount(messages, rules);
  const before = earlier?.count ?? 0;
  if (found <= before) return undefined;
  const count = Math.max(found, minCount);
  const lastUser = messages.findLastIndex((message) => message.role === "user" && !isNoteOfLoop(message));
  const isKept = (index: number): boolean => {
    const message = messages[index];
    return message?.role === "user" && (message.pinned === true || index === lastUser) && mayStay(index);
  };
  // `earlier.kept` includes the message that was the user's newest one at the earlier cut. If the user has written again, the new
  // summary replaces that older message.
  const shown = [...(earlier?.kept ?? []), ...range(before, count)];
  const kept = shown.filter(isKept);
  const replaced = shown.filter((index) => !isKept(index));
  const tokens = estimateMessages(replaced.flatMap((index) => messages[index] ?? []));
  return replaced.length === 0 ? undefined : { count, kept, replaced, tokens };
}

function findCount(messages: readonly Message[], { keepTokens, keepLastTokens = Number.POSITIVE_INFINITY }: CutRules): number {
  let count = messages.length;
  let tokens = 0;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message === undefined) continue;
    tokens += estimateMessage(message);
    const isLast = index === messages.length - 1;
    if (tokens > (isLast ? Math.max(keepTokens, keepLastTokens) : keepTokens)) break;
    count = index;
  }
  const waiting = messages.findIndex(isWaiting);
  return toBoundary(messages, waiting === -1 ? count : Math.min(count, waiting));
}

/** Moves the cut to a place before the calls whose results follow the cut. */
function toBoundary(messages: readonly Message[], count: number): number {
  let boundary = count;
  while (boundary > 0 && messages[boundary]?.role === "tool") boundary -= 1;
  return boundary;
}

function isWaiting(message: Message): boolean {
  return message.role === "tool" && message.results.some(({ outcome }) => outcome.startsWith("awaiting-"));
}

function isNoteOfLoop({ content }: UserMessage): boolean {
  if (typeof content !== "string") return false;
  const count = Number(/\d+/.exec(content)?.[0]);
  return content === malformedNote || content === warnOfLoop(count) || isComplaint(content);
}

/**
 * True if the loop has written the message. A user may write a message that begins in the same way, so the end is compared too.
 */
function isComplaint(text: string): boolean {
  return text.startsWith(misfitNote.start) && text.endsWith(misfitNote.end);
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

const estimateMessage: (message: Message) => number = /* @__PURE__ */ memoize((message: Message): number => {
  switch (message.role) {
    case "user":
      return typeof message.content === "string" ? estimateTokens(message.content) : estimateParts(message.content);
    case "assistant": {
      const { providerMetadata, content } = message;
      return providerMetadata === undefined ? estimateJson(content) : estimateMetadata(providerMetadata.map(({ item }) => item));
    }
    case "tool":
      return message.results.reduce((sum, { result, content = [] }) => sum + estimateJson(result) + estimateParts(content), 0);
  }
});

export function estimateMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateMessage(message), 0);
}

export function estimateJson(value: unknown): number {
  return estimateTokens(typeof value === "string" ? value : JSON.stringify(value));
}

function estimateParts(parts: readonly ContentPart[]): number {
  return parts.reduce((sum, part) => sum + estimatePart(part), 0);
}

function estimatePart(part: ContentPart): number {
  return part.type === "text" ? estimateTokens(part.text) : estimateMedia(part);
}
