// Writes events as JSON, even if a tool put values into an event that JSON cannot represent.

import { describeValue, type LoopEvent } from "../core/entry-kit.ts";

/** Events for your logs. Pages do not get them by default. */
const internal: ReadonlySet<LoopEvent["type"]> = new Set(["hidden-notice", "listener-error"]);

/** True if an event is sent only if `includeMetadata` is true. */
export function isInternal({ type }: LoopEvent): boolean {
  return internal.has(type);
}

/** Writes an event as JSON. Omits the metadata of results unless `includeMetadata` is true. Never throws. */
export function toEventJson(event: LoopEvent, includeMetadata: boolean): string {
  const sent = event.type === "tool-end" && !includeMetadata ? withoutMetadata(event) : event;
  return stringify(sent) ?? stringify(Object.fromEntries(Object.entries(sent).map(describeField))) ?? "{}";
}

function withoutMetadata(event: Extract<LoopEvent, { readonly type: "tool-end" }>): LoopEvent {
  const { metadata: _, ...rest } = event;
  return rest;
}

/** Replaces a value that JSON cannot represent by a description: a cycle, a bigint, or a value whose `toJSON` throws. */
function describeField([name, value]: [string, unknown]): [string, unknown] {
  return stringify(value) === undefined && value !== undefined ? [name, `(not sent: ${describeValue(value)})`] : [name, value];
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
