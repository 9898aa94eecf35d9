// Puts the arguments of a call together that arrive value by value, each under its JSON Path (RFC 9535).

import { isRecord, textOf, type UnknownRecord } from "../core/provider-kit.ts";

/** A key of an object, or a position in an array. */
type PathSegment = string | number;

/** Deeper than any argument: what is nested further is not read. */
const deepest = 64;

const segmentAt = /\.([^.[\]*]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]/y;

/**
 * The segments of a path that names one value, such as `$.a.b[0]["c d"]`. Undefined for anything else: a wildcard, a slice, a path of
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

/** The escapes are those of JSON, but for the quote that a name in single quotes has to escape. */
function unquote(quoted: string): string | undefined {
  const inside = quoted.slice(1, -1);
  const escaped = quoted.startsWith("'") ? inside.replace(/\\'|"/g, (found) => (found === '"' ? '\\"' : "'")) : inside;
  try {
    return String(JSON.parse(`"${escaped}"`));
  } catch {
    return undefined;
  }
}

/** One value, or one more piece of a text. */
interface WrittenValue {
  readonly path: readonly PathSegment[];
  /** How many segments of the path there were before; all of them where a text goes on. */
  readonly known: number;
  /** The value, or the piece, as JSON. */
  readonly json: string;
  /** Whether the text goes on. */
  readonly isOpen: boolean;
}

/** The text so far. */
interface ArgumentsText {
  /** The text that a value adds. */
  write(value: WrittenValue): string;
  /** The text that is left once the last value is written. */
  end(): string;
}

/**
 * Makes an empty text. It goes on as long as the values come in the order of a text, as a model writes them. From the first one on that
 * does not, such as a field of an object that was left, nothing more can be told.
 */
function createArgumentsText(): ArgumentsText {
  let started = false;
  let lost = false;
  /** The place of the latest value, and whether it is a text that goes on. */
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

/** Leaves what the value before stood in, and enters what this one stands in. */
function toHead({ path, known }: WrittenValue, before: readonly PathSegment[] | undefined): string {
  let head = before === undefined ? "{" : `${closersOf(before, known + 1)},`;
  for (let depth = known; depth < path.length; depth += 1) {
    const segment = path[depth];
    if (typeof segment === "string") head += `${JSON.stringify(segment)}:`;
    if (depth < path.length - 1) head += typeof path[depth + 1] === "number" ? "[" : "{";
  }
  return head;
}

/** Closes the lists and objects from the innermost one to that of the segment at a depth. */
function closersOf(path: readonly PathSegment[], depth: number): string {
  let closers = "";
  for (let inner = path.length - 1; inner >= depth; inner -= 1) closers += typeof path[inner] === "number" ? "]" : "}";
  return closers;
}

/** The arguments of one call while they come in. */
export interface PartialArguments {
  /** Takes one entry of `partialArgs`. Returns what it adds to the text of the arguments, as far as that can be told. */
  add(entry: unknown): string;
  /** The fault that they would have if they were complete now: they contradict themselves, or a text was to go on. */
  readonly problem: "malformed" | "truncated" | undefined;
  /** The rest of the text once they are complete. */
  end(): string;
  /** All of them, as JSON. */
  toText(): string;
}

type Scalar = string | number | boolean | null;

interface Leaf {
  readonly kind: "leaf";
  value: Scalar;
  /** Whether it is a text of which more is to come. */
  isOpen: boolean;
}

/** A value by itself. An object is a map, so that its keys are no more than data. */
type ArgumentNode =
  | { readonly kind: "object"; readonly fields: Map<string, ArgumentNode> }
  | { readonly kind: "array"; readonly items: ArgumentNode[] }
  | Leaf;

/**
 * Makes empty arguments. What contradicts itself is not guessed at: a second value for a complete one, a gap in a list, a path that
 * does not name one value.
 */
export function createPartialArguments(): PartialArguments {
  const root: ArgumentNode = { kind: "object", fields: new Map() };
  const text = createArgumentsText();
  let isBroken = false;
  let openTexts = 0;

  /** Undefined where an entry contradicts what there is. */
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
  /** How many segments of the path there were before. */
  readonly known: number;
}

/** The place of a value, made where there is none. Undefined where something else stands there. */
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
