// Rewrites schemas for services that accept only objects, or only the current draft of JSON Schema.

import type { JsonSchema } from "../../core/types/common.ts";
import { mayBeObject, resolveReference } from "../root-schema.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { isSameJson, stableJson, toJson } from "../json.ts";
import { listOf, recordOf } from "../plain-error.ts";
import { memoize } from "../promises.ts";
import { cutText } from "../texts.ts";

/** Keywords whose values are data, not schemas. */
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "example", "examples", "required"]);
/** Keywords whose values are objects that map names to schemas. */
const maps: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"],
]);

/**
 * Yields each schema within a schema, outermost first, with its path, for example "properties.city". The path of the root is "". Also yields
 * the boolean schemas of properties, definitions and lists.
 */
export function* eachSchema(root: unknown): Generator<readonly [node: unknown, path: string]> {
  yield* walk(root, "", false);
}

function* walk(node: unknown, path: string, isMap: boolean): Generator<readonly [node: unknown, path: string]> {
  const isSchema = isRecord(node) && !isMap;
  if (isSchema || typeof node === "boolean") yield [node, path.slice(1)];
  if (typeof node !== "object" || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (isSchema && (data.has(key) || typeof value === "boolean")) continue;
    yield* walk(value, `${path}.${key}`, isSchema && maps.has(key));
  }
}

/** The position of a schema within the root schema. */
interface NestedSchema {
  /** The schema before its inner schemas were changed. */
  readonly original: UnknownRecord;
  /** The nesting level, which is 1 for the root. */
  readonly level: number;
}

/** Applies `change` to each schema within a schema, innermost first. A schema without changes stays the same object. */
export function mapSchemas(root: unknown, change: (schema: UnknownRecord, place: NestedSchema) => UnknownRecord): unknown {
  const visit = (node: unknown, level: number, isMap: boolean): unknown => {
    if (Array.isArray(node)) {
      const made = node.map((one: unknown) => visit(one, level, false));
      return made.every((one, index) => one === node[index]) ? node : made;
    }
    if (!isRecord(node)) return node;
    const made = Object.entries(node).map(([key, value]) => {
      const isKept = !isMap && data.has(key);
      return [key, isKept ? value : visit(value, isMap ? level : level + 1, !isMap && maps.has(key))] as const;
    });
    const whole: UnknownRecord = made.every(([key, value]) => value === node[key]) ? node : Object.fromEntries(made);
    return isMap ? whole : change(whole, { original: node, level });
  };
  return visit(root, 1, false);
}

const bounds = ["Minimum", "Maximum"] as const;

/**
 * Replaces keywords that JSON Schema 2020-12 defines differently. Anthropic refuses them with "It must match JSON Schema draft 2020-12":
 * `exclusiveMinimum: true` from draft 4 (github.com/Dokploy/mcp/issues/74) and lists in `items` from draft 7
 * (github.com/hyperdxio/hyperdx/issues/2925). A schema without such keywords stays the same object.
 */
function toCurrentDraft(root: JsonSchema): JsonSchema {
  const made = mapSchemas(root, (schema) =>
    withReference(withTuple(withNames(bounds.reduce(withBound, withKnownType(withoutNulls(schema))))), root),
  ) as JsonSchema;
  if (made === root) return root;
  // Drops `$schema`, because the old draft's URI would change the meaning of the new keywords. Without it, services assume draft 2020-12.
  const { $schema: _, ...rest } = made;
  return rest;
}

/** Converts a bound. In draft 4, `exclusiveMinimum` only says whether `minimum` itself is excluded. */
function withBound(node: UnknownRecord, bound: (typeof bounds)[number]): UnknownRecord {
  const { [`exclusive${bound}`]: exclusive, ...rest } = node;
  if (typeof exclusive !== "boolean") return node;
  const { [bound.toLowerCase()]: limit, ...others } = rest;
  return exclusive && typeof limit === "number" ? { ...others, [`exclusive${bound}`]: limit } : rest;
}

/**
 * Corrects lists that should be objects, and vice versa. PHP servers write `properties: []` (github.com/shopware/shopware/pull/18713)
 * and `required: {}` (github.com/Automattic/wordpress-mcp/issues/58).
 */
function withNames(given: UnknownRecord): UnknownRecord {
  const node = withPlacedNames(given);
  const { properties, required = [], ...rest } = node;
  const isList = Array.isArray(properties) && properties.length === 0;
  if (!isList && Array.isArray(required)) return node;
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: isList ? {} : properties }),
    ...(Array.isArray(required) && required.length > 0 ? { required } : {}),
  };
}

/** Moves the `required` list out of `properties`, where some servers put it (github.com/mastra-ai/mastra/issues/23731). */
function withPlacedNames(node: UnknownRecord): UnknownRecord {
  const { properties, required = [] } = node;
  if (!isRecord(properties) || !Array.isArray(properties["required"])) return node;
  const { required: names, ...others } = properties;
  return { ...node, properties: others, required: [...new Set([...listOf(required), ...listOf(names)])] };
}

