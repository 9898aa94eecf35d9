// The prefix of one request: its parts in the order in which services read them. Also converts a prefix to a record and back.

import { type ModelRequest, type RequestPrefix, userTextOf } from "../core/entry-kit.ts";
import { fromDigest, isSamePart, type Part, toDigest, toPart } from "./part.ts";
import type { BodyParts } from "./read-body.ts";

export interface Prefix {
  readonly tools: readonly Part[];
  readonly system: readonly Part[];
  readonly settings: BodyParts["settings"];
  readonly messages: readonly Part[];
  readonly bytes: number;
  /** The text of the context items, which move to the end of each request. */
  readonly context: string | undefined;
}

/** Makes the prefix of a request. Parts that were sent before are not measured again. */
export function toPrefix(body: BodyParts, request: ModelRequest, before: Prefix | undefined): Prefix {
  const tools = toParts(body.tools, before?.tools);
  const system = toParts(body.system, before?.system);
  const messages = toParts(body.messages, before?.messages);
  const bytes = sumBytes(tools) + sumBytes(system) + sumBytes(messages);
  const context = contextOf(request);
  return { tools, system, settings: body.settings, messages, bytes, context };
}

function toParts(values: readonly unknown[], before: readonly Part[] = []): readonly Part[] {
  return values.map((value, at) => toPart(value, before[at]));
}

export function sumBytes(parts: readonly Part[], end: number = parts.length): number {
  let bytes = 0;
  for (let at = 0; at < end; at += 1) bytes += parts[at]?.bytes ?? 0;
  return bytes;
}

/** Returns the text of the context items. They are not in the transcript, and only a paused message of the model can follow them. */
function contextOf({ messages, transcript }: ModelRequest): string | undefined {
  const last = messages.at(-1);
  const context = last?.role === "assistant" ? messages.at(-2) : last;
  if (context?.role !== "user" || transcript?.messages.slice(-2).includes(context) !== false) return undefined;
  return userTextOf(context);
}

type Digests = Pick<RequestPrefix, "tools" | "system" | "settings" | "messageCount" | "messages">;

/** Returns the digests of the parts that differ from the previous request, so that records of a long run stay small. */
export function toDigests(next: Prefix, before: Prefix | undefined): Digests {
  const { tools, system, settings, messages } = next;
  return {
    ...(isSameList(tools, before?.tools) ? {} : { tools: tools.map(toDigest) }),
    ...(isSameList(system, before?.system) ? {} : { system: system.map(toDigest) }),
    ...(JSON.stringify(settings) === JSON.stringify(before?.settings ?? {}) ? {} : { settings }),
    messageCount: messages.length,
    messages: messages.flatMap((part, at) =>
      isSamePart(part, before?.messages[at]) ? [] : [[at, part.digest, part.bytes] as const],
    ),
  };
}

function isSameList(parts: readonly Part[], before: readonly Part[] = []): boolean {
  return parts.length === before.length && parts.every((part, at) => isSamePart(part, before[at]));
}

const unknownPart: Part = { digest: "", bytes: 0, name: undefined, value: undefined };

const emptyPrefix: Prefix = { tools: [], system: [], settings: {}, messages: [], bytes: 0, context: undefined };

/** Makes the prefix of a recorded request. Ignores indexes that cannot be right, because a record may have been edited. */
export function fromDigests(record: RequestPrefix, before: Prefix = emptyPrefix): Prefix {
  const count = Math.min(record.messageCount, before.messages.length + record.messages.length);
  const messages = before.messages.slice(0, count);
  for (const [at, ...part] of record.messages) if (at >= 0 && at < count) messages[at] = fromDigest(part);
  return {
    tools: record.tools?.map(fromDigest) ?? before.tools,
    system: record.system?.map(fromDigest) ?? before.system,
    settings: record.settings ?? before.settings,
    messages: Array.from(messages, (part) => part ?? unknownPart),
    bytes: record.bytes,
    context: undefined,
  };
}
