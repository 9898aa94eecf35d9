import { isRecord, type UnknownRecord } from "../utils/guards.ts";

/** Keywords whose values are no schemas. */
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "example", "examples", "required"]);
/** Keywords whose values have names as keys and schemas as values. */
const maps: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"],
]);

/** The place of a schema in the whole schema. */
interface NestedSchema {
  /** The schema before the changes in it. */
  readonly original: UnknownRecord;
  /** 1 for the root. */
  readonly level: number;
}

/** Applies `change` to each schema in a schema, the inner ones first. A schema without changes stays the same object. */
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
