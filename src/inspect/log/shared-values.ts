// Writes each long value in a log once. It gets a number where it first appears, as in `{"=":[7,value]}`. Later equal values are written as
// `{"@":7}`. An object that looks like such a mark is written as `{"~":object}`.

import { createHash } from "node:crypto";
import { isRecord } from "../../core/kit.ts";
import type { Json } from "../../core/index.ts";
import { isList, marks, wrongMark } from "./shared-reader.ts";

/**
 * Values at least this long (in characters of JSON) get a number and are written only once. For numbered values inside a value, only the
 * length of the reference counts.
 */
const minShared = 128;

const referenceLength = '{"@":100}'.length;

/** A numbered value. `digest` identifies its content. */
class Shared {
  readonly digest: string;
  readonly parts: readonly Part[];

  constructor(digest: string, parts: readonly Part[]) {
    this.digest = digest;
    this.parts = parts;
  }
}

type Part = string | Shared;

/** JSON text, a numbered value, or the parts of a short value that contains numbered values. */
type Piece = Part | readonly Part[];

/** A value that is ready to be written. Equal values have equal keys. */
export class Measured {
  readonly piece: Piece;

  constructor(piece: Piece) {
    this.piece = piece;
  }

  get key(): string {
    return typeof this.piece === "string" ? this.piece : keyOf(partsOf(this.piece));
  }
}

/** JSON data, parts of which may already be `Measured`. */
export type Writable = Json | Measured | readonly Writable[] | { readonly [key: string]: Writable | undefined };

export function measure(value: Writable): Measured {
  return value instanceof Measured ? value : new Measured(pieceOf(value));
}

/** Prepares a list that gets no number of its own, because no other line repeats it. */
export function measureList(items: readonly Writable[]): Measured {
  const parts: Part[] = ["["];
  items.forEach((item, index) => {
    if (index > 0) parts.push(",");
    parts.push(...partsOf(measure(item).piece));
  });
  parts.push("]");
  return new Measured(parts);
}

function partsOf(piece: Piece): readonly Part[] {
  return typeof piece === "string" || piece instanceof Shared ? [piece] : piece;
}

class Joined {
  readonly #parts: Part[] = [];
  #text = "";
  #length = 0;

  add(piece: Piece): void {
    if (typeof piece === "string") {
      this.#text += piece;
      this.#length += piece.length;
    } else if (piece instanceof Shared) {
      this.#parts.push(this.#text, piece);
      this.#text = "";
      this.#length += referenceLength;
    } else {
      for (const part of piece) this.add(part);
    }
  }

  end(): Piece {
    const parts = [...this.#parts, this.#text];
    if (this.#length >= minShared) return toShared(parts);
    return parts.length === 1 ? this.#text : parts;
  }
}

function toShared(parts: readonly Part[]): Shared {
  const hash = createHash("sha256").update(keyOf(parts)).digest("base64url");
  return new Shared(hash.slice(0, 27), parts);
}

/**
 * Joins parts into a key. The key contains the digest of each numbered value, so a value is hashed only once, even deep inside other
 * values.
 */
function keyOf(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === "string" ? part : `{"@":"${part.digest}"}`)).join("");
}

/**
 * Converts a value to its pieces. `read` reads the marks, such as references, in data from a log. Without `read`, the data contains no
 * marks.
 */
function pieceOf(value: Writable, read?: ReadMark): Piece {
  if (value instanceof Measured) return value.piece;
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value);
    return text.length < minShared ? text : toShared([text]);
  }
  return isList(value) ? pieceOfList(value, read) : pieceOfRecord(value, read);
}

function pieceOfList(items: readonly Writable[], read?: ReadMark): Piece {
  const joined = new Joined();
  joined.add("[");
  items.forEach((item, index) => {
    if (index > 0) joined.add(",");
    joined.add(pieceOf(item, read));
  });
  joined.add("]");
  return joined.end();
}

function pieceOfRecord(value: Fields, read?: ReadMark): Piece {
  const keys = Object.keys(value);
  const [mark = ""] = keys;
  const isMarked = keys.length === 1 && marks.has(mark);
  if (isMarked && read !== undefined) return read(mark, (value[mark] ?? null) as Json);
  const joined = new Joined();
  joined.add(isMarked ? '{"~":' : "");
  addFields(joined, value, read);
  joined.add(isMarked ? "}" : "");
  return joined.end();
}

type ReadMark = (mark: string, inner: Json) => Piece;
type Fields = { readonly [key: string]: Writable | undefined };

function addFields(joined: Joined, value: Fields, read?: ReadMark): void {
  let before = "{";
  for (const key of Object.keys(value)) {
    const field = value[key];
    if (field === undefined) continue;
    joined.add(`${before}${JSON.stringify(key)}:`);
    joined.add(pieceOf(field, read));
    before = ",";
  }
  joined.add(before === "{" ? "{}" : "}");
}

/** The numbered values of one log, for its writer. Stores a digest of each value, not the value. */
export class SharedValues {
  readonly #numbers = new Map<string, number>();
  readonly #byNumber = new Map<number, Shared>();
  #next = 0;

  toText({ piece }: Measured): string {
    return partsOf(piece)
      .map((part) => (typeof part === "string" ? part : this.#toMark(part)))
      .join("");
  }

  #toMark({ digest, parts }: Shared): string {
    const known = this.#numbers.get(digest);
    if (known !== undefined) return `{"@":${known}}`;
    const number = this.#next;
    this.#next += 1;
    this.#numbers.set(digest, number);
    return `{"=":[${number},${this.toText(new Measured(parts))}]}`;
  }

  /** Reads a value from an existing log, and remembers its numbers. */
  learn(value: Json): Measured {
    return new Measured(pieceOf(value, (mark, inner) => this.#learnMark(mark, inner)));
  }

  /** Releases memory that only `learn` needs. Call it after the last `learn`. */
  endLearning(): void {
    this.#byNumber.clear();
  }

  #learnMark(mark: string, inner: Json): Piece {
    if (mark === "~") return this.#learnEscaped(inner);
    if (mark === "@") return this.#byNumber.get(inner as number) ?? refuseMark(wrongMark);
    const [number, value = null] = isList(inner) ? inner : [];
    if (typeof number !== "number") throw new TypeError(wrongMark);
    const { piece } = this.learn(value);
    const { digest } = piece instanceof Shared ? piece : toShared(partsOf(piece));
    const shared = new Shared(digest, []);
    this.#numbers.set(shared.digest, number);
    this.#byNumber.set(number, shared);
    this.#next = Math.max(this.#next, number + 1);
    return shared;
  }

  #learnEscaped(inner: Json): Piece {
    const joined = new Joined();
    joined.add('{"~":');
    if (!isRecord(inner)) throw new TypeError(wrongMark);
    addFields(joined, inner, (mark, nested) => this.#learnMark(mark, nested));
    joined.add("}");
    return joined.end();
  }
}

function refuseMark(problem: string): never {
  throw new TypeError(problem);
}
