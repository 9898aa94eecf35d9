import { isRecord, listOf, recordOf } from "../core/kit.ts";
import type { Json, JsonSchema } from "../core/index.ts";
import { typeOf } from "../shared/adapters/fit-arguments.ts";
import { resolveReference } from "../shared/root-schema.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { createConverter, type ToolConverter } from "./tool-schemas.ts";

interface Conversion {
  readonly root: JsonSchema;
  /** The converted definitions for `$defs`, by name. */
  readonly definitions: Map<string, unknown>;
  /**
   * How many references in `allOf` may still be replaced with their targets. Without this limit, a schema that refers to itself would be
   * expanded forever.
   */
  inlines: number;
}

/**
 * Converts a tool's schema to Moonshot's flavor of JSON Schema (github.com/MoonshotAI/walle docs/walle.md). In this flavor, every node has
 * a type, except nodes with `anyOf` or `$ref`; references point to the root's `$defs`; and every required property is declared. The result
 * may accept more than the schema, so the run validates the arguments with the schema itself.
 */
export const toMoonshotTool: ToolConverter = /* @__PURE__ */ createConverter((root) => {
  const conversion: Conversion = { root, definitions: new Map(), inlines: 100 };
  const schema = convert(root, conversion);
  const $defs = Object.fromEntries(conversion.definitions);
  return conversion.definitions.size === 0 ? schema : { ...schema, $defs };
});

/** Keywords that contain schemas and that Moonshot's flavor does not support. */
const dropped = [
  ...["$defs", "definitions", "$schema", "$id", "$anchor", "$comment", "not", "if", "then", "else", "contains", "propertyNames"],
  ...["patternProperties", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"],
];

const anyType = ["string", "number", "boolean", "object", "array", "null"].map((type) => ({ type }));

function convert(node: unknown, conversion: Conversion): UnknownRecord {
  const { $ref: reference, allOf, oneOf, anyOf = oneOf, ...keywords } = recordOf(node);
  if (typeof reference === "string") return refer(reference, textsIn(keywords), conversion);
  const [part, ...parts] = listOf(allOf);
  if (part !== undefined) {
    const isAlone = parts.length === 0 && findType(keywords) === undefined;
    const all = isAlone ? [recordOf(part)] : [part, ...parts].map((one) => inline(one, conversion));
    return convert(all.reduce(merge, { ...keywords, ...(anyOf === undefined ? {} : { anyOf }) }), conversion);
  }
  const { type = findType(keywords), properties, items } = keywords;
  const branches = listOf(anyOf);
  // An object or array keeps its properties or items but loses its branches, which only say which properties belong together.
  if (branches.length === 0 || properties !== undefined || items !== undefined) return convertOne(keywords, type, conversion);
  const typed = branches.map((branch) => (type !== undefined && isRecord(branch) ? { type, ...branch } : branch));
  return { ...textsIn(keywords), anyOf: typed.map((branch) => convert(branch, conversion)) };
}

function convertOne(keywords: UnknownRecord, type: unknown, conversion: Conversion): UnknownRecord {
  if (type === undefined) return { ...textsIn(keywords), anyOf: anyType };
  const { properties, required, prefixItems: tuple, items: every, additionalProperties: rest, ...others } = keywords;
  // Without the tuple, `items` would also apply to the tuple's values, so it is replaced by a schema that accepts everything.
  const items = tuple === undefined ? every : {};
  const known = Object.entries(recordOf(properties));
  const names = new Set<unknown>(known.map(([name]) => name));
  const kept = Object.entries(others).filter(([keyword]) => !dropped.includes(keyword));
  const isOpen = isRecord(rest) && Object.keys(rest).length > 0;
  return {
    ...Object.fromEntries(kept),
    type,
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(known.map(([name, one]) => [name, convert(one, conversion)])) }),
    ...(required === undefined ? {} : { required: listOf(required).filter((name) => names.has(name)) }),
    ...(items === undefined ? {} : { items: convert(items, conversion) }),
    ...(rest === undefined ? {} : { additionalProperties: isOpen ? convert(rest, conversion) : rest !== false }),
  };
}

function textsIn({ title, description }: UnknownRecord): UnknownRecord {
  return { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
}

/**
 * Moves a reference's target to the root's `$defs`. Drops a description next to the reference if the target has one too, because the
 * service refuses this: "conflicting keywords found after $ref expansion: description" (github.com/MoonshotAI/kimi-cli/issues/1903).
 */
function refer(reference: string, texts: UnknownRecord, conversion: Conversion): UnknownRecord {
  const { root, definitions } = conversion;
  const target = resolveReference(root, reference);
  if (target === undefined) return { ...texts, anyOf: anyType };
  const name = reference.replace(/^#\/?(?:\$defs\/|definitions\/)?/, "").replaceAll(/[^\w.-]+/g, "_") || "root";
  if (!definitions.has(name)) {
    definitions.set(name, undefined);
    definitions.set(name, convert(target, conversion));
  }
  // A definition that refers to itself is not in `definitions` yet while it is being converted, so the original is read instead.
  const told = recordOf(definitions.get(name) ?? target);
  const own = Object.entries(texts).filter(([keyword]) => !Object.hasOwn(told, keyword));
  return { ...Object.fromEntries(own), $ref: `#/$defs/${name}` };
}

function inline(part: unknown, conversion: Conversion): UnknownRecord {
  const { $ref: reference, ...keywords } = recordOf(part);
  if (typeof reference !== "string" || conversion.inlines === 0) return keywords;
  conversion.inlines -= 1;
  return merge(recordOf(resolveReference(conversion.root, reference)), keywords);
}

function merge(one: UnknownRecord, other: UnknownRecord): UnknownRecord {
  const properties = { ...recordOf(one.properties), ...recordOf(other.properties) };
  const required = [...listOf(one.required), ...listOf(other.required)];
  return {
    ...one,
    ...other,
    ...textsIn(one),
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** The types of values that keywords apply to. Each entry is a type with its keywords. */
const typeByKeyword: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ["object", ["properties", "required", "additionalProperties", "patternProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "uniqueItems"]],
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];

function findType(node: UnknownRecord): unknown {
  const { type, enum: values, const: value } = node;
  if (type !== undefined) return type;
  const types = new Set([...listOf(values), ...("const" in node ? [value as Json] : [])].map(typeOf));
  // Derives the type from the values in `enum`, if they all have one type, or one type and null.
  if (types.size > 0) return types.size === 1 ? [...types][0] : types.size === 2 && types.has("null") ? [...types] : undefined;
  return typeByKeyword.find(([, keywords]) => keywords.some((keyword) => keyword in node))?.[0];
}
