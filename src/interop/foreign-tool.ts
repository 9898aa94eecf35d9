import {
  isRecord,
  type JsonSchema,
  type NeedsApproval,
  type StandardResult,
  type StandardSchema,
  type ToolContext,
  type ToolSchema,
  type ToolTraits,
  toPlainError,
  type UnknownRecord,
  whenReady,
} from "../core/entry-kit.ts";

type Answer = StandardResult<unknown> | Promise<StandardResult<unknown>>;

export function toStandardSchema(vendor: string, json: JsonSchema, validate: (args: unknown) => Answer): StandardSchema {
  return { "~standard": { version: 1, vendor, validate, jsonSchema: { input: () => ({ ...json }) } } };
}

/**
 * Validates arguments with `schema`, but returns the arguments unchanged. Needed for tools that parse their arguments themselves.
 */
export function keepArgs(schema: StandardSchema): StandardSchema {
  const { vendor, jsonSchema, validate } = schema["~standard"];
  const check = (args: unknown): Answer => {
    const answer = whenReady(validate(args), (result) => (result.issues === undefined ? { value: args } : result));
    return "then" in answer ? Promise.resolve(answer) : answer;
  };
  return { "~standard": { version: 1, vendor, validate: check, jsonSchema } };
}

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

export interface ForeignTool {
  readonly name: unknown;
  readonly description: unknown;
  /** Undefined if only the provider of the model knows the schema. */
  readonly schema: ForeignSchema | undefined;
  /**
   * True if the tool parses its arguments itself. `execute` then gets the arguments of the model, not the output of the schema.
   */
  readonly parses: boolean;
  readonly needsApproval?: ((parse: ParseArgs) => boolean | NeedsApproval<unknown>) | undefined;
  readonly timeoutMs?: number | undefined;
  readonly outputSchema?: StandardSchema | undefined;
  readonly replay?: ToolTraits["replay"];
  execute(args: unknown, context: ToolContext): unknown;
}

export interface ForeignSchema {
  readonly inputSchema: ToolSchema;
  /** Set only if `inputSchema` cannot be converted to JSON Schema. */
  readonly jsonSchema?: JsonSchema | undefined;
}

export type ParseArgs = (args: unknown) => Parsed | PromiseLike<Parsed>;

type Parsed = { readonly value: unknown } | undefined;

export type Callable = (...args: readonly unknown[]) => unknown;

export function isCallable(value: unknown): value is Callable {
  return typeof value === "function";
}

export function methodOf(owner: UnknownRecord, name: string): Callable {
  return (...args) => {
    const method = owner[name];
    return isCallable(method) ? Reflect.apply(method, owner, args) : undefined;
  };
}
