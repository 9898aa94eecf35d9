import type { LoopEvent } from "../core/entry-kit.ts";

/** The maximum number of values to count in one event. Counting a larger result would delay the run. */
const mostValues = 10_000;

/** Estimates the memory that an event uses, in bytes. Strings and binary data count by length, and other values by a fixed size. */
export function countEventBytes(event: LoopEvent): number {
  const seen = new Set<object>();
  const todo: unknown[] = [event];
  let bytes = 0;
  for (let count = 0; count < mostValues; count += 1) {
    const value = todo.pop();
    if (typeof value === "string") bytes += 2 * value.length;
    else if (typeof value === "object" && value !== null && !seen.has(value)) {
      seen.add(value);
      bytes += ArrayBuffer.isView(value) ? value.byteLength : addFields(value, todo);
    }
    if (todo.length === 0) break;
    bytes += 16;
  }
  return bytes;
}

function addFields(value: object, todo: unknown[]): number {
  try {
    const fields: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (let index = 0; index < Math.min(fields.length, mostValues); index += 1) todo.push(fields[index]);
    return 32 + 8 * fields.length;
  } catch {
    // The event may contain a getter or a proxy that throws. Such a value counts as 0 bytes.
    return 0;
  }
}
