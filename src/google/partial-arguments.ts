// Assembles the arguments of a call that arrive value by value, each with its JSON Path (RFC 9535).

import { isRecord, textOf, type UnknownRecord } from "../core/provider-kit.ts";

/** A key of an object, or an index of an array. */
type PathSegment = string | number;

/** Deeper than any real argument. Values with more levels are not read. */
const deepest = 64;

const segmentAt = /\.([^.[\]*]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]/y;

/**
 * Parses a path that identifies one value, such as `$.a.b[0]["c d"]`. Undefined for anything else: a wildcard, a slice, a path of
 * more than 64 segments.
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

/** Reads a quoted name. Its escapes are those of JSON, except for the quote in a single-quoted name. */
function unquote(quoted: string): string | undefined {
  const inside = quoted.slice(1, -1);
  const escaped = quoted.startsWith("'") ? inside.replace(/\\'|"/g, (found) => (found === '"' ? '\\"' : "'")) : inside;
  try {
    return String(JSON.parse(`"${escaped}"`));
  } catch {
    return undefined;
  }
}

/** A value, or the next part of a text. */
interface WrittenValue {
  readonly path: readonly PathSegment[];
  /** How many segments of the path existed before; all of them if a text continues. */
  readonly known: number;
  /** The value, or the part of a text, as JSON. */
  readonly json: string;
  /** True if the text continues. */
  readonly isOpen: boolean;
}

/** The JSON text so far. */
interface ArgumentsText {
  /** Returns the text that a value adds. */
  write(value: WrittenValue): string;
  /** Returns the rest of the text after the last value. */
  end(): string;
}

/**
 * Makes an empty text. It grows as long as the values come in the order of a JSON text, as models write them. After the first
 * value that does not, such as a field of a closed object, nothing more can be sent.
 */
function createArgumentsText(): ArgumentsText {
  let started = false;
  let lost = false;
  /** The path of the latest value. `isOpen` is true if it is a text that continues. */
  let path: readonly PathSegment[] = [];
  let isOpen = false;

  function follows(value: WrittenValue): boolean {
    if (!started) return true;
    const { known } = value;
    const goesOn = known === value.path.length;
    return isOpen === goesOn && value.path.slice(0, known).every((segment, depth) => segment === path[depth]);
  }

  return {
    write(value) {
      lost ||= !follows(value);
      if (lost) return "";
      const head = isOpen ? "" : toHead(value, started ? path : undefined);
      const body = isOpen ? value.json.slice(1) : value.json;
      started = true;
      ({ path, isOpen } = value);
      return head + (isOpen ? body.slice(0, -1) : body);
    },
    end() {
      if (lost) return "";
      return started ? closersOf(path, 1) + "}" : "{}";
    },
  };
}

/** Closes the containers of the value before, and opens those of this value. */
function toHead({ path, known }: WrittenValue, before: readonly PathSegment[] | undefined): string {
  let head = before === undefined ? "{" : `${closersOf(before, known + 1)},`;
  for (let depth = known; depth < path.length; depth += 1) {
    const segment = path[depth];
    if (typeof segment === "string") head += `${JSON.stringify(segment)}:`;
    if (depth < path.length - 1) head += typeof path[depth + 1] === "number" ? "[" : "{";
  }
  return head;
}

/** Closes the arrays and objects from the innermost one to the segment at `depth`. */
function closersOf(path: readonly PathSegment[], depth: number): string {
  let closers = "";
  for (let inner = path.length - 1; inner >= depth; inner -= 1) closers += typeof path[inner] === "number" ? "]" : "}";
  return closers;
}

/** The arguments of one call, as they arrive. */
export interface PartialArguments {
  /** Adds one entry of `partialArgs`. Returns its addition to the text of the arguments, as far as it can be sent. */
  add(entry: unknown): string;
  /** The problem that they would have if they ended now: they contradict themselves, or a text is incomplete. */
  readonly problem: "malformed" | "truncated" | undefined;
  /** Returns the rest of the text when they are complete. */
  end(): string;
  /** Returns all of them as JSON. */
  toText(): string;
}

type Scalar = string | number | boolean | null;

interface Leaf {
  readonly kind: "leaf";
  value: Scalar;
  /** True for a text that continues. */
  isOpen: boolean;
}

/** A value without its path. An object is a map, so that its keys are only data. */
type ArgumentNode =
  | { readonly kind: "object"; readonly fields: Map<string, ArgumentNode> }
  | { readonly kind: "array"; readonly items: ArgumentNode[] }
  | Leaf;

/**
 * Makes empty arguments. Contradictions are not repaired: a second value for a complete one, a gap in a list, a path that does
 * not identify one value.
 */
export function createPartialArguments(): PartialArguments {
  const root: ArgumentNode = { kind: "object", fields: new Map() };
  const text = createArgumentsText();
  let isBroken = false;
  let openTexts = 0;

  /** Adds an entry. Undefined if it contradicts the earlier ones. */
  function addOne(entry: UnknownRecord): string | undefined {
    const path = parseJsonPath(textOf(entry.jsonPath));
    const value = readScalar(entry);
    if (path === undefined || value === undefined) return undefined;
    const place = findPlace(root, path);
    if (place === undefined) return undefined;
    const { leaf, known } = place;
    const isNew = known < path.length;
    if (!isNew && !(leaf.isOpen && typeof leaf.value === "string" && typeof value === "string")) return undefined;
    const isOpen = typeof value === "string" && entry.willContinue === true;
    openTexts += Number(isOpen) - Number(leaf.isOpen);
    leaf.value = typeof value === "string" && !isNew ? String(leaf.value) + value : value;
    leaf.isOpen = isOpen;
    return text.write({ path, known, json: JSON.stringify(value), isOpen });
  }

  return {
    add(entry) {
      const added = isRecord(entry) && !isBroken ? addOne(entry) : undefined;
      isBroken ||= added === undefined;
      return added ?? "";
    },
    get problem() {
      if (isBroken) return "malformed";
      return openTexts > 0 ? "truncated" : undefined;
    },
    end: () => text.end(),
    toText: () => toText(root),
  };
}

function readScalar({ stringValue, numberValue, boolValue, nullValue }: UnknownRecord): Scalar | undefined {
  if (typeof stringValue === "string") return stringValue;
  if (typeof numberValue === "number" && Number.isFinite(numberValue)) return numberValue;
  if (typeof boolValue === "boolean") return boolValue;
  return nullValue === undefined ? undefined : null;
}

interface Place {
  readonly leaf: Leaf;
  /** How many segments of the path existed before. */
  readonly known: number;
}

/** Finds or makes the place of a value. Undefined if another value is there. */
function findPlace(root: ArgumentNode, path: readonly PathSegment[]): Place | undefined {
  let node = root;
  let known = 0;
  for (const [depth, segment] of path.entries()) {
    const child = childOf(node, segment);
    if (child !== undefined) known = depth + 1;
    const next = child ?? createNode(path, depth);
    if (child === undefined && !putChild(node, segment, next)) return undefined;
    node = next;
  }
  return node.kind === "leaf" ? { leaf: node, known } : undefined;
}

function childOf(node: ArgumentNode, segment: PathSegment): ArgumentNode | undefined {
  if (node.kind === "object" && typeof segment === "string") return node.fields.get(segment);
  return node.kind === "array" && typeof segment === "number" ? node.items[segment] : undefined;
}

function createNode(path: readonly PathSegment[], depth: number): ArgumentNode {
  if (depth === path.length - 1) return { kind: "leaf", value: null, isOpen: false };
  return typeof path[depth + 1] === "number" ? { kind: "array", items: [] } : { kind: "object", fields: new Map() };
}

function putChild(node: ArgumentNode, segment: PathSegment, child: ArgumentNode): boolean {
  if (node.kind === "object" && typeof segment === "string") node.fields.set(segment, child);
  else if (node.kind === "array" && segment === node.items.length) node.items.push(child);
  else return false;
  return true;
}

function toText(node: ArgumentNode): string {
  if (node.kind === "leaf") return JSON.stringify(node.value);
  if (node.kind === "array") return `[${node.items.map(toText).join(",")}]`;
  return `{${Array.from(node.fields, ([key, child]) => `${JSON.stringify(key)}:${toText(child)}`).join(",")}}`;
}
