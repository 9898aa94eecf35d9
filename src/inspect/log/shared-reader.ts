// Reads the values of a log that were written once: docs/run-log.md describes the marks that stand for them.

import { isRecord, type Json } from "../../core/entry-kit.ts";

export const marks: ReadonlySet<string> = new Set(["=", "@", "~"]);

export const wrongMark = "has a reference to a value that is not in the log";

export function isList<T>(value: T): value is Extract<T, readonly unknown[]> {
  return Array.isArray(value);
}

/** Restores the values of a log. Equal values are the same object. */
export class SharedReader {
  readonly #values = new Map<number, Json>();

  /** Returns a parsed value with the values of its marks. May change the value itself. Throws a TypeError for a wrong mark. */
  read(value: Json): Json {
    if (typeof value !== "object" || value === null) return value;
    if (isList(value)) {
      const items = value as Json[];
      for (let index = 0; index < items.length; index++) items[index] = this.read(items[index] ?? null);
      return value;
    }
    const fields = value as { [key: string]: Json };
    const keys = Object.keys(fields);
    const [mark = ""] = keys;
    if (keys.length === 1 && marks.has(mark)) return this.#readMark(mark, fields[mark] ?? null);
    return this.#readFields(fields, keys);
  }

  #readFields(fields: { [key: string]: Json }, keys: readonly string[]): Json {
    for (const key of keys) {
      const field = fields[key];
      if (typeof field !== "object" || field === null) continue;
      const read = this.read(field);
      // A plain assignment to "__proto__" would replace the prototype.
      if (read !== field)
        Object.defineProperty(fields, key, { value: read, writable: true, enumerable: true, configurable: true });
    }
    return fields;
  }

  #readMark(mark: string, inner: Json): Json {
    if (mark === "~" && isRecord(inner)) return this.#readFields(inner as { [key: string]: Json }, Object.keys(inner));
    if (mark === "=" && isList(inner)) {
      const [number, value] = inner;
      if (typeof number !== "number" || value === undefined) throw new TypeError(wrongMark);
      const read = this.read(value);
      this.#values.set(number, read);
      return read;
    }
    const known = mark === "@" && typeof inner === "number" ? this.#values.get(inner) : undefined;
    if (known === undefined) throw new TypeError(wrongMark);
    return known;
  }
}
