// Reduces an answer's schema to keywords that all services support. The run still validates the answer against the original.

import type { Json, JsonSchema } from "../../core/types/common.ts";
import type { ModelRequest } from "../../core/types/provider.ts";
import { resolveReference } from "../root-schema.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { memoize } from "../promises.ts";

/** A service's limits on the schema of an answer. */
export interface OutputRules {
  /** The maximum number of properties that are not required. */
  readonly maxOptional: number;
  /** The maximum number of unions: `anyOf`, `oneOf`, and lists of types. */
  readonly maxUnions: number;
  /** The maximum nesting of objects and arrays. */
  readonly maxDepth: number;
}

/** How a request describes the answer's schema. */
export interface OutputPlan {
  /** The system text to send. Contains instructions for the answer if `schema` is undefined. */
  readonly system: string | undefined;
  /** The schema to send in the service's request field. Undefined if the run has no schema, or if the service cannot accept it. */
  readonly schema: JsonSchema | undefined;
}

/**
 * Creates a function that an adapter uses to read a request's `output`. Pass `false` as the second argument of this function if
 * the service cannot accept a schema in this request, for example because the request has tools.
 *
 * The schema in the plan contains only `type`, `description`, `properties`, `required`, `additionalProperties: false`, `items`,
 * `anyOf` and `enum`, which all services support. Other constraints become part of the descriptions, because the run validates
 * the answer anyway. The plan has no schema if it would lose a keyword that changes the meaning, or if the schema exceeds
 * `rules`. The plan also has no schema if the answer's schema refers to itself, is not an object, or allows unknown
 * properties.
 *
 * @example
 * const planOutput = createOutputPlanner({ maxOptional: 0, maxUnions: 16, maxDepth: 5 });
 * const { system, schema } = planOutput(request, settings.structuredOutput);
 */
export function createOutputPlanner(rules: OutputRules): (request: ModelRequest, isPossible: boolean) => OutputPlan {
  const convert = memoize((schema: JsonSchema) => ({ made: toOutputSchema(schema, rules) }));
  return ({ system, output }, isPossible) => {
    if (output === undefined) return { system, schema: undefined };
    const schema = isPossible ? convert(output.schema).made : undefined;
    if (schema !== undefined) return { system, schema };
    const { instructions } = output;
    const isBlank = system === undefined || system.trim() === "";
    return { system: isBlank ? instructions : `${system}\n\n${instructions}`, schema };
  };
}

/**
 * True if a client sends its requests to `host` or a subdomain of `host`. Other servers may reject fields that the service
 * accepts.
 */
export function isClientOf(client: object, host: string): boolean {
  const { baseURL } = client as UnknownRecord;
  if (typeof baseURL !== "string" || !URL.canParse(baseURL)) return false;
  const { hostname } = new URL(baseURL);
  return hostname === host || hostname.endsWith(`.${host}`);
}

const maxSchemaLength = 15_000;
const maxNodes = 500;
const maxValues = 250;
const deepestLevel = 32;

interface Conversion {
  readonly root: JsonSchema;
  readonly maxDepth: number;
  fits: boolean;
  nodes: number;
  values: number;
  optional: number;
  unions: number;
}

interface SchemaPlace {
  /** The nesting level of this schema. Limited, so that a schema that refers to itself is refused. */
  readonly level: number;
  readonly depth: number;
}

function toOutputSchema(root: JsonSchema, { maxOptional, maxUnions, maxDepth }: OutputRules): JsonSchema | undefined {
  const work: Conversion = { root, maxDepth, fits: true, nodes: 0, values: 0, optional: 0, unions: 0 };
  const schema = convertNode(root, { level: 0, depth: 0 }, work);
  const isSmall = work.nodes <= maxNodes && work.values <= maxValues;
  const isAllowed = work.fits && isSmall && work.optional <= maxOptional && work.unions <= maxUnions;
  if (!isAllowed || schema["type"] !== "object") return undefined;
  return JSON.stringify(schema).length <= maxSchemaLength ? schema : undefined;
}

/** Keywords that cannot be dropped without changing the meaning, so a schema with one of them is refused. */
const refused = [
  ..."allOf not if then else contains prefixItems patternProperties".split(" "),
  ..."dependentSchemas dependentRequired unevaluatedItems unevaluatedProperties $dynamicRef $recursiveRef".split(" "),
];

