import { isRecord, textOf } from "../core/kit.ts";
import type { UnknownRecord } from "../shared/guards.ts";

type PathSegment = string | number;

const deepest = 64;

const segmentAt = /\.([^.[\]*]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]/y;

/**
 * Parses an RFC 9535 path that identifies one value, such as `$.a.b[0]["c d"]`. Returns undefined for any other path, such as a
 * path with a wildcard, a slice or more than 64 segments.
 */
export function parseJsonPath(path: string): readonly PathSegment[] | undefined {
  if (!path.startsWith("$")) return undefined;
  const segments: PathSegment[] = [];
  let position = 1;
  while (position < path.length) {
    segmentAt.lastIndex = position;
    const found = segmentAt.exec(path);
    const segment = found === null ? undefined : toSegment(found);
    if (segment === undefined || segments.length === deepest) return undefined;
    segments.push(segment);
    position = segmentAt.lastIndex;
  }
  return segments;
}

function toSegment([, key, index, quoted]: RegExpExecArray): PathSegment | undefined {
  if (index !== undefined) return Number(index);
  return quoted === undefined ? key : unquote(quoted);
}

/** Removes a name's quotes, and decodes the same escapes as JSON. A single-quoted name may also contain `\'` and unescaped double quotes. */
function unquote(quoted: string): string | undefined {
  const inside = quoted.slice(1, -1);
  const escaped = quoted.startsWith("'") ? inside.replace(/\\'|"/g, (found) => (found === '"' ? '\\"' : "'")) : inside;
  try {
    return String(JSON.parse(`"${escaped}"`));
  } catch {
    return undefined;
  }
}

type Scalar = string | number | boolean | null;

/**
 * Writes the JSON text of the arguments as their values arrive. The service sends the values in the order of the JSON text. A value
 * inside an object or array that has already ended, a second value for the same path, and a gap in an array therefore make the arguments
 * malformed.
 */
export class PartialArguments {
  #text = "";
  #last: readonly PathSegment[] = [];
  /** The paths of values, objects and arrays that are complete. */
  readonly #ended = new Set<string>();
  /** True while a string is incomplete. */
  #isOpen = false;
  #isBroken = false;

  /** "malformed" if an entry could not follow the previous entries, "truncated" if a string is incomplete. */
  get problem(): "malformed" | "truncated" | undefined {
    if (this.#isBroken) return "malformed";
    return this.#isOpen ? "truncated" : undefined;
  }

  /** Adds an entry of `partialArgs`. Returns the JSON text to send, which is empty if the entry cannot follow the previous entries. */
  add(entry: unknown): string {
    const added = isRecord(entry) && !this.#isBroken ? this.#addOne(entry) : undefined;
    this.#isBroken ||= added === undefined;
    this.#text += added ?? "";
    return added ?? "";
  }

  toText(): string {
    return this.#text === "" ? "{}" : `${this.#text}${this.#isOpen ? '"' : ""}${closersOf(this.#last, 1)}}`;
  }

  #addOne(entry: UnknownRecord): string | undefined {
    const path = parseJsonPath(textOf(entry.jsonPath));
    const value = readScalar(entry);
    const json = path === undefined || value === undefined ? undefined : this.#write(path, value);
    if (path === undefined || json === undefined) return undefined;
    this.#last = path;
    this.#isOpen = typeof value === "string" && entry.willContinue === true;
    return this.#isOpen ? json.slice(0, -1) : json;
  }

  #write(path: readonly PathSegment[], value: Scalar): string | undefined {
    const last = this.#last;
    const shared = sharedLength(last, path);
    if (this.#isOpen) {
      const isSame = path.length === last.length && shared === path.length;
      return isSame && typeof value === "string" ? JSON.stringify(value).slice(1) : undefined;
    }
    if (!follows(last, path) || this.#ended.has(JSON.stringify(path.slice(0, shared + 1)))) return undefined;
    this.#ended.add(JSON.stringify(last.slice(0, shared + 1)));
    return toHead(last, path) + JSON.stringify(value);
  }
}

function readScalar({ stringValue, numberValue, boolValue, nullValue }: UnknownRecord): Scalar | undefined {
  if (typeof stringValue === "string") return stringValue;
  if (typeof numberValue === "number" && Number.isFinite(numberValue)) return numberValue;
  if (typeof boolValue === "boolean") return boolValue;
  return nullValue === undefined ? undefined : null;
}

function sharedLength(one: readonly PathSegment[], other: readonly PathSegment[]): number {
  const end = one.findIndex((segment, depth) => segment !== other[depth]);
  return end === -1 ? one.length : end;
}

/** True if a value at `path` can follow a value at `last` in JSON text. `last` is empty before the first value. */
function follows(last: readonly PathSegment[], path: readonly PathSegment[]): boolean {
  const shared = sharedLength(last, path);
  const [before, next] = [last[shared], path[shared]];
  const isFirst = last.length === 0 && typeof next === "string";
  const isNextItem = typeof before === "number" && next === before + 1;
  const isOtherKey = typeof before === "string" && typeof next === "string";
  const startsAt0 = path.slice(shared + 1).every((segment) => typeof segment === "string" || segment === 0);
  return (isFirst || isNextItem || isOtherKey) && startsAt0;
}

function toHead(last: readonly PathSegment[], path: readonly PathSegment[]): string {
  const known = sharedLength(last, path);
  let head = last.length === 0 ? "{" : `${closersOf(last, known + 1)},`;
  for (let depth = known; depth < path.length; depth += 1) {
    const segment = path[depth];
    if (typeof segment === "string") head += `${JSON.stringify(segment)}:`;
    if (depth < path.length - 1) head += typeof path[depth + 1] === "number" ? "[" : "{";
  }
  return head;
}

function closersOf(path: readonly PathSegment[], depth: number): string {
  let closers = "";
  for (let inner = path.length - 1; inner >= depth; inner -= 1) closers += typeof path[inner] === "number" ? "]" : "}";
  return closers;
}
