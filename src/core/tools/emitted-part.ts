import type { EmittedPart } from "../types/loop-event.ts";
import { edges } from "../utils/edges.ts";
import { toJson } from "../utils/json.ts";

/** Checks and copies a part that a tool sends to pages with `context.emit`. */
export function toEmittedPart(part: EmittedPart<unknown>): EmittedPart {
  edges.checkGiven?.("emit", part);
  return part.type === "text" ? { ...part } : { ...part, data: toJson(part.data) };
}
