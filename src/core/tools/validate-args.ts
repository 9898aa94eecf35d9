// Asks a tool's schema whether a model's arguments fit, and says in plain words where they do not.

import type { Issue, StandardResult, Validation, ToolSchema } from "../types/schema.ts";
import { cutText } from "../utils/cut-text.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { promiseOrValue } from "../utils/promise-or-value.ts";
import { isStandardSchema } from "./json-schema.ts";

/** What is said where the schema gives no reason. */
const misfit = "does not fit the schema";

// A model needs to be told what is wrong, not everything that is: arguments may be hostile or huge.
const mostIssues = 20;
const longestMessage = 300;
const longestPath = 16;
const longestKey = 64;

type StandardIssue = Extract<StandardResult<unknown>, { readonly issues: readonly unknown[] }>["issues"][number];

/**
 * Checks arguments against a Standard Schema; a promise only where the schema itself answers with one. Answers the schema's
 * output, or at most 20 issues. A schema that throws or rejects is an issue, never a rejection. Plain JSON Schema checks
 * nothing: the value passes as it is, marked as unchecked.
 */
export function validateArgs(schema: ToolSchema, args: unknown): Validation | Promise<Validation> {
  if (!isStandardSchema(schema)) return { value: args, unchecked: true };
  try {
    const result = promiseOrValue(schema["~standard"].validate(args));
    return result instanceof Promise ? result.then(toValidation).catch(toBrokenSchema) : toValidation(result);
  } catch (error) {
    return toBrokenSchema(error);
  }
}

function toValidation(result: StandardResult<unknown>): Validation {
  if (result.issues === undefined) return { value: result.value };
  if (result.issues.length === 0) return { issues: [{ message: misfit }] };
  return { issues: result.issues.slice(0, mostIssues).map(toIssue) };
}

function toIssue({ message, path = [] }: StandardIssue): Issue {
  const said: unknown = message;
  const text = typeof said === "string" ? cutText(said, longestMessage) : misfit;
  // An array of our own: what a library's own kind of array makes of itself is again of that kind.
  return path.length === 0 ? { message: text } : { message: text, path: Array.from(path.slice(0, longestPath), toKey) };
}

function toKey(segment: PropertyKey | { readonly key: PropertyKey }): string | number {
  const key = typeof segment === "object" ? segment.key : segment;
  return typeof key === "number" ? key : cutText(String(key), longestKey);
}

function toBrokenSchema(error: unknown): Validation {
  return { issues: [{ message: cutText(`could not be checked: ${toPlainError(error).message}`, longestMessage) }] };
}
