// Tools of other libraries. Fields and schemas are recognized by shape, never by class.

import {
  isRecord,
  type JsonSchema,
  type NeedsApproval,
  type StandardResult,
  type StandardSchema,
  type ToolContext,
  type ToolSchema,
  toPlainError,
  type UnknownRecord,
  whenReady,
} from "../core/entry-kit.ts";

type Answer = StandardResult<unknown> | Promise<StandardResult<unknown>>;

/** Makes a Standard Schema from a validation function. */
export function toStandardSchema(vendor: string, json: JsonSchema, validate: (args: unknown) => Answer): StandardSchema {
  return { "~standard": { version: 1, vendor, validate, jsonSchema: { input: () => ({ ...json }) } } };
}

/** Validates like another schema, but returns the input unchanged: for tools that parse their arguments themselves. */
export function keepArgs(schema: StandardSchema): StandardSchema {
  const { vendor, jsonSchema, validate } = schema["~standard"];
  const check = (args: unknown): Answer => {
    const answer = whenReady(validate(args), (result) => (result.issues === undefined ? { value: args } : result));
    return "then" in answer ? Promise.resolve(answer) : answer;
  };
  return { "~standard": { version: 1, vendor, validate: check, jsonSchema } };
}

/** Returns the issues in an error: its own, those of its cause, or its message. */
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

/** The parts of another library's tool. */
export interface ForeignTool {
  readonly name: unknown;
  readonly description: unknown;
  /** Undefined if only the tool's service knows its arguments. */
  readonly schema: ForeignSchema | undefined;
  /** True if the tool parses its arguments itself. It then needs the model's arguments, not the output of a schema. */
  readonly parses: boolean;
  /** Converts the approval setting of the tool. `parse` returns the arguments as the tool would get them. */
  readonly needsApproval?: ((parse: ParseArgs) => boolean | NeedsApproval<unknown>) | undefined;
  readonly timeoutMs?: number | undefined;
  execute(args: unknown, context: ToolContext): unknown;
}

/** The validation of a tool's arguments, and the JSON Schema for the model if it cannot be derived. */
export interface ForeignSchema {
  readonly inputSchema: ToolSchema;
  readonly jsonSchema?: JsonSchema | undefined;
}

/** Returns the arguments of a call as parsed by the tool's schema; undefined if they do not fit. */
export type ParseArgs = (args: unknown) => Parsed | PromiseLike<Parsed>;

type Parsed = { readonly value: unknown } | undefined;

/** A function of unknown arguments. */
export type Callable = (...args: readonly unknown[]) => unknown;

/** True for anything that can be called. */
export function isCallable(value: unknown): value is Callable {
  return typeof value === "function";
}

/** Returns a bound method of another library's object. The caller has checked that it exists. */
export function methodOf(owner: UnknownRecord, name: string): Callable {
  return (...args) => {
    const method = owner[name];
    return isCallable(method) ? Reflect.apply(method, owner, args) : undefined;
  };
}
