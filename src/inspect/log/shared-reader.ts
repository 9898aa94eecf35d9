// Replaces the marks in a log with the values they refer to. docs/run-log.md describes the marks.

import { isRecord } from "../../core/kit.ts";
import type { Json } from "../../core/index.ts";

export const marks: ReadonlySet<string> = new Set(["=", "@", "~"]);

export const wrongMark = "has a reference to a value that is not in the log";

export function isList<T>(value: T): value is Extract<T, readonly unknown[]> {
  return Array.isArray(value);
}

/** The maximum nesting depth of a line. The writer allows values with 1,000 levels, and messages and lists add some more. */
const maxLevels = 1_100;
const tooDeep = `has a value of more than ${maxLevels} levels`;

/**
 * The maximum size of a line with references, in values and characters. Without this limit, a few short lines could expand to gigabytes.
 */
const maxExpanded = 2 ** 24;

/** A numbered value. `size` and `levels` include the numbered values inside `value`. */
interface Known {
  readonly value: Json;
  readonly size: number;
  readonly levels: number;
}

type ParsedFields = { [key: string]: Json };

export class SharedReader {
  readonly #values = new Map<number, Known>();
  /** The size of all earlier lines, without the content of references. */
  #written = 0;
  /** The size of the current line so far. `#referred` is the part of `#size` that comes from references. */
  #size = 0;
  #referred = 0;
  /** How many objects and arrays contain the current value. `#deepest` is the highest `#depth` so far. */
  #depth = 0;
  #deepest = 0;

  /**
   * Replaces the marks in a parsed line, such as references, with the values that they stand for. Throws a TypeError for a line that is too
   * large, or has an invalid mark.
   */
  readLine(line: ParsedFields): void {
    [this.#size, this.#referred, this.#depth, this.#deepest] = [0, 0, 0, 0];
    try {
      this.#readFields(line, Object.keys(line));
    } catch (error) {
      // Too many nested marks overflow the stack, so this error also means that the line is nested too deeply.
      throw error instanceof RangeError ? new TypeError(tooDeep) : error;
    }
    this.#written += this.#size - this.#referred;
  }

  #read(value: Json): Json {
    if (typeof value !== "object" || value === null) {
      this.#size += sizeOf(value);
      return value;
    }
    if (isList(value)) return this.#readItems(value as Json[]);
    const fields = value as ParsedFields;
    const keys = Object.keys(fields);
    const [mark = ""] = keys;
    if (keys.length === 1 && marks.has(mark)) return this.#readMark(mark, fields[mark] ?? null);
    return this.#readFields(fields, keys);
  }

  #readItems(items: Json[]): Json {
    this.#enter();
    for (let index = 0; index < items.length; index++) items[index] = this.#read(items[index] ?? null);
    this.#depth -= 1;
    return items;
  }

  #readFields(fields: ParsedFields, keys: readonly string[]): Json {
    this.#enter();
    for (const key of keys) {
      const field = fields[key] ?? null;
      this.#size += key.length;
      const read = this.#read(field);
      // Uses `defineProperty`, because assigning to "__proto__" would replace the prototype.
      if (read !== field)
        Object.defineProperty(fields, key, { value: read, writable: true, enumerable: true, configurable: true });
    }
    this.#depth -= 1;
    return fields;
  }

  #enter(): void {
    this.#size += 1;
    this.#depth += 1;
    this.#noteDepth(this.#depth);
  }

  #noteDepth(depth: number): void {
    if (depth > maxLevels) throw new TypeError(tooDeep);
    this.#deepest = Math.max(this.#deepest, depth);
  }

  #readMark(mark: string, inner: Json): Json {
    if (mark === "@") return this.#readReference(inner);
    return mark === "=" ? this.#readNumbered(inner) : this.#readEscaped(inner);
  }

  #readEscaped(inner: Json): Json {
    if (!isRecord(inner)) throw new TypeError(wrongMark);
    return this.#readFields(inner as ParsedFields, Object.keys(inner));
  }

  #readNumbered(inner: Json): Json {
    const [number, value] = isList(inner) ? inner : [];
    if (typeof number !== "number" || value === undefined) throw new TypeError(wrongMark);
    const [size, deepest] = [this.#size, this.#deepest];
    this.#deepest = this.#depth;
    const read = this.#read(value);
    this.#values.set(number, { value: read, size: this.#size - size, levels: this.#deepest - this.#depth });
    this.#deepest = Math.max(this.#deepest, deepest);
    return read;
  }

  #readReference(number: Json): Json {
    const known = typeof number === "number" ? this.#values.get(number) : undefined;
    if (known === undefined) throw new TypeError(wrongMark);
    this.#size += known.size;
    this.#referred += known.size;
    this.#noteDepth(this.#depth + known.levels);
    // Allows twice the log's size so far, because a log may contain a long result twice: with its number, and as a reference in the next
    // request.
    const most = Math.max(maxExpanded, 2 * (this.#written + this.#size - this.#referred));
    if (this.#size > most) throw new TypeError(`refers to more than ${maxExpanded} values and characters`);
    return known.value;
  }
}

function sizeOf(value: Json): number {
  return typeof value === "string" ? value.length + 1 : 1;
}
