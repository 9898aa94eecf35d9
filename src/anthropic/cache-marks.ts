// Places cache marks, which are `cache_control` fields of blocks. The server writes a cache entry at each mark, and reads the longest entry
// that ends at most 20 blocks before a mark.

import { isRecord, listOf } from "../core/kit.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import type { CacheControl, WireBlock, WireMessage } from "./messages-options.ts";

/** The maximum number of marks that the server accepts in a request. */
const maxMarks = 4;

/** A message in the request. `parts` are the run's messages that were joined into it. */
export interface JoinedMessage {
  readonly message: WireMessage;
  /** The run's messages that this message was made from. Empty for a message that the adapter adds itself. */
  readonly parts: readonly WireMessage[];
}

export interface MarkableRequest {
  readonly system: string | undefined;
  readonly tools: readonly object[];
  readonly joined: readonly JoinedMessage[];
  /** The fields of `settings.extra`. They replace request fields and may contain cache marks of their own. */
  readonly extra: UnknownRecord;
}

export interface MarkedRequest {
  readonly system: string | readonly WireBlock[] | undefined;
  readonly tools: readonly object[];
  readonly messages: readonly WireMessage[];
}

/** The newest request in a conversation. The next request is compared with it. */
interface Sent {
  readonly parts: readonly Part[];
  /** The indexes of the parts after which the server has written a cache entry. */
  readonly entries: readonly number[];
  /** The index of the part with the mark described in item 4 of the `createMarker` documentation. */
  readonly kept: number | undefined;
}

/** One of the run's messages inside a joined message. */
interface Part {
  readonly wire: WireMessage;
  /** The index of the joined message that contains this part. */
  readonly joinedAt: number;
  /** The position in the joined message after this part's last block. */
  readonly end: number;
}

type Marker = (request: MarkableRequest) => MarkedRequest;

/**
 * Creates a function that adds marks to requests, at these places and in this order, until the request has `maxMarks` marks:
 *
 * 1. The end of the final user message. If that message was joined from several messages, the mark comes before the final part.
 *    The final part may be context, which has a different position in the next request.
 * 2. The latest position that had a mark in an earlier request, if everything before the position is still the same. The server
 *    can then read that mark's cache entry, even if more than 20 blocks were added. If there is no such position, for example
 *    after a process restart: the end of the second-to-last user message.
 * 3. The system text.
 * 4. The end of the messages that have changed since the previous request, for example because results were masked. Later
 *    requests change only messages after this mark, so they can still read its entry.
 * 5. The last tool.
 */
export function createMarker(cacheControl: CacheControl): Marker {
  /** The newest request of each conversation. The key is the first message of the conversation, which stays the same object. */
  const conversations = new WeakMap<WireMessage, Sent>();
  return (request) => {
    const parts = request.extra.messages === undefined ? listParts(request.joined) : [];
    const [first] = parts;
    const found = findPlaces(parts, first && conversations.get(first.wire));
    const chosen = chooseMarks(request, found);
    const { places } = chosen;
    if (first !== undefined)
      conversations.set(first.wire, { parts, kept: found.kept, entries: addPlaces(found.entries, places) });
    const marked = places.map((place) => parts[place]);
    return { ...addMarks(request, chosen, cacheControl), messages: markMessages(request.joined, marked, cacheControl) };
  };
}

interface Chosen {
  readonly places: readonly number[];
  readonly system: boolean;
  readonly tools: boolean;
}

function chooseMarks({ system, tools, extra }: MarkableRequest, { end, read, kept }: Places): Chosen {
  let left = maxMarks - countForeign({ tools, extra });
  const take = (isPossible: boolean): boolean => {
    if (!isPossible || left <= 0) return false;
    left -= 1;
    return true;
  };
  const takePlace = (place: number | undefined): readonly number[] => (place !== undefined && take(true) ? [place] : []);
  const places = [...takePlace(end), ...takePlace(read)];
  const marksSystem = take(system !== undefined && extra.system === undefined);
  return {
    places: kept === read || kept === end ? places : [...places, ...takePlace(kept)],
    system: marksSystem,
    tools: take(tools.length > 0 && extra.tools === undefined && countMarks(tools) === 0),
  };
}

function addMarks(
  { system, tools }: MarkableRequest,
  chosen: Chosen,
  cacheControl: CacheControl,
): Pick<MarkedRequest, "system" | "tools"> {
  return {
    system: chosen.system && system !== undefined ? markSystem(system, cacheControl) : system,
    tools: chosen.tools ? markAt(tools, lastLoaded(tools), cacheControl) : tools,
  };
}

