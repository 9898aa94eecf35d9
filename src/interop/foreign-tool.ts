// Tools of other libraries: their fields and schemas are read by shape, never by class.

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

/** The faults that an error names: its issues, those of its cause, or its message. */
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

/** A foreign tool, read. */
export interface ForeignTool {
  readonly name: unknown;
  readonly description: unknown;
  /** Undefined where only the tool's own service knows its arguments. */
  readonly schema: ForeignSchema | undefined;
  /** Whether the tool parses its arguments itself: then it has to get what the model wrote, and not what a schema has made of it. */
  readonly parses: boolean;
  /** Makes the tool's own approval mark one of ours; `parse` gives the arguments as the tool would get them. */
  readonly needsApproval?: ((parse: ParseArgs) => boolean | NeedsApproval<unknown>) | undefined;
  readonly timeoutMs?: number | undefined;
  execute(args: unknown, context: ToolContext): unknown;
}

/** The check of a tool's arguments, and the schema for the model if the check cannot give it. */
export interface ForeignSchema {
  readonly inputSchema: ToolSchema;
  readonly jsonSchema?: JsonSchema | undefined;
}

/** The arguments of a call as the tool's schema makes them; undefined where they do not fit. */
export type ParseArgs = (args: unknown) => Parsed | PromiseLike<Parsed>;

type Parsed = { readonly value: unknown } | undefined;

/** A function of unknown arguments. */
export type Callable = (...args: readonly unknown[]) => unknown;

/** True for anything that can be called. */
export function isCallable(value: unknown): value is Callable {
  return typeof value === "function";
}

/** A method of a foreign object, tied to it. Whoever asks has seen that it is there. */
export function methodOf(owner: UnknownRecord, name: string): Callable {
  return (...args) => {
    const method = owner[name];
    return isCallable(method) ? Reflect.apply(method, owner, args) : undefined;
  };
}
