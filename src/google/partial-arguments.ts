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

interface WrittenValue {
  readonly path: readonly PathSegment[];
  /**
   * The number of leading path segments that earlier values have created. If the value continues a string, all segments exist.
   */
  readonly known: number;
  readonly json: string;
  readonly isOpen: boolean;
}

interface ArgumentsText {
  write(value: WrittenValue): string;
  end(): string;
}

/**
 * Writes the JSON text of the arguments while their values arrive. If a value cannot follow the text so far, such as a field of an
 * object that is already closed, nothing more is written.
 */
function createArgumentsText(): ArgumentsText {
  let started = false;
  let lost = false;
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

function toHead({ path, known }: WrittenValue, before: readonly PathSegment[] | undefined): string {
  let head = before === undefined ? "{" : `${closersOf(before, known + 1)},`;
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

export interface PartialArguments {
  /** Adds an entry of `partialArgs`. Returns the JSON text to send, which is empty if the entry is out of order. */
  add(entry: unknown): string;
  /** "malformed" if entries of `partialArgs` contradict each other, "truncated" if a string is incomplete. */
  readonly problem: "malformed" | "truncated" | undefined;
  end(): string;
  toText(): string;
}

type Scalar = string | number | boolean | null;

interface Leaf {
  readonly kind: "leaf";
  value: Scalar;
  isOpen: boolean;
}

/** Objects are maps, so that a key such as "__proto__" is plain data. */
type ArgumentNode =
  | { readonly kind: "object"; readonly fields: Map<string, ArgumentNode> }
  | { readonly kind: "array"; readonly items: ArgumentNode[] }
  | Leaf;

/** A second value for the same path, a gap in an array, or a path that does not identify one value is malformed. */
export function createPartialArguments(): PartialArguments {
  const root: ArgumentNode = { kind: "object", fields: new Map() };
  const text = createArgumentsText();
  let isBroken = false;
  let openTexts = 0;

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
  readonly known: number;
}

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
