// Marks for the service's prompt cache. A mark is laid over a copy, so that what is sent again is the same but for its marks.
//
// The service keeps the prefix up to each mark, takes at most 4 marks, and looks back 20 blocks from each for a prefix that it
// has kept. Four marks: the tools, the system text, the end of what the request before ended with, which is found whatever the
// size of the turn in between, and the end of this request. Fact: platform.claude.com/docs/en/build-with-claude/prompt-caching.

import type { CacheControl } from "./messages-options.ts";
import type { WireBlock, WireMessage } from "./messages-wire.ts";

/** A message that may be made of several of one role. */
export interface JoinedMessage {
  readonly message: WireMessage;
  /** How many of its blocks come before the last one that was joined to it; 0 where it is a single message. */
  readonly stableBlocks: number;
}

/** Marks the last of some blocks or tools. */
export function markLast<Item extends object>(items: readonly Item[], cacheControl: CacheControl): readonly Item[] {
  return markAt(items, items.length - 1, cacheControl);
}

/**
 * Marks the last two messages of the user's side. In the last one the mark comes before the part that was joined to it last:
 * there stand context items, which have moved on in the next request, and messages that the mark of that request will find.
 */
export function markMessages(joined: readonly JoinedMessage[], cacheControl: CacheControl): readonly WireMessage[] {
  const messages = joined.map(({ message }) => message);
  let marks = 0;
  for (let position = joined.length - 1; position >= 0 && marks < 2; position -= 1) {
    const { message, stableBlocks } = joined[position] ?? {};
    if (message?.role !== "user") continue;
    const end = marks === 0 && stableBlocks !== undefined && stableBlocks > 0 ? stableBlocks : message.content.length;
    messages[position] = { ...message, content: markAt(message.content, end - 1, cacheControl) };
    marks += 1;
  }
  return messages;
}

function markAt<Item extends object>(items: readonly Item[], at: number, cacheControl: CacheControl): readonly Item[] {
  return items.map((item, position) => (position === at ? { ...item, cache_control: cacheControl } : item));
}

/** A system text as blocks, so that it can be marked. */
export function markSystem(system: string, cacheControl: CacheControl): readonly WireBlock[] {
  return [{ type: "text", text: system, cache_control: cacheControl }];
}
