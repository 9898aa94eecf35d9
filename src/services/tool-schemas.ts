// Converts tool schemas for services that refuse parts of JSON Schema. A converted schema may accept more values, so the run validates
// arguments against the original.

import { isRecord, memoize } from "../core/kit.ts";
import type { JsonSchema, ToolDefinition } from "../core/index.ts";
import { mapSchemas, toObjectSchema } from "../shared/adapters/object-schema.ts";
import { resolveReference } from "../shared/root-schema.ts";
import type { UnknownRecord } from "../shared/guards.ts";

export type ToolConverter = (tool: ToolDefinition) => ToolDefinition;

/** Creates a tool converter from a function that converts a schema's root. */
export function createConverter(convert: (root: JsonSchema) => unknown): ToolConverter {
  return memoize((tool: ToolDefinition) => {
    const root = toObjectSchema(tool.inputSchema);
    const made = convert(root);
    return made === root ? tool : { ...tool, inputSchema: made as JsonSchema };
  });
}

/** Returns a converter that removes the patterns in a tool's schema that match `refused`. */
export function withoutPatterns(refused: RegExp): ToolConverter {
  return createConverter((root) => mapSchemas(root, (schema) => dropPatterns(schema, refused)));
}

/**
 * Returns a converter that removes patterns as `withoutPatterns` does, and gives arrays without `items` a schema that accepts everything.
 */
export function withItems(refused: RegExp): ToolConverter {
  return createConverter((root) => mapSchemas(root, (schema) => addItems(dropPatterns(schema, refused))));
}

function addItems(schema: UnknownRecord): UnknownRecord {
  const { type, items, prefixItems } = schema;
  const isArray = Array.isArray(type) ? type.includes("array") : type === "array";
  return isArray && items === undefined && prefixItems === undefined ? { ...schema, items: {} } : schema;
}

function dropPatterns(schema: UnknownRecord, refused: RegExp): UnknownRecord {
  return dropNamedPatterns(dropPattern(schema, refused), refused);
}

function dropPattern(schema: UnknownRecord, refused: RegExp): UnknownRecord {
  const { pattern, ...rest } = schema;
  return typeof pattern === "string" && refused.test(pattern) ? rest : schema;
}

function dropNamedPatterns(schema: UnknownRecord, refused: RegExp): UnknownRecord {
  const { patternProperties: patterns, additionalProperties: others, ...rest } = schema;
  if (!isRecord(patterns)) return schema;
  const kept = Object.entries(patterns).filter(([pattern]) => !refused.test(pattern));
  if (kept.length === Object.keys(patterns).length) return schema;
  return {
    ...rest,
    ...(kept.length === 0 ? {} : { patternProperties: Object.fromEntries(kept) }),
    // Drops `additionalProperties: false` too, because it would forbid the properties whose pattern was dropped.
    ...(others === undefined || others === false ? {} : { additionalProperties: others }),
  };
}

/**
 * Matches patterns with lookaround, and patterns that Python's `re` cannot compile, because its escapes and named groups differ from
 * JavaScript's.
 */
export const notPython: RegExp =
  /(?<!\\)(?:\\\\)*(?:\\(?:[CE-MO-RTVXYceg-moqpyz]|u(?![\dA-Fa-f]{4})|x(?![\dA-Fa-f]{2}))|\(\?[=!<])/;

/**
 * Converts a schema to one that Gemini accepts outside `parametersJsonSchema`. Only defined properties stay required, and `enum` keeps
 * only strings that are not blank. The description lists the values that `enum` loses.
 */
export const forGemini: ToolConverter = /* @__PURE__ */ createConverter((root) =>
  mapSchemas(root, (schema) => withTextValues(withDefinedProperties(schema))),
);

function withDefinedProperties(schema: UnknownRecord): UnknownRecord {
  const { required, properties, ...rest } = schema;
  if (!Array.isArray(required)) return schema;
  const defined = isRecord(properties) ? properties : {};
  const kept = required.filter((name) => typeof name === "string" && Object.hasOwn(defined, name));
  if (kept.length === required.length) return schema;
  return { ...rest, ...(properties !== undefined && { properties }), ...(kept.length > 0 && { required: kept }) };
}

function withTextValues(schema: UnknownRecord): UnknownRecord {
  const { enum: values, description, type = "string", ...rest } = schema;
  if (!Array.isArray(values)) return schema;
  const isText = Array.isArray(type) ? type.includes("string") : type === "string";
  const kept = isText ? values.filter((value) => typeof value === "string" && value !== "") : [];
  if (kept.length === values.length) return schema["type"] === undefined ? { ...schema, type } : schema;
  const written = values.slice(0, maxListed).map((value) => JSON.stringify(value));
  const list = `Values: ${written.join(", ")}.`;
  return {
    ...rest,
    // If no strings are left in `enum` and the schema specifies no type, values may have any type.
    ...((schema["type"] !== undefined || kept.length > 0) && { type }),
    description: typeof description === "string" && description !== "" ? `${description}\n${list}` : list,
    ...(kept.length > 0 && { enum: kept }),
  };
}

/** The maximum number of enum values to list in a description. A longer list would cost more tokens than it is worth. */
const maxListed = 50;

/**
 * Returns a converter that replaces recursive schemas, and schemas deeper than `levels`, with a schema that accepts everything. The root is
 * level 1.
 */
export function withoutDepth(levels: number): ToolConverter {
  return createConverter((root) => {
    const cycles = findCycles(root);
    return mapSchemas(root, (schema, { original, level }) => {
      if (cycles.has(original)) return pick(schema, ["title", "description"]);
      return level < levels ? schema : pick(schema, flatKeywords);
    });
  });
}

/** Keywords that contain no schemas. */
const flatKeywords = ["title", "description", "type", "enum", "const", "format", "default"];

function pick(schema: UnknownRecord, keywords: readonly string[]): UnknownRecord {
  const kept = Object.entries(schema).filter(([keyword]) => keywords.includes(keyword));
  return kept.length === Object.keys(schema).length ? schema : Object.fromEntries(kept);
}

/** Returns the references whose targets contain them. Without these references, the schema would not be recursive. */
function findCycles(root: JsonSchema): ReadonlySet<unknown> {
  const cycles = new Set<unknown>();
  const open = new Set<unknown>();
  const done = new Set<unknown>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null || done.has(node)) return;
    done.add(node);
    open.add(node);
    const reference = isRecord(node) ? node["$ref"] : undefined;
    const target = typeof reference === "string" ? resolveReference(root, reference) : undefined;
    if (open.has(target)) cycles.add(node);
    for (const part of [target, ...Object.values(node)]) visit(part);
    open.delete(node);
  };
  visit(root);
  return cycles;
}
