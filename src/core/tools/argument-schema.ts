// The schema of a tool that ships with the package: the core has no schema library, and the arguments of a model are checked all the same.

import type { Json } from "../types/json.ts";
import type { JsonSchema, StandardResult, StandardSchema } from "../types/schema.ts";
import { quote } from "../utils/describe-value.ts";
import { nearestName } from "../utils/nearest-name.ts";
import { isRecord, type UnknownRecord } from "../utils/is-record.ts";

/**
 * Makes a Standard Schema of the properties that a tool has, and of a function that reads them. Other fields are refused: a misspelt one
 * would have the meaning of one that was left out.
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
  const nearest = nearestName(name, known);
  return nearest === undefined
    ? `is not a field of this tool, which has ${known.join(", ")}`
    : `is not a field of this tool; did you mean ${quote(nearest)}?`;
}

/** What is wrong with arguments, or with one field of them. */
export function issue(message: string, field?: string): { readonly issues: readonly { message: string; path?: string[] }[] } {
  return { issues: [field === undefined ? { message } : { message, path: [field] }] };
}
