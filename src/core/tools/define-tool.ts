import type { ExecutableTool, Tool, Unvalidated } from "../types/loop-options.ts";
import { LoopError } from "../errors/loop-error.ts";
import { edges } from "../utils/edges.ts";
import { describeValue, quote } from "../utils/texts.ts";
import { isLiteral, isRecord, type UnknownRecord } from "../utils/guards.ts";
import { findTimeoutProblem, is, isText, isWithin } from "../errors/check-fields.ts";
import { findSchemaProblem, isStandardSchema } from "./argument-schema.ts";
import type { JsonSchema, StandardSchema, ToolSchema } from "../types/common.ts";
import type { ToolTraits } from "../types/tool.ts";
import type { CallOf } from "../types/typed-call.ts";

type Check = (value: unknown) => string | undefined;

export const traitChecks: { readonly [Trait in keyof ToolTraits]-?: Check } = {
  sequential: optional(isFlag),
  timeoutMs: optional(findTimeoutProblem),
  idleTimeoutMs: optional(findTimeoutProblem),
  idempotent: optional(isFlag),
  retry: optional(isRetry),
  polls: optional(isFlag),
  requiresFollowUp: optional(isFlag),
  eager: optional(isFlag),
  needsApproval: optional((value) =>
    unless(typeof value === "boolean" || typeof value === "function", "true, false or a function"),
  ),
  replay: optional((value) => unless(value === "safe" || value === "never", '"safe" or "never"')),
  origin: optional((value) => unless(typeof value === "string", "a string")),
  deferred: optional(isFlag),
  findsTools: optional(isFlag),
  triggers: optional((value) => unless(isText(value) || is.texts[1](value), "a string or an array of strings")),
  masking: optional((value) => unless(isMasking(value), "a value made by maskResults")),
};

const checks: { readonly [Field in keyof Tool]-?: Check } = {
  name: (value) => unless(typeof value === "string" && /^[\w-]{1,64}$/.test(value), '1 to 64 letters, digits, "_" or "-"'),
  description: (value) => unless(typeof value === "string", "a string"),
  inputSchema: (value) => unless(isRecord(value) || typeof value === "function", "a Standard Schema or a JSON Schema"),
  jsonSchema: optional((value) => unless(isRecord(value), "a JSON Schema")),
  execute: optional((value) => unless(typeof value === "function", "a function")),
  outputSchema: optional((value) =>
    unless(isStandardSchema(value), 'a Standard Schema (fromJsonSchema of "turnwright/json-schema" makes one)'),
  ),
  agent: optional((value) => unless(isAgent(value), "a value made by defineAgentTool")),
  ...traitChecks,
};

const fieldNames = /* @__PURE__ */ Object.keys(checks) as readonly (keyof Tool)[];

/** Throws LoopError "invalid-tool" for a wrong shape, and "invalid-schema" for a schema that is not JSON. */
export function assertTool(value: unknown): asserts value is Tool {
  if (!isRecord(value)) throw refuseTool("", `must be an object, but is ${describeValue(value)}`);
  const problem = problemOf(value);
  const toolName = typeof value["name"] === "string" ? value["name"] : "";
  const advice = problem === undefined ? undefined : edges.adviseTool?.(value);
  if (problem !== undefined) throw refuseTool(toolName, advice === undefined ? problem : `${problem}. ${advice}`);
  for (const schema of [value["inputSchema"], value["jsonSchema"]]) {
    const schemaProblem = isRecord(schema) && isLiteral(schema) && !isStandardSchema(schema) ? findSchemaProblem(schema) : "";
    if (schemaProblem !== "") throw new LoopError("invalid-schema", { toolName, problem: schemaProblem });
  }
}

