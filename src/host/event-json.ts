// An event as JSON, whatever a tool put into it.

import { describeValue, type LoopEvent } from "../core/entry-kit.ts";

/** Events for logs, not for users. */
const internal: ReadonlySet<LoopEvent["type"]> = new Set(["hidden-notice", "listener-error"]);

/** True if an event is sent only with `includeMetadata`. */
export function isInternal({ type }: LoopEvent): boolean {
  return internal.has(type);
}

/** Writes an event as JSON. Leaves out the metadata of results unless it is wanted. Never throws. */
export function toEventJson(event: LoopEvent, includeMetadata: boolean): string {
  const sent = event.type === "tool-end" && !includeMetadata ? withoutMetadata(event) : event;
  return stringify(sent) ?? stringify(Object.fromEntries(Object.entries(sent).map(describeField))) ?? "{}";
}

function withoutMetadata(event: Extract<LoopEvent, { readonly type: "tool-end" }>): LoopEvent {
  const { metadata: _, ...rest } = event;
  return rest;
}

/** Describes a field that has no JSON: one with a cycle or a bigint, or whose `toJSON` throws. */
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