function convertNode(node: unknown, position: SchemaPlace, work: Conversion): JsonSchema {
  work.nodes += 1;
  if (!work.fits || !isRecord(node) || isTooLarge(position, work)) return misfit(work);
  if (refused.some((keyword) => Object.hasOwn(node, keyword))) return misfit(work);
  const inner = { ...position, level: position.level + 1 };
  if (typeof node["$ref"] === "string") return convertReference(node, inner, work);
  const alternatives = node["anyOf"] ?? node["oneOf"] ?? toTypes(node);
  if (Array.isArray(alternatives)) {
    work.unions += 1;
    return withHints(node, { anyOf: alternatives.map((one) => convertNode(one, inner, work)) });
  }
  const values = node["enum"] ?? (Object.hasOwn(node, "const") ? [node["const"]] : undefined);
  return withHints(node, Array.isArray(values) ? convertValues(node, values, work) : convertType(node, inner, work));
}

function isTooLarge({ level, depth }: SchemaPlace, { nodes, maxDepth }: Conversion): boolean {
  return nodes > maxNodes || level > deepestLevel || depth > maxDepth;
}

function misfit(work: Conversion): JsonSchema {
  work.fits = false;
  return {};
}

/** Replaces a `$ref` with the schema that it points to, because services differ in the references that they accept. */
function convertReference(node: UnknownRecord, position: SchemaPlace, work: Conversion): JsonSchema {
  const found = resolveReference(work.root, String(node["$ref"]));
  if (found === undefined || constraints.some((keyword) => Object.hasOwn(node, keyword))) return misfit(work);
  const made = convertNode(found, position, work);
  return typeof node["description"] === "string" ? { ...made, description: node["description"] } : made;
}

function toTypes(node: UnknownRecord): readonly UnknownRecord[] | undefined {
  const { type, properties, required, additionalProperties, items } = node;
  if (!Array.isArray(type) || node["enum"] !== undefined) return undefined;
  return type.map((one: unknown) => ({ type: one, properties, required, additionalProperties, items }));
}

/**
 * Converts `enum` and `const` to a list of strings or of numbers, because services support only such lists. `true`, `false` and null are
 * replaced with their types.
 */
function convertValues({ type }: UnknownRecord, values: readonly Json[], work: Conversion): JsonSchema {
  work.values += values.length;
  const [kind, ...others] = new Set(values.map((value) => (value === null ? "null" : typeof value)));
  if (kind === undefined || others.length > 0) return misfit(work);
  if (kind === "string") return { type: "string", enum: values };
  if (kind === "number") return { type: type === "integer" ? "integer" : "number", enum: values };
  return kind === "boolean" || kind === "null" ? { type: kind } : misfit(work);
}

function convertType(node: UnknownRecord, position: SchemaPlace, work: Conversion): JsonSchema {
  const inner = { ...position, depth: position.depth + 1 };
  switch (node["type"]) {
    case "object":
      return convertObject(node, inner, work);
    case "array":
      return { type: "array", items: convertNode(node["items"], inner, work) };
    case "string":
    case "number":
    case "integer":
    case "boolean":
    case "null":
      return { type: node["type"] };
    default:
      return misfit(work);
  }
}

function convertObject(node: UnknownRecord, position: SchemaPlace, work: Conversion): JsonSchema {
  const { properties = {}, required = [], additionalProperties: rest } = node;
  if (!isRecord(properties) || !Array.isArray(required)) return misfit(work);
  const names = Object.keys(properties);
  const isOpen = rest !== false && (rest !== undefined || names.length === 0);
  const needed = names.filter((name) => required.includes(name));
  if (isOpen || needed.length < new Set(required).size || isTooLarge(position, work)) return misfit(work);
  work.optional += names.length - needed.length;
  const converted = names.map((name) => [name, convertNode(properties[name], position, work)] as const);
  return { type: "object", properties: Object.fromEntries(converted), required: needed, additionalProperties: false };
}

/** Keywords that are moved to the description, where the model reads them. */
const constraints = [
  ..."minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength format pattern".split(" "),
  ..."minItems maxItems uniqueItems minProperties maxProperties propertyNames contentEncoding const default examples".split(" "),
];

function withHints(node: UnknownRecord, made: JsonSchema): JsonSchema {
  const kept = constraints.filter((keyword) => Object.hasOwn(node, keyword) && isTelling(node, keyword, made));
  const told = typeof node["description"] === "string" ? [node["description"]] : [];
  if (kept.length > 0)
    told.push(`Constraints: ${JSON.stringify(Object.fromEntries(kept.map((keyword) => [keyword, node[keyword]])))}`);
  return told.length === 0 ? made : { ...made, description: told.join("\n\n") };
}

/**
 * True if the description must mention a constraint. False if `made` contains it, if another constraint implies it, or if it only
 * limits a number to safe integers.
 */
function isTelling(node: UnknownRecord, keyword: string, made: JsonSchema): boolean {
  if (keyword === "const") return made["type"] === "boolean";
  if (keyword === "pattern") return node["format"] === undefined;
  return Math.abs(Number(node[keyword])) !== Number.MAX_SAFE_INTEGER;
}