/**
 * Removes keywords whose value is null, which is how some serializers write absent keywords. `const` and `default` may be null. Anthropic's
 * SDK gives an MCP tool without parameters a schema with `properties: null`.
 */
export function withoutNulls(node: UnknownRecord): UnknownRecord {
  const entries = Object.entries(node);
  const kept = entries.filter(([keyword, value]) => value !== null || keyword === "const" || keyword === "default");
  return kept.length === entries.length ? node : Object.fromEntries(kept);
}

const knownTypes: readonly string[] = ["string", "number", "integer", "boolean", "array", "object", "null"];
const otherTypes: ReadonlyMap<string, string> = new Map([
  ["str", "string"],
  ["int", "integer"],
  ["float", "number"],
  ["double", "number"],
  ["bool", "boolean"],
  ["list", "array"],
  ["dict", "object"],
]);

/**
 * Replaces type names from programming languages, and type names in capitals, with those of JSON Schema
 * (github.com/Kuadrant/mcp-gateway/pull/689). Removes "any".
 */
function withKnownType(node: UnknownRecord): UnknownRecord {
  const { type, ...rest } = node;
  if (typeof type !== "string" || knownTypes.includes(type)) return node;
  const word = type.toLowerCase();
  if (word === "any") return rest;
  const known = knownTypes.includes(word) ? word : otherTypes.get(word);
  return known === undefined ? node : { ...node, type: known };
}

function withTuple(node: UnknownRecord): UnknownRecord {
  const { items, additionalItems, ...rest } = node;
  if (!Array.isArray(items)) return node;
  return {
    ...rest,
    // Omits an empty list, which `prefixItems` does not allow.
    ...(items.length === 0 ? {} : { prefixItems: items }),
    ...(additionalItems === undefined ? {} : { items: additionalItems }),
  };
}

/** Updates references to tuples that moved to a different keyword. */
function withReference(node: UnknownRecord, root: JsonSchema): UnknownRecord {
  const { $ref: reference } = node;
  if (typeof reference !== "string" || !reference.startsWith("#/")) return node;
  let at: unknown = root;
  const steps = reference.slice(2).split("/");
  const made = steps.map((step) => {
    const isTuple = isRecord(at) && Array.isArray(at["items"]);
    at = resolveReference(at as JsonSchema, `#/${step}`);
    return isTuple && step === "items" ? "prefixItems" : isTuple && step === "additionalItems" ? "items" : step;
  });
  const moved = `#/${made.join("/")}`;
  return moved === reference ? node : { ...node, $ref: moved };
}

/** An object's properties, as a schema describes them. */
interface Shape {
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
  /** The `additionalProperties` keyword. */
  readonly rest: unknown;
  /** All other keywords. */
  readonly keywords: UnknownRecord;
  /** The properties of each union's branches, in words. */
  readonly unions: readonly (readonly string[])[];
}

/** Keywords that services refuse at the root of a tool's schema. */
const refused = ["$ref", "allOf", "anyOf", "oneOf", "enum", "const", "not"] as const;

/**
 * Converts a tool's schema so that all services accept it: its root becomes a plain object with `properties`. OpenAI and Anthropic refuse
 * unions and references at the root (github.com/vercel/ai/issues/21350, github.com/anthropics/claude-code/issues/27337), and MiniMax
 * refuses an object without properties (github.com/QwenLM/qwen-code/issues/11905).
 *
 * The branches of a union are merged: the result contains all properties of all branches, and requires those that every branch
 * requires. The description says which properties belong together. Keywords from older drafts become those of 2020-12. The result may
 * accept more than the schema, so the run validates the arguments with the original schema. An acceptable schema stays the same object.
 *
 * @example
 * toObjectSchema({ anyOf: [{ properties: { id: {} }, required: ["id"] }, { properties: { name: {} }, required: ["name"] }] });
 */
export const toObjectSchema: (schema: JsonSchema) => JsonSchema = /* @__PURE__ */ memoize((schema: JsonSchema) => {
  const root = toCurrentDraft(schema);
  const isPlain =
    root["type"] === "object" && isRecord(root["properties"]) && !refused.some((keyword) => Object.hasOwn(root, keyword));
  if (isPlain) return root;
  const { properties, required, rest, keywords, unions } = readShape(root, root, new Map());
  const { description, ...others } = keywords;
  const told = [description, ...unions.map(describeUnion)].filter((text) => typeof text === "string" && text !== "");
  return toJson({
    type: "object",
    description: told.length === 0 ? undefined : told.join("\n\n"),
    properties: Object.fromEntries(properties),
    required: required.size === 0 ? undefined : [...required],
    additionalProperties: rest,
    ...others,
  }) as JsonSchema;
});

const nothing: Shape = { properties: new Map(), required: new Set(), rest: undefined, keywords: {}, unions: [] };

/** Reads a schema's properties. Reads each node once, because a schema may refer to itself, and a hostile one may do so many times. */
function readShape(node: unknown, root: JsonSchema, known: Map<object, Shape>): Shape {
  if (!isRecord(node)) return nothing;
  const read = known.get(node);
  if (read !== undefined) return read;
  known.set(node, nothing);
  const made = makeShape(node, root, (part) => readShape(part, root, known));
  known.set(node, made);
  return made;
}

