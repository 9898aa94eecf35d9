// Writes events as JSON, even if a tool put values into an event that JSON cannot represent.

import { describeValue, isRecord, type LoopEvent, type UnknownRecord } from "../core/entry-kit.ts";

/** Events for your logs. Pages do not get them by default. */
const internal: ReadonlySet<LoopEvent["type"]> = new Set(["hidden-notice", "listener-error"]);

/** True if an event is sent only if `includeMetadata` is true. */
export function isInternal({ type }: LoopEvent): boolean {
  return internal.has(type);
}

/**
 * Writes an event as JSON. Unless `includeMetadata` is true, omits the metadata of results and the messages of errors, which may hold
 * secrets. Never throws.
 */
export function toEventJson(event: LoopEvent, includeMetadata: boolean): string {
  const sent = includeMetadata ? event : withoutInternals(event);
  return stringify(sent) ?? stringify(Object.fromEntries(Object.entries(sent).map(describeField))) ?? "{}";
}

function withoutInternals(event: LoopEvent): object {
  const { metadata: _, ...rest }: UnknownRecord = { ...event };
  const { error, reason } = rest;
  return {
    ...rest,
    ...(isRecord(error) && { error: withoutMessage(error) }),
    ...(isRecord(reason) && isRecord(reason["error"]) && { reason: { ...reason, error: withoutMessage(reason["error"]) } }),
  };
}

/** Keeps the facts of an error, such as its code. The message and the details of the service stay on the server. */
function withoutMessage({ name, code, status, retryable, retryAfterMs }: UnknownRecord): object {
  return { name, code, status, retryable, retryAfterMs };
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
