import type { ExecutableTool, Tool, Unvalidated } from "../types/loop-options.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { edges } from "../../shared/edges.ts";
import { isRecord } from "../../shared/guards.ts";
import type { JsonSchema, StandardSchema, ToolSchema } from "../types/common.ts";
import type { ToolTraits } from "../types/tool.ts";
import type { CallOf } from "../types/typed-call.ts";

/** The optional fields that a tool and its definition share. */
export const traits: { readonly [Trait in keyof ToolTraits]-?: true } = {
  sequential: true,
  timeoutMs: true,
  idleTimeoutMs: true,
  idempotent: true,
  retry: true,
  polls: true,
  requiresFollowUp: true,
  eager: true,
  durable: true,
  needsApproval: true,
  replay: true,
  origin: true,
  deferred: true,
  findsTools: true,
  triggers: true,
  releasesResults: true,
};

/** Throws LoopError "invalid-tool" if the tool has the wrong shape, and "invalid-schema" if its schema is not JSON. */
export function assertTool(value: unknown): asserts value is Tool {
  if (edges.checkTool !== undefined) return edges.checkTool(value);
  const { name, description } = isRecord(value) ? value : {};
  if (typeof description !== "string" || typeof name !== "string" || !/^[\w-]{1,64}$/.test(name))
    throw refuseTool(name, "has an invalid field");
}

export function refuseTool(toolName: unknown, problem: string): LoopError<"invalid-tool"> {
  return new LoopError("invalid-tool", { toolName: typeof toolName === "string" ? toolName : "", problem });
}

declare const fromSchema: unique symbol;

/** The default type argument of `defineTool`. With this default, the type of the arguments comes from the schema. */
export type FromSchema = typeof fromSchema;

/**
 * The type of the arguments that `execute` receives: the type argument if there is one, otherwise the schema's output type. For
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
 * Defines a tool and types its arguments. With a Standard Schema (zod, valibot, arktype ...), `execute` receives the output of the schema:
 * validated arguments, with defaults and transforms applied. With a plain JSON Schema, `execute` receives the model's arguments
 * unvalidated, with the type `unknown`. To give the arguments a different type, pass a type argument.
 *
 * A plain value that `execute` returns is a success. If `execute` throws an error, the call fails, and the model reads the error
 * message. Return `toolResult` for more control, return `defer()` if the result comes later, and throw `FatalToolError`
 * to end the run. Calls to a tool without `execute` wait for a result from outside.
 *
 * If a tool annotates the second argument of `execute` as `ToolContext<App>`, runs with this tool require the `context` option to
 * be an `App`. Without an argument, `defineTool<App>()` returns a `defineTool` for tools with this context.
 *
 * Throws LoopError "invalid-tool" if the tool has the wrong shape. Throws "invalid-schema" if its JSON Schema is not JSON, for
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
 * schema. For `tool-end` events and `result.calls`, the outcome "completed" also narrows `result`.
 *
 * The function compares only the name, and a nested run may have a different tool with the same name. To exclude nested runs, check that
 * the event has no `path`. In `approve`, in waiting calls and in completed calls, the arguments match the schema. In events before the call
 * runs, they may not. If they do not match, the call is refused as `invalid-input`.
 *
 * @example
 * const approve: Approve = (call) =>
 *   isCallOf(refund, call) && call.args.amount > 100 ? { kind: "ask" } : { kind: "approve" };
 */
export function isCallOf<T extends Tool, Call extends object>(tool: T, call: Call): call is Extract<CallOf<T, Call>, Call> {
  return "name" in call && call.name === tool.name;
}
