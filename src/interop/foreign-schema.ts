// Schemas of foreign tools as Standard Schemas: whatever way a library has of checking arguments, ours asks in one.

import {
  isRecord,
  type JsonSchema,
  type StandardResult,
  type StandardSchema,
  toPlainError,
  whenReady,
} from "../core/entry-kit.ts";

type Answer = StandardResult<unknown> | Promise<StandardResult<unknown>>;

/** A Standard Schema around a function that answers as one. */
export function toStandardSchema(vendor: string, json: JsonSchema, validate: (args: unknown) => Answer): StandardSchema {
  return { "~standard": { version: 1, vendor, validate, jsonSchema: { input: () => ({ ...json }) } } };
}

/** Checks as another schema does, but gives back what came in: for tools that parse their arguments themselves. */
export function keepArgs(schema: StandardSchema): StandardSchema {
  const { vendor, jsonSchema, validate } = schema["~standard"];
  const check = (args: unknown): Answer => {
    const answer = whenReady(validate(args), (result) => (result.issues === undefined ? { value: args } : result));
    return "then" in answer ? Promise.resolve(answer) : answer;
  };
  return { "~standard": { version: 1, vendor, validate: check, jsonSchema } };
}

/** What an error says is wrong: its issues, those of its cause, or its message. */
export function toIssues(error: unknown): StandardResult<never> {
  const cause = isRecord(error) ? error["cause"] : undefined;
  const found = [error, cause].map(listOf).find((list) => list.length > 0) ?? [{ message: toPlainError(error).message }];
  return { issues: found };
}

type StandardIssues = Extract<StandardResult<unknown>, { readonly issues: readonly unknown[] }>["issues"];

function listOf(holder: unknown): StandardIssues {
  const list: unknown = isRecord(holder) ? holder["issues"] : holder;
  return Array.isArray(list) ? list.filter(isIssue) : [];
}

function isIssue(value: unknown): value is StandardIssues[number] {
  return isRecord(value) && typeof value["message"] === "string" && (value["path"] === undefined || Array.isArray(value["path"]));
}
