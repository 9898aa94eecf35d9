// Reads neutral messages, for those who write them in the words of another library.

import type { AssistantMessage, ToolCallPart, ToolResultPart } from "../types/message.ts";
import type { Json } from "../types/json.ts";
import { isRecord } from "./is-record.ts";

/** What of a turn any model can read: reasoning without its signature is refused, or means nothing to another one. */
export interface PlainTurn {
  /** All of its text, put together. */
  readonly text: string;
  readonly calls: readonly ToolCallPart[];
}

/** The text and the calls of a turn. */
export function readTurn({ content }: Pick<AssistantMessage, "content">): PlainTurn {
  let text = "";
  const calls: ToolCallPart[] = [];
  for (const part of content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "tool-call") calls.push(part);
  }
  return { text, calls };
}

/** The arguments of a call as an object: services want one back, which those of a call that was refused need not be. */
export function toArgumentsObject(args: Json): Json {
  return isRecord(args) ? args : { INVALID_ARGUMENTS: args };
}

/** Whether a result is no failure. A call that asked for a restart has done what it was to do. */
export function hasSucceeded({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return outcome === "completed" || outcome === "restarted";
}
