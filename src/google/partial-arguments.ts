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

/** Decodes the same escapes as JSON. A single-quoted name may also contain `\'` and unescaped double quotes. */
function unquote(quoted: string): string | undefined {
  const inside = quoted.slice(1, -1);
  const escaped = quoted.startsWith("'") ? inside.replace(/\\'|"/g, (found) => (found === '"' ? '\\"' : "'")) : inside;
  try {
    return String(JSON.parse(`"${escaped}"`));
  } catch {
    return undefined;
  }
}

export interface PartialArguments {
  /** Adds an entry of `partialArgs`. Returns the JSON text to send, which is empty if the entry cannot follow the entries before it. */
  add(entry: unknown): string;
  /** "malformed" if an entry could not follow the entries before it, "truncated" if a string is incomplete. */
  readonly problem: "malformed" | "truncated" | undefined;
  toText(): string;
}

type Scalar = string | number | boolean | null;

/**
 * Writes the JSON text of the arguments while their values arrive. The service sends the values in the order of the text, so a value
 * inside an object or array that has ended, a second value for the same path, and a gap in an array are malformed.
 */
export function createPartialArguments(): PartialArguments {
  let text = "";
  let last: readonly PathSegment[] = [];
  /** The paths of the values, objects and arrays that have ended. */
  const ended = new Set<string>();
  /** True inside a string that goes on. */
  let isOpen = false;
  let isBroken = false;

  function write(path: readonly PathSegment[], value: Scalar): string | undefined {
    const shared = sharedLength(last, path);
    if (!isOpen) {
      if (!follows(last, path) || ended.has(JSON.stringify(path.slice(0, shared + 1)))) return undefined;
      ended.add(JSON.stringify(last.slice(0, shared + 1)));
      return toHead(last, path) + JSON.stringify(value);
    }
    const isSame = path.length === last.length && shared === path.length;
    return isSame && typeof value === "string" ? JSON.stringify(value).slice(1) : undefined;
  }

  function addOne(entry: UnknownRecord): string | undefined {
    const path = parseJsonPath(textOf(entry.jsonPath));
    const value = readScalar(entry);
    const json = path === undefined || value === undefined ? undefined : write(path, value);
    if (path === undefined || json === undefined) return undefined;
    last = path;
    isOpen = typeof value === "string" && entry.willContinue === true;
    return isOpen ? json.slice(0, -1) : json;
  }

  return {
    add(entry) {
      const added = isRecord(entry) && !isBroken ? addOne(entry) : undefined;
      isBroken ||= added === undefined;
      text += added ?? "";
      return added ?? "";
    },
    get problem() {
      if (isBroken) return "malformed";
      return isOpen ? "truncated" : undefined;
    },
    toText: () => (text === "" ? "{}" : `${text}${isOpen ? '"' : ""}${closersOf(last, 1)}}`),
  };
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