function addPlaces(entries: readonly number[], places: readonly number[]): readonly number[] {
  return [...new Set([...entries, ...places])].sort((one, other) => one - other);
}

function listParts(joined: readonly JoinedMessage[]): readonly Part[] {
  return joined.flatMap(({ parts }, joinedAt) => {
    let end = 0;
    return parts.map((wire): Part => ({ wire, joinedAt, end: (end += wire.content.length) }));
  });
}

interface Places {
  readonly end: number | undefined;
  readonly read: number | undefined;
  readonly kept: number | undefined;
  /** The indexes of the parts with cache entries from earlier requests that are still valid. */
  readonly entries: readonly number[];
}

function findPlaces(parts: readonly Part[], sent: Sent | undefined): Places {
  const last = parts.findLastIndex(({ wire }) => wire.role === "user");
  if (last === -1) return { end: undefined, read: undefined, kept: undefined, entries: [] };
  const isJoined = parts[last - 1]?.joinedAt === parts[last]?.joinedAt;
  const end = isJoined ? last - 1 : last;
  if (sent === undefined) return { end, read: findBefore(parts, end), kept: undefined, entries: [] };
  const same = countSame(parts, sent.parts);
  const entries = sent.entries.filter((at) => at < same);
  const isKept = sent.kept !== undefined && sent.kept < same;
  return {
    end,
    read: entries.findLast((at) => at < end) ?? findBefore(parts, end),
    kept: findChanged(parts, sent, same) ?? (isKept ? sent.kept : undefined),
    entries,
  };
}

function countSame(parts: readonly Part[], before: readonly Part[]): number {
  const at = before.findIndex(({ wire }, index) => wire !== parts[index]?.wire);
  return at === -1 ? before.length : at;
}

/** Searches backwards from part `at`. Returns the index of the first user part that is not in the joined message of part `at`. */
function findBefore(parts: readonly Part[], at: number): number | undefined {
  const own = parts[at]?.joinedAt;
  const found = parts.findLastIndex(({ wire, joinedAt }, index) => index < at && wire.role === "user" && joinedAt !== own);
  return found === -1 ? undefined : found;
}

/**
 * Returns the index of the latest user message that differs from the previous request, although the message after it is the same.
 */
function findChanged(parts: readonly Part[], { parts: before }: Sent, same: number): number | undefined {
  for (let at = before.length - 2; at >= same; at -= 1) {
    const part = parts[at];
    const isFollowed = before[at + 1]?.wire === parts[at + 1]?.wire;
    if (part?.wire.role === "user" && part.wire !== before[at]?.wire && isFollowed) return at;
  }
  return undefined;
}

/** Counts the cache marks that the caller set in `extra` and on server tools. */
function countForeign({ tools, extra }: Pick<MarkableRequest, "tools" | "extra">): number {
  const { cache_control: automatic, messages } = extra;
  const inMessages = listOf(messages).map((message) => countMarks(isRecord(message) ? message.content : undefined));
  const sum = inMessages.reduce((total, count) => total + count, 0);
  return sum + countMarks(extra.system) + countMarks(extra.tools ?? tools) + (isRecord(automatic) ? 1 : 0);
}

function countMarks(blocks: unknown): number {
  return listOf(blocks).filter((block) => isRecord(block) && isRecord(block.cache_control)).length;
}

/** Returns the index of the last tool that is not deferred. The server rejects a mark on a deferred tool. */
function lastLoaded(tools: readonly object[]): number {
  return tools.findLastIndex((tool) => !("defer_loading" in tool && tool.defer_loading === true));
}

function markMessages(
  joined: readonly JoinedMessage[],
  places: readonly (Part | undefined)[],
  cacheControl: CacheControl,
): readonly WireMessage[] {
  const messages = joined.map(({ message }) => message);
  for (const place of places) {
    const message = place && messages[place.joinedAt];
    if (place === undefined || message === undefined) continue;
    messages[place.joinedAt] = { ...message, content: markAt(message.content, place.end - 1, cacheControl) };
  }
  return messages;
}

function markAt<Item extends object>(items: readonly Item[], at: number, cacheControl: CacheControl): readonly Item[] {
  return items.map((item, position) => (position === at ? { ...item, cache_control: cacheControl } : item));
}

function markSystem(system: string, cacheControl: CacheControl): readonly WireBlock[] {
  return [{ type: "text", text: system, cache_control: cacheControl }];
}
