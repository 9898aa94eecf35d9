import type { JsonSchema } from "../core/types/common.ts";
import { isRecord, type UnknownRecord } from "./guards.ts";
import { describeValue, quote } from "./texts.ts";

/**
 * Returns the reason why no object can match a schema, worded to follow the schema's name in messages. Returns "" if an object may match.
 * The arguments of a call are always an object.
 */
export function findRootProblem(schema: JsonSchema): string {
  // Returns early for most schemas, which need no search.
  if (schema["type"] === "object" && !limits.some((word) => Object.hasOwn(schema, word))) return "";
  return findNodeProblem(schema, schema, new Map()) ?? "";
}

/** Keywords that may reject every object even if the type is "object". */
const limits = ["$ref", "allOf", "anyOf", "oneOf", "enum", "const"];

/** True if an object may match `node`, which is a part of `root`. */
export function mayBeObject(node: unknown, root: JsonSchema): boolean {
  return findNodeProblem(node, root, new Map()) === undefined;
}

/** Returns a problem with a node. Reads each node once, because a schema may refer to itself, and a hostile one may do so many times. */
function findNodeProblem(node: unknown, root: JsonSchema, known: Map<object, string | undefined>): string | undefined {
  if (node === true) return undefined;
  if (!isRecord(node)) return `is ${describeValue(node)}, but must be an object or true`;
  if (known.has(node)) return known.get(node);
  known.set(node, undefined);
  const found = findOwnProblem(node, root) ?? findInnerProblem(node, (part) => findNodeProblem(part, root, known), root);
  known.set(node, found);
  return found;
}

function findOwnProblem(node: UnknownRecord, root: JsonSchema): string | undefined {
  const { $ref: reference, type, enum: values = "const" in node ? [node["const"]] : undefined } = node;
  const types = listIn(type ?? "object");
  if (!types.includes("object")) return `must have the type "object", but has ${types.map(describeValue).join(", ")}`;
  if (Array.isArray(values) && !values.some(isRecord)) return "must accept objects, but accepts only other values";
  const isLost = typeof reference === "string" && type === undefined && resolveReference(root, reference) === undefined;
  return isLost ? `refers to ${quote(reference)}, which it does not contain` : undefined;
}

function findInnerProblem(
  { $ref: reference, allOf = [], anyOf = [], oneOf = [] }: UnknownRecord,
  inner: (part: unknown) => string | undefined,
  root: JsonSchema,
): string | undefined {
  const target = typeof reference === "string" ? resolveReference(root, reference) : undefined;
  const unions = [anyOf, oneOf].map((branches) => {
    const problems = listIn(branches).map(inner);
    return problems.includes(undefined) ? undefined : problems[0];
  });
  return [...[target ?? true, ...listIn(allOf)].map(inner), ...unions].find((problem) => problem !== undefined);
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** Returns the part of a schema that a reference such as "#/$defs/city" points to. Undefined if there is none. */
export function resolveReference(root: JsonSchema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let found: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}
