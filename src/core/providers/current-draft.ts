import { resolveReference } from "../tools/root-schema.ts";
import type { JsonSchema } from "../types/common.ts";
import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { mapSchemas } from "./map-schemas.ts";

const bounds = ["Minimum", "Maximum"] as const;

/**
 * Replaces keywords that JSON Schema 2020-12 defines differently. Anthropic refuses them with "It must match JSON Schema draft 2020-12":
 * `exclusiveMinimum: true` of draft 4 (github.com/Dokploy/mcp/issues/74) and lists in `items` of draft 7
 * (github.com/hyperdxio/hyperdx/issues/2925). A schema without such keywords stays the same object.
 */
export function toCurrentDraft(root: JsonSchema): JsonSchema {
  const made = mapSchemas(root, (schema) => withReference(withTuple(bounds.reduce(withBound, schema)), root)) as JsonSchema;
  if (made === root) return root;
  // The old name of the draft would give the new keywords another meaning. Without a name, services assume 2020-12.
  const { $schema: _, ...rest } = made;
  return rest;
}

/** In draft 4, `exclusiveMinimum` says if `minimum` itself is excluded. */
function withBound(node: UnknownRecord, bound: (typeof bounds)[number]): UnknownRecord {
  const { [`exclusive${bound}`]: exclusive, ...rest } = node;
  if (typeof exclusive !== "boolean") return node;
  const { [bound.toLowerCase()]: limit, ...others } = rest;
  return exclusive && typeof limit === "number" ? { ...others, [`exclusive${bound}`]: limit } : rest;
}

function withTuple(node: UnknownRecord): UnknownRecord {
  const { items, additionalItems, ...rest } = node;
  if (!Array.isArray(items)) return node;
  return {
    ...rest,
    // An empty list is not allowed.
    ...(items.length === 0 ? {} : { prefixItems: items }),
    ...(additionalItems === undefined ? {} : { items: additionalItems }),
  };
}

/** Follows tuples that moved to another keyword. */
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
