// Puts the arguments of one call together that come value by value, each under its JSON Path.

import { isRecord, textOf, type UnknownRecord } from "../core/provider-kit.ts";
import { createArgumentsText } from "./arguments-text.ts";
import { parseJsonPath, type PathSegment } from "./json-path.ts";

/** The arguments of one call while they come in. */
export interface PartialArguments {
  /** Takes one entry of `partialArgs`. Returns what it adds to the text of the arguments, as far as that can be told. */
  add(entry: unknown): string;
  /** What is wrong with them, were they complete now: they contradict themselves, or a text was to go on. */
  readonly problem: "malformed" | "truncated" | undefined;
  /** What is left of the text once they are complete. */
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
