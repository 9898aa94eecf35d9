import { digest } from "../../shared/json.ts";
import { invalidOption, isRecord, recordOf } from "../../core/kit.ts";
import { isWithin } from "../../shared/errors/check-fields.ts";
import type { LastRequest, RequestPrefix } from "./types.ts";
import type { ModelRequest } from "../../core/index.ts";
import { userTextOf } from "../../shared/transcript.ts";
import { fromDigest, isSamePart, type Part, toDigest, toPart } from "./part.ts";
import type { BodyParts } from "./read-body.ts";

/** The parts of one request, in the order in which services read them. */
export interface Prefix {
  readonly tools: readonly Part[];
  readonly system: readonly Part[];
  readonly settings: BodyParts["settings"];
  readonly messages: readonly Part[];
  readonly bytes: number;
  /** The text of the context items, which come at the end of each request. */
  readonly context: string | undefined;
}

/** Measures the parts of a request. Reuses unchanged parts of the previous request (`before`), so that no part is measured twice. */
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

/**
 * Returns the text of the context items: the last user message, if the transcript does not contain it. Only a paused message from
 * the model can come after it.
 */
function contextOf({ messages, transcript }: ModelRequest): string | undefined {
  const last = messages.at(-1);
  const context = last?.role === "assistant" ? messages.at(-2) : last;
  if (context?.role !== "user" || transcript?.messages.slice(-2).includes(context) !== false) return undefined;
  return userTextOf(context);
}

type Digests = Pick<RequestPrefix, "tools" | "system" | "settings" | "messageCount" | "messages">;

/**
 * Returns the digests of the parts that differ from the previous request. Omits the others, so that a long run's records stay
 * small.
 */
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

/** Reads a recorded request. Ignores impossible indexes, because the record may have been edited. */
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

/**
 * The number of newest messages that a run's last request lists individually in its record. Older messages are grouped, and each group is
 * twice as large as the next newer one.
 */
const maxSingle = 8;

/** Returns the sizes of the groups, oldest first. */
function groupSizes(count: number): readonly number[] {
  const sizes: number[] = [];
  for (let left = count; left > 0; left -= sizes[0] ?? left) {
    sizes.unshift(Math.min(left, sizes.length < maxSingle ? 1 : 2 ** (sizes.length - maxSingle + 1)));
  }
  return sizes;
}

export function joinMessages(prefix: Prefix, sizes: readonly number[]): Prefix {
  const messages: Part[] = [];
  let start = 0;
  for (const size of sizes) {
    const group = prefix.messages.slice(start, start + size);
    start += size;
    if (group.length > 0) messages.push(joinParts(group));
  }
  return { ...prefix, messages: [...messages, ...prefix.messages.slice(start)] };
}

function joinParts(parts: readonly Part[]): Part {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  return {
    digest: digest(parts.map((part) => part.digest).join()),
    bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    name: undefined,
    value: parts.map((part) => part.value),
  };
}

export function toLastRequest({ provider, model }: Pick<LastRequest, "provider" | "model">, prefix: Prefix): LastRequest {
  const sizes = groupSizes(prefix.messages.length);
  const { tools, system, settings, messages, bytes } = joinMessages(prefix, sizes);
  return {
    provider,
    model,
    bytes,
    tools: tools.map(toDigest),
    system: system.map(toDigest),
    settings,
    messages: messages.map((part, at) => [sizes[at] ?? 1, part.digest, part.bytes]),
  };
}

export function fromLastRequest({ tools, system, settings, messages, bytes }: LastRequest): Prefix {
  return {
    tools: tools.map(fromDigest),
    system: system.map(fromDigest),
    settings,
    messages: messages.map(([, hash, size]) => fromDigest([hash, size])),
    bytes,
    context: undefined,
  };
}

const isText = (value: unknown): boolean => typeof value === "string";
const isSize = (value: unknown): boolean => isWithin(value, { min: 0, infinite: false });
const isDigest = (part: unknown): boolean => Array.isArray(part) && isText(part[0]) && isSize(part[1]);
const isGroup = (part: unknown): boolean => Array.isArray(part) && isSize(part[0]) && isDigest(part.slice(1));
const isListOf = (value: unknown, fits: (part: unknown) => boolean): boolean => Array.isArray(value) && value.every(fits);

export function checkLastRequest(given: LastRequest): LastRequest {
  const { provider, model, bytes, tools, system, settings, messages } = recordOf(given);
  const isFit =
    [provider, model, ...Object.values(recordOf(settings))].every(isText) &&
    isSize(bytes) &&
    isListOf(tools, isDigest) &&
    isListOf(system, isDigest) &&
    isRecord(settings) &&
    isListOf(messages, isGroup);
  if (!isFit)
    throw invalidOption("The argument of watchPromptCache().startWith()", 'the "cache.last" from a run\'s result', given);
  return structuredClone(given);
}
