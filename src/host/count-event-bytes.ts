import type { LoopEvent } from "../core/entry-kit.ts";

/** Values beyond this many are not looked at, so that a huge result does not hold up its run. */
const mostValues = 10_000;

/** Estimates the memory of an event, in bytes. Texts count fully, other values by a fixed size. */
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

/** Adds the fields of an object to a list. Returns the size of the object itself. A getter or a proxy of a tool may throw. */
function addFields(value: object, todo: unknown[]): number {
  try {
    const fields: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (let index = 0; index < Math.min(fields.length, mostValues); index += 1) todo.push(fields[index]);
    return 32 + 8 * fields.length;
  } catch {
    return 0;
  }
}
