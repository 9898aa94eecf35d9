// Builds the schemas of this library's own tools.

import type { Json, JsonSchema, StandardResult, StandardSchema } from "../core/types/common.ts";
import { edges } from "./edges.ts";
import { isRecord, type UnknownRecord } from "./guards.ts";
import { quote } from "./texts.ts";
import { issue } from "./argument-schema.ts";

/**
 * Creates a Standard Schema from the properties of a tool's arguments and a function that validates them. Refuses unknown
 * fields, because a misspelled optional field would otherwise be ignored.
 */
export function argumentSchema<Output>(
  { properties, ...more }: JsonSchema & { readonly properties: { readonly [name: string]: Json } },
  read: (fields: UnknownRecord) => StandardResult<Output>,
): StandardSchema<unknown, Output> {
  const json: JsonSchema = { ...more, properties, additionalProperties: false };
  const validate = (args: unknown): StandardResult<Output> => {
    if (!isRecord(args)) return issue("must be an object with fields");
    const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
    return unknown === undefined ? read(args) : issue(describeUnknown(unknown, Object.keys(properties)), unknown);
  };
  return { "~standard": { version: 1, vendor: "turnwright", validate, jsonSchema: { input: () => ({ ...json }) } } };
}

function describeUnknown(name: string, known: readonly string[]): string {
  const nearest = edges.nearestName?.(name, known);
  return nearest === undefined
    ? `is not a field of this tool; its fields are ${known.join(", ")}`
    : `is not a field of this tool; did you mean ${quote(nearest)}?`;
}