function problemOf(fields: UnknownRecord): string | undefined {
  for (const field of fieldNames) {
    const problem = describeField(fields, field, checks[field]);
    if (problem !== undefined) return problem;
  }
  if (fields["retry"] !== undefined && fields["idempotent"] !== true) {
    return 'needs "idempotent: true" to have "retry"';
  }
  const veto = fields["eager"] === true ? findVeto(fields) : undefined;
  if (veto !== undefined) return veto;
  const unknown = isLiteral(fields) ? Object.keys(fields).find((key) => !Object.hasOwn(checks, key)) : undefined;
  return unknown === undefined ? undefined : `has an unknown field ${quote(unknown)}${didYouMean(unknown)}`;
}

function describeField(fields: UnknownRecord, field: string, check: Check): string | undefined {
  const value = fields[field];
  // A missing `execute` is an error only if a function with another name looks like a misnamed `execute`. Otherwise, calls of the
  // tool wait for results from outside the run.
  const expected = check(value) ?? (field === "execute" && value === undefined ? "a function" : undefined);
  if (expected === undefined) return undefined;
  const word = value === undefined ? findWordFor(field, fields) : undefined;
  if (field === "execute" && value === undefined && word === undefined) return undefined;
  const problem = `has an invalid ${quote(field)}: it must be ${expected}, but is ${describeValue(value)}`;
  return word === undefined ? problem : `${problem}. Rename ${quote(word)} to ${quote(field)}`;
}

function findVeto({ execute, replay, sequential, needsApproval = false }: UnknownRecord): string | undefined {
  if (execute === undefined) return 'has "eager" without "execute". Add "execute", or remove "eager"';
  if (replay === "never") return excludes("replay: never");
  if (sequential === true) return excludes("sequential: true");
  return needsApproval === false ? undefined : excludes("needsApproval");
}

function excludes(trait: string): string {
  return `has both "eager" and "${trait}", which exclude each other. Remove one of them`;
}

function findWordFor(field: string, fields: UnknownRecord): string | undefined {
  return Object.keys(fields).find(
    (word) => !Object.hasOwn(checks, word) && edges.replacementOf?.(word, [field])?.nearest === field,
  );
}

function didYouMean(field: string): string {
  const replacement = edges.replacementOf?.(field, fieldNames);
  if (replacement?.instead !== undefined) return ` (write: ${replacement.instead})`;
  const nearest = replacement?.nearest ?? edges.nearestName?.(field, fieldNames);
  return nearest === undefined ? "" : ` (did you mean ${quote(nearest)}?)`;
}

export function refuseTool(toolName: unknown, problem: string): LoopError<"invalid-tool"> {
  return new LoopError("invalid-tool", { toolName: typeof toolName === "string" ? toolName : "", problem });
}

function unless(fits: boolean, expected: string): string | undefined {
  return fits ? undefined : expected;
}

function optional(check: Check): Check {
  return (value) => (value === undefined ? undefined : check(value));
}

function isFlag(value: unknown): string | undefined {
  return unless(typeof value === "boolean", "true or false");
}

function isRetry(value: unknown): string | undefined {
  const fits = isRecord(value) && isWithin(value["maxAttempts"], { min: 2, infinite: false }) && Object.keys(value).length === 1;
  return unless(fits, "{ maxAttempts } with a whole number of at least 2");
}

function isMasking(value: unknown): boolean {
  return isRecord(value) && value["kind"] === "masking" && typeof value["createView"] === "function";
}

function isAgent(value: unknown): boolean {
  return isRecord(value) && value["kind"] === "agent" && typeof value["run"] === "function";
}

declare const fromSchema: unique symbol;

/** The default type argument of `defineTool`. With this default, the type of the arguments comes from the schema. */
export type FromSchema = typeof fromSchema;

/**
 * The type of the arguments that `execute` gets: the type argument if one is given, otherwise the output type of the schema. For
 * a plain JSON Schema without a type argument, the type is `unknown`.
 */
export type ArgsOf<Args, Schema extends ToolSchema> = [Args] extends [FromSchema]
  ? Schema extends StandardSchema
    ? NonNullable<Schema["~standard"]["types"]>["output"]
    : Unvalidated
  : NoInfer<Args>;

