// The schema of a tool that ships with the package: the core has no schema library, and the arguments of a model are checked all the same.

import type { JsonSchema, StandardResult, StandardSchema } from "../contract/schema.ts";
import { isRecord, type UnknownRecord } from "../kit/is-record.ts";

/** Makes a Standard Schema of a function that reads arguments, and of the JSON Schema that the model is shown. */
export function argumentSchema<Output>(
  json: JsonSchema,
  read: (fields: UnknownRecord) => StandardResult<Output>,
): StandardSchema<unknown, Output> {
  const validate = (args: unknown): StandardResult<Output> =>
    isRecord(args) ? read(args) : issue("must be an object with fields");
  return { "~standard": { version: 1, vendor: "turnwright", validate, jsonSchema: { input: () => ({ ...json }) } } };
}

/** What is wrong with arguments, or with one field of them. */
export function issue(message: string, field?: string): { readonly issues: readonly { message: string; path?: string[] }[] } {
  return { issues: [field === undefined ? { message } : { message, path: [field] }] };
}