function makeShape(node: UnknownRecord, root: JsonSchema, read: (part: unknown) => Shape): Shape {
  const { $ref: reference, type: _, properties, required, additionalProperties: rest, ...others } = node;
  const { allOf, anyOf, oneOf, enum: _values, const: _value, not: _not, ...keywords } = others;
  const own: Shape = {
    properties: new Map(Object.entries(isRecord(properties) ? properties : {})),
    required: new Set(listOf(required).filter((name) => typeof name === "string")),
    rest,
    keywords,
    unions: [],
  };
  const target = typeof reference === "string" ? [resolveReference(root, reference)] : [];
  const unions = [anyOf, oneOf].map((branches) =>
    uniteShapes(
      listOf(branches)
        .filter((one) => mayBeObject(one, root))
        .map(read),
    ),
  );
  return [...[...target, ...listOf(allOf)].map(read), ...unions].reduce(intersectShapes, own);
}

function intersectShapes(one: Shape, other: Shape): Shape {
  const properties = new Map(one.properties);
  for (const [name, schema] of other.properties) {
    const known = properties.get(name);
    properties.set(name, known === undefined ? schema : intersectSchemas(known, schema));
  }
  return {
    properties,
    required: new Set([...one.required, ...other.required]),
    // Each schema may name properties that the other lacks, so `additionalProperties: false` stays only if both have it.
    rest: saysNothing(one) ? other.rest : saysNothing(other) || isSame(one.rest, other.rest) ? one.rest : undefined,
    keywords: { ...other.keywords, ...one.keywords },
    unions: [...one.unions, ...other.unions],
  };
}

function saysNothing({ properties, rest }: Shape): boolean {
  return properties.size === 0 && rest === undefined;
}

function uniteShapes(branches: readonly Shape[]): Shape {
  const [first = nothing, ...others] = branches;
  if (others.length === 0) return first;
  const found = new Map<string, unknown[]>();
  for (const [name, schema] of branches.flatMap(({ properties }) => [...properties])) {
    const known = found.get(name);
    if (known === undefined) found.set(name, [schema]);
    else known.push(schema);
  }
  const properties = new Map(Array.from(found, ([name, schemas]) => [name, uniteSchemas(schemas)] as const));
  return {
    properties,
    required: new Set([...first.required].filter((name) => others.every(({ required }) => required.has(name)))),
    rest: others.every(({ rest }) => isSame(rest, first.rest)) ? first.rest : undefined,
    keywords: {},
    unions: [
      branches
        .flatMap((branch) => (branch.unions.length === 0 ? [describeShape(branch)] : branch.unions.flat()))
        .slice(0, maxBranches),
    ],
  };
}

function isSame(one: unknown, other: unknown): boolean {
  return isSameJson(one as JsonSchema | undefined, other as JsonSchema | undefined);
}

function intersectSchemas(one: unknown, other: unknown): unknown {
  if (!isRecord(one) || !isRecord(other)) return one === false || other === false ? false : isRecord(one) ? one : other;
  const agree = Object.entries(other).every(([keyword, value]) => !Object.hasOwn(one, keyword) || isSame(one[keyword], value));
  return agree ? { ...one, ...other } : { allOf: [one, other] };
}

/** Combines schemas into one that accepts what any of them accepts. Constants become one list of values. */
function uniteSchemas(schemas: readonly unknown[]): unknown {
  const distinct = [...new Map(schemas.map((schema) => [stableJson(schema), schema])).values()];
  const [first] = distinct;
  if (distinct.length < 2) return first;
  const values = distinct.map(valuesOf);
  if (values.some((list) => list.length === 0)) return { anyOf: distinct };
  const type = recordOf(first)["type"];
  const isOneType = distinct.every((schema) => isSame(recordOf(schema)["type"], type));
  return { ...(isOneType && type !== undefined ? { type } : {}), enum: [...new Set(values.flat())] };
}

function valuesOf(schema: unknown): readonly unknown[] {
  const { enum: values, const: value } = recordOf(schema);
  const list = Array.isArray(values) ? values : value === undefined ? [] : [value];
  return list.some((one) => typeof one === "object" && one !== null) ? [] : list;
}

const maxBranches = 100;
const maxNoteLength = 4_000;

function describeUnion(branches: readonly string[]): string {
  const distinct = [...new Set(branches)];
  const list = distinct.map((branch, index) => `(${index + 1}) ${branch}`).join("; ");
  return distinct.length < 2 ? "" : cutText(`Use the properties of one of these groups: ${list}.`, maxNoteLength);
}

function describeShape({ properties, required }: Shape): string {
  const names = [...new Set([...required, ...properties.keys()])];
  const words = names.map((name) => {
    const [value, ...more] = valuesOf(properties.get(name));
    const said = value === undefined || more.length > 0 ? name : `${name} = ${JSON.stringify(value)}`;
    return required.has(name) ? said : `${said} (optional)`;
  });
  return words.length === 0 ? "no properties" : words.join(", ");
}
