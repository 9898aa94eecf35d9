// The last request of a run as digests, with which the first request of the next run is compared.

import { digest, invalidOption, isRecord, isWithin, type LastRequest, recordOf } from "../core/entry-kit.ts";
import { fromDigest, type Part, toDigest } from "./part.ts";
import type { Prefix } from "./prefix.ts";

/** The number of messages at the end that are compared one by one. Older ones are in groups, each twice as large as the next. */
const mostSingle = 8;

/** Returns the numbers of messages in each group, the oldest first. There are few groups, however many messages there are. */
function groupSizes(count: number): readonly number[] {
  const sizes: number[] = [];
  for (let left = count; left > 0; left -= sizes[0] ?? left) {
    sizes.unshift(Math.min(left, sizes.length < mostSingle ? 1 : 2 ** (sizes.length - mostSingle + 1)));
  }
  return sizes;
}

/** Joins the first messages of a prefix to groups of these sizes. */
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

/** Throws LoopError "invalid-option". */
export function checkLastRequest(given: LastRequest): LastRequest {
  const { provider, model, bytes, tools, system, settings, messages } = recordOf(given);
  const isFit =
    [provider, model, ...Object.values(recordOf(settings))].every(isText) &&
    isSize(bytes) &&
    isListOf(tools, isDigest) &&
    isListOf(system, isDigest) &&
    isRecord(settings) &&
    isListOf(messages, isGroup);
  if (!isFit) throw invalidOption("policies.promptCache.startWith()", "the `cache.last` of a result", given);
  return structuredClone(given);
}
