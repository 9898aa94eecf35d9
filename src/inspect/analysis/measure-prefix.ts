// Measures how much of a request is also the beginning of the next request. Services cache requests in the order tools, system, messages.

import type { LoggedRequest } from "../log/run-log.ts";
import { isSameText, jsonLength, sharedLength } from "./json-parts.ts";

/** The place at which two requests begin to differ: a tool, the system text or a message, and the characters before it. */
export interface PrefixEnd {
  readonly part: "tools" | "system" | "messages";
  /** The position of the tool or the message. 0 for the system text. */
  readonly index: number;
}

export interface Prefix {
  /** The characters of the previous request as JSON: tools, system text and messages. */
  readonly chars: number;
  /** The characters that the next request begins with. */
  readonly keptChars: number;
  /** Undefined if the next request begins with the whole previous request. */
  readonly end: PrefixEnd | undefined;
}

/** Measures the tools and the system text. */
export function measureHead(previous: LoggedRequest, next: LoggedRequest): Prefix {
  const lengths = previous.tools.map(jsonLength);
  const toolChars = lengths.reduce((sum, length) => sum + length, 0);
  const chars = toolChars + jsonLength(previous.system);
  if (!isSameText(previous.tools, next.tools)) {
    const found = previous.tools.findIndex((tool, at) => !isSameText(tool, next.tools[at]));
    // Without a difference, the next request has more tools after these.
    const index = found === -1 ? previous.tools.length : found;
    const before = lengths.slice(0, index).reduce((sum, length) => sum + length, 0);
    const keptChars = before + (found === -1 ? 0 : sharedLength(previous.tools[index], next.tools[index]));
    return { chars, keptChars, end: { part: "tools", index } };
  }
  if (previous.system === next.system) return { chars, keptChars: chars, end: undefined };
  return { chars, keptChars: toolChars + sharedLength(previous.system, next.system), end: { part: "system", index: 0 } };
}