/** `defineTool` for tools whose `context.context` has the type `Context`. */
export interface DefineTool<Context> {
  <Args = FromSchema, Schema extends ToolSchema = JsonSchema, Result = unknown, Name extends string = string>(
    tool: ExecutableTool<ArgsOf<Args, Schema>, Schema, Result, Context, Name>,
  ): ExecutableTool<ArgsOf<Args, Schema>, Schema, Result, Context, Name>;
  <Args = FromSchema, Schema extends ToolSchema = JsonSchema, Result = unknown, Name extends string = string>(
    tool: Tool<ArgsOf<Args, Schema>, Schema, Result, Context, Name>,
  ): Tool<ArgsOf<Args, Schema>, Schema, Result, Context, Name>;
}

/**
 * Defines a tool and types its arguments. With a Standard Schema (zod, valibot, arktype ...), `execute` gets the output of the
 * schema: validated arguments, with defaults and transforms applied. With a plain JSON Schema, `execute` gets the model's
 * arguments unvalidated, with the type `unknown`. To give the arguments another type, pass a type argument.
 *
 * A plain value that `execute` returns is a success. If `execute` throws an error, the call fails, and the model reads the error
 * message. Return `toolResult` for more control, return `context.defer()` if the result comes later, and throw `FatalToolError`
 * to end the run. Calls of a tool without `execute` wait for a result from outside.
 *
 * If a tool annotates the second argument of `execute` as `ToolContext<App>`, runs with this tool require the option `context` to
 * be an `App`. Without an argument, `defineTool<App>()` returns a `defineTool` for tools with this context.
 *
 * Throws LoopError "invalid-tool" if the shape of the tool is wrong. Throws "invalid-schema" if its JSON Schema is not JSON, for
 * example an object of zod schemas that is not wrapped in `z.object({ ... })`.
 *
 * @example
 * const weather = defineTool({
 *   name: "get_weather",
 *   description: "Current weather of a city",
 *   inputSchema: z.object({ city: z.string() }),
 *   execute: ({ city }, context) => forecast(city, { signal: context.signal }),
 * });
 * const clock = defineTool<{ zone: string }>({
 *   name: "get_time",
 *   description: "Time of day in a time zone",
 *   inputSchema: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] },
 *   execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
 * });
 */
export function defineTool<Context>(): DefineTool<Context>;
export function defineTool<
  Args = FromSchema,
  Schema extends ToolSchema = JsonSchema,
  Result = unknown,
  Context = unknown,
  Name extends string = string,
>(
  tool: ExecutableTool<ArgsOf<Args, Schema>, Schema, Result, Context, Name>,
): ExecutableTool<ArgsOf<Args, Schema>, Schema, Result, Context, Name>;
export function defineTool<
  Args = FromSchema,
  Schema extends ToolSchema = JsonSchema,
  Result = unknown,
  Context = unknown,
  Name extends string = string,
>(tool: Tool<ArgsOf<Args, Schema>, Schema, Result, Context, Name>): Tool<ArgsOf<Args, Schema>, Schema, Result, Context, Name>;
export function defineTool(...given: readonly [tool?: Tool]): unknown {
  if (given.length === 0) return defineTool;
  const [tool] = given;
  assertTool(tool);
  return tool;
}

/**
 * True if a call, or an event about a call, belongs to the tool. Narrows `name`, and narrows `args` to the input of the tool's
 * schema. For events `tool-end` and for `result.calls`, the outcome "completed" also narrows `result`.
 *
 * The function compares only the name, and a nested run may have another tool with the same name. To exclude nested runs, check
 * that the event has no `path`. In `approve`, in calls that wait and in completed calls, the arguments match the schema. In
 * events before the call runs, they may not match: the call is then refused as `invalid-input`.
 *
 * @example
 * const approve: Approve = (call) =>
 *   isCallOf(refund, call) && call.args.amount > 100 ? { kind: "ask" } : { kind: "approve" };
 */
export function isCallOf<T extends Tool, Call extends object>(tool: T, call: Call): call is Extract<CallOf<T, Call>, Call> {
  return "name" in call && call.name === tool.name;
}
