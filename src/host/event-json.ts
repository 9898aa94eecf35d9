import { describeValue, isRecord, type LoopEvent, type UnknownRecord } from "../core/entry-kit.ts";

/** The types of events that are meant for the server's logs. Pages get these events only on request. */
const internal: ReadonlySet<LoopEvent["type"]> = new Set(["cache-break", "hidden-notice", "listener-error"]);

/** True for an event that is sent to pages only if `includeMetadata` is true. */
export function isInternal({ type }: LoopEvent): boolean {
  return internal.has(type);
}

/**
 * Converts an event to JSON. Never throws, even if a tool put values into the event that JSON cannot represent. Unless
 * `includeMetadata` is true, omits the metadata of tool results and the messages of errors, which may contain secrets.
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

/** Keeps only the safe fields of an error, such as its code, because its message may contain secrets. */
function withoutMessage({ name, code, status, retryable, retryAfterMs }: UnknownRecord): object {
  return { name, code, status, retryable, retryAfterMs };
}

/** Describes a value that JSON cannot represent: a cycle, a bigint, or an object whose `toJSON` throws. Keeps all other values. */
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
